//! Publishing: the commands, the dispatcher that cuts deliveries into subtasks, and the executors that run them. They
//! share nothing but SQL and the queue. Also reactions, and the indexer of older contents.

mod dispatcher;
mod executor;
mod indexer;
mod publisher;
mod reactions;

pub use dispatcher::{Dispatcher, DispatcherOptions, FirstServed};
pub use executor::{ExecutorOptions, SubtaskExecutor};
pub use indexer::Indexer;
pub use publisher::{PublishError, PublishOutcome, Publisher, RemoveOutcome};
pub use reactions::{Reacting, ReactionOutcome};
