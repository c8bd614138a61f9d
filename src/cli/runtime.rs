//! Builds the runtime, whose threads give memory back that nobody uses any more.
//!
//! The allocator keeps a thread's memory until that thread looks for what others have freed of it. It looks once in
//! 10,000 allocations that take its slow path, which an idle node makes too seldom: after a flood, it would keep what
//! the flood took. The allocator's own function for this needs `unsafe`, so a thread makes these allocations.

use std::{cell::Cell, hint::black_box, io, time::Duration};

use tokio::{
    runtime::{Builder, Runtime},
    time::Instant,
};

/// Stack bytes of each worker thread. Resolvers nest as deep as a document may, and unoptimised frames are large:
/// documents 15 deep overflow 4 MiB and fit into 8. 16 hold the 32 nested selection sets that the library allows
/// (`tests/clients`: deepest). The system allocates only what is touched.
const WORKER_STACK: usize = 16 << 20;
/// A thread that runs tasks looks this often at most.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Another thread ends when it has been idle for this time, with which the allocator frees its memory. The runtime
/// wakes them in turn, so with more time a little work would keep all of them.
const IDLE_TIME: Duration = Duration::from_secs(1);
/// Allocations between two looks of mimalloc (`generic_collect`).
const SLOW_ALLOCATIONS: usize = 10_000;
/// The shortest length whose allocation takes the slow path is 1 KiB and a byte.
const SLOW_BYTES: usize = 2 * 1024;

/// The runtime of a command.
pub(super) fn build() -> io::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.enable_all().thread_stack_size(WORKER_STACK);
    builder.thread_keep_alive(IDLE_TIME).on_thread_park(look_for_free_memory).build()
}

/// Lets the allocator free what this thread holds and nobody uses. Takes about a millisecond.
fn look_for_free_memory() {
    thread_local! {
        static NEXT: Cell<Option<Instant>> = const { Cell::new(None) };
    }
    let now = Instant::now();
    let is_due = NEXT.get().is_none_or(|next| next <= now);
    if is_due {
        NEXT.set(Some(now + LOOK_EVERY));
        for _ in 0..SLOW_ALLOCATIONS {
            drop(black_box(Vec::<u8>::with_capacity(SLOW_BYTES)));
        }
    }
}
