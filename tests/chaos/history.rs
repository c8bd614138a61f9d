//! What the clients did, saw and know: the only thing that the checker judges by. Knows no server and no clock; its
//! moments are handed in.

use std::collections::{BTreeMap, HashMap, HashSet, btree_map::Entry};

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
    /// If it happens at all, then within this; for an act without an answer, up to when nothing of it can be under way
    /// any more.
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
    /// Of a repost.
    pub original: Option<Original>,
    pub deletes: Vec<Act>,
}

impl Content {
    /// Where what it shows stands: of a repost the original, of anything else itself, which stands at `position`.
    pub fn subject(&self, position: Position) -> Position {
        self.original.map_or(position, |original| original.position)
    }
}

/// What somebody was called from some instant of the span on, for certain.
#[derive(Debug, Clone)]
struct Name {
    name: String,
    span: Span,
}

/// What a repost shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Original {
    pub author: User,
    pub position: Position,
}

/// Requests to repost a content.
#[derive(Debug, Clone, Copy, Default)]
struct Reposting {
    /// That are made at this time.
    requests: usize,
    /// When those without an answer are over for certain.
    until: Moment,
}

/// What stands between a reader and an author.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// The reader follows the author.
    Follow,
    /// The reader has muted the author.
    Mute,
    /// The author hides from the reader.
    Hide,
}

impl Relation {
    pub const ALL: [Self; 3] = [Self::Follow, Self::Mute, Self::Hide];
}

/// Whether something is so, as far as the acts show.
#[derive(Debug, Clone, Default)]
pub struct Switch {
    pub on: Vec<Act>,
    pub off: Vec<Act>,
}

impl Switch {
    /// Since before everything.
    fn since_ever(is_on: bool) -> Self {
        let (is_so, is_not) = (vec![Act::BEFORE], Vec::new());
        if is_on { Self { on: is_so, off: is_not } } else { Self { on: is_not, off: is_so } }
    }

    /// `Some(true)` if it is on during the whole span, `Some(false)` if at no instant of it; `None` if unknown or both.
    fn is_on(&self, span: Span) -> Option<bool> {
        if all_through(&self.on, &self.off, span) {
            return Some(true);
        }
        all_through(&self.off, &self.on, span).then_some(false)
    }
}

/// An entry as a page showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub position: Position,
    /// `None` if the content was gone when its words were fetched.
    pub text: Option<String>,
    /// The number of what it shows; its own as well if the content was gone.
    pub subject: i64,
    /// The author's name; `None` if the content was gone.
    pub by: Option<String>,
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
    /// By reader and author, one for each of [`Relation::ALL`].
    switches: Vec<Vec<[Switch; 3]>>,
    /// By author.
    pub outboxes: Vec<BTreeMap<Position, Content>>,
    authors: HashMap<Position, User>,
    /// By user, one after the other.
    names: Vec<Vec<Name>>,
    /// By original. While a request to repost it may be under way, neither it nor its reposts are deleted: so it is
    /// known where each repost stands.
    reposting: HashMap<Position, Reposting>,
    /// Contents for which a delete has begun: no client begins to repost them.
    leaving: HashSet<Position>,
    pub reads: Vec<Read>,
}

impl History {
    /// Users follow only themselves, and exclude no one.
    pub fn new(users: usize) -> Self {
        let pair = |reader: User, author: User| {
            Relation::ALL.map(|relation| Switch::since_ever(relation == Relation::Follow && reader == author))
        };
        let switches = (0..users).map(|reader| (0..users).map(|author| pair(reader, author)).collect()).collect();
        Self {
            switches,
            outboxes: vec![BTreeMap::new(); users],
            authors: HashMap::new(),
            names: vec![Vec::new(); users],
            reposting: HashMap::new(),
            leaving: HashSet::new(),
            reads: Vec::new(),
        }
    }

    pub fn users(&self) -> usize {
        self.outboxes.len()
    }

    pub fn switch(&mut self, (reader, author): (User, User), relation: Relation) -> &mut Switch {
        &mut self.switches[reader][author][relation as usize]
    }

    /// Whether `reader` sees the contents of `author` during the whole span (`true`) or never (`false`); `None` if
    /// unknown or both.
    pub fn shows(&self, reader: User, author: User, span: Span) -> Option<bool> {
        let [follow, ..] = &self.switches[reader][author];
        all([follow.is_on(span), self.lets_through(reader, author, span)])
    }

    /// Whether `reader` does not exclude `author`, and is not excluded, during the whole span (`true`) or never
    /// (`false`); `None` if unknown or both.
    pub fn lets_through(&self, reader: User, author: User, span: Span) -> Option<bool> {
        let [_, mute, hide] = &self.switches[reader][author];
        all([mute, hide].map(|switch| switch.is_on(span).map(|it| !it)))
    }

    /// Somebody else's renaming of the same user is over before this one begins.
    pub fn renamed(&mut self, user: User, name: String, span: Span) {
        self.names[user].push(Name { name, span });
    }

    /// Whether `user` may have been called so at some instant of the span.
    pub fn may_be_called(&self, user: User, name: &str, span: Span) -> bool {
        let replaced = self.names[user].iter().skip(1).map(|later| later.span.end).chain([Moment::MAX]);
        let mut names = self.names[user].iter().zip(replaced);
        names.any(|(it, replaced)| it.name == name && it.span.begin < span.end && replaced > span.begin)
    }

    /// Who reposts again what they have reposted is answered with the repost that is there: the first request may have
    /// made it, and the first answer shows it.
    pub fn published(&mut self, author: User, position: Position, content: Content) {
        self.authors.insert(position, author);
        match self.outboxes[author].entry(position) {
            Entry::Vacant(free) => {
                free.insert(content);
            }
            Entry::Occupied(mut known) => {
                let Span { begin, end } = content.published;
                let published = &mut known.get_mut().published;
                *published = Span { begin: published.begin.min(begin), end: published.end.min(end) };
            }
        }
    }

    /// Contents of `author` that are there for all that is known, and that may be deleted at `now`.
    pub fn deletable(&self, author: User, now: Moment) -> Vec<Position> {
        let is_free = |subject| self.reposting.get(&subject).is_none_or(|it| it.requests == 0 && it.until <= now);
        let whole = self.outboxes[author].iter().filter(|(_, content)| content.deletes.is_empty());
        whole
            .filter(|(position, content)| is_free(content.subject(**position)))
            .map(|(position, _)| *position)
            .collect()
    }

    /// From now on no client begins to repost it.
    pub fn begin_delete(&mut self, position: Position) {
        self.leaving.insert(position);
    }

    /// The contents of `author` that are no reposts and for which no delete has begun.
    pub fn originals(&self, author: User) -> Vec<Original> {
        let staying = self.outboxes[author].iter().filter(|(position, content)| {
            content.original.is_none() && content.deletes.is_empty() && !self.leaving.contains(position)
        });
        staying.map(|(position, _)| Original { author, position: *position }).collect()
    }

    pub fn begin_repost(&mut self, original: Original) {
        self.reposting.entry(original.position).or_default().requests += 1;
    }

    /// A request to repost it had no answer, and is over for certain at `until`.
    pub fn repost_unanswered(&mut self, original: Original, until: Moment) {
        let it = self.reposting.entry(original.position).or_default();
        it.until = it.until.max(until);
    }

    pub fn end_repost(&mut self, original: Original) {
        self.reposting.entry(original.position).or_default().requests -= 1;
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

    /// The relations whose state at `now` is unknown.
    pub fn doubtful_relations(&self, now: Moment) -> Vec<((User, User), Relation)> {
        let now = Span { begin: now, end: now };
        let pairs = (0..self.users()).flat_map(|reader| (0..self.users()).map(move |author| (reader, author)));
        let all = pairs.flat_map(|pair| Relation::ALL.map(|relation| (pair, relation)));
        all.filter(|((reader, author), it)| self.switches[*reader][*author][*it as usize].is_on(now).is_none())
            .collect()
    }

    /// When the last act without an answer is over for certain.
    pub fn under_way_until(&self) -> Moment {
        let switches = self.switches.iter().flatten().flatten().flat_map(|switch| switch.on.iter().chain(&switch.off));
        let deletes = self.outboxes.iter().flat_map(BTreeMap::values).flat_map(|content| &content.deletes);
        let acts = switches.chain(deletes).filter(|act| !act.certain).map(|act| act.span.end);
        acts.chain(self.reposting.values().map(|it| it.until)).max().unwrap_or(0)
    }

    /// Contents with a delete whose outcome is unknown.
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

    /// Replaces the history by its outcome, once every outcome is known. Returns the reads.
    pub fn settle(&mut self, now: Moment) -> Vec<Read> {
        for switch in self.switches.iter_mut().flatten().flatten() {
            *switch = Switch::since_ever(switch.is_on(Span { begin: now, end: now }) == Some(true));
        }
        for outbox in &mut self.outboxes {
            outbox.retain(|_, content| content.deletes.is_empty());
        }
        for names in &mut self.names {
            names.drain(..names.len().saturating_sub(1));
            for last in names {
                last.span = Act::BEFORE.span;
            }
        }
        let outboxes = &self.outboxes;
        self.authors.retain(|position, author| outboxes[*author].contains_key(position));
        self.reposting.clear();
        self.leaving.clear();
        std::mem::take(&mut self.reads)
    }
}

/// The conjunction of both; `None` if it is unknown.
fn all(parts: [Option<bool>; 2]) -> Option<bool> {
    match parts {
        [Some(false), _] | [_, Some(false)] => Some(false),
        [Some(true), Some(true)] => Some(true),
        _ => None,
    }
}

/// Whether `on` had made it so before `span` began, and nothing of `off` can have undone it since and before the end.
fn all_through(on: &[Act], off: &[Act], span: Span) -> bool {
    let before = on.iter().rev().filter(|act| act.certain && act.span.end <= span.begin);
    before
        .into_iter()
        .any(|made| off.iter().all(|undone| undone.span.end <= made.span.begin || undone.span.begin >= span.end))
}
