//! Tests what the ports promise, and how the adapters behave while their servers fail, fill up or come back.

mod announced_to_nodes;
mod broken_writes;
pub mod conformance;
pub mod explain;
mod fail_over;
mod full;
mod full_text;
mod lingering_rows;
mod redis_outage;
mod refused_writes;
mod replicas;
mod replication_group;
pub mod rows_touched;
mod sql;
mod tidb;
mod transport;
mod trips;
mod waiting_requests;
mod wal;
