//! Builds the store and the use cases that benches measure, on SQL alone, without Redis.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use anyhow::Result;
use tidefeed::{
    ambient::Ambient,
    app::{Ports, Settings, UseCases},
    clock::ManualClock,
    rng::SharedRng,
    store::{
        memory::{MemoryAnnouncements, MemoryQueue},
        sql::{SqlOptions, SqlStore},
    },
};

/// Maximum number of waiting messages per topic.
const QUEUE: usize = 10_000;

/// A store at `url` with all tables and this many connections.
pub async fn open_store(url: String, connections: u32) -> Result<SqlStore> {
    let options = SqlOptions {
        url,
        max_connections: connections,
        acquire_timeout: Duration::from_secs(30),
        statement_timeout: Duration::from_mins(1),
    };
    let store = SqlStore::connect(&options).await?;
    store.migrate().await?;
    Ok(store)
}

/// The parts that a bench calls.
pub struct Benched {
    /// The use cases.
    pub use_cases: UseCases,
    /// Their ports.
    pub ports: Ports,
    /// A clock that does not move, and a seeded rng: the same numbers in every run.
    pub ambient: Ambient,
}

/// Use cases over the store, with a clock fixed at `now_ms`.
pub fn use_cases(store: &SqlStore, settings: Settings, now_ms: i64) -> Benched {
    let queue = Arc::new(MemoryQueue::new(QUEUE, Duration::from_secs(30)));
    let ports = Ports::with_primary_store(Arc::new(store.clone()), queue, None, Arc::new(MemoryAnnouncements::new(16)));
    let ambient = Ambient { clock: Arc::new(ManualClock::at(now_ms)), rng: SharedRng::from_seed(1) };
    Benched { use_cases: UseCases::build(&ports, settings, &ambient), ports, ambient }
}

/// Microseconds of processor time of all threads of this process on Linux; elapsed time elsewhere.
pub fn processor_time_us() -> f64 {
    // Linux updates the count when a thread yields its processor.
    std::thread::yield_now();
    let of = |entry: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(entry.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    };
    match std::fs::read_dir("/proc/self/task") {
        Ok(threads) => threads.filter_map(of).sum::<f64>() / 1_000.0,
        Err(_) => passed_us(),
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the machine's clock")]
fn passed_us() -> f64 {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    BEGUN.get_or_init(Instant::now).elapsed().as_secs_f64() * 1e6
}
