//! The composition root: the only place that chooses adapters and starts what runs.

mod house;

pub use house::{House, Ports, Settings};
