//! Resume tokens: they say what a client holds of its timeline, as a floor and the content ids above it. Clients treat
//! them as opaque. They work on every node and never expire, because no server keeps anything about them.
//!
//! Bytes: 64 (no list of cursors begins with it), the floor's publish time and content id (i64, big endian), then the
//! ids held (i64, big endian, ascending); base64url without padding. A cursor works as well: it means "nothing above
//! this".

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::{
    ids::ContentId,
    limits::{MAX_CATCH_UP, VIEW_WINDOW},
    timeline::{
        cursor,
        folding::Folded,
        page::{Direction, PageRequest},
        position::{Entry, Position},
    },
};

const VERSION: u8 = 64;
const NUMBER: usize = 8;
const HEAD: usize = 1 + 2 * NUMBER;
/// Most ids in one token.
const MOST: usize = VIEW_WINDOW + MAX_CATCH_UP as usize;

/// The text is neither a resume token nor a cursor of this service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "neither a resume token nor a cursor of this service: pass a `resumeToken` or a `cursor` exactly as the service returned it"
)]
pub struct InvalidResumePoint;

/// The entries above a floor that a client holds: at most [`MOST`], a window and what an unfinished catch-up has
/// added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumePoint {
    floor: Position,
    /// Ascending, without duplicates.
    held: Vec<ContentId>,
}

impl ResumePoint {
    /// Nothing above `floor`; below it, anything.
    pub const fn above(floor: Position) -> Self {
        Self { floor, held: Vec::new() }
    }

    /// Exactly `held` above `floor`.
    pub fn exactly(floor: Position, mut held: Vec<ContentId>) -> Self {
        held.sort_unstable();
        held.dedup();
        Self { floor, held }
    }

    /// What a client holds after it has received `page`. If its section has more than [`VIEW_WINDOW`] entries,
    /// including folded ones, the floor rises to keep the newest.
    pub fn of_page(request: &PageRequest, page: &Folded) -> Self {
        let floor = match page.unfolded.last() {
            _ if !page.has_older => Position::OLDEST,
            Some(last) => just_below(last.position()),
            None if request.direction == Direction::Newer => request.bound.unwrap_or(Position::OLDEST),
            None => Position::OLDEST,
        };
        let floor = page.unfolded.get(VIEW_WINDOW).map_or(floor, Entry::position);
        let shown = page.entries.iter().filter(|entry| entry.position() > floor);
        Self::exactly(floor, shown.map(|entry| entry.content).collect())
    }

    /// Entries at or below it are not described.
    pub const fn floor(&self) -> Position {
        self.floor
    }

    /// The ids held above the floor, ascending.
    pub fn held(&self) -> &[ContentId] {
        &self.held
    }

    /// Encodes the token for clients.
    pub fn encode(&self) -> String {
        let mut bytes = Vec::with_capacity(HEAD + NUMBER * self.held.len());
        bytes.push(VERSION);
        let floor = [self.floor.publish_time(), self.floor.content_number()];
        for number in floor.into_iter().chain(self.held.iter().map(|id| id.get())) {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Decodes a resume token or a cursor.
    pub fn decode(text: &str) -> Result<Self, InvalidResumePoint> {
        if let Ok(position) = cursor::decode(text) {
            return Ok(Self::above(position));
        }
        if text.len() > base64::encoded_len(HEAD + NUMBER * MOST, false).unwrap_or(0) {
            return Err(InvalidResumePoint);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidResumePoint)?;
        let (version, numbers) = bytes.split_first().ok_or(InvalidResumePoint)?;
        if *version != VERSION || numbers.len() % NUMBER != 0 {
            return Err(InvalidResumePoint);
        }
        let number = |bytes: &[u8]| bytes.iter().fold(0_i64, |acc, byte| (acc << 8) | i64::from(*byte));
        let mut numbers = numbers.chunks_exact(NUMBER).map(number);
        let (Some(time), Some(content)) = (numbers.next(), numbers.next()) else { return Err(InvalidResumePoint) };
        if time < 0 || content < 0 {
            return Err(InvalidResumePoint);
        }
        let held = numbers.map(ContentId::try_new).collect::<Result<Vec<_>, _>>().map_err(|_| InvalidResumePoint)?;
        if held.is_sorted_by(|a, b| a < b) {
            Ok(Self { floor: Position::bound(time, content), held })
        } else {
            Err(InvalidResumePoint)
        }
    }
}

/// The bound just below `position`: ids are whole numbers from 1.
fn just_below(position: Position) -> Position {
    Position::bound(position.publish_time(), position.content_number() - 1)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use proptest::{collection::btree_set, prelude::*};

    use super::*;
    use crate::{Page, PageSize, UserId};

    fn entry(number: i64) -> Entry {
        let content = ContentId::try_new(number).unwrap();
        Entry { publish_time: number, content, author: UserId::try_new(1).unwrap() }
    }

    fn newest() -> PageRequest {
        PageRequest::newest(PageSize::default())
    }

    proptest! {
        #[test]
        fn a_token_decodes_to_what_it_was_made_of(
            time in 0..=i64::MAX, id in 0..=i64::MAX, held in btree_set(1..=i64::MAX, 0..=VIEW_WINDOW)
        ) {
            let held = held.into_iter().map(|id| ContentId::try_new(id).unwrap()).collect();
            let point = ResumePoint { floor: Position::bound(time, id), held };
            prop_assert_eq!(ResumePoint::decode(&point.encode()), Ok(point));
        }

        #[test]
        fn any_other_text_is_refused_without_a_panic(text in "[A-Za-z0-9_-]{0,60}") {
            if let Ok(point) = ResumePoint::decode(&text) {
                let cursor = cursor::decode(&text).is_ok();
                prop_assert!(cursor || point.encode() == text);
            }
        }
    }

    #[test]
    fn a_cursor_says_that_nothing_is_held_above_it() {
        let position = Position::bound(7, 8);
        assert_eq!(ResumePoint::decode(&cursor::encode(position)), Ok(ResumePoint::above(position)));
    }

    #[test]
    fn a_token_with_more_ids_than_any_issued_one_is_refused() {
        let ids = |count| (1..=count).map(|id| ContentId::try_new(id).unwrap()).collect();
        let most = ResumePoint::exactly(Position::OLDEST, ids(1_064));
        assert_eq!(ResumePoint::decode(&most.encode()), Ok(most));
        let more = ResumePoint::exactly(Position::OLDEST, ids(1_065));
        assert_eq!(ResumePoint::decode(&more.encode()), Err(InvalidResumePoint));
    }

    #[test]
    fn a_resume_point_ends_at_the_pages_last_entry_or_the_oldest() {
        let mut page = Folded::from(Page { entries: vec![entry(9), entry(7)], has_older: true, has_newer: false });
        let point = ResumePoint::of_page(&newest(), &page);
        assert_eq!(point.floor(), Position::bound(7, 6));
        assert_eq!(point.held(), [entry(7).content, entry(9).content]);
        page.has_older = false;
        assert_eq!(ResumePoint::of_page(&newest(), &page).floor(), Position::OLDEST);
    }

    #[test]
    fn an_empty_page_towards_newer_resumes_from_its_bound() {
        let bound = Position::bound(7, 8);
        let request = PageRequest { direction: Direction::Newer, bound: Some(bound), ..newest() };
        let page = Folded::from(Page { entries: Vec::new(), has_older: true, has_newer: false });
        assert_eq!(ResumePoint::of_page(&request, &page), ResumePoint::above(bound));
    }

    #[test]
    fn a_resume_point_holds_the_newest_window_of_a_long_page() {
        let entries: Vec<Entry> = (1..=100).rev().map(entry).collect();
        let page = Folded::from(Page { entries, has_older: false, has_newer: false });
        let point = ResumePoint::of_page(&newest(), &page);
        assert_eq!((point.floor(), point.held().len()), (entry(36).position(), VIEW_WINDOW));
    }

    #[test]
    fn folded_entries_are_not_held_and_lie_above_the_floor() {
        let mut page =
            Folded::from(Page { entries: vec![entry(9), entry(8), entry(7)], has_older: true, has_newer: false });
        page.entries.pop();
        let point = ResumePoint::of_page(&newest(), &page);
        assert_eq!(
            (point.floor(), point.held()),
            (Position::bound(7, 6), [entry(8).content, entry(9).content].as_slice())
        );
    }
}
