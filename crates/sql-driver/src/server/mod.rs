//! Connections to MySQL and MariaDB.

mod certificates;
pub(crate) mod connections;
pub(crate) mod transaction;
