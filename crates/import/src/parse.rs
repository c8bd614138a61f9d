//! Reads the record that a line says, and checks it by the rules that the API has for the same values.

use domain::{
    Handle, Media, MediaKind, Reaction,
    account::{
        attributes::{Attributes, InvalidAttributes},
        external::ExternalId,
        profile::{InvalidProfile, check_avatar, check_bio, check_name},
    },
    content::{Draft, InvalidDraft},
    json::JsonObject,
    object::{ContentType, InvalidObject, check_url},
};

use crate::{
    fault::{Code, Fault},
    json::{Fields, check_distinct},
    record::{
        Content, ContentReference, Follow, Kind, Pair, Patch, Reacted, ReadMarker, Record, Tombstone, User, UserState,
    },
};

/// The name of the format, in the header.
const FORMAT: &str = "tidefeed";
/// Its version.
const VERSION: i32 = 1;

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// That the file is one of these.
    Header,
    /// A record.
    Record(Box<Record>),
}

/// A line that is refused, with what could be read of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its kind, if that could be read.
    pub kind: Option<Kind>,
    /// The id that it defines, if that could be read.
    pub external_id: Option<ExternalId>,
    /// Why.
    pub fault: Fault,
}

impl From<Fault> for Unreadable {
    fn from(fault: Fault) -> Self {
        Self { kind: None, external_id: None, fault }
    }
}

/// Reads one line. `latest`: no time may be later, ms UTC.
pub fn parse(line: &str, latest: i64) -> Result<Said, Unreadable> {
    let mut envelope = Fields::of(line, Vec::new())?;
    let name = envelope.text("type")?.value();
    let name = envelope.needed("type", name)?;
    let fields = match envelope.raw("data") {
        Patch::Value(json) => Fields::of(json, envelope.path_to("data"))?,
        Patch::LeftOut | Patch::Null => return Err(envelope.fault("data", Code::Invalid, "this must be there").into()),
    };
    if name == "header" {
        envelope.end()?;
        return Ok(header(fields).map(|()| Said::Header)?);
    }
    let Some(kind) = Kind::of_type(&name) else {
        let kinds = Kind::ALL.map(Kind::as_str).join(", ");
        return Err(envelope.fault("type", Code::Invalid, &format!("the types are {kinds}")).into());
    };
    let mut external_id = None;
    let read = envelope.end().and_then(|()| record(kind, fields, latest, &mut external_id));
    read.map(|record| Said::Record(Box::new(record))).map_err(|fault| Unreadable {
        kind: Some(kind),
        external_id,
        fault,
    })
}

fn header(mut fields: Fields<'_>) -> Result<(), Fault> {
    let (format, version) = (fields.text("format")?.value(), fields.number("version")?);
    if format.as_deref() != Some(FORMAT) {
        return Err(fields.fault("format", Code::Invalid, &format!("the format is not \"{FORMAT}\"")));
    }
    if version != Some(VERSION) {
        let what = format!("the version of the format is not {VERSION}, which is all that this program reads");
        return Err(fields.fault("version", Code::Invalid, &what));
    }
    fields.end()
}

/// `external_id`: takes the id that the record defines, as soon as it is read.
fn record(
    kind: Kind,
    mut fields: Fields<'_>,
    latest: i64,
    external_id: &mut Option<ExternalId>,
) -> Result<Record, Fault> {
    let record = match kind {
        Kind::User | Kind::Content => {
            let id = id(&mut fields, "externalId")?;
            *external_id = Some(id.clone());
            if kind == Kind::User {
                Record::User(user(id, &mut fields, latest)?)
            } else {
                Record::Content(content(id, &mut fields, latest)?)
            }
        }
        Kind::Follow => Record::Follow(follow(&mut fields, latest)?),
        Kind::Reaction => Record::Reaction(reaction(&mut fields, latest)?),
        Kind::Mute => Record::Mute(pair(&mut fields)?),
        Kind::Block => Record::Block(pair(&mut fields)?),
        Kind::Hide => Record::Hide(pair(&mut fields)?),
        Kind::ReadMarker => {
            let (user, at) = (id(&mut fields, "user")?, fields.time("at", latest)?);
            Record::ReadMarker(ReadMarker { user, at: fields.needed("at", at)? })
        }
        Kind::Tombstone => {
            let content = id(&mut fields, "content")?;
            *external_id = Some(content.clone());
            Record::Tombstone(Tombstone { content })
        }
    };
    fields.end()?;
    Ok(record)
}

fn id(fields: &mut Fields<'_>, name: &str) -> Result<ExternalId, Fault> {
    let id = fields.id(name)?;
    fields.needed(name, id)
}

fn user(external_id: ExternalId, fields: &mut Fields<'_>, latest: i64) -> Result<User, Fault> {
    let of_profile = |fields: &Fields<'_>, fault: InvalidProfile| {
        fields.fault(fault.field(), code(fault.is_length()), &fault.to_string())
    };
    let handle = fields.text("handle")?.value().map(|it| Handle::try_new(&it)).transpose();
    let handle = handle.map_err(|it| of_profile(fields, it))?;
    let name = fields.text("name")?.value().map(|it| check_name(&it)).transpose();
    let name = name.map_err(|it| of_profile(fields, it))?;
    let bio = fields.text("bio")?.try_map(|it| check_bio(&it)).map_err(|it| of_profile(fields, it))?;
    let avatar_url = fields.text("avatarUrl")?.try_map(check_avatar).map_err(|it| of_profile(fields, it))?;
    let attributes = match fields.raw("attributes") {
        Patch::LeftOut => Patch::LeftOut,
        Patch::Null => Patch::Null,
        Patch::Value(json) => Patch::Value(user_attributes(json, &fields.path_to("attributes"))?),
    };
    let (state, created_at) = (user_state(fields)?, fields.time("createdAt", latest)?);
    Ok(User { external_id, handle, name, bio, avatar_url, attributes, state, created_at })
}

fn user_state(fields: &mut Fields<'_>) -> Result<Option<UserState>, Fault> {
    let Some(text) = fields.text("state")?.value() else { return Ok(None) };
    let state = UserState::ALL.into_iter().find(|state| state.as_str() == text);
    let unknown = || fields.fault("state", Code::Invalid, "the states of a user are ACTIVE and DEACTIVATED");
    state.map(Some).ok_or_else(unknown)
}

fn user_attributes(json: &str, path: &[String]) -> Result<Attributes, Fault> {
    let members: Vec<_> = Fields::of(json, path.to_owned())?.rest().collect();
    let mut pairs = Vec::with_capacity(members.len());
    for (key, value) in members {
        let text = serde_json::from_str(value.get());
        let text =
            text.map_err(|_| Fault::at(&[&key], Code::Invalid, "the attributes of a user are texts").below(path))?;
        pairs.push((key, text));
    }
    let keys: Vec<String> = pairs.iter().map(|(key, _)| key.clone()).collect();
    Attributes::try_new(pairs).map_err(|fault| {
        let (index, is_length) = match fault {
            InvalidAttributes::TooMany => (None, true),
            InvalidAttributes::KeyTooLong(index) | InvalidAttributes::ValueTooLong(index) => (Some(index), true),
            InvalidAttributes::Key(index) | InvalidAttributes::Twice(index) | InvalidAttributes::Value(index) => {
                (Some(index), false)
            }
        };
        let key = index.and_then(|index| keys.get(index)).map(String::as_str);
        Fault::at(key.as_slice(), code(is_length), &fault.to_string()).below(path)
    })
}

const fn code(is_length: bool) -> Code {
    if is_length { Code::TooLong } else { Code::Invalid }
}

fn content(external_id: ExternalId, fields: &mut Fields<'_>, latest: i64) -> Result<Content, Fault> {
    let author = id(fields, "author")?;
    let text = fields.text("text")?.value().unwrap_or_default();
    let path = fields.path_to("media");
    let media = fields.list("media")?.into_iter().enumerate();
    let media = media.map(|(index, it)| medium(it.get(), &path, index)).collect::<Result<Vec<_>, _>>()?;
    let of_object =
        |fields: &Fields<'_>, name, it: InvalidObject| fields.fault(name, code(it.is_length()), &it.to_string());
    let url =
        fields.text("url")?.value().map(|it| check_url(&it)).transpose().map_err(|it| of_object(fields, "url", it))?;
    let content_type = fields.text("type")?.value().map(|it| ContentType::try_new(&it)).transpose();
    let content_type = content_type.map_err(|it| of_object(fields, "type", it))?;
    let attributes = content_attributes(fields)?;
    let reference = match (fields.id("replyTo")?, fields.id("repostOf")?) {
        (None, None) => ContentReference::Nothing,
        (Some(content), None) => ContentReference::ReplyTo(content),
        (None, Some(content)) => ContentReference::RepostOf(content),
        (Some(_), Some(_)) => {
            return Err(fields.fault("repostOf", Code::Invalid, "a content is a reply or a repost, not both"));
        }
    };
    let created_at = fields.time("createdAt", latest)?;
    let created_at = fields.needed("createdAt", created_at)?;
    let edited_at = fields.time("editedAt", latest)?;
    if edited_at.is_some_and(|at| at < created_at) {
        return Err(fields.fault("editedAt", Code::Invalid, "nothing is edited before it is published"));
    }
    let content =
        Content { external_id, author, text, media, url, content_type, attributes, reference, created_at, edited_at };
    written(content, fields)
}

/// The content with what an author may write in one of its kind.
fn written(content: Content, fields: &Fields<'_>) -> Result<Content, Fault> {
    if matches!(content.reference, ContentReference::RepostOf(_)) {
        let own = [
            ("text", !content.text.is_empty()),
            ("media", !content.media.is_empty()),
            ("url", content.url.is_some()),
            ("attributes", content.attributes.is_some()),
        ];
        let own = own.into_iter().find(|(_, is_there)| *is_there);
        return match own {
            Some((name, _)) => Err(fields.fault(name, Code::Invalid, "a repost has nothing of its own")),
            None => Ok(content),
        };
    }
    let Content { text, media, .. } = content;
    let draft = Draft::try_new(&text, media, None).map_err(|fault| of_draft(fields, fault))?;
    Ok(Content { text: draft.text, media: draft.media, ..content })
}

fn of_draft(fields: &Fields<'_>, fault: InvalidDraft) -> Fault {
    let message = fault.to_string();
    let medium = |index: usize, name, code| fields.fault_within(&["media", &index.to_string(), name], code, &message);
    match fault {
        InvalidDraft::TextTooLong(_) => fields.fault("text", Code::TooLong, &message),
        InvalidDraft::TooManyMedia(_) => fields.fault("media", Code::TooLong, &message),
        InvalidDraft::MediaUrl(index) => medium(index, "url", Code::Invalid),
        InvalidDraft::MediaUrlTooLong(index) => medium(index, "url", Code::TooLong),
        InvalidDraft::MediaSize(index) => medium(index, "width", Code::Invalid),
        InvalidDraft::MediaAlt(index) => medium(index, "alt", Code::Invalid),
        InvalidDraft::MediaAltTooLong(index) => medium(index, "alt", Code::TooLong),
        InvalidDraft::Empty
        | InvalidDraft::Text
        | InvalidDraft::IdempotencyKey
        | InvalidDraft::IdempotencyKeyTooLong => fields.fault("text", Code::Invalid, &message),
    }
}

fn medium(json: &str, path: &[String], index: usize) -> Result<Media, Fault> {
    let path = path.iter().cloned().chain([index.to_string()]).collect();
    let mut fields = Fields::of(json, path)?;
    let kind = match fields.text("kind")?.value().as_deref() {
        Some("PICTURE") => MediaKind::Picture,
        Some("VIDEO") => MediaKind::Video,
        _ => return Err(fields.fault("kind", Code::Invalid, "the kinds of media are PICTURE and VIDEO")),
    };
    let url = fields.text("url")?.value();
    let url = fields.needed("url", url)?;
    let (width, height) = (fields.number("width")?, fields.number("height")?);
    let alt = fields.text("alt")?.value().unwrap_or_default();
    fields.end()?;
    Ok(Media { kind, url, width, height, alt })
}

fn content_attributes(fields: &mut Fields<'_>) -> Result<Option<JsonObject>, Fault> {
    let Some(json) = fields.raw("attributes").value() else { return Ok(None) };
    check_distinct(json).map_err(|what| fields.fault("attributes", Code::Invalid, &what))?;
    let read = JsonObject::parse(json).map_err(InvalidObject::from);
    read.map(Some).map_err(|it| fields.fault("attributes", code(it.is_length()), &it.to_string()))
}

fn follow(fields: &mut Fields<'_>, latest: i64) -> Result<Follow, Fault> {
    let (follower, author) = (id(fields, "follower")?, id(fields, "author")?);
    if follower == author {
        return Err(fields.fault("author", Code::NotAllowed, "nobody follows themselves"));
    }
    Ok(Follow { follower, author, created_at: fields.time("createdAt", latest)? })
}

fn reaction(fields: &mut Fields<'_>, latest: i64) -> Result<Reacted, Fault> {
    let (user, content) = (id(fields, "user")?, id(fields, "content")?);
    let kind = match fields.text("kind")?.value().as_deref() {
        Some("LIKE") => Reaction::Like,
        Some("BOOKMARK") => Reaction::Bookmark,
        _ => return Err(fields.fault("kind", Code::Invalid, "the kinds of reactions are LIKE and BOOKMARK")),
    };
    Ok(Reacted { user, content, kind, created_at: fields.time("createdAt", latest)? })
}

fn pair(fields: &mut Fields<'_>) -> Result<Pair, Fault> {
    let (user, other) = (id(fields, "user")?, id(fields, "other")?);
    if user == other {
        return Err(fields.fault("other", Code::NotAllowed, "nobody mutes, blocks or hides from themselves"));
    }
    Ok(Pair { user, other })
}
