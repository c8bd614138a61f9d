//! The `tidefeed` binary: the allocator, and the command line.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // With huge pages the allocator would hold 16 MiB more in an idle node. If they cannot be turned off, the node
    // only uses more memory.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    tidefeed::cli::run()
}
