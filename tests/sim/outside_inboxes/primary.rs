//! The primary store: what SQL holds, and the definition of a timeline. Each method is one statement or transaction.

use std::collections::{BTreeMap, BTreeSet};

use tidefeed::domain::{
    ContentId, Direction, EdgeMode, Entry, Floor, Position, UserId,
    timeline::{
        authors::TimelineAuthors,
        candidates::{Candidate, Candidates},
        outside::{Basis, BucketToken, Expected, Fence, Generation, Window},
    },
};

/// Buckets of this world.
pub const BUCKETS: usize = 2;

#[derive(Debug, Clone)]
pub struct Content {
    pub author: usize,
    pub removed: bool,
}

/// A content that may be missing in some inbox.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub author: usize,
    /// Readers served, in ascending order.
    pub through: usize,
    /// Drawn by each reading of recipients; progress counts for the last one only.
    pub attempt: i64,
}

#[derive(Debug, Clone)]
pub struct Edge {
    pub mode: EdgeMode,
    pub incarnation: i64,
}

#[derive(Debug, Clone)]
pub struct Reader {
    /// Whether the reader is in the outside tier; if not, pages never look at the outside store.
    pub outside: bool,
    pub generation: Generation,
    pub basis: Basis,
    /// Drawn anew by whatever changes whose contents the timeline shows, or takes trust from an edge.
    pub authors_version: i64,
}

#[derive(Debug, Clone, Default)]
pub struct Primary {
    pub contents: BTreeMap<Position, Content>,
    pub deliveries: BTreeMap<Position, Delivery>,
    pub edges: BTreeMap<(usize, usize), Edge>,
    pub muted: BTreeSet<(usize, usize)>,
    pub readers: Vec<Reader>,
    pub tokens: [Option<BucketToken>; BUCKETS],
}

/// What one statement says of a page.
#[derive(Debug)]
pub struct Snapshot {
    pub expected: Option<Expected>,
    /// The authors at the statement's instant.
    pub authors: TimelineAuthors,
    /// What the statement reads.
    pub candidates: Candidates,
    /// The page by the definition.
    pub oracle: Vec<Entry>,
}

impl Primary {
    /// The bucket's token and the reader's generation; `None` if nothing outside counts.
    pub fn fence(&self, reader: usize) -> Option<Fence> {
        let state = &self.readers[reader];
        let token = self.tokens[reader % BUCKETS]?;
        state.outside.then_some(Fence { token, generation: state.generation })
    }

    pub fn newest(&self, authors: impl Fn(usize) -> bool, below: Position, limit: usize) -> Vec<Position> {
        let listed = self.contents.range(..below).rev();
        let listed = listed.filter(|(_, content)| !content.removed && authors(content.author));
        listed.take(limit).map(|(position, _)| *position).collect()
    }

    /// The one statement of a page; `asked` are the rows of the slice that was read before it.
    pub fn page(&self, reader: usize, window: &Window, asked: &[Position], known: &TimelineAuthors) -> Snapshot {
        let authors = self.authors(reader, false);
        let named: BTreeSet<UserId> = authors.uncovered().iter().chain(known.uncovered()).copied().collect();
        Snapshot {
            expected: self.fence(reader).map(|fence| Expected { fence, basis: self.readers[reader].basis }),
            candidates: self.candidates(reader, window, asked, &named),
            oracle: self.timeline(reader, window).into_iter().take(window.limit).collect(),
            authors,
        }
    }

    /// Existing contents among the rows and in flight, whoever their authors are.
    fn candidates(&self, reader: usize, window: &Window, asked: &[Position], named: &BTreeSet<UserId>) -> Candidates {
        let candidate = |position: &Position| {
            let content = self.contents.get(position).filter(|content| !content.removed)?;
            Some(Candidate { entry: entry(*position, content.author), original_author: None, facts: None })
        };
        let start = window.bound.unwrap_or(window.direction.start());
        let is_beyond = |row: &&Position| window.direction.meets_first(start, **row);
        let outboxes = self.contents.iter().filter(|(_, content)| named.contains(&user(content.author)));
        Candidates {
            version: Some(self.readers[reader].authors_version),
            reactions_version: 0,
            // Only the slice tells it.
            floor: Floor::Off,
            in_flight: Some(self.deliveries.keys().filter_map(candidate).collect()),
            leaving: Vec::new(),
            ahead: asked.iter().filter(is_beyond).filter_map(candidate).collect(),
            behind: Vec::new(),
            pulled_ahead: outboxes.map(|(position, _)| position).filter(is_beyond).filter_map(candidate).collect(),
            pulled_behind: Vec::new(),
            versions: Vec::new(),
        }
    }

    /// The statement with which a node learns the authors of a timeline.
    pub fn authors(&self, reader: usize, all_are_covered: bool) -> TimelineAuthors {
        let followed = self.edges.iter().filter(|((follower, _), _)| *follower == reader);
        let followed: Vec<_> = followed
            .map(|((_, author), edge)| (user(*author), all_are_covered || edge.mode == EdgeMode::Push))
            .collect();
        let muted = self.muted.iter().filter(|(muting, _)| *muting == reader).map(|(_, author)| user(*author));
        TimelineAuthors::new(self.readers[reader].authors_version, &followed, muted.collect())
    }

    fn timeline(&self, reader: usize, window: &Window) -> Vec<Entry> {
        let start = window.bound.unwrap_or(window.direction.start());
        let beyond = |(position, content): (&Position, &Content)| {
            let pair = (reader, content.author);
            let visible = !content.removed && self.edges.contains_key(&pair) && !self.muted.contains(&pair);
            (visible && window.direction.meets_first(start, *position)).then(|| entry(*position, content.author))
        };
        let mut entries: Vec<Entry> = self.contents.iter().filter_map(beyond).collect();
        if window.direction == Direction::Older {
            entries.reverse();
        }
        entries
    }
}

fn entry(position: Position, author: usize) -> Entry {
    Entry {
        publish_time: position.publish_time(),
        content: ContentId::try_new(position.content_number()).unwrap(),
        author: user(author),
    }
}

fn user(number: usize) -> UserId {
    UserId::try_new(i64::try_from(number).unwrap() + 1).unwrap()
}
