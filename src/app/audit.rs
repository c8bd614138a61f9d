//! Builds the auditor, over the adapters of a running node or over its own for the command line.

use std::sync::Arc;

use async_trait::async_trait;

use super::{
    AppError,
    adapters::{self, Adapters},
};
use crate::{
    ambient::Ambient,
    config::Config,
    domain::{Page, PageRequest, PageSize, UserId},
    lifecycle::Lifecycle,
    read::{Readers, TimelineReader},
    store::{Audits, Ports, StoreError, sql::SqlStore},
    upkeep::{AuditOptions, Auditor, PageSource},
};

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

/// An auditor over these ports. The pages come from the reader.
pub fn auditor(ports: &Ports, audits: Arc<dyn Audits>, reader: Arc<TimelineReader>, options: AuditOptions) -> Auditor {
    Auditor::new(ports, audits, Arc::new(ServedPages(reader)), options)
}

/// An auditor with its own connections to the configured servers, and the store that it reads. Changes no table;
/// refuses outdated tables.
pub async fn open_auditor(
    config: &Config,
    options: AuditOptions,
    lifecycle: &Lifecycle,
    ambient: &Ambient,
) -> Result<(Auditor, SqlStore), AppError> {
    let adapters = adapters::open(config, lifecycle, ambient).await?;
    adapters.expect_current_tables().await?;
    let Adapters { store, ports, .. } = adapters;
    if let Err(error) = ports.tier.connect().await {
        let error = error.with_causes();
        tracing::warn!(error, "The store of inboxes outside SQL does not answer. The inboxes there are not audited.");
    }
    let readers = Readers::new(ports.queue.clone(), ambient.clock.clone(), config.upkeep.seen_every_ms.as_i64());
    let reader = TimelineReader::new(&ports, Arc::new(readers));
    Ok((auditor(&ports, Arc::new(store.clone()), Arc::new(reader), options), store))
}

/// What a node's own audits do.
pub fn options(config: &Config) -> AuditOptions {
    let size = PageSize::default();
    AuditOptions { pages: config.audit.pages, size, repair: config.audit.repair, step: config.inbox.extend_step }
}
