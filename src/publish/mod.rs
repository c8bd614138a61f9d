//! Takes a draft to every inbox: the publish command, the dispatcher that cuts a delivery into subtasks, the executors
//! that run them. Publisher and delivery meet only in SQL and in the queue. Also reactions to contents, and the
//! indexer of contents that are older than the search index.

mod dispatcher;
mod executor;
mod indexer;
mod outside_delivery;
mod publisher;
mod reactions;

pub use dispatcher::{Dispatcher, DispatcherOptions, FirstServed};
pub use executor::{ExecutorOptions, SubtaskExecutor};
pub use indexer::Indexer;
pub use publisher::{PublishError, PublishOutcome, Publisher, RemoveOutcome};
pub use reactions::{Reacting, ReactionOutcome};
