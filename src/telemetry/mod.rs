//! What an operator sees from outside: log lines and measurements. Nothing here decides anything.

pub mod logs;
pub mod metrics;
pub mod notifications;
