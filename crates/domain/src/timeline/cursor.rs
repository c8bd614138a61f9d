//! Cursors: places in a list. Clients treat them as opaque. They never expire, and stay valid when their entry is
//! gone.
//!
//! Bytes: the list's own first byte, a time (i64, big endian), an id (i64, big endian); base64url without padding (RFC
//! 4648 section 5): 23 characters. In a timeline these are publish time and content id.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::position::Position;

const LEN: usize = 17;

/// The list of a cursor. All other lists refuse it, because it would mean another place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// Contents by publish time and id: timelines, outboxes, search results.
    Contents,
    /// Followers by the time of the follow and user id.
    Followers,
    /// Followed users by the time of the follow and user id.
    Following,
    /// Users who like a content, by time and user id.
    Likers,
    /// Bookmarks by time and content id.
    Bookmarks,
    /// A user's likes by time and content id.
    Likes,
}

impl List {
    const fn byte(self) -> u8 {
        match self {
            Self::Contents => 1,
            Self::Followers => 2,
            Self::Following => 3,
            Self::Likers => 4,
            Self::Bookmarks => 5,
            Self::Likes => 6,
        }
    }
}

const LISTS: [List; 6] = [List::Contents, List::Followers, List::Following, List::Likers, List::Bookmarks, List::Likes];

/// Why a cursor is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCursor {
    /// Not a cursor of this service.
    #[error(
        "not a cursor of this service: pass a `cursor`, `startCursor` or `endCursor` exactly as the service returned it"
    )]
    Malformed,
    /// A cursor of another list.
    #[error("a cursor of another list: pass a cursor of this list")]
    OtherList,
}

/// The cursor of `position` in lists of contents.
pub fn encode(position: Position) -> String {
    encode_in(List::Contents, position)
}

/// The cursor of `position` in `list`.
pub fn encode_in(list: List, position: Position) -> String {
    let mut bytes = [0; LEN];
    bytes[0] = list.byte();
    bytes[1..9].copy_from_slice(&position.publish_time().to_be_bytes());
    bytes[9..].copy_from_slice(&position.content_number().to_be_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The position of a `cursor` in lists of contents. Each position has exactly one cursor.
pub fn decode(cursor: &str) -> Result<Position, InvalidCursor> {
    decode_in(List::Contents, cursor)
}

/// The place of a `cursor` in `list`. Each place has exactly one cursor.
pub fn decode_in(list: List, cursor: &str) -> Result<Position, InvalidCursor> {
    let mut bytes = [0; LEN];
    let read = URL_SAFE_NO_PAD.decode_slice(cursor, &mut bytes).map_err(|_| InvalidCursor::Malformed)?;
    if read != LEN || LISTS.iter().all(|known| known.byte() != bytes[0]) {
        return Err(InvalidCursor::Malformed);
    }
    if bytes[0] != list.byte() {
        return Err(InvalidCursor::OtherList);
    }
    let number = |from: usize| bytes[from..from + 8].iter().fold(0_i64, |acc, byte| (acc << 8) | i64::from(*byte));
    Position::try_new(number(1), number(9)).map_err(|_| InvalidCursor::Malformed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(80 * ProptestConfig::default().cases))]

        #[test]
        fn a_cursor_decodes_to_the_position_it_was_made_of(time in 0..=i64::MAX, id in 1..=i64::MAX) {
            let position = Position::bound(time, id);
            let text = encode(position);
            prop_assert_eq!(text.len(), 23);
            prop_assert_eq!(decode(&text), Ok(position));
        }

        #[test]
        fn any_other_text_is_refused_without_a_panic(text in "\\PC{0,40}") {
            if let Ok(position) = decode(&text) {
                prop_assert_eq!(encode(position), text);
            }
        }
    }

    #[test]
    fn a_cursor_is_good_in_its_own_list_alone() {
        let position = Position::bound(7, 8);
        for (own, other) in LISTS.iter().flat_map(|own| LISTS.iter().map(move |other| (*own, *other))) {
            let expected = if own == other { Ok(position) } else { Err(InvalidCursor::OtherList) };
            assert_eq!(decode_in(other, &encode_in(own, position)), expected, "{own:?} in {other:?}");
        }
        assert_eq!(decode("AAAAAYlFlLlQAAAAAAAAgFI"), Err(InvalidCursor::Malformed), "no list has this first byte");
    }

    #[test]
    fn the_form_is_kept_for_ever() {
        assert_eq!(encode(Position::bound(1_689_089_522_000, 32_850)), "AQAAAYlFlLlQAAAAAAAAgFI");
    }
}
