//! Checks a page that a client read against the history that the clients recorded (docs/coverage.md). Pure.
//!
//! A change during the read may be in the page or not. An entry that was visible during the whole read must be in it,
//! and one that was never visible must not.

mod tests;

use std::collections::HashSet;
use std::ops::Bound::{self, Excluded, Included, Unbounded};

use tidefeed::domain::{Direction, Position};

use super::history::{Content, History, Original, Read, Seen, Span, User};

/// Why a page cannot be right.
pub type Mismatch = String;

type Range = (Bound<Position>, Bound<Position>);

/// Compares everything that a page claims with the history.
pub fn check(history: &History, read: &Read) -> Result<(), Mismatch> {
    let (mut surely, mut perhaps) = (Vec::new(), Vec::new());
    for author in 0..history.users() {
        match history.shows(read.reader, author, read.span) {
            Some(true) => surely.push(author),
            Some(false) => continue,
            None => {}
        }
        perhaps.push(author);
    }
    let let_through = (0..history.users()).map(|author| history.lets_through(read.reader, author, read.span)).collect();
    let judge = Judge { history, read, surely, perhaps, let_through };
    let verdict = judge.order().and_then(|()| judge.entries()).and_then(|()| judge.gaps()).and_then(|()| judge.ends());
    verdict.map_err(|why| format!("{why}; {}", judge.observed()))
}

struct Judge<'a> {
    history: &'a History,
    read: &'a Read,
    /// Authors who are followed and not excluded during the whole read.
    surely: Vec<User>,
    /// Authors who may be followed and not excluded at some instant of the read.
    perhaps: Vec<User>,
    /// By author: whether their reposted contents are shown during the whole read or never; `None` if unknown.
    let_through: Vec<Option<bool>>,
}

impl Judge<'_> {
    fn order(&self) -> Result<(), Mismatch> {
        let (seen, bound) = (&self.read.seen, self.read.bound);
        if seen.len() > self.read.size {
            return Err(format!("{} entries on a page of {}", seen.len(), self.read.size));
        }
        if let Some(pair) = seen.windows(2).find(|pair| pair[0].position <= pair[1].position) {
            return Err(format!("{} stands before {}", at(pair[0].position), at(pair[1].position)));
        }
        let mut met = HashSet::new();
        // A walk is many pages, and each is folded by itself.
        if let Some(entry) = seen.iter().find(|it| !met.insert(it.subject) && self.read.size < usize::MAX) {
            return Err(format!("{} shows what a newer entry of the page shows", at(entry.position)));
        }
        let outside =
            |entry: &&Seen| bound.is_some_and(|bound| !self.read.direction.meets_first(bound, entry.position));
        match seen.iter().find(outside) {
            Some(entry) => Err(format!("{} is on the wrong side of the cursor", at(entry.position))),
            None => Ok(()),
        }
    }

    /// Nothing that cannot have been there.
    fn entries(&self) -> Result<(), Mismatch> {
        for Seen { position, text, subject, by } in &self.read.seen {
            let Some((author, content)) = self.history.content(*position) else {
                return Err(format!("{} is nobody's, or was deleted long ago", at(*position)));
            };
            if !self.perhaps.contains(&author) {
                return Err(format!("{} is by {author}, who is not followed, or kept out", at(*position)));
            }
            if content.original.is_some_and(|original| self.let_through[original.author] == Some(false)) {
                return Err(format!("{} reposts somebody who is kept out: {content:?}", at(*position)));
            }
            if !self.may_be(content) {
                return Err(format!("{} is not published yet or deleted already: {content:?}", at(*position)));
            }
            if *subject != content.subject(*position).content_number() {
                return Err(format!("{} shows {subject}: {content:?}", at(*position)));
            }
            let begun = content.deletes.iter().any(|act| act.span.begin < self.read.span.end);
            if text.as_ref().map_or(!begun, |text| *text != content.text) {
                return Err(format!("{} says {text:?}, and was {content:?}", at(*position)));
            }
            if by.as_ref().is_some_and(|name| !self.history.may_be_called(author, name, self.read.span)) {
                return Err(format!("{} is by {by:?}, which {author} is not called", at(*position)));
            }
        }
        Ok(())
    }

    /// Nothing left out between the cursor and the end of what the page covers.
    fn gaps(&self) -> Result<(), Mismatch> {
        let mut covered = self.on_its_side();
        if let Some(furthest) = self.furthest().filter(|_| self.is_full()) {
            match self.read.direction {
                Direction::Older => covered.0 = Excluded(furthest),
                Direction::Newer => covered.1 = Excluded(furthest),
            }
        }
        let due = self.surely.iter().flat_map(|author| self.history.outboxes[*author].range(covered));
        let mut due = due.filter(|(_, content)| self.must_be(content));
        let missing = due.find(|(position, content)| !self.shows(**position) && !self.folds(**position, content));
        missing.map_or(Ok(()), |(position, content)| Err(format!("{} is missing: {content:?}", at(*position))))
    }

    fn shows(&self, position: Position) -> bool {
        self.read.seen.binary_search_by(|seen| position.cmp(&seen.position)).is_ok()
    }

    /// Whether something newer shows the same.
    fn folds(&self, position: Position, content: &Content) -> bool {
        let subject = content.subject(position).content_number();
        self.read.seen.iter().any(|seen| seen.subject == subject && seen.position > position)
    }

    /// Whether it was there at some instant, if its author is shown.
    fn may_be(&self, content: &Content) -> bool {
        let is_kept_out = |original: Original| self.let_through[original.author] == Some(false);
        !content.original.is_some_and(is_kept_out) && may_be(content, self.read.span)
    }

    /// Whether it was there all through, if its author is shown.
    fn must_be(&self, content: &Content) -> bool {
        let is_let_through = |original: Original| self.let_through[original.author] == Some(true);
        content.original.is_none_or(is_let_through) && must_be(content, self.read.span)
    }

    /// Whether it goes on: exact wherever the history decides it.
    fn ends(&self) -> Result<(), Mismatch> {
        let (ahead, behind, names) = match self.read.direction {
            Direction::Older => (self.read.has_older, self.read.has_newer, ["hasNextPage", "hasPreviousPage"]),
            Direction::Newer => (self.read.has_newer, self.read.has_older, ["hasPreviousPage", "hasNextPage"]),
        };
        let beyond = self.furthest().filter(|_| self.is_full()).map(|furthest| match self.read.direction {
            Direction::Older => (Unbounded, Excluded(furthest)),
            Direction::Newer => (Excluded(furthest), Unbounded),
        });
        let before = self.read.bound.map(|bound| match self.read.direction {
            Direction::Older => (Included(bound), Unbounded),
            Direction::Newer => (Unbounded, Included(bound)),
        });
        self.flag(names[0], ahead, beyond)?;
        self.flag(names[1], behind, before)
    }

    /// Without a range there can be nothing.
    fn flag(&self, name: &str, reported: bool, range: Option<Range>) -> Result<(), Mismatch> {
        let is_there = |authors: &[User], fits: fn(&Self, &Content) -> bool| {
            let range = range?;
            let mut found = authors.iter().flat_map(|author| self.history.outboxes[*author].range(range));
            found.find(|(_, content)| fits(self, content)).map(|(position, _)| *position)
        };
        if reported && is_there(&self.perhaps, Self::may_be).is_none() {
            return Err(format!("{name} is true, and there is nothing"));
        }
        match is_there(&self.surely, Self::must_be).filter(|_| !reported) {
            Some(position) => Err(format!("{name} is false, and there is {}", at(position))),
            None => Ok(()),
        }
    }

    /// The entry that lies furthest from the cursor.
    fn furthest(&self) -> Option<Position> {
        let entry = match self.read.direction {
            Direction::Older => self.read.seen.last(),
            Direction::Newer => self.read.seen.first(),
        };
        entry.map(|entry| entry.position)
    }

    fn is_full(&self) -> bool {
        self.read.seen.len() == self.read.size
    }

    fn on_its_side(&self) -> Range {
        let bound = self.read.bound.map_or(Unbounded, Excluded);
        match self.read.direction {
            Direction::Older => (Unbounded, bound),
            Direction::Newer => (bound, Unbounded),
        }
    }

    fn observed(&self) -> String {
        let Read { reader, span, direction, bound, size, seen, .. } = self.read;
        let seen: Vec<String> = seen.iter().map(|entry| at(entry.position)).collect();
        let bound = bound.map(at);
        format!(
            "reader {reader} in {span:?} {direction:?} {bound:?} size {size}, follows {:?}, saw {seen:?}",
            self.surely
        )
    }
}

/// Whether it was there at some instant of the span, if its author is shown.
fn may_be(content: &Content, span: Span) -> bool {
    let gone = content.deletes.iter().any(|act| act.certain && act.span.end <= span.begin);
    content.published.begin < span.end && !gone
}

/// Whether it was there all through the span, if its author is shown.
fn must_be(content: &Content, span: Span) -> bool {
    content.published.end <= span.begin && content.deletes.iter().all(|act| act.span.begin >= span.end)
}

fn at(position: Position) -> String {
    format!("{}/{}", position.publish_time(), position.content_number())
}
