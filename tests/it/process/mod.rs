//! Tests the binary as a separate process, and the servers that the tests start.

mod command_line;
mod held;
mod server_promises;
