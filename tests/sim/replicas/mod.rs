//! Models read replicas of the SQL store. The order in which a read asks, waits and believes a replica is the driver's
//! own (`sql_driver::replicas`), and so is the question that reads share. The servers are models.

mod reading;
mod servers;

pub use reading::Reading;
pub use servers::{Naming, ReplicaOptions, Replication, replicate};
