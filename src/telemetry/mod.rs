//! Log lines and metrics for operators.

pub mod causes;
pub mod logs;
pub mod metrics;
pub mod notifications;
pub mod tiers;
