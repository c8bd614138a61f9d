//! Adapter on Apache Cassandra 5: inboxes outside SQL. SQL can rebuild everything kept here.
//!
//! The one place that names the client library. It knows no clock and no other adapter; randomness is handed in.

mod connect;
mod error;
mod header;
mod inboxes;
mod inspection;
mod options;
mod schema;
mod statements;

pub use connect::Cassandra;
pub use inboxes::CassandraInboxes;
pub use inspection::inspect;
pub use options::CassandraOptions;
