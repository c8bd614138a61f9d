//! Audits during everything else. In a world that keeps the rules they find nothing, and their repairs are correct at
//! any time.

use std::sync::Arc;

use tidefeed::{
    domain::{PageSize, UserId},
    store::{Inboxes as _, StoreError},
    upkeep::{Audit, AuditOptions, Auditor},
};

use crate::world::{Counts, Shared};

/// Of all people one, as the audit in the background does.
pub async fn audit(shared: Arc<Shared>, auditor: Arc<Auditor>) {
    Counts::count(&shared.counts.audits, 1);
    let drawn = shared.injector.next();
    match auditor.sample(drawn).await {
        Ok(Some(Audit { finding: Some(finding), .. })) => {
            shared.primary_store.base().checks.fail("an audit finds something wrong", || format!("{finding:?}"));
        }
        Ok(_) => {}
        Err(error) => shared.excuse("an audit failed", &error),
    }
}

/// As if an audit had found something: the inbox is given up, and filled anew.
pub async fn mend(shared: Arc<Shared>, reader: UserId) {
    shared.injector.note(|| format!("the inbox of {reader} is mended"));
    let step = shared.plan.settings.tiers.step;
    let mended: Result<(), StoreError> = async {
        shared.primary_store.reset(reader).await?;
        shared.primary_store.extend(reader, step).await.map(drop)
    }
    .await;
    if let Err(error) = mended {
        shared.excuse("a repair failed", &error);
    }
}

/// What audits compare: small pages, a few of them.
pub fn options(shared: &Shared) -> AuditOptions {
    let size = PageSize::try_new(shared.plan.page).expect("a plan's pages are small");
    AuditOptions { pages: 3, size, repair: true, step: shared.plan.settings.tiers.step }
}
