//! Background work on inboxes: reactivates readers, trims, repeats lost notifications, audits. None of it changes what a page
//! says.

mod auditor;
mod sweeper;
mod trimmer;
mod waker;

pub use auditor::{Audit, AuditOptions, AuditedStores, Auditor, Finding, PageSource};
pub use sweeper::{Sweeper, Swept, SweptStores};
pub use trimmer::Trimmer;
pub use waker::{Waker, WakerOptions};
