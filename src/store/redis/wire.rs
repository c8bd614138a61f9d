//! Encodes messages and announcements as JSON with a version: `{"v":1,"type":"contentPublished",...}`. Other services
//! may read them; docs/delivery.md shows all of them.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::store::StoreError;

/// The version that this module writes and reads.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Envelope<'a, T> {
    v: u32,
    #[serde(flatten)]
    payload: &'a T,
}

#[derive(Deserialize)]
struct VersionOnly {
    v: u32,
}

/// `payload` as version 1. Fails only for what is never sent.
pub fn encode<T: Serialize>(payload: &T) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(&Envelope { v: VERSION, payload }).map_err(|error| StoreError::Refused(Box::new(error)))
}

/// What `bytes` say; `None` if they are no JSON, of another version, or of a type that this version does not know.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let version: VersionOnly = serde_json::from_slice(bytes).ok()?;
    if version.v == VERSION { serde_json::from_slice(bytes).ok() } else { None }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::{
        domain::{ContentId, Entry, SessionId, UserId},
        store::{
            announcements::{Announcement, RelationChange},
            queue::Message,
            relations::Pair,
        },
    };

    fn entry() -> Entry {
        let content = ContentId::try_new(i64::MAX).unwrap();
        Entry { publish_time: 1_700_000_000_000, content, author: UserId::try_new(7).unwrap() }
    }

    #[test]
    fn messages_and_announcements_keep_their_documented_form() {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let published = text(encode(&Message::ContentPublished { entry: entry() }).unwrap());
        let form = r#"{"v":1,"type":"contentPublished","entry":{"publish_time":1700000000000,"content":9223372036854775807,"author":7}}"#;
        assert_eq!(published, form);
        let subtask = text(encode(&Message::Subtask { content: entry().content, after: 5 }).unwrap());
        assert_eq!(subtask, r#"{"v":1,"type":"subtask","content":9223372036854775807,"after":5}"#);
        let seen = |reached| text(encode(&Message::ReaderSeen { reader: entry().author, reached }).unwrap());
        assert_eq!(seen(None), r#"{"v":1,"type":"readerSeen","reader":7}"#);
        assert_eq!(seen(Some(5)), r#"{"v":1,"type":"readerSeen","reader":7,"reached":5}"#);
        let session = SessionId::try_new(9).unwrap();
        let ended = text(encode(&Announcement::SessionEnded { user: entry().author, session }).unwrap());
        assert_eq!(ended, r#"{"v":1,"type":"sessionEnded","user":7,"session":9}"#);
        let deleted = text(encode(&Announcement::AccountDeleted { user: entry().author }).unwrap());
        assert_eq!(deleted, r#"{"v":1,"type":"accountDeleted","user":7}"#);
        let brought = text(encode(&Announcement::OutboxChanged { author: entry().author }).unwrap());
        assert_eq!(brought, r#"{"v":1,"type":"outboxChanged","author":7}"#);
        let changed = text(encode(&Announcement::Changed { shown: entry().content.into() }).unwrap());
        assert_eq!(changed, r#"{"v":1,"type":"changed","shown":{"content":9223372036854775807}}"#);
        let (reader, author) = (entry().author, UserId::try_new(8).unwrap());
        let followed =
            Announcement::FollowsChanged { reader, author: Some(author), change: Some(RelationChange::Followed) };
        let follows = text(encode(&followed).unwrap());
        assert_eq!(follows, r#"{"v":1,"type":"followsChanged","reader":7,"author":8,"change":"followed"}"#);
        let marker = entry().position();
        let moved = text(encode(&Announcement::ReadMarkerMoved { reader: entry().author, marker }).unwrap());
        let form = r#"{"v":1,"type":"readMarkerMoved","reader":7,"marker":{"publish_time":1700000000000,"content_id":9223372036854775807}}"#;
        assert_eq!(moved, form);
        assert_eq!(decode(form.as_bytes()), Some(Announcement::ReadMarkerMoved { reader: entry().author, marker }));
        assert_eq!(text(encode(&Announcement::Gap).unwrap()), r#"{"v":1,"type":"gap"}"#);
    }

    #[test]
    fn announcements_of_other_versions_are_decoded_as_far_as_possible() {
        let reader = entry().author;
        let earlier = r#"{"v":1,"type":"followsChanged","reader":7}"#;
        let understood = Announcement::FollowsChanged { reader, author: None, change: None };
        assert_eq!(decode(earlier.as_bytes()), Some(understood));
        let later = r#"{"v":1,"type":"followsChanged","reader":7,"author":7,"change":"adopted","why":"kind"}"#;
        let understood =
            Announcement::FollowsChanged { reader, author: Some(reader), change: Some(RelationChange::Other) };
        assert_eq!(decode(later.as_bytes()), Some(understood));
    }

    #[test]
    fn only_what_was_encoded_decodes() {
        let reader = entry().author;
        let pair = Pair { follower: reader, author: reader };
        for message in [
            Message::ContentPublished { entry: entry() },
            Message::ContentRemoved { entry: entry() },
            Message::Subtask { content: entry().content, after: -1 },
            Message::RelationChanged { pair },
            Message::ReaderSeen { reader, reached: None },
            Message::ReaderSeen { reader, reached: Some(0) },
        ] {
            assert_eq!(decode::<Message>(&encode(&message).unwrap()), Some(message));
        }
        for unreadable in [
            r#"{"v":2,"type":"readerSeen","reader":7}"#,
            r#"{"type":"readerSeen","reader":7}"#,
            r#"{"v":1,"type":"readerSeen","reader":0}"#,
            r#"{"v":1,"type":"telegram"}"#,
            "",
        ] {
            assert_eq!(decode::<Message>(unreadable.as_bytes()), None, "{unreadable}");
        }
    }
}
