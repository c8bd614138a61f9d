//! The `tidefeed` binary: the allocator, and the command line.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The allocator asks for huge pages: a node that does nothing yet would hold 16 MiB more. Where that cannot be
    // forbidden, it only holds more.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    tidefeed::cli::run()
}
