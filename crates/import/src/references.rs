//! Finds the contents that stand before what they refer to, in bounded memory, and moves them behind it.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, HashSet},
    io,
    path::PathBuf,
};

use domain::account::external::ExternalId;
use xxhash_rust::xxh3::xxh3_128;

use crate::{record::Content, runs::Runs};

/// Bytes of an id's digest.
pub const ID_BYTES: usize = 16;
/// Bytes of a place.
pub const PLACE_BYTES: usize = 16;
/// Bytes of an entry of [`References`]: an id, whether it is the content's own, and the content's place.
const ENTRY_BYTES: usize = ID_BYTES + 1 + PLACE_BYTES;
/// The entry's id is the content's own.
const OWN: u8 = 0;
/// The entry's id is that of what the content refers to.
const OTHER: u8 = 1;

/// The digest of an external id.
pub type Id = [u8; ID_BYTES];

/// Where a content stands by its time: times that are equal are told apart by a number, which no two contents share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Milliseconds UTC.
    pub at: i64,
    /// Lower than that of a later content of the same time.
    pub number: u64,
}

impl Place {
    /// Bytes of the same order.
    pub fn bytes(self) -> [u8; PLACE_BYTES] {
        // Without the sign, negative times come first.
        let time = (self.at ^ i64::MIN).to_be_bytes();
        let mut bytes = [0; PLACE_BYTES];
        bytes[..8].copy_from_slice(&time);
        bytes[8..].copy_from_slice(&self.number.to_be_bytes());
        bytes
    }

    /// The place with these [`Self::bytes`].
    pub fn of(bytes: [u8; PLACE_BYTES]) -> Self {
        let [time, number] = [&bytes[..8], &bytes[8..]].map(|half| half.try_into().unwrap_or_default());
        Self { at: i64::from_be_bytes(time) ^ i64::MIN, number: u64::from_be_bytes(number) }
    }
}

/// The digests of a content's id, and of the id of what it refers to; zeros if it refers to nothing else.
pub fn ids(content: &Content) -> [Id; 2] {
    let digest = |id: &ExternalId| xxh3_128(id.as_str().as_bytes()).to_be_bytes();
    let other = content.reference.content().filter(|other| **other != content.external_id);
    [digest(&content.external_id), other.map(digest).unwrap_or_default()]
}

/// What contents refer to.
pub struct References(Runs);

impl References {
    /// As [`Runs::new`].
    pub fn new(folder: PathBuf, run_bytes: usize) -> Self {
        Self(Runs::new(folder, run_bytes, ENTRY_BYTES))
    }

    /// Adds a content with its [`ids`].
    pub fn add(&mut self, place: Place, [own, other]: [Id; 2]) -> io::Result<()> {
        self.0.push(&[&own, &[OWN], &place.bytes()])?;
        if other == Id::default() { Ok(()) } else { self.0.push(&[&other, &[OTHER], &place.bytes()]) }
    }

    /// The numbers of the contents that stand before what they refer to.
    pub fn forward(self) -> io::Result<HashSet<u64>> {
        // Of an id that comes twice, the first place counts.
        let (mut target, mut forward) = ([0; ENTRY_BYTES], HashSet::new());
        self.0.each(&mut |entry| {
            let entry: [u8; ENTRY_BYTES] = entry.try_into().map_err(io::Error::other)?;
            let (id, place) = (&entry[..ID_BYTES], &entry[ID_BYTES + 1..]);
            let is_known = target[..ID_BYTES] == *id;
            if entry[ID_BYTES] == OWN {
                target = if is_known { target } else { entry };
            } else if is_known && *place < target[ID_BYTES + 1..] {
                forward.insert(Place::of(place.try_into().map_err(io::Error::other)?).number);
            }
            Ok(())
        })?;
        Ok(forward)
    }
}

/// Where a content is written: at its own time, or at that of what it refers to if that is later, and always behind it.
///
/// Contents of one time stand by their numbers, and a content whose number is too low right behind what it refers to.
/// So a file that was written, and whose numbers ascend, is written again as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    at: i64,
    number: u64,
    steps_behind: u64,
    own_number: u64,
}

impl Key {
    const fn of(Place { at, number }: Place) -> Self {
        Self { at, number, steps_behind: 0, own_number: number }
    }

    fn behind(self, other: Self) -> Self {
        let own = Self { at: self.at.max(other.at), ..self };
        let next = Self { steps_behind: other.steps_behind + 1, own_number: self.own_number, ..other };
        own.max(next)
    }
}

/// A content that is written later than at its place.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Moved {
    key: Key,
    id: Id,
    line: Vec<u8>,
}

/// Takes contents in the order of their places and writes each after what it refers to. Holds in memory those that
/// wait for it.
#[derive(Default)]
pub struct Reorder {
    forward: HashSet<u64>,
    /// By what they wait for.
    waiting: HashMap<Id, Vec<Moved>>,
    /// What they have waited for is written.
    ready: BinaryHeap<Reverse<Moved>>,
    /// The ids of both.
    held: HashSet<Id>,
}

impl Reorder {
    /// `forward`: see [`References::forward`].
    pub fn new(forward: HashSet<u64>) -> Self {
        Self { forward, ..Self::default() }
    }

    /// Takes the next content, with its [`ids`].
    pub fn take(
        &mut self,
        place: Place,
        [id, other]: [Id; 2],
        line: &[u8],
        write: &mut impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let key = Key::of(place);
        self.write_ready(Some(key), write)?;
        if self.forward.contains(&place.number) || self.held.contains(&other) {
            self.held.insert(id);
            self.waiting.entry(other).or_default().push(Moved { key, id, line: line.to_vec() });
            return Ok(());
        }
        write(line)?;
        self.written(id, key);
        Ok(())
    }

    /// Writes what is left. Contents that refer to each other in a circle, and what refers to them, come last.
    pub fn end(&mut self, write: &mut impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        self.write_ready(None, write)?;
        let mut left: Vec<Moved> = self.waiting.drain().flat_map(|(_, waiting)| waiting).collect();
        left.sort_unstable();
        left.iter().try_for_each(|moved| write(&moved.line))
    }

    fn write_ready(&mut self, before: Option<Key>, write: &mut impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        while self.ready.peek().is_some_and(|Reverse(next)| before.is_none_or(|before| next.key < before))
            && let Some(Reverse(Moved { key, id, line })) = self.ready.pop()
        {
            write(&line)?;
            self.written(id, key);
        }
        Ok(())
    }

    fn written(&mut self, id: Id, key: Key) {
        self.held.remove(&id);
        let waiting = self.waiting.remove(&id).unwrap_or_default();
        self.ready.extend(waiting.into_iter().map(|it| Reverse(Moved { key: it.key.behind(key), ..it })));
    }
}
