//! The binary as a process of its own, and the servers that the tests start.

mod command_line;
mod held;
mod server_promises;
