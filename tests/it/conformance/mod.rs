//! Conformance: one suite per port, run over every adapter of it. A suite knows the port's documentation and nothing else.

mod announcements;
mod outbox_cache;
mod outbox_model;
mod places;
mod queue;
