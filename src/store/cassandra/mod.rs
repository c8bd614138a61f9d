//! Adapter on Apache Cassandra 5: inboxes outside SQL. SQL can rebuild everything kept here.
//!
//! The one place that names the client library. It knows no clock and no other adapter; randomness is handed in.

mod connect;
mod error;
mod header;
mod inspection;
mod options;
mod outside_inboxes;
mod schema;
mod statements;

pub use connect::Cassandra;
pub use inspection::inspect;
pub use options::CassandraOptions;
pub use outside_inboxes::CassandraInboxes;
