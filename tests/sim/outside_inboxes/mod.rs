//! Inboxes outside SQL (docs/protocol.md#outside) in a small world of their own: a primary store that may lose
//! commits, two store nodes that may lose or restore anything, and processes that stop between any two steps. The
//! decisions are the product's own (`domain::timeline::outside`). The oracle judges every page that is believed.
//!
//! The outside store is Redis, where an operation is one script, or Cassandra, where it is a few statements.

mod building;
mod cassandra;
mod covering;
mod delivering;
mod directed;
mod events;
mod nodes;
mod operations;
mod primary;
mod reading;
mod rules;
mod scripts;
mod stories;
mod walk;
mod world;
