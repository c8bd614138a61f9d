//! What keeps the house cheap to live in: readers who come back, inboxes that grow, work whose nudge was lost. None of it can
//! change what a page says.

mod auditor;
mod indexer;
mod pruner;
mod sweeper;
mod trimmer;
mod waker;

pub use auditor::{Audit, AuditOptions, AuditedStores, Auditor, Finding, PageSource};
pub use indexer::Indexer;
pub use pruner::Pruner;
pub use sweeper::{Sweeper, Swept, SweptStores};
pub use trimmer::Trimmer;
pub use waker::{Waker, WakerOptions};
