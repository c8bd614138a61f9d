//! Makes records of the archive that Mastodon gives its users: `actor.json`, `outbox.json`, and the lists of accounts
//! whom they follow, mute and block.

use std::{cell::RefCell, fmt, io};

use serde::{
    Deserializer as _,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value as Json, json};

use crate::{
    convert::{ConvertError, Maker, html, rows::Rows},
    fault::{Code, Fault},
    input::Input,
    record::Kind,
};

const PUBLIC: [&str; 3] = ["https://www.w3.org/ns/activitystreams#Public", "as:Public", "Public"];
/// What the first row of a list of accounts says, if it is no account.
const ACCOUNT_COLUMN: &str = "Account address";

/// The owner of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// `name@server`, which is also the id of the user that is made.
    pub address: String,
    media_base: Option<String>,
}

/// Makes a user of `actor.json`. `media_base`: the address below which the archive's pictures lie; without it, there
/// are none.
pub fn actor(mut input: Input, media_base: Option<&str>, maker: &mut Maker<'_>) -> Result<Owner, ConvertError> {
    let actor: Json = read(&mut input, |input| serde_json::from_reader(input))?;
    input.finish()?;
    let text = |name: &str| actor[name].as_str().unwrap_or_default();
    let server = text("id").split("://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let name = text("preferredUsername");
    if name.is_empty() || server.is_empty() {
        return Err(ConvertError::Form(
            "actor.json has no `preferredUsername`, or its `id` names no server".to_owned(),
        ));
    }
    let address = address(&format!("{name}@{server}"));
    let owner = Owner { address, media_base: media_base.map(|base| base.trim_end_matches('/').to_owned()) };
    let mut fields =
        Map::from_iter([("externalId".to_owned(), json!(owner.address)), ("handle".to_owned(), json!(name))]);
    let display = text("name");
    fields.insert("name".to_owned(), json!(if display.trim().is_empty() { name } else { display }));
    fields.insert("bio".to_owned(), json!(html::text(text("summary"))));
    if let Some(url) = actor["icon"]["url"].as_str().and_then(|url| owner.url_of(url)) {
        fields.insert("avatarUrl".to_owned(), json!(url));
    }
    if let Some(at) = actor["published"].as_str() {
        fields.insert("createdAt".to_owned(), json!(at));
    }
    maker.make(1, Kind::User, &fields)?;
    Ok(owner)
}

/// Makes a content of each public post in `outbox.json`, which is read entry by entry. The number of an entry stands
/// for its line.
pub fn outbox(mut input: Input, owner: &Owner, maker: &mut Maker<'_>) -> Result<(), ConvertError> {
    let failed = RefCell::new(None);
    let mut take = |number: u64, entry: &Json| {
        let made = item(number, entry, owner, maker);
        let is_made = made.is_ok();
        *failed.borrow_mut() = made.err();
        is_made
    };
    let result = read(&mut input, |input| {
        serde_json::Deserializer::from_reader(input).deserialize_map(Outbox { take: &mut take, has_items: false })
    });
    if let Some(error) = failed.into_inner() {
        return Err(error);
    }
    if !result? {
        return Err(ConvertError::Form("outbox.json has no list `orderedItems`".to_owned()));
    }
    input.finish()?;
    Ok(())
}

/// Reads JSON. A file that is something else is told apart from one that cannot be read.
fn read<T>(input: &mut Input, parse: impl FnOnce(&mut Input) -> serde_json::Result<T>) -> Result<T, ConvertError> {
    parse(input).map_err(|error| {
        if error.is_io() {
            return ConvertError::Input(input.fault(io::Error::from(error)));
        }
        ConvertError::Form(format!("the file is not the JSON of an archive: {error}"))
    })
}

fn item(number: u64, entry: &Json, owner: &Owner, maker: &mut Maker<'_>) -> Result<(), ConvertError> {
    let object = &entry["object"];
    match entry["type"].as_str() {
        Some("Create") => {
            let id = object["id"].as_str();
            if is_public(object) || is_public(entry) {
                post(number, object, owner, maker)
            } else {
                maker.leave_out(number, Kind::Content, id, "the post is not public, and here everybody would see it")
            }
        }
        Some("Announce") if !is_public(entry) => {
            maker.leave_out(number, Kind::Content, entry["id"].as_str(), "the boost is not public")
        }
        Some("Announce") => boost(number, entry, owner, maker),
        kind => {
            let what = format!("the archive has an entry of the type {}", kind.unwrap_or("(none)"));
            maker.leave_out(number, Kind::Content, entry["id"].as_str(), &what)
        }
    }
}

fn is_public(object: &Json) -> bool {
    let names = |list: &Json| match list {
        Json::String(name) => PUBLIC.contains(&name.as_str()),
        Json::Array(names) => names.iter().any(|name| name.as_str().is_some_and(|name| PUBLIC.contains(&name))),
        _ => false,
    };
    names(&object["to"]) || names(&object["cc"])
}

fn boost(number: u64, entry: &Json, owner: &Owner, maker: &mut Maker<'_>) -> Result<(), ConvertError> {
    let (id, boosted) = (entry["id"].as_str().unwrap_or_default(), entry["object"].as_str().unwrap_or_default());
    if !maker.has_content(boosted) {
        let fault = Fault::at(&["object"], Code::NotFound, "the boosted post is not in the archive");
        return maker.refuse(number, Kind::Content, Some(id), fault);
    }
    let fields = json!({
        "externalId": id, "author": owner.address, "repostOf": boosted, "createdAt": entry["published"],
    });
    maker.make(number, Kind::Content, &object_of(fields))
}

fn post(number: u64, note: &Json, owner: &Owner, maker: &mut Maker<'_>) -> Result<(), ConvertError> {
    let id = note["id"].as_str();
    let (media, left_out) = media_of(note, owner);
    for (index, what) in left_out {
        let fault = Fault::at(&["attachment", &index.to_string()], Code::NotAllowed, what);
        maker.refuse(number, Kind::Content, id, fault)?;
    }
    let mut attributes = Map::new();
    let mut fields = object_of(json!({
        "externalId": note["id"], "author": owner.address, "text": text_of(note), "media": media, "url": note["url"],
        "createdAt": note["published"], "editedAt": note["updated"],
    }));
    if let Some(answered) = note["inReplyTo"].as_str() {
        if maker.has_content(answered) {
            fields.insert("replyTo".to_owned(), json!(answered));
        } else {
            attributes.insert("inReplyTo".to_owned(), json!(answered));
        }
    }
    if note["sensitive"] == json!(true) {
        attributes.insert("sensitive".to_owned(), json!(true));
    }
    if !attributes.is_empty() {
        fields.insert("attributes".to_owned(), Json::Object(attributes));
    }
    maker.make(number, Kind::Content, &fields)
}

/// The warning, the words and the options of a poll.
fn text_of(note: &Json) -> String {
    let warning = html::text(note["summary"].as_str().unwrap_or_default());
    let words = html::text(note["content"].as_str().unwrap_or_default());
    let options = ["oneOf", "anyOf"].iter().filter_map(|name| note[*name].as_array()).flatten();
    let options = options.filter_map(|option| option["name"].as_str()).map(|name| format!("- {name}"));
    let parts = [warning, words, options.collect::<Vec<_>>().join("\n")];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// The media, and which attachments are none, with the reason.
fn media_of(note: &Json, owner: &Owner) -> (Vec<Json>, Vec<(usize, &'static str)>) {
    let (mut media, mut left_out) = (Vec::new(), Vec::new());
    for (index, attachment) in note["attachment"].as_array().into_iter().flatten().enumerate() {
        let kind = match attachment["mediaType"].as_str().and_then(|it| it.split('/').next()) {
            Some("image") => "PICTURE",
            Some("video") => "VIDEO",
            _ => {
                left_out.push((index, "the attachment is neither a picture nor a video"));
                continue;
            }
        };
        let Some(url) = attachment["url"].as_str().and_then(|url| owner.url_of(url)) else {
            left_out
                .push((index, "the attachment lies in the archive; upload the files and say where with --media-base"));
            continue;
        };
        let alt = attachment["name"].as_str().unwrap_or_default();
        let (width, height) = (&attachment["width"], &attachment["height"]);
        media.push(json!({ "kind": kind, "url": url, "width": width, "height": height, "alt": alt }));
    }
    (media, left_out)
}

/// Makes a record of each account of a list that Mastodon gives as CSV: a follow, a mute or a block of the owner.
pub fn accounts(input: Input, kind: Kind, owner: &Owner, maker: &mut Maker<'_>) -> Result<(), ConvertError> {
    let (whose, whom) = if kind == Kind::Follow { ("follower", "author") } else { ("user", "other") };
    let mut rows = Rows::of(input)?;
    while let Some(row) = rows.read_next()? {
        let account = row.cells.and_then(|cells| {
            let account = cells.first().map(|cell| cell.trim().to_owned()).unwrap_or_default();
            let is_account = account == ACCOUNT_COLUMN || account.split('@').filter(|it| !it.is_empty()).count() == 2;
            let no_address =
                || Fault::of_line(Code::Invalid, "the first cell is no address such as ann@social.example");
            if is_account { Ok(account) } else { Err(no_address()) }
        });
        match account {
            Ok(account) if account == ACCOUNT_COLUMN => (),
            Ok(account) => {
                let fields = json!({ whose: owner.address, whom: address(&account) });
                maker.make(row.line, kind, &object_of(fields))?;
            }
            Err(fault) => maker.refuse(row.line, kind, None, fault)?,
        }
    }
    rows.finish()
}

impl Owner {
    /// The address of a file, which archives name by its path.
    fn url_of(&self, url: &str) -> Option<String> {
        if url.starts_with("https://") || url.starts_with("http://") {
            return Some(url.to_owned());
        }
        self.media_base.as_ref().map(|base| format!("{base}/{}", url.trim_start_matches('/')))
    }
}

/// An address in one form: names are told apart without case.
fn address(text: &str) -> String {
    text.trim_start_matches('@').to_lowercase()
}

fn object_of(fields: Json) -> Map<String, Json> {
    match fields {
        Json::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Reads an outbox and hands on its entries; gives whether there was a list of them.
struct Outbox<'t> {
    /// Returns whether to go on.
    take: &'t mut dyn FnMut(u64, &Json) -> bool,
    has_items: bool,
}

impl<'de> Visitor<'de> for Outbox<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an outbox")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<bool, A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "orderedItems" {
                self.has_items = true;
                map.next_value_seed(Items(&mut *self.take))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(self.has_items)
    }
}

struct Items<'t>(&'t mut dyn FnMut(u64, &Json) -> bool);

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut number = 0;
        while let Some(entry) = list.next_element::<Json>()? {
            number += 1;
            if !(self.0)(number, &entry) {
                return Err(A::Error::custom("interrupted"));
            }
        }
        Ok(())
    }
}
