//! Cuts lines of a file into batches: of one kind, without a key that comes twice, and of a bounded size.

use std::collections::HashSet;

use ::import::{
    read::{Line, ReadError, Records},
    record::{ContentReference, Kind, Patch, Record},
    report::Refusal,
};

use crate::domain::account::{attributes::Attributes, external::ExternalId};

/// Lines of a batch at most; as many rows as one insert takes.
pub const MAX_BATCH_LINES: usize = 512;
/// Characters of the texts of a batch, of which one transaction writes the search terms.
const MAX_BATCH_CHARS: usize = 100_000;
/// Bytes of a batch, for which there is room in one statement of every server.
const MAX_BATCH_BYTES: usize = 2 << 20;

/// A line of a file, or why it is none.
pub type FileLine = Result<Line, Refusal>;

/// Reads at most `most` lines, fewer if they are long; none at the end of the file.
pub fn read_some(records: &mut Records, most: usize) -> Result<Vec<FileLine>, ReadError> {
    let (mut lines, mut bytes) = (Vec::new(), 0);
    while lines.len() < most.min(MAX_BATCH_LINES) && bytes < MAX_BATCH_BYTES {
        let Some(line) = records.read_next()? else { break };
        bytes += line.as_ref().map_or(0, |line| size(&line.record).1);
        lines.push(line);
    }
    Ok(lines)
}

/// Cuts lines into batches.
pub fn cut(mut lines: Vec<FileLine>) -> Vec<Vec<FileLine>> {
    let mut parts = Vec::new();
    for begin in beginnings(&lines).into_iter().rev() {
        parts.push(lines.split_off(begin));
    }
    parts.reverse();
    parts
}

/// The kinds that may share a batch, by one of them.
pub(super) const fn batch_kind(kind: Kind) -> Kind {
    match kind {
        Kind::Block | Kind::Hide => Kind::Mute,
        other => other,
    }
}

/// What the batch that is being filled holds.
#[derive(Default)]
struct OpenBatch<'a> {
    kind: Option<Kind>,
    keys: HashSet<Key<'a>>,
    reposts: HashSet<&'a ExternalId>,
    chars: usize,
    bytes: usize,
}

/// Where each batch begins.
fn beginnings(lines: &[FileLine]) -> Vec<usize> {
    let (mut begin, mut batch) = (Vec::new(), OpenBatch::default());
    for (place, line) in lines.iter().enumerate() {
        if begin.is_empty() || line.as_ref().is_ok_and(|line| !batch.takes(&line.record)) {
            begin.push(place);
            batch = OpenBatch::default();
        }
        if let Ok(line) = line {
            batch.add(&line.record);
        }
    }
    begin
}

impl<'a> OpenBatch<'a> {
    fn takes(&self, record: &'a Record) -> bool {
        let (chars, bytes) = size(record);
        // What a repost shows is known once it is committed.
        let other = if let Record::Content(content) = record { content.reference.content() } else { None };
        self.kind.is_none_or(|kind| kind == batch_kind(record.kind()))
            && !self.keys.contains(&key(record))
            && !other.is_some_and(|other| self.reposts.contains(other))
            && (self.keys.is_empty()
                || (self.chars + chars <= MAX_BATCH_CHARS && self.bytes + bytes <= MAX_BATCH_BYTES))
    }

    fn add(&mut self, record: &'a Record) {
        let (chars, bytes) = size(record);
        self.kind = Some(batch_kind(record.kind()));
        self.keys.insert(key(record));
        self.chars += chars;
        self.bytes += bytes;
        if let Record::Content(content) = record
            && matches!(content.reference, ContentReference::RepostOf(_))
        {
            self.reposts.insert(&content.external_id);
        }
    }
}

/// Characters of its text, and bytes of all that may be long.
fn size(record: &Record) -> (usize, usize) {
    match record {
        Record::Content(it) => {
            let media: usize = it.media.iter().map(|medium| medium.url.len() + medium.alt.len()).sum();
            let said =
                it.url.as_ref().map_or(0, String::len) + it.attributes.as_ref().map_or(0, |it| it.as_str().len());
            (it.text.chars().count(), it.text.len() + media + said)
        }
        Record::User(it) => {
            let attributes = if let Patch::Value(attributes) = &it.attributes { Some(attributes) } else { None };
            let attributes =
                attributes.into_iter().flat_map(Attributes::iter).map(|(key, value)| key.len() + value.len());
            (0, text_bytes(&it.bio) + text_bytes(&it.avatar_url) + attributes.sum::<usize>())
        }
        _ => (0, 0),
    }
}

fn text_bytes(text: &Patch<String>) -> usize {
    if let Patch::Value(text) = text { text.len() } else { 0 }
}

/// What no two rows of a batch share.
type Key<'a> = (Kind, i32, &'a ExternalId, Option<&'a ExternalId>);

fn key(record: &Record) -> Key<'_> {
    let kind = record.kind();
    match record {
        Record::User(it) => (kind, 0, &it.external_id, None),
        Record::Content(it) => (kind, 0, &it.external_id, None),
        Record::Follow(it) => (kind, 0, &it.follower, Some(&it.author)),
        Record::Reaction(it) => (kind, it.kind.code(), &it.user, Some(&it.content)),
        Record::Mute(it) | Record::Block(it) | Record::Hide(it) => (kind, 0, &it.user, Some(&it.other)),
        Record::ReadMarker(it) => (kind, 0, &it.user, None),
        Record::Tombstone(it) => (kind, 0, &it.content, None),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use std::io::Cursor;

    use ::import::{input::Input, write::HEADER};

    use super::*;

    fn lines(records: &[&str]) -> Vec<FileLine> {
        let text = [&[HEADER][..], records].concat().join("\n");
        let mut records = Records::open(Input::of(Cursor::new(text)).unwrap(), i64::MAX).unwrap();
        read_some(&mut records, MAX_BATCH_LINES).unwrap()
    }

    /// How many lines each batch has.
    fn sizes(records: &[&str]) -> Vec<usize> {
        cut(lines(records)).iter().map(Vec::len).collect()
    }

    fn content(id: &str, more: &str) -> String {
        format!(
            r#"{{"type":"content","data":{{"externalId":"{id}","author":"a","createdAt":"2020-01-01T00:00:00Z"{more}}}}}"#
        )
    }

    #[test]
    fn a_batch_has_one_kind_and_no_key_twice() {
        let user = |id: &str| format!(r#"{{"type":"user","data":{{"externalId":"{id}"}}}}"#);
        let pair = |kind: &str| format!(r#"{{"type":"{kind}","data":{{"user":"1","other":"2"}}}}"#);
        let records = [
            "nonsense".to_owned(),
            user("1"),
            "{}".to_owned(),
            user("2"),
            user("1"),
            pair("mute"),
            pair("block"),
            pair("hide"),
            pair("mute"),
            user("1"),
        ];
        assert_eq!(sizes(&records.each_ref().map(String::as_str)), [4, 1, 3, 1, 1]);
        assert_eq!(cut(Vec::new()), Vec::<Vec<FileLine>>::new());
        assert_eq!(sizes(&["nonsense"]), [1]);
    }

    #[test]
    fn what_a_repost_shows_is_known_before_others_refer_to_it() {
        let (text, repost) = (r#","text":"x""#, |of: &str| format!(r#","repostOf":"{of}""#));
        let records = [
            content("p", text),
            content("r", &repost("p")),
            content("s", &repost("p")),
            content("t", &repost("r")),
            content("u", r#","text":"x","replyTo":"t""#),
        ];
        assert_eq!(sizes(&records.each_ref().map(String::as_str)), [3, 1, 1]);
    }

    #[test]
    fn long_texts_and_attributes_make_small_batches() {
        let long = format!(r#","text":"{}""#, "x".repeat(4_900));
        let records: Vec<String> = (0..42).map(|id| content(&id.to_string(), &long)).collect();
        assert_eq!(sizes(&records.iter().map(String::as_str).collect::<Vec<_>>()), [20, 20, 2]);
        let said = format!(r#","text":"x","attributes":{{"a":"{}"}}"#, "x".repeat(8_000));
        let records: Vec<String> = (0..300).map(|id| content(&id.to_string(), &said)).collect();
        let records: Vec<&str> = records.iter().map(String::as_str).collect();
        assert_eq!((lines(&records).len(), sizes(&records)), (262, vec![261, 1]));
    }
}
