//! The states of a timeline that the protocol allows, of one reader and four authors, and what the definition gives
//! there.

use anyhow::Result;
use proptest::{collection::vec, prelude::*};
use tidefeed::domain::{
    ContentKind, Direction, EdgeMode, Entry, Floor, Kinds, Page, PageRequest, Position, Run, UserId,
    timeline::exclusion::ExclusionKind,
};

use super::{World, rows::entry, user};

pub const AUTHORS: i64 = 4;

/// Everything that affects a page of one reader. The reader is user 1, authors are 11 and up.
#[derive(Clone, Debug)]
pub struct State {
    /// The edge to each author; `None` if not followed.
    pub edges: Vec<Option<EdgeMode>>,
    /// The exclusions of each author.
    pub excluded: Vec<Vec<ExclusionKind>>,
    /// `None`: no state row.
    pub floor: Option<Floor>,
    pub contents: Vec<Placed>,
}

/// A content, and the tables besides `contents` in which it is.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    pub entry: Entry,
    pub kind: ContentKind,
    /// The original's author, for a repost.
    pub original_author: Option<UserId>,
    pub removed: bool,
    pub in_flight: bool,
    pub in_inbox: bool,
}

impl State {
    pub fn edge(&self, author: UserId) -> Option<EdgeMode> {
        let place = usize::try_from(author.get() - 11).ok()?;
        self.edges.get(place).copied().flatten()
    }

    pub fn is_excluded(&self, author: UserId) -> bool {
        let place = usize::try_from(author.get() - 11).ok();
        place.and_then(|place| self.excluded.get(place)).is_some_and(|causes| !causes.is_empty())
    }

    pub fn is_shown(&self, content: &Placed) -> bool {
        !self.is_excluded(content.entry.author)
            && content.original_author.is_none_or(|author| !self.is_excluded(author))
    }

    pub fn floor(&self) -> Floor {
        self.floor.unwrap_or(Floor::Off)
    }

    /// Restores the invariant: every content for which the reader trusts the inbox is in it, or in flight.
    pub fn keep_the_invariant(mut self) -> Self {
        for place in 0..self.contents.len() {
            let it = self.contents[place];
            let covered = self.edge(it.entry.author) == Some(EdgeMode::Push)
                && it.entry.position() >= self.floor().trusted_from();
            if covered && !it.removed && !it.in_flight {
                self.contents[place].in_inbox = true;
            }
        }
        self
    }

    /// The timeline by its definition, newest first.
    pub fn timeline(&self, kinds: Kinds) -> Vec<Entry> {
        let mut entries: Vec<Entry> = self
            .contents
            .iter()
            .filter(|it| !it.removed && self.edge(it.entry.author).is_some() && self.is_shown(it))
            .filter(|it| kinds.contains(it.kind))
            .map(|it| it.entry)
            .collect();
        entries.sort_by_key(|it| std::cmp::Reverse(it.position()));
        entries
    }

    pub fn page(&self, request: &PageRequest) -> (Page, Vec<Entry>) {
        let all = self.timeline(request.kinds);
        let bound = request.bound.unwrap_or(request.direction.start());
        let mut ahead: Vec<Entry> =
            all.iter().filter(|it| request.direction.meets_first(bound, it.position())).copied().collect();
        if request.direction == Direction::Newer {
            ahead.reverse();
        }
        let more_ahead = ahead.len() > request.size.get();
        let more_behind = request.bound.is_some() && all.len() > ahead.len();
        let needed: Vec<Entry> = ahead.iter().take(request.need()).copied().collect();
        ahead.truncate(request.size.get());
        let page = match request.direction {
            Direction::Older => Page { entries: ahead, has_older: more_ahead, has_newer: more_behind },
            Direction::Newer => {
                ahead.reverse();
                Page { entries: ahead, has_older: more_behind, has_newer: more_ahead }
            }
        };
        (page, needed)
    }

    /// Whether the author is pulled.
    pub fn is_uncovered(&self, author: UserId) -> bool {
        self.edge(author).is_some_and(|mode| mode != EdgeMode::Push) && !self.is_excluded(author)
    }

    /// The outboxes of these authors that a cache would prove, ahead of the bound and behind it.
    pub fn outboxes(&self, request: &PageRequest, authors: &[UserId]) -> [Vec<Run>; 2] {
        let of_one = |author: UserId, direction: Direction, limit: usize, wanted: &dyn Fn(Position) -> bool| {
            let mut rows: Vec<Entry> = self
                .contents
                .iter()
                .filter(|it| !it.removed && it.entry.author == author && wanted(it.entry.position()))
                .map(|it| it.entry)
                .collect();
            rows.sort_by_key(Entry::position);
            if direction == Direction::Older {
                rows.reverse();
            }
            rows.truncate(limit);
            Run::from_limited_query(direction, rows, limit)
        };
        let PageRequest { direction, bound, .. } = *request;
        let from = bound.unwrap_or(direction.start());
        let ahead = |at| direction.meets_first(from, at);
        let of_all = |of: &dyn Fn(UserId) -> Run| authors.iter().map(|author| of(*author)).collect();
        let behind = match bound {
            Some(_) => of_all(&|author| of_one(author, direction.reversed(), 1, &|at| !ahead(at))),
            None => Vec::new(),
        };
        [of_all(&|author| of_one(author, direction, request.need(), &ahead)), behind]
    }

    pub fn bounds(&self) -> Vec<Option<Position>> {
        let mut bounds: Vec<Option<Position>> = vec![None, Some(Position::OLDEST), Some(Position::NEWEST)];
        bounds.extend(self.contents.iter().map(|it| Some(it.entry.position())));
        bounds.push(Some(self.floor().trusted_from()));
        bounds
    }

    pub async fn build(&self, world: &World) -> Result<()> {
        let tables =
            ["contents", "counters", "exclusions", "follows", "inboxes", "inbox_states", "deliveries", "outbox_heads"];
        for table in tables.into_iter().chain(["user_counts"]) {
            world.run(&format!("DELETE FROM {table}")).await?;
        }
        world.run("INSERT INTO user_counts (user_id) VALUES (1)").await?;
        let reader = user(1);
        for (place, mode) in (11..).zip(&self.edges) {
            if let Some(mode) = mode {
                world.put_edge(reader, user(place), *mode).await?;
            }
        }
        for (place, causes) in (11..).zip(&self.excluded) {
            for cause in causes {
                world.exclude(reader, user(place), *cause).await?;
                world.exclude(user(place), reader, *cause).await?;
            }
        }
        if let Some(floor) = self.floor {
            world.set_floor(reader, floor).await?;
        }
        world.run("INSERT INTO outbox_heads (author_id, stamp) VALUES (11, 7), (12, 8), (13, 9)").await?;
        let those = |wanted: &dyn Fn(&Placed) -> bool| -> Vec<Entry> {
            self.contents.iter().filter(|it| wanted(it)).map(|it| it.entry).collect()
        };
        world.put_contents(&those(&|_| true)).await?;
        world.deliver(&those(&|it| it.in_flight)).await?;
        world.fill_inbox(reader, &those(&|it| it.in_inbox)).await?;
        for it in self.contents.iter().filter(|it| it.kind != ContentKind::Post) {
            world.set_kind(it.entry.content, it.kind).await?;
        }
        for it in &self.contents {
            if let Some(author) = it.original_author {
                world.set_original_author(it.entry.content, author).await?;
            }
        }
        for it in self.contents.iter().filter(|it| it.removed) {
            world.remove(it.entry.content).await?;
        }
        Ok(())
    }
}

pub fn states() -> impl Strategy<Value = State> {
    let mode = prop_oneof![
        1 => Just(None),
        1 => Just(Some(EdgeMode::Pull)),
        1 => Just(Some(EdgeMode::Fill)),
        3 => Just(Some(EdgeMode::Push)),
    ];
    let floor = prop_oneof![
        1 => Just(None),
        1 => Just(Some(Floor::Off)),
        1 => Just(Some(Floor::OPEN)),
        2 => Just(Some(Floor::At(Position::OLDEST))),
        4 => (1_i64..8, 1_i64..20).prop_map(|(time, id)| Some(Floor::At(Position::bound(time, id)))),
    ];
    let kind = prop::sample::select(ContentKind::ALL.to_vec());
    let whereabouts = (proptest::bool::weighted(0.15), proptest::bool::weighted(0.25), any::<bool>());
    let placed = (1_i64..8, 11..11 + AUTHORS, kind, whereabouts, 11..11 + AUTHORS);
    let causes = prop_oneof![12 => Just(Vec::new()), 1 => prop::sample::subsequence(ExclusionKind::ALL.to_vec(), 1..3)];
    (vec(mode, 4), vec(causes, 4), floor, vec(placed, 0..18)).prop_map(|(edges, excluded, floor, contents)| {
        let contents =
            (1..).zip(contents).map(|(id, (time, author, kind, (removed, in_flight, in_inbox), original))| Placed {
                entry: entry(id, user(author), time),
                kind,
                original_author: (kind == ContentKind::Repost).then(|| user(original)),
                removed,
                in_flight,
                in_inbox,
            });
        State { edges, excluded, floor, contents: contents.collect() }.keep_the_invariant()
    })
}

/// The posts of one followed author, all in an inbox that is trusted as `floor` says. So it is known how its pages are
/// served.
pub fn of_one_author(floor: Floor) -> State {
    let placed = |id| Placed {
        entry: entry(id, user(11), id),
        kind: ContentKind::Post,
        original_author: None,
        removed: false,
        in_flight: false,
        in_inbox: true,
    };
    let edges = vec![Some(EdgeMode::Push), None, None, None];
    State { edges, excluded: vec![Vec::new(); 4], floor: Some(floor), contents: (1..=5).map(placed).collect() }
}
