//! Gauges that are raised while something lasts, such as a wait.

/// Waits, and counts this in the gauge of that name until the wait is over or is given up.
pub async fn counted<F: Future>(gauge: &'static str, wait: F) -> F::Output {
    let _gauged = Gauged::new(gauge);
    wait.await
}

/// Raises a gauge by one until it is dropped.
#[derive(Debug)]
pub struct Gauged(metrics::Gauge);

impl Gauged {
    /// Raises the gauge of that name.
    pub fn new(gauge: &'static str) -> Self {
        Self::of(metrics::gauge!(gauge))
    }

    /// Raises `gauge`.
    pub fn of(gauge: metrics::Gauge) -> Self {
        gauge.increment(1);
        Self(gauge)
    }
}

impl Drop for Gauged {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    #[test]
    fn a_wait_is_counted_until_it_is_over_or_given_up() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let printed = || recorder.handle().render();
        metrics::with_local_recorder(&recorder, || {
            let mut given_up = Box::pin(counted("waits", std::future::pending::<()>()));
            let (end, ended) = tokio::sync::oneshot::channel::<()>();
            let mut over = Box::pin(counted("waits", ended));
            assert!((&mut given_up).now_or_never().is_none() && (&mut over).now_or_never().is_none());
            assert!(printed().contains("waits 2"), "{}", printed());
            drop(given_up);
            assert!(printed().contains("waits 1"), "{}", printed());
            assert!(end.send(()).is_ok() && over.now_or_never().is_some());
            assert!(printed().contains("waits 0"), "{}", printed());
        });
    }
}
