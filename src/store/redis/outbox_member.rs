//! Encodes a cached outbox as members of a sorted set: one for each entry, and one with the version of all.
//!
//! | member | score |
//! |---|---|
//! | the content's id, 20 digits | the publish time in ms |
//! | `version:<version>:<time>:<id>`, the last two being the position from which the entries are complete | -1 |
//!
//! All of it is one key, so that expiry, eviction or a restored dump cannot tear entries from their version.

use redis::{FromRedisValue as _, Value};

use crate::{
    domain::{ContentId, Entry, Position, UserId},
    store::outbox_cache::CachedOutbox,
};

/// The largest whole number up to which every one has a score of its own: 2^53.
pub const MAX_SCORE: i64 = 1 << 53;

/// An entry as score and member; `None` if its time has no exact score (before 1970 or after the year 285000).
pub fn scored(entry: &Entry) -> Option<(i64, String)> {
    (0..=MAX_SCORE).contains(&entry.publish_time).then(|| (entry.publish_time, member(entry.content)))
}

/// The member of a content.
pub fn member(content: ContentId) -> String {
    format!("{:020}", content.get())
}

/// The member that says what the others are worth.
pub fn head(version: i64, complete_from: Position) -> String {
    format!("version:{version}:{}:{}", complete_from.publish_time(), complete_from.content_number())
}

/// Reads `ZRANGE key +inf -inf BYSCORE REV WITHSCORES`: newest first, the head last. `None` if nothing is cached, or
/// anything in it is not ours.
pub fn read(author: UserId, reply: &Value) -> Option<CachedOutbox> {
    let mut members = Vec::<(String, f64)>::from_redis_value_ref(reply).ok()?;
    let (head, _) = members.pop()?;
    let (version, complete_from) = read_head(&head)?;
    let entry = |(member, score): (String, f64)| {
        let content = ContentId::try_new(member.parse().ok()?).ok()?;
        Some(Entry { publish_time: exact(score)?, content, author })
    };
    let entries = members.into_iter().map(entry).collect::<Option<Vec<_>>>()?;
    Some(CachedOutbox { version, entries, complete_from })
}

fn read_head(head: &str) -> Option<(i64, Position)> {
    let mut numbers = head.strip_prefix("version:")?.split(':').map(str::parse::<i64>);
    let mut number = || numbers.next()?.ok();
    Some((number()?, Position::bound(number()?, number()?)))
}

/// A score as the whole number that it stands for; `None` if it stands for none.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "whole numbers up to 2^53 are exact in both"
)]
pub fn exact(score: f64) -> Option<i64> {
    ((0.0..=MAX_SCORE as f64).contains(&score) && score.fract() == 0.0).then_some(score as i64)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    fn read_all(flat: &[&str]) -> Option<CachedOutbox> {
        read(UserId::try_new(1).unwrap(), &Value::Array(flat.iter().map(|text| bulk(text)).collect()))
    }

    #[test]
    fn times_without_a_score_of_their_own_are_not_cached() {
        let at = |publish_time| Entry {
            publish_time,
            content: ContentId::try_new(7).unwrap(),
            author: UserId::try_new(1).unwrap(),
        };
        assert_eq!(scored(&at(MAX_SCORE)), Some((MAX_SCORE, "00000000000000000007".to_owned())));
        assert_eq!((scored(&at(MAX_SCORE + 1)), scored(&at(-1))), (None, None));
    }

    #[test]
    fn a_time_is_read_in_whatever_form_the_server_prints_it() {
        for score in ["1700000000000", "1.7e+12", "1.7e12"] {
            let read = read_all(&["00000000000000000007", score, &head(3, Position::OLDEST), "-1"]).unwrap();
            assert_eq!((read.version, read.entries[0].publish_time), (3, 1_700_000_000_000), "{score}");
        }
    }

    #[test]
    fn an_empty_outbox_is_an_answer_and_anything_foreign_is_none() {
        let empty = read_all(&["version:4:0:0", "-1"]).unwrap();
        assert_eq!((empty.version, empty.entries.len(), empty.complete_from), (4, 0, Position::OLDEST));
        for foreign in
            [&[][..], &["00000000000000000007", "5"], &["x", "5", "version:4:0:0", "-1"], &["version:4:0", "-1"]]
        {
            assert_eq!(read_all(foreign), None, "{foreign:?}");
        }
    }
}
