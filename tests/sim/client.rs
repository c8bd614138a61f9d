//! Clients: what they do, and which answers they accept.

use std::sync::Arc;

use tidefeed::{
    accounts::{EditOutcome, ProfileChange},
    app::UseCases,
    domain::{
        ContentId, Direction, Entry, Kinds, PageRequest, Reaction, UserId, content::Draft, reference::Reference,
        timeline::folding::Folded,
    },
    follow::{ExclusionOutcome, FollowOutcome, UnfollowOutcome},
    publish::{PublishError, PublishOutcome, ReactionOutcome, RemoveOutcome},
    store::{
        AccountDeletions as _, Cards as _,
        cards::{ContentCard, ContentParts, UserParts},
    },
};

use crate::{
    due::{due, fault},
    oracle::{Fact, Item, Version},
    world::{Counts, Shared},
};

/// Pages of a walk at most.
const LONGEST_WALK: usize = 40;

/// A way to keep somebody out of a timeline.
#[derive(Debug, Clone, Copy)]
pub enum Exclusion {
    Mutes,
    HidesFrom,
    Blocks,
}

impl Exclusion {
    pub const ALL: [Self; 3] = [Self::Mutes, Self::HidesFrom, Self::Blocks];
}

/// Somebody's device, talking to one node.
pub struct Client {
    pub shared: Arc<Shared>,
    pub app: Arc<UseCases>,
}

/// A reader's timeline, remembered while this lives.
pub struct Watch<'a> {
    shared: &'a Shared,
    number: u64,
}

impl<'a> Watch<'a> {
    pub fn of(shared: &'a Shared, reader: UserId) -> Self {
        Self { shared, number: shared.primary_store.base().checks.watch(reader) }
    }

    /// Of all instants since it began, or since [`Self::versions`], this is true of one.
    pub fn ever(&self, is_so: impl FnMut(&Version) -> bool) -> bool {
        self.shared.primary_store.base().checks.remembered(self.number).iter().any(is_so)
    }

    fn versions(&self, anew: bool) -> Vec<Version> {
        self.shared.primary_store.base().checks.versions(self.number, anew)
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.shared.primary_store.base().checks.unwatch(self.number);
    }
}

impl Client {
    pub fn fail(&self, what: &'static str, detail: impl FnOnce() -> String) {
        self.shared.primary_store.base().checks.fail(what, detail);
    }

    pub async fn publish(self, author: UserId, key: Option<String>, reference: Reference) {
        Counts::count(&self.shared.counts.publishes, 1);
        self.shared.injector.note(|| format!("{author} publishes {reference:?}, key {key:?}"));
        let draft = Draft { text: String::new(), media: Vec::new(), idempotency_key: key, reference, object: None };
        match self.app.publisher.publish(author, draft).await {
            Ok(PublishOutcome::Published(content)) => {
                self.shared.injector.note(|| format!("{author} has published {}", content.id));
                if self.shared.primary_store.base().checks.oracle.content(content.entry()).is_none() {
                    self.fail("what was acknowledged is not there", || format!("{content:?}"));
                }
            }
            Ok(PublishOutcome::Repeated(_)) => {}
            Ok(PublishOutcome::UnknownReference) if reference != Reference::Nothing => {}
            Ok(PublishOutcome::UnknownAuthor | PublishOutcome::UnknownReference | PublishOutcome::Conflict) => {
                self.fail("an author is unknown", || author.to_string());
            }
            Err(PublishError::Store(error)) => self.shared.excuse("a publish failed", &error),
            Err(error @ (PublishError::NoFreeId | PublishError::TooManyUnindexed)) => {
                self.fail("a publish was refused", || error.to_string());
            }
        }
    }

    pub async fn remove(self, entry: Entry) {
        Counts::count(&self.shared.counts.removals, 1);
        self.shared.injector.note(|| format!("{} removes {}", entry.author, entry.content));
        let losses = self.shared.primary_store.base().losses;
        match self.app.publisher.remove(entry.author, entry.content).await {
            Ok(RemoveOutcome::Removed | RemoveOutcome::Unknown) => {
                // A fail-over may have lost the removal since.
                if self.shared.primary_store.base().losses == losses
                    && self.shared.primary_store.base().checks.oracle.content(entry) == Some(true)
                {
                    self.fail("what was removed is there", || format!("{entry:?}"));
                }
            }
            Ok(RemoveOutcome::NotTheAuthor) => self.fail("an author may not remove", || format!("{entry:?}")),
            Err(error) => self.shared.excuse("a removal failed", &error),
        }
    }

    pub async fn follow(&self, reader: UserId, author: UserId) {
        Counts::count(&self.shared.counts.follows, 1);
        self.shared.injector.note(|| format!("{reader} follows {author}"));
        let began = self.shared.primary_store.base().checks.oracle.instant();
        match self.app.following.follow(reader, author).await {
            Ok(FollowOutcome::Following) => self.expect(began, Fact::Follows(reader, author), true),
            Ok(FollowOutcome::Blocked) => {}
            Ok(FollowOutcome::UnknownAuthor) if self.shared.leavers.contains(&author) => {}
            Ok(outcome) => self.fail("a follow was refused", || format!("{outcome:?}")),
            Err(error) => self.shared.excuse("a follow failed", &error),
        }
    }

    pub async fn unfollow(&self, reader: UserId, author: UserId) {
        Counts::count(&self.shared.counts.unfollows, 1);
        self.shared.injector.note(|| format!("{reader} unfollows {author}"));
        let began = self.shared.primary_store.base().checks.oracle.instant();
        match self.app.following.unfollow(reader, author).await {
            Ok(UnfollowOutcome::NotFollowing) => self.expect(began, Fact::Follows(reader, author), false),
            Ok(UnfollowOutcome::Oneself) => {}
            Err(error) => self.shared.excuse("an unfollow failed", &error),
        }
    }

    /// An account is deleted.
    pub async fn leave(self, leaver: UserId) {
        self.shared.injector.note(|| format!("the account of {leaver} is deleted"));
        let now = self.shared.injector.now();
        if let Err(error) = self.shared.primary_store.delete(leaver, None, now).await {
            self.shared.excuse("a deletion failed", &error);
        }
    }

    /// Many come to an author, or leave.
    pub async fn crowd(self, readers: Vec<UserId>, author: UserId, come: bool) {
        for reader in readers {
            match come {
                true => self.follow(reader, author).await,
                false => self.unfollow(reader, author).await,
            }
        }
    }

    /// Mutes, hides from or blocks, or lifts it.
    pub async fn keep_out(self, who: UserId, whom: UserId, how: Exclusion, there: bool) {
        Counts::count(&self.shared.counts.exclusions, 1);
        self.shared.injector.note(|| format!("{who} {how:?} {whom}: {there}"));
        let began = self.shared.primary_store.base().checks.oracle.instant();
        let exclusions = &self.app.excluding;
        let outcome = match (how, there) {
            (Exclusion::Mutes, true) => exclusions.mute(who, whom).await,
            (Exclusion::Mutes, false) => exclusions.unmute(who, whom).await,
            (Exclusion::HidesFrom, true) => exclusions.hide(who, whom).await,
            (Exclusion::HidesFrom, false) => exclusions.unhide(who, whom).await,
            (Exclusion::Blocks, true) => exclusions.block(who, whom).await,
            (Exclusion::Blocks, false) => exclusions.unblock(who, whom).await,
        };
        let fact = match how {
            Exclusion::Mutes => Fact::Excluded(who, whom, 1),
            Exclusion::HidesFrom => Fact::Excluded(whom, who, 2),
            Exclusion::Blocks => Fact::Excluded(who, whom, 3),
        };
        match outcome {
            Ok(ExclusionOutcome::Done) => self.expect(began, fact, there),
            Ok(ExclusionOutcome::Oneself) => {}
            Ok(outcome) => self.fail("nobody could be kept out", || format!("{outcome:?}")),
            Err(error) => self.shared.excuse("nobody was kept out", &error),
        }
    }

    pub async fn rename(self, user: UserId, name: u64) {
        Counts::count(&self.shared.counts.reactions, 1);
        self.shared.injector.note(|| format!("{user} is called {name}"));
        let change = ProfileChange { name: Some(format!("name{name}")), ..ProfileChange::default() };
        match self.app.profiles.edit(user, change).await {
            Ok(EditOutcome::Edited) => {}
            Ok(outcome) => self.fail("a name was refused", || format!("{outcome:?}")),
            Err(error) => self.shared.excuse("a profile was not changed", &error),
        }
    }

    /// Likes or bookmarks, or takes it back.
    pub async fn react(self, user: UserId, content: ContentId, reaction: Reaction, there: bool) {
        Counts::count(&self.shared.counts.reactions, 1);
        self.shared.injector.note(|| format!("{user} reacts to {content}: {reaction:?} {there}"));
        let outcome = match there {
            true => self.app.reacting.react(user, content, reaction).await,
            false => self.app.reacting.take_back(user, content, reaction).await,
        };
        match outcome {
            Ok(ReactionOutcome::Done(_) | ReactionOutcome::UnknownContent) => {}
            Err(error) => self.shared.excuse("a reaction failed", &error),
        }
    }

    fn expect(&self, began: usize, fact: Fact, there: bool) {
        if !self.shared.primary_store.base().checks.oracle.was_since(began, fact, there) {
            self.fail("what was acknowledged did not happen", || format!("{fact:?} should be {there}"));
        }
    }

    /// One page, judged.
    pub async fn page(&self, reader: UserId, request: PageRequest) -> Option<Folded> {
        let watch = Watch::of(&self.shared, reader);
        self.judged(&watch, reader, request).await
    }

    async fn judged(&self, watch: &Watch<'_>, reader: UserId, request: PageRequest) -> Option<Folded> {
        Counts::count(&self.shared.counts.pages, 1);
        self.shared.injector.note(|| format!("{reader} reads {request:?}"));
        let skeleton = match self.app.reader.skeleton(reader, &request, true).await {
            Ok(skeleton) => skeleton,
            Err(error) => {
                self.shared.excuse("a read failed", &error);
                return None;
            }
        };
        let page = skeleton.fold(&request);
        let cards = self.app.reader.cards(&page.entries, &skeleton.facts);
        self.judge_cards(watch, (reader, &request), &page, &cards);
        let versions = watch.versions(true);
        self.shared.injector.note(|| format!("{reader} is shown {}", words(&page)));
        Counts::count(&self.shared.counts.checked, 1);
        Counts::count(&self.shared.counts.entries, page.unfolded.len() as u64);
        if let Some(what) = fault(&page, &versions, &request) {
            let due = |version: &Version| words(&due(version, &request));
            let all: Vec<String> = versions.iter().map(due).collect();
            self.fail(what, || format!("{reader} asks for {request:?}\n  is shown {}\n  due: {all:#?}", words(&page)));
        }
        self.hydrate(reader, &page, &cards).await;
        Some(page)
    }

    /// Cards show what was so at the page's instant, or later.
    fn judge_cards(
        &self,
        watch: &Watch<'_>,
        (reader, request): (UserId, &PageRequest),
        page: &Folded,
        cards: &[ContentCard],
    ) {
        if cards.is_empty() {
            return;
        }
        Counts::count(&self.shared.counts.cards, cards.len() as u64);
        let wrong = {
            let base = self.shared.primary_store.base();
            let checks = &base.checks;
            let is_of = |version: &Version| due(version, request) == *page;
            let Some(first) = checks.remembered(watch.number).iter().position(is_of) else { return };
            let shown = checks.shown_since(watch.number, first);
            let wrong = cards.iter().find(|card| !shown.iter().any(|shown| shown.has(reader, card)));
            wrong.map(|card| format!("{reader}: {card:?}\n  due: {shown:#?}"))
        };
        if let Some(detail) = wrong {
            self.fail("a card shows what is not so", || detail);
        }
    }

    /// As the API's loaders: reads the cards that the node does not remember, and remembers them, perhaps late.
    async fn hydrate(&self, reader: UserId, page: &Folded, cards: &[ContentCard]) {
        if self.shared.plan.cards == 0 {
            return;
        }
        let is_known = |id: &ContentId| cards.iter().any(|card| card.content.id == *id && card.author.is_some());
        let missing: Vec<ContentId> = page.entries.iter().map(|it| it.content).filter(|id| !is_known(id)).collect();
        if missing.is_empty() {
            return;
        }
        let parts = ContentParts { counters: true, reactions: true, author: Some(UserParts::default()) };
        match self.shared.primary_store.content_cards(Some(reader), &missing, parts).await {
            Ok(read) => {
                self.shared.injector.switch().await;
                self.app.reader.remember_cards(&read);
            }
            Err(error) => self.shared.excuse("cards could not be read", &error),
        }
    }

    /// Page after page, from one end of the timeline to the other. What was there all the while must have been shown,
    /// and nothing twice.
    pub async fn walk(self, reader: UserId, from: PageRequest) {
        let (whole, watch) = (Watch::of(&self.shared, reader), Watch::of(&self.shared, reader));
        let mut request = PageRequest { bound: None, ..from };
        let mut shown: Vec<ContentId> = Vec::new();
        for _ in 0..LONGEST_WALK {
            watch.versions(true);
            let Some(page) = self.judged(&watch, reader, request).await else { return };
            shown.extend(page.unfolded.iter().map(|entry| entry.content));
            let (last, more) = match request.direction {
                Direction::Older => (page.unfolded.last(), page.has_older),
                Direction::Newer => (page.unfolded.first(), page.has_newer),
            };
            match last {
                Some(last) if more => request.bound = Some(last.position()),
                _ => return self.judge_walk(reader, &whole.versions(false), &shown, request.kinds),
            }
            self.shared.injector.switch().await;
        }
    }

    fn judge_walk(&self, reader: UserId, versions: &[Version], shown: &[ContentId], kinds: Kinds) {
        let mut sorted = shown.to_vec();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            self.fail("a walk shows something twice", || format!("{reader}: {shown:?}"));
        }
        let Some((first, rest)) = versions.split_first() else { return };
        let asked = first.iter().filter(|it| kinds.contains(it.kind));
        let mut throughout = asked.filter(|it| rest.iter().all(|version| version.contains(it)));
        if let Some(Item { entry, .. }) = throughout.find(|it| !shown.contains(&it.entry.content)) {
            self.fail("a walk lacks what was there all the while", || format!("{reader}: {entry:?}, shown {shown:?}"));
        }
    }
}

fn words(page: &Folded) -> String {
    let shown = |it: &Entry| if page.entries.contains(it) { "" } else { "folded " };
    let entries: Vec<String> = page
        .unfolded
        .iter()
        .map(|it| format!("{}{} of {} at {}", shown(it), it.content, it.author, it.publish_time))
        .collect();
    format!("[{}] older {} newer {}", entries.join(", "), page.has_older, page.has_newer)
}
