//! The rows of an export, shaped as in the API. They hold nothing that only other users may know.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    accounts::export::{Owner, Person, ReactedContent},
    api::graphql::{complete_url, ids, rfc3339},
    domain::{
        Content, ContentKind, Counters, Media, MediaKind, Profile,
        account::{external::ExternalId, session::Session},
        object::DEFAULT_TYPE,
        timeline::cursor,
    },
};

/// Version of the file's form. New members keep it; a change that could mislead programs raises it.
const VERSION: u32 = 1;

/// Everything except the lists.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Head<'a> {
    format: &'static str,
    version: u32,
    exported_at: String,
    profile: ProfileMember<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProfileMember<'a> {
    #[serde(flatten)]
    user: UserMember<'a>,
    bio: &'a str,
    avatar_url: Option<Cow<'a, str>>,
    created_at: String,
    timeline_read_marker: Option<String>,
    attributes: Vec<AttributeMember<'a>>,
}

#[derive(Serialize)]
struct AttributeMember<'a> {
    key: &'a str,
    value: &'a str,
}

/// A user's public profile in an export.
#[derive(Serialize)]
struct UserMember<'a> {
    id: String,
    handle: &'a str,
    name: &'a str,
}

/// A session, without its tokens.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRow<'a> {
    created_at: String,
    last_used_at: String,
    expires_at: String,
    user_agent: &'a str,
}

/// A content of the owner.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContentRow<'a> {
    id: String,
    kind: &'static str,
    created_at: String,
    text: &'a str,
    media: Vec<MediaMember<'a>>,
    external_id: Option<&'a str>,
    url: Option<&'a str>,
    r#type: &'a str,
    attributes: Option<&'a RawValue>,
    in_reply_to: Option<String>,
    repost_of: Option<String>,
    reply_count: i64,
    like_count: i64,
    repost_count: i64,
    bookmark_count: i64,
}

#[derive(Serialize)]
struct MediaMember<'a> {
    kind: &'static str,
    url: Cow<'a, str>,
    width: Option<i32>,
    height: Option<i32>,
    alt: &'a str,
}

/// A like or a bookmark.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReactedRow<'a> {
    created_at: String,
    content: Option<OthersContent<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OthersContent<'a> {
    id: String,
    created_at: String,
    text: &'a str,
    author: UserMember<'a>,
}

/// A user in a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PersonRow<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    user: UserMember<'a>,
}

impl<'a> Head<'a> {
    /// `exported_at`: ms UTC. `base_url`: where clients reach the service.
    pub fn of(owner: &'a Owner, exported_at: i64, base_url: &str) -> Self {
        let Owner { profile, attributes, read_marker } = owner;
        let attributes = attributes.iter().map(|(key, value)| AttributeMember { key, value }).collect();
        let profile = ProfileMember {
            user: UserMember::of(profile),
            bio: &profile.bio,
            avatar_url: profile.avatar_url.as_deref().map(|url| complete_url(url, base_url)),
            created_at: rfc3339(profile.created_at),
            timeline_read_marker: read_marker.map(cursor::encode),
            attributes,
        };
        Self { format: "tidefeed-export", version: VERSION, exported_at: rfc3339(exported_at), profile }
    }
}

impl<'a> UserMember<'a> {
    fn of(profile: &'a Profile) -> Self {
        Self { id: ids::of_user(profile.id).0, handle: profile.handle.as_str(), name: &profile.name }
    }
}

impl<'a> SessionRow<'a> {
    /// As the API's `Session`, without its id.
    pub fn of(session: &'a Session) -> Self {
        Self {
            created_at: rfc3339(session.created_at),
            last_used_at: rfc3339(session.rotated_at),
            expires_at: rfc3339(session.good_until),
            user_agent: &session.agent,
        }
    }
}

impl<'a> ContentRow<'a> {
    /// The row of a content. It names other contents by their ids. `base_url` as for [`Head::of`].
    pub fn of(content: &'a Content, counters: Counters, base_url: &str) -> Self {
        let Counters { replies, likes, reposts, bookmarks } = counters;
        let object = content.object.as_deref();
        let attributes = object.and_then(|object| object.attributes.as_ref());
        Self {
            id: ids::of_content(content.id).0,
            kind: match content.kind {
                ContentKind::Post => "POST",
                ContentKind::Reply => "REPLY",
                ContentKind::Repost => "REPOST",
            },
            created_at: rfc3339(content.publish_time),
            text: &content.text,
            media: content.media.iter().map(|media| MediaMember::of(media, base_url)).collect(),
            external_id: content.external_id().map(ExternalId::as_str),
            url: object.and_then(|object| object.url.as_deref()),
            r#type: object.map_or(DEFAULT_TYPE, |object| object.content_type.as_str()),
            attributes: attributes.and_then(|attributes| serde_json::from_str(attributes.as_str()).ok()),
            in_reply_to: content.reference.reply_to().map(|id| ids::of_content(id).0),
            repost_of: content.reference.repost_of().map(|id| ids::of_content(id).0),
            reply_count: replies,
            like_count: likes,
            repost_count: reposts,
            bookmark_count: bookmarks,
        }
    }
}

impl<'a> MediaMember<'a> {
    fn of(media: &'a Media, base_url: &str) -> Self {
        let kind = match media.kind {
            MediaKind::Picture => "PICTURE",
            MediaKind::Video => "VIDEO",
        };
        let url = complete_url(&media.url, base_url);
        Self { kind, url, width: media.width, height: media.height, alt: &media.alt }
    }
}

impl<'a> ReactedRow<'a> {
    /// A content that a block hides is null.
    pub fn of(reacted: &'a ReactedContent) -> Self {
        let content = reacted.content.as_ref().map(|(content, author)| OthersContent {
            id: ids::of_content(content.id).0,
            created_at: rfc3339(content.publish_time),
            text: &content.text,
            author: UserMember::of(author),
        });
        Self { created_at: rfc3339(reacted.since), content }
    }
}

impl<'a> PersonRow<'a> {
    /// Only lists that keep a time have one.
    pub fn of(person: &'a Person) -> Self {
        Self { created_at: person.since.map(rfc3339), user: UserMember::of(&person.profile) }
    }
}
