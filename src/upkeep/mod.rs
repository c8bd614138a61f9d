//! Background work on inboxes: reactivates readers, trims, repeats lost notifications, audits. It never changes what a
//! page shows.

mod auditor;
mod outside_admission;
mod outside_builder;
mod outside_keeper;
mod reactivator;
mod sweeper;
mod trimmer;

pub use auditor::{Audit, AuditOptions, AuditedStores, Auditor, Finding, PageSource};
pub use outside_keeper::{MOVED_AT_ONCE, OutsideKeeper, Round, move_all, renew_tokens};
pub use reactivator::{Reactivator, ReactivatorOptions};
pub use sweeper::{Sweeper, Swept, SweptStores};
pub use trimmer::Trimmer;
