//! The tables of the model: rows by their primary keys, and the two indexes that reads need. A change knows the row
//! before and after it, so that it can be made and unmade.

use std::collections::{BTreeMap, BTreeSet};

use tidefeed::domain::{
    ContentId, ContentKind, Counters, EdgeMode, Entry, Floor, Kinds, Position, UserId,
    account::profile::Registration,
    content::Draft,
    timeline::outside::{Basis, Bucket, BucketToken, Generation},
};

/// A user, with the password's hash.
#[derive(Debug, Clone)]
pub struct User {
    pub registration: Registration,
    pub created_at: i64,
    pub profile_version: i64,
    pub password_hash: Option<String>,
}

/// A published content.
#[derive(Debug, Clone)]
pub struct Published {
    pub author: UserId,
    pub draft: std::sync::Arc<Draft>,
    pub publish_time: i64,
    pub kind: ContentKind,
    /// Of what it reposts.
    pub repost_author: Option<UserId>,
    pub removed: bool,
}

/// What is kept of an outbox as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub version: i64,
    pub published_at: Option<i64>,
    pub publish_every: Option<i64>,
}

/// A follow edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    pub mode: EdgeMode,
    pub incarnation: i64,
}

/// A reader's stay in the tier outside SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stay {
    pub generation: Generation,
    /// Of the claim, if there is one.
    pub basis: Option<Basis>,
}

/// A reader's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    pub floor: Floor,
    pub rev: i64,
    pub last_seen: Option<i64>,
    pub read_every: Option<i64>,
    pub deep_until: Option<i64>,
    /// Outside SQL; the floor is off then.
    pub stay: Option<Stay>,
    /// Only if a rule is broken: deliveries pass over the reader although the floor says that they do not.
    pub passed_over: bool,
}

/// A delivery record.
#[derive(Debug, Clone)]
pub struct Record {
    pub author: UserId,
    pub publish_time: i64,
    pub attempts: u32,
    pub last_error: String,
    pub look_at: i64,
    pub look_count: u32,
    /// The last one that has read the recipients outside SQL.
    pub attempt: Option<i64>,
}

/// A subtask; its content and start are the key.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    pub number: i32,
    pub last_fan: i64,
    pub pushed_through: i64,
    pub lease_until: i64,
    /// As of a delivery record.
    pub attempt: Option<i64>,
}

/// A pending relation.
#[derive(Debug, Clone, Copy)]
pub struct Relation {
    pub version: i64,
    pub attempts: u32,
    pub look_at: i64,
}

/// How far an import has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Import {
    pub holder: i64,
    pub through_line: u64,
    pub line_count: u64,
    pub is_finished: bool,
}

/// What a profile counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub followers: i64,
    pub following: i64,
    pub contents: i64,
    /// Of the authors of the user's timeline.
    pub authors_version: i64,
    /// Of the user's reactions.
    pub reactions_version: i64,
}

/// What is known of a deleted account.
#[derive(Debug, Clone, Copy)]
pub struct Deletion {
    pub deleted_at: i64,
    /// When a worker looks at it next; `None`: nothing is left of it.
    pub look_at: Option<i64>,
}

/// An inbox row's key.
pub type InboxKey = (UserId, Position);

macro_rules! tables {
    ($($table:ident, $change:ident: $key:ty => $row:ty;)+) => {
        /// Every table.
        #[derive(Debug, Default, Clone)]
        pub struct Tables {
            $(pub $table: BTreeMap<$key, $row>,)+
            /// Contents that are not removed, by author.
            pub outboxes: BTreeMap<UserId, BTreeSet<Position>>,
            /// (author, follower).
            pub fans: BTreeSet<(UserId, UserId)>,
        }

        /// One row written: what becomes of it, and what it was.
        #[derive(Debug, Clone)]
        pub enum Change {
            $($change($key, Option<$row>, Option<$row>),)+
        }

        /// One row, to be locked.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Row {
            $($change($key),)+
            /// The whole of it, on an engine with one writer.
            Everything,
        }

        impl Change {
            pub const fn row(&self) -> Row {
                match self { $(Self::$change(key, ..) => Row::$change(*key),)+ }
            }

            /// What undoes it, once it was made.
            pub fn inverse(&self) -> Self {
                match self { $(Self::$change(key, _, before) => Self::$change(*key, before.clone(), None),)+ }
            }
        }

        impl Tables {
            /// Makes the change, and keeps in it what was there.
            pub fn make(&mut self, change: &mut Change) {
                match change {
                    $(Change::$change(key, after, before) => {
                        *before = match after.clone() {
                            Some(row) => self.$table.insert(*key, row),
                            None => self.$table.remove(key),
                        };
                    })+
                }
                self.index(change, true);
            }

            /// Unmakes a change that was the last one made to its row.
            pub fn unmake(&mut self, change: &Change) {
                match change {
                    $(Change::$change(key, _, before) => {
                        match before.clone() {
                            Some(row) => self.$table.insert(*key, row),
                            None => self.$table.remove(key),
                        };
                    })+
                }
                self.index(change, false);
            }

            pub fn has(&self, row: Row) -> bool {
                match row { $(Row::$change(key) => self.$table.contains_key(&key),)+ Row::Everything => true }
            }
        }
    };
}

tables! {
    users, User: UserId => User;
    contents, Content: ContentId => Published;
    counters, Counters: ContentId => Counters;
    heads, Head: UserId => Head;
    follows, Edge: (UserId, UserId) => Edge;
    inboxes, Inbox: InboxKey => UserId;
    states, State: UserId => State;
    deliveries, Delivery: ContentId => Record;
    subtasks, Subtask: (ContentId, i64) => Task;
    relations, Relation: (UserId, UserId) => Relation;
    counts, Counts: UserId => Counts;
    follower_deltas, FollowerDelta: (UserId, UserId) => i64;
    deletions, Deletion: UserId => Deletion;
    imports, Import: i64 => Import;
    exclusions, Exclusion: (UserId, UserId, i32) => ();
    reactions, Reaction: (ContentId, i32, UserId) => ();
    buckets, Bucket: Bucket => Option<BucketToken>;
}

impl Tables {
    fn index(&mut self, change: &Change, made: bool) {
        match change {
            Change::Content(id, after, before) => {
                let (gone, here) = if made { (before, after) } else { (after, before) };
                let place = |it: &Published| Position::of(it.publish_time, *id);
                if let Some(gone) = gone.as_ref().filter(|it| !it.removed) {
                    self.outboxes.entry(gone.author).or_default().remove(&place(gone));
                }
                if let Some(here) = here.as_ref().filter(|it| !it.removed) {
                    self.outboxes.entry(here.author).or_default().insert(place(here));
                }
            }
            Change::Edge((follower, author), after, before) => {
                if if made { after } else { before }.is_some() {
                    self.fans.insert((*author, *follower));
                } else {
                    self.fans.remove(&(*author, *follower));
                }
            }
            _ => {}
        }
    }

    /// The author's contents that are not removed, oldest first.
    pub fn outbox(&self, author: UserId) -> impl DoubleEndedIterator<Item = Entry> + '_ {
        let positions = self.outboxes.get(&author).into_iter().flatten();
        positions.filter_map(move |position| entry(*position, author))
    }

    /// Rows of an inbox, oldest first.
    pub fn inbox(&self, reader: UserId) -> impl DoubleEndedIterator<Item = Entry> + '_ {
        let all = (reader, Position::OLDEST)..=(reader, Position::NEWEST);
        self.inboxes.range(all).filter_map(|((_, place), author)| entry(*place, *author))
    }

    /// The follower's edges, by author.
    pub fn edges(&self, follower: UserId) -> impl DoubleEndedIterator<Item = (UserId, Edge)> + '_ {
        let all = (follower, first_user())..=(follower, last_user());
        self.follows.range(all).map(|((_, author), edge)| (*author, *edge))
    }

    /// The author's followers with ids in `(after, through]`, ascending.
    pub fn fans(&self, author: UserId, after: i64, through: i64) -> impl Iterator<Item = UserId> + '_ {
        let all = (author, first_user())..=(author, last_user());
        let fans = self.fans.range(all).map(|(_, follower)| *follower);
        fans.filter(move |fan| fan.get() > after && fan.get() <= through)
    }

    /// Those of them whom deliveries may not skip.
    pub fn targets(&self, author: UserId, after: i64, through: i64) -> impl Iterator<Item = UserId> + '_ {
        self.fans(author, after, through).filter(move |fan| self.mode(*fan, author) != Some(EdgeMode::Pull))
    }

    /// The content's subtasks, ascending.
    pub fn chain(&self, content: ContentId) -> impl DoubleEndedIterator<Item = (i64, Task)> + '_ {
        self.subtasks.range((content, i64::MIN)..=(content, i64::MAX)).map(|((_, after), task)| (*after, *task))
    }

    pub fn is_visible(&self, content: ContentId) -> bool {
        self.contents.get(&content).is_some_and(|it| !it.removed)
    }

    /// What the content reposts.
    pub fn original(&self, content: ContentId) -> Option<ContentId> {
        self.contents.get(&content)?.draft.reference.repost_of()
    }

    pub fn is_of(&self, content: ContentId, kinds: Kinds) -> bool {
        self.contents.get(&content).is_some_and(|it| kinds.contains(it.kind))
    }

    /// Whether anything keeps the author out of the reader's timeline, for a reason with one of these numbers.
    pub fn is_excluded(&self, reader: UserId, author: UserId, causes: std::ops::RangeInclusive<i32>) -> bool {
        let (first, last) = causes.into_inner();
        self.exclusions.range((reader, author, first)..=(reader, author, last)).next().is_some()
    }

    /// A user's counts, with what waits beside their row.
    pub fn whole_counts(&self, user: UserId) -> Option<Counts> {
        let counts = *self.counts.get(&user)?;
        let beside = self.follower_deltas.range((user, first_user())..=(user, last_user()));
        Some(Counts { followers: counts.followers + beside.map(|(_, delta)| delta).sum::<i64>(), ..counts })
    }

    pub fn version(&self, author: UserId) -> i64 {
        self.heads.get(&author).map_or(0, |head| head.version)
    }

    pub fn floor(&self, reader: UserId) -> Floor {
        self.states.get(&reader).map_or(Floor::Off, |state| state.floor)
    }

    pub fn mode(&self, follower: UserId, author: UserId) -> Option<EdgeMode> {
        self.follows.get(&(follower, author)).map(|edge| edge.mode)
    }
}

fn first_user() -> UserId {
    UserId::try_new(1).expect("1 is an id")
}

fn last_user() -> UserId {
    UserId::try_new(i64::MAX).expect("the largest number is an id")
}

fn entry(place: Position, author: UserId) -> Option<Entry> {
    let content = ContentId::try_new(place.content_number()).ok()?;
    Some(Entry { publish_time: place.publish_time(), content, author })
}
