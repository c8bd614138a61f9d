//! Tests the use cases with inboxes in Cassandra.

mod outside;
mod rights;
