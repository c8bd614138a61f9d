//! A position as clients see it: opaque, stable for ever, valid even when its own entry is gone.
//!
//! Bytes: version (1), publish time (i64, big endian), content id (i64, big endian); base64url without padding
//! (RFC 4648 section 5): 23 characters.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::position::Position;

const VERSION: u8 = 1;
const LEN: usize = 17;

/// The text is no cursor that Tidefeed has given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of this service: pass a `cursor`, `startCursor` or `endCursor` as it was given")]
pub struct InvalidCursor;

/// The cursor of `position`.
pub fn encode(position: Position) -> String {
    let mut bytes = [0; LEN];
    bytes[0] = VERSION;
    bytes[1..9].copy_from_slice(&position.publish_time().to_be_bytes());
    bytes[9..].copy_from_slice(&position.content_number().to_be_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The position of `cursor`; exactly one text decodes to a position.
pub fn decode(cursor: &str) -> Result<Position, InvalidCursor> {
    let mut bytes = [0; LEN];
    let read = URL_SAFE_NO_PAD.decode_slice(cursor, &mut bytes).map_err(|_| InvalidCursor)?;
    if read != LEN || bytes[0] != VERSION {
        return Err(InvalidCursor);
    }
    let number = |from: usize| bytes[from..from + 8].iter().fold(0_i64, |acc, byte| (acc << 8) | i64::from(*byte));
    Position::try_new(number(1), number(9)).map_err(|_| InvalidCursor)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

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
    fn the_form_is_kept_for_ever() {
        assert_eq!(encode(Position::bound(1_689_089_522_000, 32_850)), "AQAAAYlFlLlQAAAAAAAAgFI");
    }
}
