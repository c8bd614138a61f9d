//! Simulates devices that watch live: each reads a page, subscribes with its token, applies the events, and reconnects
//! with its last token when its connection breaks or its node dies. It checks the promises of docs/live.md.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tidefeed::{
    app::UseCases,
    domain::{
        ContentId, Entry, Page, PageRequest, PageSize, Position, ResumePoint, UserId,
        live::view::{Change, Reason},
        timeline::folding::Folded,
    },
    live::Update,
};

use crate::{
    client::{Client, Watch},
    oracle::{Item, Version},
    rules::Rule,
    scheduler::Owner,
    world::{Connected, Counts, Shared, World},
};

/// Turns that a device stays away at most.
const LONGEST_AWAY: u64 = 60;

/// Somebody's device, wherever it is connected.
pub struct Device {
    pub reader: UserId,
    /// The number of the watch that remembers the reader's timeline from the beginning on.
    life: u64,
    held: Mutex<Held>,
}

/// What it shows, and what it says of that when it comes back.
#[derive(Debug, Default)]
struct Held {
    entries: BTreeMap<ContentId, Entry>,
    /// `None`: it must read a page.
    point: Option<ResumePoint>,
}

/// What a device is answered with.
struct Connection<'a> {
    device: &'a Device,
    client: &'a Client,
    /// The timeline since the connection was made.
    since: Watch<'a>,
}

impl Device {
    pub fn of(reader: UserId, shared: &Shared) -> Self {
        Self { reader, life: shared.primary_store.base().checks.watch(reader), held: Mutex::default() }
    }

    /// Reads, watches, and does so again whenever that ends.
    pub async fn live(self: Arc<Self>, shared: Arc<Shared>, app: Arc<UseCases>) {
        let client = Client { shared: Arc::clone(&shared), app };
        loop {
            self.connect(&client).await;
            for _ in 0..=shared.injector.below(LONGEST_AWAY) {
                shared.injector.pause().await;
            }
        }
    }

    /// What it holds above the floor, newest first, and the floor; `None` if it does not know.
    pub fn above_floor(&self) -> Option<(Position, Vec<Entry>)> {
        let held = self.held();
        let floor = held.point.as_ref()?.floor();
        let mut entries: Vec<Entry> = held.entries.values().filter(|it| it.position() > floor).copied().collect();
        entries.sort_by_key(|it| std::cmp::Reverse(it.position()));
        Some((floor, entries))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until the connection breaks, or the device must read again.
    async fn connect(&self, client: &Client) {
        let injector = &client.shared.injector;
        let Some(point) = self.point(client).await else { return };
        let since = Watch::of(&client.shared, self.reader);
        injector.note(|| format!("{} watches, holding {point:?}", self.reader));
        let mut subscription = match client.app.live.subscribe(self.reader, Some(point)).await {
            Ok(subscription) => subscription,
            Err(error) => return client.shared.excuse_subscription(&error),
        };
        let connection = Connection { device: self, client, since };
        let hang_up = client.shared.plan.watchers.hang_up;
        loop {
            let update = match subscription.next().await {
                Ok(event) => event.update,
                Err(error) => return client.shared.excuse_subscription(&error),
            };
            if injector.injects(hang_up) {
                return injector.note(|| format!("{} does not hear of {update:?}", self.reader));
            }
            injector.note(|| format!("{} receives {update:?}", self.reader));
            connection.update(update, subscription.point());
            if injector.injects(hang_up) || self.held().point.is_none() {
                return;
            }
            injector.switch().await;
        }
    }

    /// Its own, or that of a page that it reads for it. As it travels.
    async fn point(&self, client: &Client) -> Option<ResumePoint> {
        let known = self.held().point.clone();
        let point = match known {
            Some(point) => point,
            None => self.read(client).await?,
        };
        let decoded = ResumePoint::decode(&point.encode());
        decoded.inspect_err(|error| client.fail("a token is refused", || format!("{point:?}: {error}"))).ok()
    }

    async fn read(&self, client: &Client) -> Option<ResumePoint> {
        let size = client.shared.injector.within(1, client.shared.plan.watchers.page);
        let request = PageRequest::newest(PageSize::try_new(size).ok()?);
        let page = client.page(self.reader, request).await?;
        let point = match client.shared.broken {
            Some(Rule::FoldedCountsAsHeld) => ResumePoint::of_page(&request, &unfolded(&page)),
            _ => ResumePoint::of_page(&request, &page),
        };
        let entries = page.entries.iter().map(|entry| (entry.content, *entry)).collect();
        *self.held() = Held { entries, point: Some(point.clone()) };
        Some(point)
    }
}

impl Connection<'_> {
    fn update(&self, update: Update, point: Option<ResumePoint>) {
        Counts::count(&self.client.shared.counts.events, 1);
        let mut held = self.device.held();
        let floor = held.point.as_ref().map_or(Position::NEWEST, ResumePoint::floor);
        let wrong = match update {
            Update::Change(Change::Added(entry)) if self.passes_over(&held, entry) => None,
            Update::Change(Change::Added(entry)) => {
                let twice = held.entries.insert(entry.content, entry).is_some() && entry.position() > floor;
                if twice { Some("a device receives a content that it holds") } else { self.is_new(entry) }
            }
            Update::Change(Change::Removed(content)) => match held.entries.remove(&content) {
                None if self.is_above(floor, content) => {
                    Some("a device receives a removal of something that it does not hold")
                }
                _ => self.is_gone(content),
            },
            Update::Change(Change::AuthorRemoved(author)) => {
                held.entries.retain(|_, it| it.author != author);
                None
            }
            Update::Change(Change::Refetch(reason)) => self.must_read(floor, reason),
            Update::Relation { .. } | Update::ReadUpTo(_) | Update::MayDiffer => None,
        };
        *held = match update {
            Update::Change(Change::Refetch(_)) => Held::default(),
            _ => Held { point, entries: std::mem::take(&mut held.entries) },
        };
        if let Some(what) = wrong {
            self.client.fail(what, || format!("{}: {update:?}", self.device.reader));
        }
    }

    /// What is wrong with an entry that was added, if it never was in the timeline.
    fn is_new(&self, entry: Entry) -> Option<&'static str> {
        let there = |version: &Version| version.iter().any(|it| it.entry == entry);
        let ever = self.client.shared.primary_store.base().checks.remembered(self.device.life).iter().any(there);
        (!ever).then_some("a device receives what is not in its timeline")
    }

    /// As a device of that kind would.
    fn passes_over(&self, held: &Held, entry: Entry) -> bool {
        self.client.shared.broken == Some(Rule::OnlyTheNewestIsTaken)
            && held.entries.values().any(|it| it.position() > entry.position())
    }

    /// What is wrong with a content that has left, if it never did, and never was folded away.
    fn is_gone(&self, content: ContentId) -> Option<&'static str> {
        let gone = |version: &Version| version.iter().all(|it| it.entry.content != content);
        let wrong = !self.since.ever(gone) && !self.was_folded_away(content);
        wrong.then_some("a device receives a removal of something that is there")
    }

    fn was_folded_away(&self, content: ContentId) -> bool {
        let folded = |version: &Version| {
            let mut newer = version.iter().take_while(|it| it.entry.content != content);
            let it = version.iter().find(|it| it.entry.content == content);
            it.is_some_and(|it| newer.any(|newer| newer.subject == it.subject))
        };
        self.client.shared.primary_store.base().checks.remembered(self.device.life).iter().any(folded)
    }

    fn is_above(&self, floor: Position, content: ContentId) -> bool {
        let base = self.client.shared.primary_store.base();
        base.checks.oracle.contents().any(|(it, _)| it.content == content && it.position() > floor)
    }

    /// A client that says what it holds is asked to read again only if there is more than a catch-up brings.
    fn must_read(&self, floor: Position, reason: Reason) -> Option<&'static str> {
        let most = usize::from(self.client.shared.plan.settings.live.catch_up);
        let many = |version: &Version| version.iter().filter(|it| it.entry.position() > floor).count() > most;
        let due = reason == Reason::GapTooLarge && self.since.ever(many);
        (!due).then_some("a device is asked to read again without need")
    }
}

/// What stands of a timeline above a floor, as naively as it can be said.
fn folded(timeline: &[Item], floor: Position) -> Vec<Entry> {
    let mut met = BTreeSet::new();
    let above = timeline.iter().filter(|it| it.entry.position() > floor);
    above.filter(|it| met.insert(it.subject)).map(|it| it.entry).collect()
}

/// The page, as if all that it is made of were shown.
fn unfolded(page: &Folded) -> Folded {
    Folded::from(Page { entries: page.unfolded.clone(), has_older: page.has_older, has_newer: page.has_newer })
}

impl World {
    /// Devices that have no connection get one, to any node.
    pub fn connect(&mut self, devices: impl IntoIterator<Item = usize>) {
        for device in devices {
            let shared = Arc::clone(&self.shared);
            let node = shared.injector.index(self.nodes.len());
            let app = Arc::clone(&self.nodes[node].app);
            self.devices[device].node = node;
            let life = Arc::clone(&self.devices[device].device).live(shared, app);
            self.scheduler.settle(Owner::Node(node), life);
        }
    }

    /// What every device holds above its floor is the folded timeline, once nothing happens any more.
    pub fn look_at_devices(&mut self) {
        for Connected { device, .. } in &self.devices {
            let mut base = self.shared.primary_store.base();
            let timeline = base.checks.oracle.timeline(device.reader);
            let Some((floor, held)) = device.above_floor() else {
                base.checks.fail("a device never knows what it holds", || device.reader.to_string());
                continue;
            };
            let due = folded(&timeline, floor);
            base.checks.fail_if(held != due, "a device does not hold its timeline", || {
                format!("{} above {floor:?}\n  holds {held:?}\n  due: {due:?}", device.reader)
            });
        }
    }
}
