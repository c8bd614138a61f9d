//! Global ids: a type prefix and the number as base64url of its 8 bytes, big endian, without padding.
//!
//! Each id has exactly one text.

use async_graphql::ID;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::domain::{ContentId, SessionId, UserId};

const BYTES: usize = 8;
const USER: &str = "U_";
const CONTENT: &str = "C_";
/// Before the product's id of a user or a content, wherever an id is an argument.
const EXTERNAL: &str = "ext:";
/// Only its user can read a session.
const SESSION: &str = "S_";

/// The object that an id names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeId {
    /// `U_...`
    User(UserId),
    /// `C_...`
    Content(ContentId),
    /// `S_...`
    Session(SessionId),
}

/// Why an id is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    /// Not an id of this service.
    #[error("This is not an id of this service. Pass an `id` exactly as the service returned it.")]
    Malformed,
    /// Not a user's id.
    #[error("This is not the id of a user. Those begin with U_.")]
    NotAUser,
    /// Not a content's id.
    #[error("This is not the id of a content. Those begin with C_.")]
    NotAContent,
    /// Not a session's id.
    #[error("This is not the id of a session. Those begin with S_.")]
    NotASession,
}

/// The id of a user.
pub fn of_user(user: UserId) -> ID {
    encode(USER, user.get())
}

/// The id of a content.
pub fn of_content(content: ContentId) -> ID {
    encode(CONTENT, content.get())
}

/// The id of a session.
pub fn of_session(session: SessionId) -> ID {
    encode(SESSION, session.get())
}

/// The product's id of a user or a content, if `id` is one.
pub fn external(id: &str) -> Option<&str> {
    id.strip_prefix(EXTERNAL)
}

/// The object that `id` names, whether it exists or not. Does not know the product's ids: [`super::named`] does.
pub fn parse(id: &str) -> Result<NodeId, InvalidId> {
    if let Some(text) = id.strip_prefix(USER) {
        return UserId::try_new(decode(text)?).map(NodeId::User).map_err(|_| InvalidId::Malformed);
    }
    if let Some(text) = id.strip_prefix(SESSION) {
        return SessionId::try_new(decode(text)?).map(NodeId::Session).map_err(|_| InvalidId::Malformed);
    }
    let text = id.strip_prefix(CONTENT).ok_or(InvalidId::Malformed)?;
    ContentId::try_new(decode(text)?).map(NodeId::Content).map_err(|_| InvalidId::Malformed)
}

/// The user that `id` names.
pub fn parse_user(id: &str) -> Result<UserId, InvalidId> {
    match parse(id)? {
        NodeId::User(user) => Ok(user),
        NodeId::Content(_) | NodeId::Session(_) => Err(InvalidId::NotAUser),
    }
}

/// The content that `id` names.
pub fn parse_content(id: &str) -> Result<ContentId, InvalidId> {
    match parse(id)? {
        NodeId::Content(content) => Ok(content),
        NodeId::User(_) | NodeId::Session(_) => Err(InvalidId::NotAContent),
    }
}

/// The session that `id` names.
pub fn parse_session(id: &str) -> Result<SessionId, InvalidId> {
    match parse(id)? {
        NodeId::Session(session) => Ok(session),
        NodeId::User(_) | NodeId::Content(_) => Err(InvalidId::NotASession),
    }
}

fn encode(prefix: &str, number: i64) -> ID {
    let mut text = prefix.to_owned();
    URL_SAFE_NO_PAD.encode_string(number.to_be_bytes(), &mut text);
    ID(text)
}

fn decode(text: &str) -> Result<i64, InvalidId> {
    let mut bytes = [0; BYTES];
    match URL_SAFE_NO_PAD.decode_slice(text, &mut bytes) {
        Ok(BYTES) => Ok(i64::from_be_bytes(bytes)),
        _ => Err(InvalidId::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(80 * ProptestConfig::default().cases))]

        #[test]
        fn an_id_names_what_it_was_made_of(number in 1..=i64::MAX) {
            if let (Ok(user), Ok(content)) = (UserId::try_new(number), ContentId::try_new(number)) {
                prop_assert_eq!(parse(&of_user(user)), Ok(NodeId::User(user)));
                prop_assert_eq!(parse_content(&of_content(content)), Ok(content));
                prop_assert_eq!(parse_user(&of_content(content)), Err(InvalidId::NotAUser));
                prop_assert_eq!(parse_content(&of_user(user)), Err(InvalidId::NotAContent));
            }
        }

        #[test]
        fn any_other_text_is_refused_without_a_panic(text in "([UCS]_)?[A-Za-z0-9_=-]{0,14}") {
            match parse(&text) {
                Ok(NodeId::User(user)) => prop_assert_eq!(of_user(user).0, text),
                Ok(NodeId::Content(content)) => prop_assert_eq!(of_content(content).0, text),
                Ok(NodeId::Session(session)) => prop_assert_eq!(of_session(session).0, text),
                Err(error) => prop_assert_eq!(error, InvalidId::Malformed),
            }
        }
    }

    #[test]
    fn numbers_that_are_no_ids_are_refused() {
        for number in [0, -1, i64::MIN] {
            assert_eq!(parse(&encode(USER, number)), Err(InvalidId::Malformed), "{number}");
            assert_eq!(parse(&encode(CONTENT, number)), Err(InvalidId::Malformed), "{number}");
        }
    }

    #[test]
    fn the_form_stays_as_clients_have_stored_it() {
        assert_eq!(UserId::try_new(1).map(|user| of_user(user).0), Ok("U_AAAAAAAAAAE".to_owned()));
        assert_eq!(parse("U_AAAAAAAAAAF"), Err(InvalidId::Malformed), "bits beyond the number are not ignored");
    }
}
