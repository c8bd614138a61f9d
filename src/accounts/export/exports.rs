//! Issues links to exports of accounts, and opens them.

use std::{net::IpAddr, sync::Arc, time::Duration};

use super::{
    error::ExportError,
    lists::{self, ExportList, ExportStores, PageStart, Rows},
    slots::{ExportSlot, Slots},
};
use crate::{
    accounts::{
        tokens::{Token, TokenError, TokenKey, Tokens, WeakSecret},
        viewer::{IssuingKey, Viewer},
    },
    clock::SharedClock,
    domain::{Position, Profile, account::attributes::Attributes},
};

/// Lifetime of a link: long enough to follow it, too short to keep it.
const LINK_TTL: Duration = Duration::from_mins(10);
/// Separates the links' key from the access tokens' key.
const PURPOSE: &str = "tidefeed export link";

/// Issues links and opens exports.
pub struct Exports {
    stores: ExportStores,
    links: Tokens,
    slots: Slots,
    clock: SharedClock,
}

impl Exports {
    /// Signs links with a key derived from `secret`, and also accepts those of `former` secrets. Each has at least 32
    /// bytes.
    pub fn try_new(
        stores: ExportStores,
        secret: &[u8],
        former: &[Vec<u8>],
        clock: SharedClock,
    ) -> Result<Self, WeakSecret> {
        let links = Tokens::new(TokenKey::for_purpose(secret, PURPOSE)?, LINK_TTL, clock.clone());
        let links = former.iter().try_fold(links, |links, secret| {
            Ok::<_, WeakSecret>(links.with_former_key(TokenKey::for_purpose(secret, PURPOSE)?))
        })?;
        Ok(Self { stores, links, slots: Slots::default(), clock })
    }

    /// Whether an export waits for a slot: then who stops reading loses theirs soon.
    pub fn are_waited_for(&self) -> bool {
        self.slots.are_waited_for()
    }

    /// A token that opens an export of the viewer's account. Runs no statement.
    pub fn link(&self, viewer: &Viewer) -> Result<Token, TokenError> {
        self.links.issue_as(viewer).map(|(_, token)| token)
    }

    /// Whose export a link opens. Runs no statement.
    pub fn viewer_of(&self, token: &str) -> Result<Viewer, ExportError> {
        Ok(self.links.verify(token)?)
    }

    /// Opens the export of `viewer`, as [`Self::viewer_of`] has returned them, for a client in `network`. It takes one
    /// of this node's slots until it is dropped.
    pub async fn open(self: &Arc<Self>, viewer: Viewer, network: Option<IpAddr>) -> Result<Export, ExportError> {
        let slot = self.slots.take(viewer.id, network).await?;
        let export = Export { exports: Arc::clone(self), viewer, opened_at_ms: self.clock.now_ms(), _slot: slot };
        export.check_alive().await?;
        Ok(export)
    }
}

/// The user whose copy it is: its first row.
#[derive(Debug)]
pub struct Owner {
    /// What everybody sees of them.
    pub profile: Profile,
    /// Their open attributes.
    pub attributes: Attributes,
    /// How far they have read their timeline.
    pub read_marker: Option<Position>,
}

/// A copy that is being written.
pub struct Export {
    exports: Arc<Exports>,
    viewer: Viewer,
    /// When the link was followed, ms UTC.
    pub opened_at_ms: i64,
    _slot: ExportSlot,
}

impl Export {
    /// Whose copy it is. Three statements.
    pub async fn owner(&self) -> Result<Owner, ExportError> {
        let stores = &self.exports.stores;
        let id = self.viewer.id;
        let profile = stores.accounts.profiles(&[id]).await?.into_iter().next().ok_or(ExportError::NoAccount)?;
        let attributes = stores.accounts.attributes(&[id]).await?.into_iter().next();
        let attributes = attributes.map(|(_, attributes)| attributes).unwrap_or_default();
        Ok(Owner { profile, attributes, read_marker: stores.accounts.marker(id).await? })
    }

    /// A page of a list, newest first or by ascending id, and where the next page begins; `None` after the last one.
    /// Reads at most [`crate::domain::limits::MAX_PAGE`] rows in at most five statements, one of which checks the
    /// link.
    pub async fn page(
        &self,
        list: ExportList,
        after: Option<PageStart>,
    ) -> Result<(Rows, Option<PageStart>), ExportError> {
        self.check_alive().await?;
        let now_ms = self.exports.clock.now_ms();
        Ok(lists::page(&self.exports.stores, self.viewer.id, list, after, now_ms).await?)
    }

    /// Checks that the session exists, or for viewers without one that they may sign in, and that the key of the
    /// service with which their token was issued exists. Asks the store each time, so that signing out takes effect at
    /// once.
    pub async fn check_alive(&self) -> Result<(), ExportError> {
        let (stores, now_ms) = (&self.exports.stores, self.exports.clock.now_ms());
        if let Some(session) = self.viewer.session {
            let living = stores.accounts.living(&[session], now_ms).await?;
            return if living.is_empty() { Err(ExportError::SessionEnded) } else { Ok(()) };
        }
        if let Some(IssuingKey::Stored(key)) = self.viewer.issued_by
            && stores.accounts.living_keys(&[key], now_ms).await?.is_empty()
        {
            return Err(ExportError::SessionEnded);
        }
        let active = stores.accounts.active_among(&[self.viewer.id]).await?;
        if active.is_empty() { Err(ExportError::NoAccount) } else { Ok(()) }
    }
}
