//! Log lines and metrics for operators.

pub mod logs;
pub mod metrics;
pub mod notifications;
pub mod tiers;

pub use store_error::causes;
