//! Makes links to copies of an account, and opens what they lead to.

use std::{sync::Arc, time::Duration};

use super::{
    error::ExportError,
    lists::{self, ExportList, ExportStores, PageStart, Rows},
    slots::{Slot, Slots},
};
use crate::{
    accounts::{
        tokens::{Token, TokenError, TokenKey, Tokens, WeakSecret},
        viewer::Viewer,
    },
    clock::SharedClock,
    domain::{Position, Profile, account::attributes::Attributes},
};

/// How long a link is good: long enough to follow it, too short to be worth keeping.
const LINK_TTL: Duration = Duration::from_mins(10);
/// Sets the links' key apart from that of access tokens.
const PURPOSE: &str = "tidefeed export link";

/// Makes links, and opens what they lead to.
pub struct Exports {
    stores: ExportStores,
    links: Tokens,
    slots: Slots,
    clock: SharedClock,
}

impl Exports {
    /// Signs links with a key made of `secret`, and takes those of `former` secrets; each at least 32 bytes.
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

    /// A token that opens a copy of the viewer's account. Asks no store.
    pub fn link(&self, viewer: &Viewer) -> Result<Token, TokenError> {
        self.links.issue_for(viewer.id, viewer.session).map(|(_, token)| token)
    }

    /// What a link leads to. Holds one of this node's places until it is dropped.
    pub async fn open(self: &Arc<Self>, token: &str) -> Result<Export, ExportError> {
        let viewer = self.links.verify(token)?;
        let slot = self.slots.take(viewer.id)?;
        let export = Export { exports: Arc::clone(self), viewer, opened_at_ms: self.clock.now_ms(), _slot: slot };
        export.check_alive().await?;
        Ok(export)
    }
}

/// What stands at the head of a copy.
#[derive(Debug)]
pub struct Owner {
    /// What everybody sees of them.
    pub profile: Profile,
    /// Their open attributes.
    pub attributes: Attributes,
    /// Up to where they have read their timeline.
    pub read_marker: Option<Position>,
}

/// A copy that is being written.
pub struct Export {
    exports: Arc<Exports>,
    viewer: Viewer,
    /// When the link was followed, ms UTC.
    pub opened_at_ms: i64,
    _slot: Slot,
}

impl Export {
    /// Whose copy it is. Three statements.
    pub async fn owner(&self) -> Result<Owner, ExportError> {
        let stores = &self.exports.stores;
        let id = self.viewer.id;
        let profile = stores.accounts.profiles(&[id]).await?.into_iter().next().ok_or(ExportError::NoAccount)?;
        let attributes = stores.profiles.attributes(&[id]).await?.into_iter().next();
        let attributes = attributes.map(|(_, attributes)| attributes).unwrap_or_default();
        Ok(Owner { profile, attributes, read_marker: stores.read_markers.marker(id).await? })
    }

    /// A page of a list, newest first or by ascending id, and where the next one begins; `None` after the last. At
    /// most [`crate::domain::limits::MAX_PAGE`] rows, in at most five statements, one of which asks whether the link
    /// still is good.
    pub async fn page(
        &self,
        list: ExportList,
        after: Option<PageStart>,
    ) -> Result<(Rows, Option<PageStart>), ExportError> {
        self.check_alive().await?;
        let now_ms = self.exports.clock.now_ms();
        Ok(lists::page(&self.exports.stores, self.viewer.id, list, after, now_ms).await?)
    }

    /// Whether the session lives, or the account where there is no session. Asks the store each time: whoever signs
    /// out means it.
    pub async fn check_alive(&self) -> Result<(), ExportError> {
        let stores = &self.exports.stores;
        if let Some(session) = self.viewer.session {
            let living = stores.sessions.living(&[session], self.exports.clock.now_ms()).await?;
            return if living.is_empty() { Err(ExportError::SessionEnded) } else { Ok(()) };
        }
        let profiles = stores.accounts.profiles(&[self.viewer.id]).await?;
        if profiles.is_empty() { Err(ExportError::NoAccount) } else { Ok(()) }
    }
}
