//! Tests of conversions on made files of the forms that others export.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::io::{self, Cursor};

use super::{
    ConvertError, Maker, Sink,
    mastodon::{self, Owner},
    tables::{self, ColumnName, FOLLOWS, POSTS, Table, USERS},
};
use crate::{
    fault::Code,
    input::Input,
    record::{Kind, Record},
    report::Remark,
    write::line,
};

const LATEST: i64 = 1_900_000_000_000;

#[derive(Default)]
struct Kept {
    lines: Vec<String>,
    remarks: Vec<(u64, Option<Code>, String)>,
}

impl Sink for Kept {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.lines.push(line(record));
        Ok(())
    }

    fn remark(&mut self, remark: Remark) -> io::Result<()> {
        self.remarks.push((remark.line, remark.code, remark.field.join(".")));
        Ok(())
    }
}

fn input(text: &str) -> Input {
    Input::of(Cursor::new(text.as_bytes().to_vec())).unwrap()
}

fn table(table: &Table, text: &str, names: &[ColumnName]) -> (Kept, Result<(), ConvertError>) {
    let mut kept = Kept::default();
    let ended = tables::convert(table, input(text), names, &mut Maker::new(&mut kept, LATEST));
    (kept, ended)
}

#[test]
fn a_table_of_posts_gives_contents_and_their_authors() {
    let text = concat!(
        "externalid,Author,createdAt,text,pictures,internal\n",
        "p-1,42,2019-05-01 08:00:00,\"Two\nlines\",https://a.example/1.png https://a.example/2.png,x\n",
        "p-2,42,2019-05-01T10:00:00+02:00,Second,,\n",
        "p-3,42,yesterday,Third,,\n",
        "p-4,42\n",
        ",42,2019-05-01 08:00:00,Fifth,,\n",
    );
    let (kept, ended) = table(&POSTS, text, &[]);
    ended.unwrap();
    assert_eq!(
        kept.lines,
        [
            r#"{"type":"user","data":{"externalId":"42"}}"#,
            concat!(
                r#"{"type":"content","data":{"externalId":"p-1","author":"42","text":"Two\nlines","media":["#,
                r#"{"kind":"PICTURE","url":"https://a.example/1.png"},{"kind":"PICTURE","url":"https://a.example/2.png"}],"#,
                r#""createdAt":"2019-05-01T08:00:00.000Z"}}"#
            ),
            concat!(
                r#"{"type":"content","data":{"externalId":"p-2","author":"42","text":"Second","#,
                r#""createdAt":"2019-05-01T08:00:00.000Z"}}"#
            ),
        ]
    );
    let invalid = Some(Code::Invalid);
    let expected = [(5, invalid, "createdAt"), (6, invalid, ""), (7, invalid, "externalId")];
    assert_eq!(kept.remarks, expected.map(|(line, code, field)| (line, code, field.to_owned())));
}

#[test]
fn tables_of_users_and_follows_may_have_columns_of_other_names() {
    let name = |field: &str, column: &str| ColumnName { field: field.to_owned(), column: column.to_owned() };
    let names = [name("externalId", "user_id"), name("follower", "who"), name("author", "whom")];
    let (kept, ended) = table(&USERS, "user_id;handle;name\n1;ann;Ann\n", &names);
    ended.unwrap();
    assert_eq!(kept.lines, [r#"{"type":"user","data":{"externalId":"1","handle":"ann","name":"Ann"}}"#]);
    let (kept, ended) = table(&FOLLOWS, "who,whom\n1,2\n2,2\n", &names);
    ended.unwrap();
    assert_eq!(kept.lines.len(), 3);
    assert_eq!(kept.lines[2], r#"{"type":"follow","data":{"follower":"1","author":"2"}}"#);
    assert_eq!(kept.remarks, [(3, Some(Code::NotAllowed), "author".to_owned())]);
    let missing = table(&FOLLOWS, "a,b\n", &[]).1.unwrap_err().to_string();
    assert!(missing.contains("no column follower (it has: a, b)"), "{missing}");
    assert!(matches!(table(&FOLLOWS, "", &[]).1, Err(ConvertError::Form(_))));
}

const ACTOR: &str = r#"{"@context":"https://www.w3.org/ns/activitystreams","id":"https://Social.example/users/mara",
    "type":"Person","preferredUsername":"mara","name":"Mara","summary":"<p>Walks &amp; tides</p>",
    "published":"2018-01-02T00:00:00Z","icon":{"type":"Image","url":"avatar.png"}}"#;

/// An outbox with these members of each entry.
fn outbox(entries: &[&str]) -> String {
    format!(
        r#"{{"id":"outbox.json","type":"OrderedCollection","totalItems":1,"orderedItems":[{}]}}"#,
        entries.join(",")
    )
}

fn note(id: u8, more: &str) -> String {
    let public = r#""to":["https://www.w3.org/ns/activitystreams#Public"],"cc":[]"#;
    format!(
        r#"{{"type":"Create","published":"2019-05-01T08:00:00Z",{public},"object":{{"id":"https://social.example/{id}",
        "type":"Note","published":"2019-05-01T08:00:00Z",{public},{more}}}}}"#
    )
}

fn mara() -> Owner {
    let mut kept = Kept::default();
    let base = Some("https://cdn.example/mara/");
    let owner = mastodon::actor(input(ACTOR), base, &mut Maker::new(&mut kept, LATEST)).unwrap();
    assert_eq!(
        kept.lines,
        [concat!(
            r#"{"type":"user","data":{"externalId":"mara@social.example","handle":"mara","name":"Mara","#,
            r#""bio":"Walks & tides","avatarUrl":"https://cdn.example/mara/avatar.png","createdAt":"2018-01-02T00:00:00.000Z"}}"#
        )]
    );
    owner
}

#[test]
fn an_archive_of_mastodon_gives_its_public_posts() {
    let entries = [
        note(1, r#""content":"<p>One<br/>two</p>","summary":"Tides","inReplyTo":null"#),
        note(2, r#""content":"<p>Yes</p>","inReplyTo":"https://social.example/1""#),
        note(3, r#""content":"<p>To you</p>","inReplyTo":"https://other.example/9","sensitive":true"#),
        note(
            4,
            concat!(
                r#""content":"","attachment":[{"mediaType":"image/png","url":"/media/1.png","name":"A crab","width":4,"height":3},"#,
                r#"{"mediaType":"audio/ogg","url":"/media/2.ogg"}]"#
            ),
        ),
        note(5, r#""content":"<p>Tea?</p>","oneOf":[{"name":"Yes"},{"name":"No"}]"#),
        r#"{"id":"https://social.example/6","type":"Announce","published":"2019-05-02T08:00:00Z","to":"as:Public",
            "object":"https://social.example/1"}"#
            .to_owned(),
        r#"{"id":"https://social.example/7","type":"Announce","published":"2019-05-02T08:00:00Z","to":"as:Public",
            "object":"https://other.example/1"}"#
            .to_owned(),
        note(8, r#""content":"<p>Secret</p>""#)
            .replace("https://www.w3.org/ns/activitystreams#Public", "https://social.example/followers"),
    ];
    let mut kept = Kept::default();
    let text = outbox(&entries.each_ref().map(String::as_str));
    let owner = mara();
    mastodon::outbox(input(&text), &owner, &mut Maker::new(&mut kept, LATEST)).unwrap();
    let content = |id: u8, more: &str, at: &str| {
        format!(
            r#"{{"type":"content","data":{{"externalId":"https://social.example/{id}","author":"mara@social.example",{more},"createdAt":"2019-05-{at}T08:00:00.000Z"}}}}"#
        )
    };
    assert_eq!(
        kept.lines[1..],
        [
            content(1, r#""text":"Tides\n\nOne\ntwo""#, "01"),
            content(2, r#""text":"Yes","replyTo":"https://social.example/1""#, "01"),
            content(
                3,
                r#""text":"To you","attributes":{"inReplyTo":"https://other.example/9","sensitive":true}"#,
                "01"
            ),
            content(
                4,
                r#""media":[{"kind":"PICTURE","url":"https://cdn.example/mara/media/1.png","width":4,"height":3,"alt":"A crab"}]"#,
                "01"
            ),
            content(5, r#""text":"Tea?\n\n- Yes\n- No""#, "01"),
            content(6, r#""repostOf":"https://social.example/1""#, "02"),
        ]
    );
    let not_allowed = Some(Code::NotAllowed);
    let expected = [(4, not_allowed, "attachment.1"), (7, Some(Code::NotFound), "object"), (8, not_allowed, "")];
    assert_eq!(kept.remarks, expected.map(|(line, code, field)| (line, code, field.to_owned())));
}

#[test]
fn accounts_of_mastodons_lists_become_follows_mutes_and_blocks() {
    let list = "Account address,Show boosts\nbob@Other.example,true\n\nnobody\n@eve@social.example,false\n";
    let owner = mara();
    for (kind, whose, whom) in [(Kind::Follow, "follower", "author"), (Kind::Block, "user", "other")] {
        let mut kept = Kept::default();
        mastodon::accounts(input(list), kind, &owner, &mut Maker::new(&mut kept, LATEST)).unwrap();
        let made: Vec<_> = kept.lines.iter().filter(|line| !line.contains("\"user\",\"data\"")).cloned().collect();
        let expected = ["bob@other.example", "eve@social.example"].map(|other| {
            format!(r#"{{"type":"{}","data":{{"{whose}":"mara@social.example","{whom}":"{other}"}}}}"#, kind.as_str())
        });
        assert_eq!(made, expected);
        assert_eq!(kept.lines.len(), 5, "three users are mentioned");
        assert_eq!(kept.remarks, [(4, Some(Code::Invalid), String::new())]);
    }
}

#[test]
fn a_file_that_is_no_archive_is_an_error() {
    let mut kept = Kept::default();
    let mut maker = Maker::new(&mut kept, LATEST);
    for text in ["", "{", "[]", "{\"id\":\"outbox.json\"}", &outbox(&["{"])] {
        assert!(matches!(mastodon::outbox(input(text), &mara(), &mut maker), Err(ConvertError::Form(_))), "{text}");
    }
    assert!(matches!(mastodon::actor(input("{}"), None, &mut maker), Err(ConvertError::Form(_))));
}
