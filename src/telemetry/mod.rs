//! What operators see: log lines and metrics. Nothing here decides anything.

pub mod causes;
pub mod logs;
pub mod metrics;
pub mod notifications;
