//! Background work on inboxes: reactivates readers, trims, repeats lost notifications, audits. It never changes what a
//! page shows.

mod auditor;
mod reactivator;
mod sweeper;
mod trimmer;

pub use auditor::{Audit, AuditOptions, Auditor, Finding, PageSource};
pub use reactivator::{Reactivator, ReactivatorOptions};
pub use sweeper::{SweepReport, Sweeper};
pub use trimmer::Trimmer;
