//! Background work: reactivates readers, trims, repeats lost notifications, audits, adds up counts. It never changes
//! what a page shows.

mod auditor;
mod count_gatherer;
mod reactivator;
mod sweeper;
mod trimmer;

pub use auditor::{Audit, AuditOptions, Auditor, Finding, PageSource};
pub use count_gatherer::CountGatherer;
pub use reactivator::{Reactivator, ReactivatorOptions};
pub use sweeper::{SweepReport, Sweeper};
pub use trimmer::Trimmer;
