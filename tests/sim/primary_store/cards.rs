//! What cards show, in the model: profiles and reactions with their versions, and the facts beside a page's entries.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use tidefeed::{
    domain::{
        ContentId, Entry, Handle, IdMap, Listing, PageRequest, Reaction, UserId, ViewerReactions,
        account::attributes::Attributes, timeline::candidates::CardFacts,
    },
    store::{
        Cards, Profiles, Reactions, StoreError,
        cards::{ContentCard, ContentParts, UserCard, UserParts},
        profiles::{ProfileEdit, Renamed},
        reactions::Reacted,
    },
};

use super::{
    accounts::profile,
    contents::{content, is_open},
    tables::{Change, Counts, Tables, User},
    transaction::{PrimaryStore, Tx, transaction},
    unsimulated::refused,
};
use crate::rules::Rule;

/// What the reader reacted to, with the version.
pub type OwnReactions = (i64, Vec<(ContentId, Reaction)>);

#[async_trait]
impl Cards for PrimaryStore {
    async fn content_cards(
        &self,
        viewer: Option<UserId>,
        ids: &[ContentId],
        parts: ContentParts,
    ) -> Result<Vec<ContentCard>, StoreError> {
        let card = |tables: &Tables, id: &ContentId| {
            let content = content(*id, tables.contents.get(id)?).filter(|it| is_open(tables, viewer, it.author))?;
            let author = profile(content.author, tables.users.get(&content.author)?);
            let author = UserCard { profile: Arc::new(author), counts: None, is_followed: None, exclusions: None };
            Some(ContentCard {
                content: Arc::new(content),
                counters: tables.counters.get(id).copied().filter(|_| parts.counters),
                reactions: viewer.filter(|_| parts.reactions).map(|viewer| reactions_to(tables, viewer, *id)),
                author: parts.author.map(|_| author),
            })
        };
        let cards = |tables: &Tables| ids.iter().filter_map(|id| card(tables, id)).collect::<Vec<_>>();
        let mut read = self.read_anywhere(cards).await?;
        if self.breaks(Rule::ProfileVersionIsReadApart) {
            let later = self.read(cards).await?;
            for author in read.iter_mut().filter_map(|card| card.author.as_mut()) {
                let same = |it: &&ContentCard| it.content.author == author.profile.id;
                let version = later.iter().find(same).and_then(|it| Some(it.author.as_ref()?.profile.version));
                let version = version.unwrap_or(author.profile.version);
                Arc::make_mut(&mut author.profile).version = version;
            }
        }
        Ok(read)
    }

    async fn user_cards(&self, _: Option<UserId>, _: &[UserId], _: UserParts) -> Result<Vec<UserCard>, StoreError> {
        refused()
    }
}

#[async_trait]
impl Profiles for PrimaryStore {
    async fn edit(&self, user: UserId, edit: &ProfileEdit, version: i64) -> Result<bool, StoreError> {
        transaction!(self, tx => rename(self, tx, user, edit, version))
    }

    async fn rename(&self, _: UserId, _: &Handle, _: i64) -> Result<Renamed, StoreError> {
        refused()
    }

    async fn attributes(&self, _: &[UserId]) -> Result<Vec<(UserId, Attributes)>, StoreError> {
        refused()
    }
}

/// Changes the name; nothing of the simulation shows the rest.
async fn rename(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    user: UserId,
    edit: &ProfileEdit,
    version: i64,
) -> Result<bool, StoreError> {
    let renamed = |before: &User| {
        let mut registration = before.registration.clone();
        registration.name = edit.name.clone().unwrap_or(registration.name);
        let profile_version = match primary_store.engine.broken {
            Some(Rule::ProfileKeepsVersion) => before.profile_version,
            Some(Rule::ProfileVersionIsCounted) => before.profile_version + 1,
            _ => version,
        };
        User { registration, profile_version, ..before.clone() }
    };
    let rows = tx.write(|tables| {
        let user_row = tables.users.get(&user);
        user_row.map(|before| Change::User(user, Some(renamed(before)), None)).into_iter().collect()
    });
    if rows.await? == 0 { tx.roll_back(false).await } else { tx.commit(true).await }
}

#[async_trait]
impl Reactions for PrimaryStore {
    async fn react(
        &self,
        user: UserId,
        content: ContentId,
        reaction: Reaction,
        version: i64,
        _now_ms: i64,
    ) -> Result<Reacted, StoreError> {
        transaction!(self, tx => change_reaction(self, tx, (user, content, reaction), true, version))
    }

    async fn take_back(
        &self,
        user: UserId,
        content: ContentId,
        reaction: Reaction,
        version: i64,
    ) -> Result<Reacted, StoreError> {
        transaction!(self, tx => change_reaction(self, tx, (user, content, reaction), false, version))
    }

    async fn of_user(&self, _: UserId, _: &[ContentId]) -> Result<Vec<(ContentId, ViewerReactions)>, StoreError> {
        refused()
    }

    async fn likers(
        &self,
        _: Option<UserId>,
        _: &[ContentId],
        _: &PageRequest,
    ) -> Result<Vec<Listing<UserId>>, StoreError> {
        refused()
    }

    async fn reacted_to(&self, _: UserId, _: Reaction, _: &PageRequest) -> Result<Listing<Entry>, StoreError> {
        refused()
    }
}

async fn change_reaction(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    (user, content, reaction): (UserId, ContentId, Reaction),
    there: bool,
    version: i64,
) -> Result<Reacted, StoreError> {
    let renewed = |tables: &Tables| {
        let counts = tables.counts.get(&user)?;
        let reactions_version = match primary_store.engine.broken {
            Some(Rule::ReactionKeepsVersion) => counts.reactions_version,
            Some(Rule::ReactionsAreCounted) => counts.reactions_version + 1,
            _ => version,
        };
        Some(Change::Counts(user, Some(Counts { reactions_version, ..*counts }), None))
    };
    let counted = |tables: &Tables| {
        let mut counters = tables.counters.get(&content).copied().filter(|_| tables.is_visible(content))?;
        let counter = match reaction {
            Reaction::Like => &mut counters.likes,
            Reaction::Bookmark => &mut counters.bookmarks,
        };
        *counter = (*counter + if there { 1 } else { -1 }).max(0);
        Some(Change::Counters(content, Some(counters), None))
    };
    if tx.write(|tables| renewed(tables).into_iter().collect()).await? == 0
        || tx.write(|tables| counted(tables).into_iter().collect()).await? == 0
    {
        return tx.roll_back(Reacted::UnknownContent).await;
    }
    let key = (content, reaction.code(), user);
    let gone = |tables: &Tables| {
        let is_there = tables.reactions.contains_key(&key);
        is_there.then_some(Change::Reaction(key, None, None)).into_iter().collect()
    };
    let changed = match there {
        true => tx.insert(Change::Reaction(key, Some(()), None)).await?,
        false => tx.write(gone).await? > 0,
    };
    if changed { tx.commit(Reacted::Done).await } else { tx.roll_back(Reacted::Already).await }
}

pub fn own_reactions(tables: &Tables, reader: UserId) -> OwnReactions {
    let own = tables.reactions.keys().filter(|(_, _, user)| *user == reader);
    let own = own.map(|(content, code, _)| (*content, of_code(*code)));
    (reactions_version(tables, reader), own.collect())
}

pub fn reactions_version(tables: &Tables, reader: UserId) -> i64 {
    tables.counts.get(&reader).map_or(0, |counts| counts.reactions_version)
}

fn of_code(code: i32) -> Reaction {
    if code == Reaction::Like.code() { Reaction::Like } else { Reaction::Bookmark }
}

fn reactions_to(tables: &Tables, reader: UserId, content: ContentId) -> ViewerReactions {
    let mut reactions = ViewerReactions::default();
    for reaction in [Reaction::Like, Reaction::Bookmark] {
        if tables.reactions.contains_key(&(content, reaction.code(), reader)) {
            reactions.add(reaction);
        }
    }
    reactions
}

/// The facts of an entry; with reactions of this reader, if one is given.
pub fn facts(tables: &Tables, entry: &Entry, reader: Option<UserId>) -> Option<CardFacts> {
    let counters = *tables.counters.get(&entry.content)?;
    let profile_version = tables.users.get(&entry.author)?.profile_version;
    let reactions = reader.map(|reader| reactions_to(tables, reader, entry.content)).unwrap_or_default();
    Some(CardFacts { counters, reactions, profile_version })
}

/// What a broken rule has read before the page's statement: the versions of profiles, and of the reader's reactions.
pub struct Earlier {
    profiles: Option<HashMap<UserId, i64>>,
    reactions: Option<i64>,
}

impl Earlier {
    /// Reads what the broken rule, if it is one of these, reads too early.
    pub async fn read(primary_store: &PrimaryStore, reader: UserId) -> Result<Self, StoreError> {
        let (mut profiles, mut reactions) = (None, None);
        if primary_store.breaks(Rule::ProfileVersionOfAnEarlierSnapshot) {
            let versions = |tables: &Tables| {
                tables.users.iter().map(|(user, row)| (*user, row.profile_version)).collect::<HashMap<_, _>>()
            };
            profiles = Some(primary_store.read(versions).await?);
        }
        if primary_store.breaks(Rule::StretchVersionIsReadApart) {
            reactions = Some(primary_store.read(|tables| reactions_version(tables, reader)).await?);
        }
        Ok(Self { profiles, reactions })
    }

    pub fn reactions_version(&self, read: i64) -> i64 {
        self.reactions.unwrap_or(read)
    }

    /// The facts of these entries, without reactions.
    pub fn facts(&self, tables: &Tables, entries: &[Entry]) -> IdMap<ContentId, CardFacts> {
        let facts = entries.iter().filter_map(|entry| {
            let mut facts = facts(tables, entry, None)?;
            self.put_in(entry.author, &mut facts);
            Some((entry.content, facts))
        });
        facts.collect()
    }

    pub fn put_in(&self, author: UserId, facts: &mut CardFacts) {
        let earlier = self.profiles.as_ref().and_then(|profiles| profiles.get(&author));
        facts.profile_version = earlier.copied().unwrap_or(facts.profile_version);
    }
}
