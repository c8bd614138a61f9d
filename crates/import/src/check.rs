//! Checks what a file says against what it has said before: references, ids and handles.
//!
//! Remembers 16 bytes of each user, handle, content and repost, in place of its text.

use std::collections::HashMap;
use std::hash::{Hash as _, Hasher as _};

use domain::account::external::ExternalId;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

use crate::{
    fault::{Code, Fault},
    record::{Content, ContentReference, Record, User},
    report::Outcome,
};

/// What a file has said so far.
#[derive(Debug, Default)]
pub struct Seen {
    /// By id: the handle.
    users: HashMap<u128, Option<u128>>,
    /// By handle: whose it is.
    handles: HashMap<u128, u128>,
    /// By id: what it says; `None` once it is removed.
    contents: HashMap<u128, Option<u64>>,
    /// By who reposts what: the repost.
    reposts: HashMap<u128, u128>,
    is_part: bool,
}

/// Why a record does not go with those before it.
pub type Contradiction = (Outcome, Fault);

impl Seen {
    /// Nothing yet. `is_part`: what the file does not define may be known to the service already.
    pub fn new(is_part: bool) -> Self {
        Self { is_part, ..Self::default() }
    }

    /// Checks the next record and, if it is good, remembers it.
    pub fn check(&mut self, record: &Record) -> Result<(), Contradiction> {
        match record {
            Record::User(user) => self.user(user),
            Record::Content(content) => self.content(content),
            Record::Follow(follow) => self.users_exist([("follower", &follow.follower), ("author", &follow.author)]),
            Record::Mute(pair) | Record::Block(pair) | Record::Hide(pair) => {
                self.users_exist([("user", &pair.user), ("other", &pair.other)])
            }
            Record::Reaction(reaction) => {
                self.users_exist([("user", &reaction.user)])?;
                self.content_exists("content", &reaction.content)
            }
            Record::ReadMarker(marker) => self.users_exist([("user", &marker.user)]),
            Record::Tombstone(tombstone) => {
                self.contents.insert(key(&tombstone.content), None);
                Ok(())
            }
        }
    }

    fn user(&mut self, user: &User) -> Result<(), Contradiction> {
        let id = key(&user.external_id);
        let Some(handle) = &user.handle else {
            self.users.entry(id).or_default();
            return Ok(());
        };
        let handle = xxh3_128(handle.as_str().as_bytes());
        if self.handles.get(&handle).is_some_and(|whose| *whose != id) {
            return Err(refused("handle", Code::Taken, "another user of this file has the handle"));
        }
        if let Some(former) = self.users.insert(id, Some(handle)).flatten() {
            self.handles.remove(&former);
        }
        self.handles.insert(handle, id);
        Ok(())
    }

    fn content(&mut self, content: &Content) -> Result<(), Contradiction> {
        self.users_exist([("author", &content.author)])?;
        match &content.reference {
            ContentReference::Nothing => (),
            ContentReference::ReplyTo(other) => self.content_exists("replyTo", other)?,
            ContentReference::RepostOf(other) => self.content_exists("repostOf", other)?,
        }
        let (id, said) = (key(&content.external_id), said(content));
        match self.contents.get(&id) {
            None => self.repost(content, id)?,
            Some(Some(former)) if *former == said => (),
            Some(Some(_)) => return Err(conflict(&[], "a line before this one says something else of the content")),
            Some(None) => {
                return Err(conflict(&[], "the content was removed by a line before this one, and does not come back"));
            }
        }
        self.contents.insert(id, Some(said));
        Ok(())
    }

    /// An author reposts a content once, until that repost is removed.
    fn repost(&mut self, content: &Content, id: u128) -> Result<(), Contradiction> {
        let ContentReference::RepostOf(original) = &content.reference else { return Ok(()) };
        // No id has a control character.
        let pair = xxh3_128(format!("{}\0{}", content.author.as_str(), original.as_str()).as_bytes());
        let is_there = |repost: &u128| self.contents.get(repost).is_some_and(Option::is_some);
        if self.reposts.get(&pair).is_some_and(is_there) {
            return Err(conflict(&["repostOf"], "the author has reposted this content before"));
        }
        self.reposts.insert(pair, id);
        Ok(())
    }

    fn users_exist<const N: usize>(&self, users: [(&str, &ExternalId); N]) -> Result<(), Contradiction> {
        let unknown = users.into_iter().find(|(_, id)| !self.is_part && !self.users.contains_key(&key(id)));
        match unknown {
            None => Ok(()),
            Some((name, _)) => Err(refused(name, Code::NotFound, "no line before this one has a user of this id")),
        }
    }

    fn content_exists(&self, name: &str, id: &ExternalId) -> Result<(), Contradiction> {
        match self.contents.get(&key(id)) {
            Some(Some(_)) => Ok(()),
            None if self.is_part => Ok(()),
            None => Err(refused(name, Code::NotFound, "no line before this one has a content of this id")),
            Some(None) => Err(refused(name, Code::NotFound, "the content was removed by a line before this one")),
        }
    }
}

fn refused(name: &str, code: Code, message: &str) -> Contradiction {
    (Outcome::Refused, Fault::at(&["data", name], code, message))
}

fn conflict(field: &[&str], message: &str) -> Contradiction {
    let path: Vec<&str> = std::iter::once("data").chain(field.iter().copied()).collect();
    (Outcome::Conflict, Fault::at(&path, Code::Conflict, message))
}

fn key(id: &ExternalId) -> u128 {
    xxh3_128(id.as_str().as_bytes())
}

/// All that a content says, but when it was edited. None of it changes.
fn said(content: &Content) -> u64 {
    let Content { author, text, media, url, content_type, attributes, reference, created_at, .. } = content;
    let mut hasher = Xxh3Default::new();
    (author, text, media, url, content_type, attributes, reference, created_at).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::panic, reason = "a failed step fails the test")]
    use super::*;
    use crate::parse::{Said, parse};

    fn record(line: &str) -> Record {
        match parse(line, i64::MAX).unwrap() {
            Said::Record(record) => *record,
            Said::Header => panic!("a header"),
        }
    }

    /// The code and the field of each line that does not go with those before it.
    fn faults(seen: &mut Seen, lines: &[&str]) -> Vec<(usize, Outcome, Code, String)> {
        let found = lines.iter().enumerate().filter_map(|(index, line)| {
            let (outcome, fault) = seen.check(&record(line)).err()?;
            Some((index, outcome, fault.code, fault.field.join(".")))
        });
        found.collect()
    }

    const LINES: &[&str] = &[
        r#"{"type":"content","data":{"externalId":"p","author":"1","text":"x","createdAt":"2020-01-01T00:00:00Z"}}"#,
        r#"{"type":"user","data":{"externalId":"1","handle":"ann"}}"#,
        r#"{"type":"user","data":{"externalId":"2","handle":"Ann"}}"#,
        r#"{"type":"follow","data":{"follower":"1","author":"2"}}"#,
        r#"{"type":"user","data":{"externalId":"1","handle":"ann2"}}"#,
        r#"{"type":"user","data":{"externalId":"2","handle":"ann"}}"#,
        r#"{"type":"follow","data":{"follower":"1","author":"2"}}"#,
        r#"{"type":"content","data":{"externalId":"p","author":"1","text":"x","createdAt":"2020-01-01T00:00:00Z"}}"#,
        r#"{"type":"content","data":{"externalId":"p","author":"1","text":"y","createdAt":"2020-01-01T00:00:00Z"}}"#,
        r#"{"type":"content","data":{"externalId":"p","author":"1","text":"x","createdAt":"2020-01-02T00:00:00Z"}}"#,
        r#"{"type":"reaction","data":{"user":"2","content":"p","kind":"LIKE"}}"#,
        r#"{"type":"reaction","data":{"user":"2","content":"q","kind":"LIKE"}}"#,
        r#"{"type":"tombstone","data":{"content":"p"}}"#,
        r#"{"type":"reaction","data":{"user":"2","content":"p","kind":"LIKE"}}"#,
        r#"{"type":"content","data":{"externalId":"p","author":"1","text":"x","createdAt":"2020-01-01T00:00:00Z"}}"#,
    ];

    #[test]
    fn a_line_refers_only_to_lines_before_it() {
        let (refused, conflict) = (Outcome::Refused, Outcome::Conflict);
        let expected = [
            (0, refused, Code::NotFound, "data.author"),
            (2, refused, Code::Taken, "data.handle"),
            (3, refused, Code::NotFound, "data.author"),
            (8, conflict, Code::Conflict, "data"),
            (9, conflict, Code::Conflict, "data"),
            (11, refused, Code::NotFound, "data.content"),
            (13, refused, Code::NotFound, "data.content"),
            (14, conflict, Code::Conflict, "data"),
        ];
        let expected = expected.map(|(line, outcome, code, field)| (line, outcome, code, field.to_owned()));
        assert_eq!(faults(&mut Seen::new(false), LINES), expected);
    }

    #[test]
    fn an_author_reposts_a_content_once_until_the_repost_is_removed() {
        let repost = |id: &str| {
            let of = r#""author":"1","repostOf":"p","createdAt":"2020-01-03T00:00:00Z"}}"#;
            format!(r#"{{"type":"content","data":{{"externalId":"{id}",{of}"#)
        };
        let gone = r#"{"type":"tombstone","data":{"content":"r"}}"#;
        let lines = [LINES[1], LINES[7], &repost("r"), &repost("r"), &repost("s"), gone, &repost("s")];
        let expected = [(4, Outcome::Conflict, Code::Conflict, "data.repostOf".to_owned())];
        assert_eq!(faults(&mut Seen::new(false), &lines), expected);
    }

    #[test]
    fn a_part_of_a_file_may_refer_to_the_rest() {
        let found = faults(&mut Seen::new(true), LINES);
        assert_eq!(found.iter().map(|it| it.0).collect::<Vec<_>>(), [2, 8, 9, 13, 14]);
    }
}
