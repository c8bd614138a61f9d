//! Tests of whole lines: what is written is read again, and what is refused is refused with its place.

#![expect(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a failed step fails the test")]

use std::io::Cursor;

use domain::{
    Handle, Media, MediaKind, Reaction,
    account::{attributes::Attributes, external::ExternalId},
    json::JsonObject,
    limits::{MAX_ALT_CHARS, MAX_JSON_BYTES, MAX_MEDIA, MAX_TEXT_CHARS, MAX_URL_CHARS},
    object::ContentType,
};
use proptest::prelude::*;

use crate::{
    fault::Code,
    input::Input,
    lines::MAX_LINE_BYTES,
    read::{ReadError, Records},
    record::{Content, ContentReference, Follow, Pair, Patch, Reacted, ReadMarker, Record, Tombstone, User, UserState},
    report::Refusal,
    write::{self, HEADER},
};

const LATEST: i64 = 1_800_000_000_000;

fn open(bytes: impl Into<Vec<u8>>) -> Result<Records, ReadError> {
    Records::open(Input::of(Cursor::new(bytes.into()))?, LATEST)
}

/// What a file has below its header.
fn read(lines: &str) -> Vec<Result<Record, Refusal>> {
    let mut records = open(format!("{HEADER}\n{lines}")).unwrap();
    let mut read = Vec::new();
    while let Some(line) = records.read_next().unwrap() {
        read.push(line.map(|line| line.record));
    }
    read
}

/// The code, the field and the message of the one line there is.
fn refused(line: &str) -> (Code, String, String) {
    let [read] = <[_; 1]>::try_from(read(line)).unwrap();
    let refusal = read.expect_err(line);
    assert_eq!(refusal.line, 2);
    (refusal.fault.code, refusal.fault.field.join("."), refusal.fault.message)
}

fn id() -> impl Strategy<Value = ExternalId> {
    "[a-z0-9:/\"\\\\\u{e9}\u{1f600} ]{1,40}".prop_map(|text| ExternalId::try_new(&text).unwrap())
}

fn text(most: usize) -> impl Strategy<Value = String> {
    // With what must be escaped in JSON, and what must not.
    let any = prop_oneof![any::<char>(), prop::sample::select(vec!['"', '\\', '\n', '\u{7f}', '\u{2028}', '/'])];
    prop::collection::vec(any, 0..most).prop_map(|it| {
        let text: String = it.into_iter().filter(|c| *c != '\0').collect();
        text.trim().to_owned()
    })
}

fn patch<T: std::fmt::Debug + Clone + 'static>(value: impl Strategy<Value = T> + 'static) -> BoxedStrategy<Patch<T>> {
    prop_oneof![Just(Patch::LeftOut), Just(Patch::Null), value.prop_map(Patch::Value)].boxed()
}

fn user() -> impl Strategy<Value = Record> {
    let pairs = prop::collection::btree_map("[a-z0-9._]{1,32}", "[^\\p{C}]{0,20}", 0..5);
    (
        (id(), prop::option::of("[a-z0-9_]{2,30}"), prop::option::of("[A-Z\u{e9}][a-z \"]{0,20}[a-z]")),
        (patch(text(60)), patch("https://[a-z]{1,20}\\.example/[a-z\u{e9}\"]{0,20}")),
        patch(pairs.prop_map(|it| Attributes::try_new(it).unwrap())),
        (prop::option::of(prop::sample::select(&UserState::ALL[..])), prop::option::of(0..LATEST)),
    )
        .prop_map(|((external_id, handle, name), (bio, avatar_url), attributes, (state, created_at))| {
            let handle = handle.map(|it| Handle::try_new(&it).unwrap());
            Record::User(User { external_id, handle, name, bio, avatar_url, attributes, state, created_at })
        })
}

fn medium() -> impl Strategy<Value = Media> {
    let size = || prop::option::of(1..100_000_i32);
    (any::<bool>(), "https://[a-z]{1,20}/[a-z0-9]{0,20}", size(), size(), text(30)).prop_map(
        |(is_picture, url, width, height, alt)| Media {
            kind: if is_picture { MediaKind::Picture } else { MediaKind::Video },
            url,
            width,
            height,
            alt,
        },
    )
}

fn content() -> impl Strategy<Value = Record> {
    let numbers = "-?(0|[1-9][0-9]{0,17})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?";
    let attributes = (numbers, text(20)).prop_map(|(number, text)| {
        let text = serde_json::Value::from(text);
        JsonObject::parse(&format!("{{ \"z\": [{number} , true], {text}: {{\"a\":{text} }} }}")).unwrap()
    });
    let url = prop::option::of("https://[a-z]{1,20}/[a-z]{0,9}");
    let kind = prop::option::of("[a-z][a-z0-9._-]{0,63}".prop_map(|it| ContentType::try_new(&it).unwrap()));
    (
        (id(), id(), text(200), prop::collection::vec(medium(), 0..=MAX_MEDIA)),
        (url, kind, prop::option::of(attributes), prop::option::of(id()), any::<bool>()),
        (0..LATEST / 2, prop::option::of(0..LATEST / 2)),
    )
        .prop_map(
            |((external_id, author, text, media), (url, content_type, attributes, other, is_repost), times)| {
                let (created_at, later) = times;
                let edited_at = later.map(|later| created_at + later);
                let content = |reference, text, media, url, attributes| Content {
                    external_id,
                    author,
                    text,
                    media,
                    url,
                    content_type,
                    attributes,
                    reference,
                    created_at,
                    edited_at,
                };
                Record::Content(match other {
                    Some(other) if is_repost => {
                        content(ContentReference::RepostOf(other), String::new(), Vec::new(), None, None)
                    }
                    other => {
                        let reference = other.map_or(ContentReference::Nothing, ContentReference::ReplyTo);
                        let text = if text.is_empty() && media.is_empty() { "x".to_owned() } else { text };
                        content(reference, text, media, url, attributes)
                    }
                })
            },
        )
}

/// Any record.
pub fn record() -> impl Strategy<Value = Record> {
    let two = || (id(), id()).prop_filter("nobody does it to themselves", |(a, b)| a != b);
    let time = || prop::option::of(0..LATEST);
    let kind = prop_oneof![Just(Reaction::Like), Just(Reaction::Bookmark)];
    let pair = || two().prop_map(|(user, other)| Pair { user, other });
    prop_oneof![
        user(),
        content(),
        (two(), time()).prop_map(|((follower, author), created_at)| Record::Follow(Follow {
            follower,
            author,
            created_at
        })),
        (id(), id(), kind, time()).prop_map(|(user, content, kind, created_at)| {
            Record::Reaction(Reacted { user, content, kind, created_at })
        }),
        pair().prop_map(Record::Mute),
        pair().prop_map(Record::Block),
        pair().prop_map(Record::Hide),
        (id(), 0..LATEST).prop_map(|(user, at)| Record::ReadMarker(ReadMarker { user, at })),
        id().prop_map(|content| Record::Tombstone(Tombstone { content })),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_and_written_again_equally(record in record()) {
        let line = write::line(&record);
        let read = read(&line);
        prop_assert_eq!(&read, &[Ok(record)]);
        prop_assert_eq!(write::line(read[0].as_ref().unwrap()), line);
    }

    #[test]
    fn no_bytes_are_too_strange_to_be_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut records = open([HEADER.as_bytes(), b"\n", &bytes].concat()).unwrap();
        while records.read_next().unwrap().is_some() {}
    }

    #[test]
    fn no_json_is_too_strange_to_be_refused(text in "[{}\\[\\]:,\"a0 ne\\\\u]{0,40}", data in any::<bool>()) {
        let line = if data { format!("{{\"type\":\"user\",\"data\":{text}}}") } else { text };
        read(&line);
    }
}

#[test]
fn the_longest_record_is_a_line_that_can_be_read() {
    let wide = |count: usize| "\u{1f600}".repeat(count);
    // Control characters take six bytes, and URLs cannot have them.
    let url = || format!("https://a{}", wide(MAX_URL_CHARS - 9));
    let medium = || Media {
        kind: MediaKind::Video,
        url: url(),
        width: Some(99_999),
        height: Some(99_999),
        alt: "\u{1}".repeat(MAX_ALT_CHARS),
    };
    let id = || ExternalId::try_new(&"\"".repeat(255)).unwrap();
    let record = Record::Content(Content {
        external_id: id(),
        author: id(),
        text: format!("x{}x", "\u{1}".repeat(MAX_TEXT_CHARS - 2)),
        media: (0..MAX_MEDIA).map(|_| medium()).collect(),
        url: Some(url()),
        content_type: Some(ContentType::try_new(&"a".repeat(64)).unwrap()),
        attributes: Some(JsonObject::parse(&format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_JSON_BYTES - 8))).unwrap()),
        reference: ContentReference::ReplyTo(id()),
        created_at: 0,
        edited_at: Some(0),
    });
    let line = write::line(&record);
    assert!(line.len() < MAX_LINE_BYTES, "{}", line.len());
    assert!(read(&line) == [Ok(record)], "it is read as it was written");
}

#[test]
fn an_optional_field_is_left_out_null_or_a_value() {
    let user = |fields: &str| match &read(&format!(r#"{{"type":"user","data":{{"externalId":"42"{fields}}}}}"#))[..] {
        [Ok(Record::User(user))] => user.clone(),
        other => panic!("{other:?}"),
    };
    let bare = user("");
    assert_eq!((bare.handle, bare.name, bare.state, bare.created_at), (None, None, None, None));
    assert_eq!((bare.bio, bare.avatar_url, bare.attributes), (Patch::LeftOut, Patch::LeftOut, Patch::LeftOut));
    let nulls = user(
        r#","handle":null,"name":null,"bio":null,"avatarUrl":null,"attributes":null,"state":null,"createdAt":null"#,
    );
    assert_eq!(
        (nulls.handle, nulls.name, nulls.state, nulls.created_at),
        (None, None, None, None),
        "null is as left out"
    );
    assert_eq!((nulls.bio, nulls.avatar_url, nulls.attributes), (Patch::Null, Patch::Null, Patch::Null));
    let full =
        user(r#","handle":"@Mara","name":" Mara ","bio":" b ","attributes":{"city":"Oslo"},"state":"DEACTIVATED""#);
    assert_eq!(full.state, Some(UserState::Deactivated));
    assert_eq!(full.handle.as_ref().map(Handle::as_str), Some("mara"));
    assert_eq!((full.name.as_deref(), full.bio), (Some("Mara"), Patch::Value("b".to_owned())));
}

#[test]
fn a_refusal_says_where_and_why() {
    let user = |fields: &str| format!(r#"{{"type":"user","data":{{"externalId":"42",{fields}}}}}"#);
    let content = |fields: &str| {
        format!(
            r#"{{"type":"content","data":{{"externalId":"p","author":"42","createdAt":"2020-01-01T00:00:00Z",{fields}}}}}"#
        )
    };
    let long = "x".repeat(5_001);
    for (line, code, field) in [
        ("nonsense".to_owned(), Code::Invalid, ""),
        ("[1]".to_owned(), Code::Invalid, ""),
        (r#"{"type":"user""#.to_owned(), Code::Invalid, ""),
        (r#"{"type":"user"}"#.to_owned(), Code::Invalid, "data"),
        (r#"{"data":{}}"#.to_owned(), Code::Invalid, "type"),
        (r#"{"type":"feed","data":{}}"#.to_owned(), Code::Invalid, "type"),
        (r#"{"type":"user","type":"user","data":{}}"#.to_owned(), Code::Invalid, "type"),
        (r#"{"type":"user","data":{},"extra":1}"#.to_owned(), Code::Invalid, "extra"),
        (user(r#""externalId":"43""#), Code::Invalid, "data.externalId"),
        (user(r#""handle":"a b""#), Code::Invalid, "data.handle"),
        (user(r#""hamdle":"ab""#), Code::Invalid, "data.hamdle"),
        (user(r#""name":"\ud800""#), Code::Invalid, "data.name"),
        (user(r#""bio":7"#), Code::Invalid, "data.bio"),
        (user(r#""avatarUrl":"javascript:1""#), Code::Invalid, "data.avatarUrl"),
        (user(r#""attributes":{"a":1}"#), Code::Invalid, "data.attributes.a"),
        (user(r#""attributes":{"a":"1","a":"2"}"#), Code::Invalid, "data.attributes.a"),
        (user(r#""state":"deactivated""#), Code::Invalid, "data.state"),
        (user(r#""createdAt":"2019-05-01""#), Code::Invalid, "data.createdAt"),
        (user(r#""createdAt":"1969-12-31T23:59:59Z""#), Code::Invalid, "data.createdAt"),
        (user(r#""createdAt":"2099-01-01T00:00:00Z""#), Code::Invalid, "data.createdAt"),
        (content(&format!("\"text\":\"{long}\"")), Code::TooLong, "data.text"),
        (content(r#""text":"  ""#), Code::Invalid, "data.text"),
        (content(r#""media":[{"kind":"PICTURE","url":"ftp://a"}]"#), Code::Invalid, "data.media.0.url"),
        (content(r#""media":[{"kind":"picture","url":"https://a"}]"#), Code::Invalid, "data.media.0.kind"),
        (content(r#""text":"a","replyTo":"q","repostOf":"r""#), Code::Invalid, "data.repostOf"),
        (content(r#""text":"a","repostOf":"r""#), Code::Invalid, "data.text"),
        (content(r#""text":"a","editedAt":"2019-01-01T00:00:00Z""#), Code::Invalid, "data.editedAt"),
        (content(r#""text":"a","attributes":[]"#), Code::Invalid, "data.attributes"),
        (content(r#""text":"a","attributes":{"x":[{"k":1,"k":2}]}"#), Code::Invalid, "data.attributes"),
        (content(r#""text":"a","attributes":{"x":1e999}"#), Code::Invalid, "data.attributes"),
        (content(r#""text":"a","type":"A b""#), Code::Invalid, "data.type"),
        (r#"{"type":"follow","data":{"follower":"1","author":"1"}}"#.to_owned(), Code::NotAllowed, "data.author"),
        (r#"{"type":"mute","data":{"user":"1","other":"1"}}"#.to_owned(), Code::NotAllowed, "data.other"),
        (
            r#"{"type":"reaction","data":{"user":"1","content":"1","kind":"WOW"}}"#.to_owned(),
            Code::Invalid,
            "data.kind",
        ),
        (r#"{"type":"read_marker","data":{"user":"1"}}"#.to_owned(), Code::Invalid, "data.at"),
        (r#"{"type":"tombstone","data":{"content":""}}"#.to_owned(), Code::Invalid, "data.content"),
    ] {
        let (found, at, message) = refused(&line);
        assert_eq!((found, at.as_str()), (code, field), "{line}: {message}");
        assert!(message.ends_with('.') && !message.starts_with(char::is_lowercase), "{message}");
    }
}

#[test]
fn input_as_it_comes_is_read() {
    let record = r#"{ "type" : "tombstone", "data": {"content":"1"} }"#;
    let file = format!("\u{feff}\r\n{HEADER}\r\n\r\n{record}\r\n  \n{HEADER}\n{record}");
    let mut records = open(file).unwrap();
    let mut numbers = Vec::new();
    while let Some(line) = records.read_next().unwrap() {
        numbers.push(line.unwrap().number);
    }
    assert_eq!(numbers, [4, 7], "empty lines count, and a joined file has two headers");
}

#[test]
fn a_line_that_cannot_be_read_keeps_no_other_from_it() {
    let long = "x".repeat(MAX_LINE_BYTES + 1);
    let bytes = [
        HEADER.as_bytes(),
        b"\n\"\xff\"\n",
        long.as_bytes(),
        b"\n{\"type\":\"tombstone\",\"data\":{\"content\":\"1\"}}",
    ]
    .concat();
    let mut records = open(bytes).unwrap();
    let mut next = || records.read_next().unwrap().unwrap();
    let refusal = next().unwrap_err();
    assert_eq!((refusal.line, refusal.fault.message.as_str()), (2, "The line is not UTF-8 from byte 2 on."));
    let refusal = next().unwrap_err();
    assert_eq!((refusal.line, refusal.fault.code), (3, Code::TooLong));
    assert_eq!(next().unwrap().number, 4);
}

#[test]
fn a_file_without_its_header_is_not_read() {
    for empty in ["", "\n \r\n", "\u{feff}"] {
        assert!(matches!(open(empty), Err(ReadError::Empty)), "{empty:?}");
    }
    let utf_16: Vec<u8> = "\u{feff}{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(matches!(open(utf_16), Err(ReadError::Utf16)));
    for (first, what) in [
        (r#"{"type":"tombstone","data":{"content":"1"}}"#, "It is a record."),
        (r#"{"type":"header","data":{"format":"other","version":1}}"#, "The format is not \"tidefeed\"."),
        (r#"{"type":"header","data":{"format":"tidefeed","version":2}}"#, "The version of the format is not 1"),
        (r#"{"type":"header"}"#, "This must be there."),
        ("id,text", "The line is not JSON from column 1 on."),
    ] {
        let Err(error) = open(format!("{first}\n")) else { panic!("{first}") };
        assert!(matches!(error, ReadError::Header { line: 1, .. }), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
}
