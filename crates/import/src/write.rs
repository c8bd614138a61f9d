//! Writes records as lines. What was written is read as the same record, and written again byte for byte.

use domain::{Media, MediaKind, Reaction};
use serde_json::Value as Json;

use crate::{
    record::{Content, ContentReference, Pair, Patch, Record, User},
    time::rfc3339,
};

/// The first line of every file, without its end.
pub const HEADER: &str = r#"{"type":"header","data":{"format":"tidefeed","version":1}}"#;

/// The line of a record, without its end. Fields that say nothing are left out.
pub fn line(record: &Record) -> String {
    let mut fields = Object::begin();
    match record {
        Record::User(user) => write_user(&mut fields, user),
        Record::Content(content) => write_content(&mut fields, content),
        Record::Follow(follow) => {
            fields.text("follower", follow.follower.as_str());
            fields.text("author", follow.author.as_str());
            fields.time("createdAt", follow.created_at);
        }
        Record::Reaction(reaction) => {
            fields.text("user", reaction.user.as_str());
            fields.text("content", reaction.content.as_str());
            fields.text("kind", if reaction.kind == Reaction::Like { "LIKE" } else { "BOOKMARK" });
            fields.time("createdAt", reaction.created_at);
        }
        Record::Mute(pair) | Record::Block(pair) | Record::Hide(pair) => write_pair(&mut fields, pair),
        Record::ReadMarker(marker) => {
            fields.text("user", marker.user.as_str());
            fields.time("at", Some(marker.at));
        }
        Record::Tombstone(tombstone) => fields.text("content", tombstone.content.as_str()),
    }
    format!(r#"{{"type":"{}","data":{}}}"#, record.kind().as_str(), fields.end())
}

fn write_user(fields: &mut Object, user: &User) {
    fields.text("externalId", user.external_id.as_str());
    if let Some(handle) = &user.handle {
        fields.text("handle", handle.as_str());
    }
    if let Some(name) = &user.name {
        fields.text("name", name);
    }
    fields.patch("bio", &user.bio);
    fields.patch("avatarUrl", &user.avatar_url);
    match &user.attributes {
        Patch::LeftOut => (),
        Patch::Null => fields.json("attributes", "null"),
        Patch::Value(attributes) => {
            let mut pairs = Object::begin();
            for (key, value) in attributes.iter() {
                pairs.text(key, value);
            }
            fields.json("attributes", &pairs.end());
        }
    }
    if let Some(state) = user.state {
        fields.text("state", state.as_str());
    }
    fields.time("createdAt", user.created_at);
}

fn write_content(fields: &mut Object, content: &Content) {
    fields.text("externalId", content.external_id.as_str());
    fields.text("author", content.author.as_str());
    if !content.text.is_empty() {
        fields.text("text", &content.text);
    }
    if !content.media.is_empty() {
        let media: Vec<String> = content.media.iter().map(medium).collect();
        fields.json("media", &format!("[{}]", media.join(",")));
    }
    if let Some(url) = &content.url {
        fields.text("url", url);
    }
    if let Some(content_type) = &content.content_type {
        fields.text("type", content_type.as_str());
    }
    if let Some(attributes) = &content.attributes {
        fields.json("attributes", attributes.as_str());
    }
    match &content.reference {
        ContentReference::Nothing => (),
        ContentReference::ReplyTo(content) => fields.text("replyTo", content.as_str()),
        ContentReference::RepostOf(content) => fields.text("repostOf", content.as_str()),
    }
    fields.time("createdAt", Some(content.created_at));
    fields.time("editedAt", content.edited_at);
}

fn medium(medium: &Media) -> String {
    let mut fields = Object::begin();
    fields.text("kind", if medium.kind == MediaKind::Picture { "PICTURE" } else { "VIDEO" });
    fields.text("url", &medium.url);
    for (name, pixels) in [("width", medium.width), ("height", medium.height)] {
        if let Some(pixels) = pixels {
            fields.json(name, &pixels.to_string());
        }
    }
    if !medium.alt.is_empty() {
        fields.text("alt", &medium.alt);
    }
    fields.end()
}

fn write_pair(fields: &mut Object, pair: &Pair) {
    fields.text("user", pair.user.as_str());
    fields.text("other", pair.other.as_str());
}

/// A JSON object while it is written.
struct Object(String);

impl Object {
    fn begin() -> Self {
        Self(String::from("{"))
    }

    fn json(&mut self, name: &str, json: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        for part in [&quoted(name), ":", json] {
            self.0.push_str(part);
        }
    }

    fn text(&mut self, name: &str, text: &str) {
        self.json(name, &quoted(text));
    }

    fn patch(&mut self, name: &str, text: &Patch<String>) {
        match text {
            Patch::LeftOut => (),
            Patch::Null => self.json(name, "null"),
            Patch::Value(text) => self.text(name, text),
        }
    }

    fn time(&mut self, name: &str, at: Option<i64>) {
        if let Some(at) = at {
            self.text(name, &rfc3339(at));
        }
    }

    fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}
