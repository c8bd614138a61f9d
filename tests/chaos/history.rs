//! What the clients did, saw and know: the only thing that the checker judges by. Knows no server and no clock; its moments are handed in.

use std::collections::{BTreeMap, HashMap};

use tidefeed::domain::{Direction, Position};

/// Nanoseconds since the run began, on the clients' own monotonic clock.
pub type Moment = u64;
/// A user, counted from 0.
pub type User = usize;

/// From before a request was sent to after its answer had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub begin: Moment,
    pub end: Moment,
}

/// A change of something that is either so or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Act {
    /// If it happens at all, then within this; for an act without an answer, up to when nothing of it can be under way any more.
    pub span: Span,
    /// Whether it is known to have happened: it was acknowledged.
    pub certain: bool,
}

impl Act {
    /// Before everything.
    pub const BEFORE: Self = Self { span: Span { begin: 0, end: 0 }, certain: true };
}

/// A content that was published for certain.
#[derive(Debug, Clone)]
pub struct Content {
    pub published: Span,
    pub text: String,
    pub deletes: Vec<Act>,
}

/// Whether one user follows another, as far as the acts tell.
#[derive(Debug, Clone, Default)]
pub struct Edge {
    pub follows: Vec<Act>,
    pub unfollows: Vec<Act>,
}

/// An entry as a page showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub position: Position,
    /// `None` if the content was gone when its words were fetched.
    pub text: Option<String>,
}

/// A page that a client has read. A whole walk is a page without a bound whose size is not reached.
#[derive(Debug, Clone)]
pub struct Read {
    pub reader: User,
    pub span: Span,
    pub direction: Direction,
    pub bound: Option<Position>,
    pub size: usize,
    /// Newest first.
    pub seen: Vec<Seen>,
    pub has_older: bool,
    pub has_newer: bool,
}

/// Everything that has happened since the last moment at which all was certain.
#[derive(Debug)]
pub struct History {
    edges: Vec<Vec<Edge>>,
    /// By author.
    pub outboxes: Vec<BTreeMap<Position, Content>>,
    authors: HashMap<Position, User>,
    pub reads: Vec<Read>,
}

impl History {
    /// Everybody follows themselves, and nobody else.
    pub fn new(users: usize) -> Self {
        let edge = |reader: User, author: User| {
            let on = Edge { follows: vec![Act::BEFORE], unfollows: Vec::new() };
            if reader == author { on } else { Edge { follows: Vec::new(), unfollows: vec![Act::BEFORE] } }
        };
        let edges = (0..users).map(|reader| (0..users).map(|author| edge(reader, author)).collect()).collect();
        Self { edges, outboxes: vec![BTreeMap::new(); users], authors: HashMap::new(), reads: Vec::new() }
    }

    pub fn users(&self) -> usize {
        self.outboxes.len()
    }

    pub fn edge(&mut self, reader: User, author: User) -> &mut Edge {
        &mut self.edges[reader][author]
    }

    /// Whether `reader` follows `author` all through `span`, or at no instant of it; `None` if nobody can tell, or both.
    pub fn follows(&self, reader: User, author: User, span: Span) -> Option<bool> {
        let edge = &self.edges[reader][author];
        if all_through(&edge.follows, &edge.unfollows, span) {
            return Some(true);
        }
        all_through(&edge.unfollows, &edge.follows, span).then_some(false)
    }

    pub fn published(&mut self, author: User, position: Position, content: Content) {
        self.authors.insert(position, author);
        self.outboxes[author].insert(position, content);
    }

    /// The content at a position, with its author.
    pub fn content(&self, position: Position) -> Option<(User, &Content)> {
        let author = *self.authors.get(&position)?;
        Some((author, self.outboxes[author].get(&position)?))
    }

    pub fn deleted(&mut self, author: User, position: Position, act: Act) {
        if let Some(content) = self.outboxes[author].get_mut(&position) {
            content.deletes.push(act);
        }
    }

    /// Pairs of which nobody can tell at `now` whether one follows the other.
    pub fn doubtful_edges(&self, now: Moment) -> Vec<(User, User)> {
        let now = Span { begin: now, end: now };
        let pairs = (0..self.users()).flat_map(|reader| (0..self.users()).map(move |author| (reader, author)));
        pairs.filter(|(reader, author)| self.follows(*reader, *author, now).is_none()).collect()
    }

    /// When the last act without an answer is over for certain.
    pub fn under_way_until(&self) -> Moment {
        let edges = self.edges.iter().flatten().flat_map(|edge| edge.follows.iter().chain(&edge.unfollows));
        let deletes = self.outboxes.iter().flat_map(BTreeMap::values).flat_map(|content| &content.deletes);
        edges.chain(deletes).filter(|act| !act.certain).map(|act| act.span.end).max().unwrap_or(0)
    }

    /// Contents that somebody tried to delete, with no certain end.
    pub fn doubtful_deletes(&self) -> Vec<(User, Position)> {
        let doubtful =
            |content: &Content| !content.deletes.is_empty() && !content.deletes.iter().any(|act| act.certain);
        let outboxes = self.outboxes.iter().enumerate();
        outboxes
            .flat_map(|(author, outbox)| {
                outbox.iter().filter(|(_, content)| doubtful(content)).map(move |(position, _)| (author, *position))
            })
            .collect()
    }

    /// Forgets how it came to be so, once all is certain: what is left holds since before everything. Gives the reads.
    pub fn settle(&mut self, now: Moment) -> Vec<Read> {
        for reader in 0..self.users() {
            for author in 0..self.users() {
                let on = self.follows(reader, author, Span { begin: now, end: now }) == Some(true);
                let (is_so, is_not) = (vec![Act::BEFORE], Vec::new());
                let (follows, unfollows) = if on { (is_so, is_not) } else { (is_not, is_so) };
                self.edges[reader][author] = Edge { follows, unfollows };
            }
        }
        for outbox in &mut self.outboxes {
            outbox.retain(|_, content| content.deletes.is_empty());
        }
        let outboxes = &self.outboxes;
        self.authors.retain(|position, author| outboxes[*author].contains_key(position));
        std::mem::take(&mut self.reads)
    }
}

/// Whether `on` had made it so before `span` began, and nothing of `off` can have undone it since and before the end.
fn all_through(on: &[Act], off: &[Act], span: Span) -> bool {
    let before = on.iter().rev().filter(|act| act.certain && act.span.end <= span.begin);
    before
        .into_iter()
        .any(|made| off.iter().all(|undone| undone.span.end <= made.span.begin || undone.span.begin >= span.end))
}
