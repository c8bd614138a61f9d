//! Builds the auditor, over the adapters of a running node or over its own for the command line.

use std::sync::Arc;

use async_trait::async_trait;

use super::{
    AppError,
    adapters::{self, Adapters},
};
use crate::{
    clock::{SharedClock, SystemClock},
    config::Config,
    domain::{Page, PageRequest, PageSize, UserId},
    lifecycle::Lifecycle,
    read::{TimelineReader, Visits},
    rng::SharedRng,
    store::{Audits, StoreError, sql::SqlStore},
    upkeep::{AuditOptions, AuditedStores, Auditor, OutsideKeeper, PageSource},
};

use super::use_cases::{Ports, keeper};

/// The pages that readers get.
struct ServedPages(Arc<TimelineReader>);

#[async_trait]
impl PageSource for ServedPages {
    async fn served(&self, reader: UserId, request: &PageRequest) -> Result<Page, StoreError> {
        self.0.read_raw(reader, request).await
    }

    async fn without_cache(&self, reader: UserId, request: &PageRequest) -> Result<Page, StoreError> {
        self.0.read_by_definition(reader, request).await
    }
}

/// An auditor over these ports. The pages come from the reader; the keeper gives up inboxes outside SQL.
pub fn auditor(
    ports: &Ports,
    audits: Arc<dyn Audits>,
    (reader, outside): (Arc<TimelineReader>, Option<Arc<OutsideKeeper>>),
    options: AuditOptions,
) -> Auditor {
    let stores = AuditedStores {
        audits,
        timelines: ports.timelines.clone(),
        inboxes: ports.inboxes.clone(),
        contents: ports.contents.clone(),
        follows: ports.follows.clone(),
        outbox_cache: ports.outbox_cache.clone(),
        outside,
    };
    Auditor::new(stores, Arc::new(ServedPages(reader)), options)
}

/// An auditor with its own connections to the configured servers, and the store that it reads. Changes no table;
/// refuses outdated tables.
pub async fn open_auditor(
    config: &Config,
    options: AuditOptions,
    lifecycle: &Lifecycle,
    rng: &SharedRng,
) -> Result<(Auditor, SqlStore), AppError> {
    let adapters = adapters::open(config, lifecycle, rng).await?;
    adapters.expect_current_tables().await?;
    let Adapters { store, ports, .. } = adapters;
    if let Some(outside) = &ports.outside
        && let Err(error) = outside.inboxes.connect().await
    {
        let error = error.with_causes();
        tracing::warn!(error, "The store of inboxes outside SQL does not answer. The inboxes there are not audited.");
    }
    let (timelines, contents) = (ports.timelines.clone(), ports.contents.clone());
    let visits = Visits::new(ports.queue.clone(), Arc::new(SystemClock), config.upkeep.seen_every_ms.as_i64());
    let reader = TimelineReader::new(timelines, contents, ports.outbox_cache.clone(), Arc::new(visits))
        .with_outside(ports.outside.clone());
    let ambient: (SharedClock, SharedRng) = (Arc::new(SystemClock), rng.clone());
    let keeper = keeper(&ports, config.inbox.extend_step, (&ambient.0, &ambient.1));
    Ok((auditor(&ports, Arc::new(store.clone()), (Arc::new(reader), keeper), options), store))
}

/// What a node's own audits do.
pub fn options(config: &Config) -> AuditOptions {
    let size = PageSize::default();
    AuditOptions { pages: config.audit.pages, size, repair: config.audit.repair, step: config.inbox.extend_step }
}
