//! The life of the process: named tasks, draining, stopping, and an exit when a task dies.
//!
//! Only this module spawns tasks.

use std::{
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::{sleep, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Time that tasks have to release their resources after the stop.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// How the process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Everything has ended by itself.
    Drained,
    /// Some work was cut off by the time limit or a second signal.
    Stopped,
    /// The named task died.
    Failed(&'static str),
}

/// The life of one process; clones are the same life.
#[derive(Debug, Clone, Default)]
pub struct Lifecycle(Arc<Life>);

#[derive(Debug, Default)]
struct Life {
    leaving: AtomicBool,
    drain: CancellationToken,
    stop: CancellationToken,
    tasks: TaskTracker,
    failed: Mutex<Option<&'static str>>,
}

impl Lifecycle {
    /// A life that has just begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the node accepts new work, for /readyz. Turns false before anything else happens.
    pub fn is_ready(&self) -> bool {
        !self.0.leaving.load(Ordering::SeqCst) && !self.0.drain.is_cancelled()
    }

    /// Cancelled when no new work may begin: close the listener, take no more messages, finish running work.
    pub fn draining(&self) -> CancellationToken {
        self.0.drain.clone()
    }

    /// Cancelled when running work must be dropped.
    pub fn stopping(&self) -> CancellationToken {
        self.0.stop.clone()
    }

    /// Turns readiness off and begins to drain `unready` later. For tests and for the end of a command.
    pub async fn leave(&self, unready: Duration) {
        self.0.leaving.store(true, Ordering::SeqCst);
        if !unready.is_zero() {
            sleep(unready).await;
        }
        self.0.drain.cancel();
    }

    /// Drains and stops at once.
    pub fn stop(&self) {
        self.0.leaving.store(true, Ordering::SeqCst);
        self.0.drain.cancel();
        self.0.stop.cancel();
    }

    /// Runs a service that must not end before draining begins. If it does, by returning or panicking, the process
    /// ends with [`Ending::Failed`]. It should watch [`Lifecycle::draining`]. It is dropped at the stop.
    pub fn spawn(&self, name: &'static str, service: impl Future<Output = ()> + Send + 'static) {
        let guard = Guard { life: self.clone(), name };
        let stop = self.stopping();
        spawn(self.0.tasks.track_future(async move {
            let _guard = guard;
            stop.run_until_cancelled(service).await;
        }));
    }

    /// Watches SIGINT, SIGTERM and SIGHUP until the stop: the first one drains, the second one stops at once.
    pub fn watch_signals(&self, unready: Duration) -> std::io::Result<()> {
        let mut signals = Signals::new()?;
        let life = self.clone();
        // Not a tracked task: draining must not wait for a second signal.
        spawn(async move {
            if life.stopping().run_until_cancelled(signals.next()).await.is_none() {
                return;
            }
            tracing::info!("Stopping. Running work may finish; a second signal stops at once.");
            tokio::join!(life.leave(unready), async {
                signals.next().await;
                tracing::warn!("Stopping at once.");
                life.stop();
            });
        });
        Ok(())
    }

    /// Waits until draining has begun and every task has ended, at most `drain_limit` longer. Then drops what still
    /// runs.
    pub async fn ended(&self, drain_limit: Duration) -> Ending {
        self.0.drain.cancelled().await;
        self.0.tasks.close();
        let stopping = self.stopping();
        let drained = tokio::select! {
            biased;
            () = self.0.tasks.wait() => true,
            () = stopping.cancelled() => false,
            () = sleep(drain_limit) => false,
        };
        self.stop();
        if timeout(STOP_GRACE, self.0.tasks.wait()).await.is_err() {
            tracing::warn!(tasks = self.0.tasks.len(), "Some tasks did not stop in time.");
        }
        let failed = *self.0.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match failed {
            Some(name) => Ending::Failed(name),
            None if drained => Ending::Drained,
            None => Ending::Stopped,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that spawns")]
fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    drop(tokio::spawn(task));
}

/// Dropped when a service ends in any way.
struct Guard {
    life: Lifecycle,
    name: &'static str,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let draining = self.life.0.drain.is_cancelled();
        if draining && !std::thread::panicking() {
            return;
        }
        tracing::error!(task = self.name, "A task has died. The process stops.");
        self.life.0.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(self.name);
        self.life.stop();
    }
}

/// The signals that ask a process to end.
struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    /// The terminal was closed. Nothing is read again: a changed configuration needs a new process.
    #[cfg(unix)]
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => (),
            _ = self.interrupt.recv() => (),
            _ = self.hang_up.recv() => (),
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {})
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn draining_waits_for_what_runs() {
        let life = Lifecycle::new();
        let done = Arc::new(AtomicBool::new(false));
        let (draining, flag) = (life.draining(), done.clone());
        life.spawn("service", async move {
            draining.cancelled().await;
            sleep(Duration::from_secs(1)).await;
            flag.store(true, Ordering::SeqCst);
        });
        assert!(life.is_ready());
        life.leave(Duration::ZERO).await;
        assert!(!life.is_ready());
        assert_eq!(life.ended(LIMIT).await, Ending::Drained);
        assert!(done.load(Ordering::SeqCst));
    }

    #[tokio::test(start_paused = true)]
    async fn readiness_turns_false_before_draining_begins() {
        let life = Lifecycle::new();
        let (leaving, watched) = (life.leave(Duration::from_secs(3)), life.clone());
        let watch = async {
            sleep(Duration::from_secs(1)).await;
            assert!(!watched.is_ready() && !watched.draining().is_cancelled());
        };
        tokio::join!(leaving, watch);
        assert!(life.draining().is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_does_not_end_is_dropped_when_time_is_up() {
        let life = Lifecycle::new();
        life.spawn("service", std::future::pending());
        life.leave(Duration::ZERO).await;
        assert_eq!(life.ended(LIMIT).await, Ending::Stopped);
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_ends_or_panics_takes_the_process_down() {
        for panics in [false, true] {
            let life = Lifecycle::new();
            life.spawn("other", std::future::pending());
            life.spawn("executor", async move {
                assert!(!panics, "on purpose");
            });
            assert_eq!(life.ended(LIMIT).await, Ending::Failed("executor"));
        }
    }
}
