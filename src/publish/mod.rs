//! From a draft to every inbox: the publish command, the dispatcher that cuts a delivery into subtasks, the executors that
//! run them. Publisher and delivery meet only in SQL and in the queue.

mod dispatcher;
mod executor;
mod publisher;

pub use dispatcher::{Dispatcher, DispatcherOptions};
pub use executor::{ExecutorOptions, SubtaskExecutor};
pub use publisher::{PublishError, PublishOutcome, Publisher, RemoveOutcome};
