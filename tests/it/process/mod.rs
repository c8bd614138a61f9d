//! Tests the binary as a separate process, and the servers that the tests start.

mod command_line;
mod held;
mod lending;
mod server_promises;
