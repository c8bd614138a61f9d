//! The page of a reader whose authors a node remembers: one statement that asks neither for edges nor for exclusions.

use super::{
    super::{account_deletions::author_remains, part::Part, rows::Row},
    shown::Timeline,
    side::{BEHIND, Side},
    statement::{IN_FLIGHT, INBOX, ROW, STATE},
};
use crate::{
    domain::{
        Counters, EdgeMode, Floor, PageRequest, Reaction, ViewerReactions,
        limits::{MAX_FEW_IN_FLIGHT, MAX_REMEMBERED_EXCLUSIONS},
        timeline::authors::{Candidate, CandidateLimits, Candidates, CardFacts, TimelineAuthors},
    },
    store::StoreError,
};

const VERSION: i64 = 0;
const FOLLOWED: i64 = 1;
const EXCLUDED: i64 = 2;

impl Timeline {
    /// Rows of a tag and three numbers: the version and the floor; followed authors with the mode of the edge; excluded
    /// authors.
    pub(super) fn authors(self) -> Part {
        let reader = self.reader.get();
        let by_key = self.by_key();
        let text = format!(
            "SELECT {VERSION} AS tag, n.authors_version AS a, s.floor_time AS t, s.floor_content AS c FROM user_counts n \
             LEFT JOIN inbox_states s ON s.user_id = n.user_id WHERE n.user_id = ? \
             UNION ALL SELECT {FOLLOWED} AS tag, f.author_id AS a, f.mode AS t, 0 AS c FROM follows f{by_key} WHERE f.follower_id = ? \
             UNION ALL SELECT {EXCLUDED} AS tag, e.author_id AS a, 0 AS t, 0 AS c FROM (SELECT x.author_id FROM exclusions x{by_key} WHERE x.reader_id = ? LIMIT {most}) e",
            most = MAX_REMEMBERED_EXCLUSIONS + 1,
        );
        Part::new(text, [reader, reader, reader])
    }

    /// Rows of a tag and four columns: floor, version and how much is in flight; or position, author and original's
    /// author of a candidate. With facts those of [`FACTS`] follow.
    pub(super) fn candidates(self, request: &PageRequest, limits: CandidateLimits, with_facts: bool) -> Part {
        let no_facts = if with_facts { ", NULL".repeat(FACTS) } else { String::new() };
        let text = format!(
            "SELECT {STATE} AS tag, s.floor_time AS t, s.floor_content AS c, n.authors_version AS a, \
             (SELECT COUNT(*) FROM (SELECT d.content_id FROM deliveries d LIMIT {most}) b) AS o{no_facts} \
             FROM user_counts n LEFT JOIN inbox_states s ON s.user_id = n.user_id WHERE n.user_id = ?",
            most = MAX_FEW_IN_FLIGHT + 1,
        );
        let ahead = Side { limit: limits.ahead, ..Side::ahead(request) };
        let mut whole = Part::new(text, [self.reader.get()])
            .add(&format!(" UNION ALL SELECT {IN_FLIGHT} AS tag, x.* FROM "), [])
            .then(self.few_in_flight(ahead, with_facts).into_table("x"))
            .add(&format!(" UNION ALL SELECT {INBOX} AS tag, x.* FROM "), [])
            .then(self.inbox_of_anybody(ahead, with_facts).into_table("x"));
        if let Some(side) = Side::behind(request) {
            let side = Side { limit: limits.behind, ..side };
            whole = whole
                .add(&format!(" UNION ALL SELECT {} AS tag, x.*{no_facts} FROM ", BEHIND + INBOX), [])
                .then(self.inbox_of_anybody(side, false).into_table("x"));
        }
        whole
    }

    fn few_in_flight(self, side: Side, with_facts: bool) -> Part {
        let (columns, joins) = self.facts("c.author_id", with_facts);
        let then = self.dialect.join_in_order();
        Part::new("SELECT d.publish_time, d.content_id, d.author_id, c.repost_author_id", [])
            .then(columns)
            .add(
                &format!(
                    " FROM (SELECT e.content_id, e.author_id, e.publish_time FROM deliveries e LIMIT {most}) d \
                     {then} follows f{by_key} ON f.follower_id = ? AND f.author_id = d.author_id \
                     {then} contents c ON c.id = d.content_id{joins} WHERE ",
                    most = MAX_FEW_IN_FLIGHT + 1,
                    by_key = self.by_key(),
                ),
                [self.reader.get()],
            )
            .then(side.of_contents("c"))
            .add(&author_remains("c.author_id"), [])
    }

    /// As [`Timeline::inbox`], whoever the rows' authors are.
    fn inbox_of_anybody(self, side: Side, with_facts: bool) -> Part {
        let (columns, joins) = self.facts("i.author_id", with_facts);
        let then = self.dialect.join_in_order();
        Part::new("SELECT i.publish_time, i.content_id, i.author_id, c.repost_author_id", [])
            .then(columns)
            .add(
                &format!(
                    " FROM inbox_states s {then} inboxes i ON i.user_id = s.user_id AND i.publish_time >= s.floor_time \
                     AND (i.publish_time > s.floor_time OR i.content_id >= s.floor_content) \
                     {then} contents c ON c.id = i.content_id{joins} WHERE s.user_id = ? AND ",
                ),
                [self.reader.get()],
            )
            .then(side.of_contents("c"))
            .add(&author_remains("i.author_id"), [])
            .then(side.window(ROW))
            .then(side.first(ROW))
    }

    /// [`FACTS`] columns of the content `c` and of its author, and the joins that they need. A content without them
    /// is shown all the same: they are read by its cards then.
    fn facts(self, author: &str, with_facts: bool) -> (Part, String) {
        if !with_facts {
            return Default::default();
        }
        let by_key = self.by_key();
        let mut columns = Part::new(", k.replies, k.likes, k.reposts, k.bookmarks, u.profile_version", []);
        for reaction in [Reaction::Like, Reaction::Bookmark] {
            let probe = format!(
                ", (SELECT 1 FROM reactions r{by_key} WHERE r.content_id = c.id AND r.kind = {kind} AND r.user_id = ?)",
                kind = reaction.code(),
            );
            columns = columns.add(&probe, [self.reader.get()]);
        }
        let joins = format!(
            " LEFT JOIN counters k{by_key} ON k.content_id = c.id LEFT JOIN users u{by_key} ON u.id = {author}"
        );
        (columns, joins)
    }
}

/// Columns of a candidate's facts: four counters, the version of the author's profile, two reactions.
const FACTS: usize = 7;

/// What the rows of [`Timeline::authors`] say.
pub(super) fn authors(rows: &[Row]) -> Result<Option<(TimelineAuthors, Floor)>, StoreError> {
    let (mut state, mut followed, mut excluded) = (None, Vec::with_capacity(rows.len()), Vec::new());
    for row in rows {
        match row.get(0)? {
            VERSION => state = Some((row.get(1)?, row.floor(2)?)),
            FOLLOWED => followed.push((row.user(1)?, row.get::<i64>(2)? == i64::from(EdgeMode::Push.code()))),
            _ => excluded.push(row.user(1)?),
        }
    }
    let is_bounded = excluded.len() <= MAX_REMEMBERED_EXCLUSIONS;
    let state = state.filter(|_| is_bounded);
    Ok(state.map(|(version, floor)| (TimelineAuthors::new(version, followed, excluded), floor)))
}

/// What the rows of [`Timeline::candidates`] say.
pub(super) fn candidates(rows: &[Row], with_facts: bool) -> Result<Candidates, StoreError> {
    let (mut version, mut trusted, mut few) = (None, Floor::Off, false);
    let (mut in_flight, mut ahead, mut behind) = (Vec::new(), Vec::with_capacity(rows.len()), Vec::new());
    for row in rows {
        match row.get(0)? {
            STATE => {
                trusted = row.floor(1)?;
                version = Some(row.get(3)?);
                few = row.count(4)? <= MAX_FEW_IN_FLIGHT as u64;
            }
            IN_FLIGHT => in_flight.push(candidate(row, with_facts)?),
            INBOX => ahead.push(candidate(row, with_facts)?),
            _ => behind.push(candidate(row, false)?),
        }
    }
    Ok(Candidates { version, floor: trusted, in_flight: few.then_some(in_flight), ahead, behind })
}

fn candidate(row: &Row, with_facts: bool) -> Result<Candidate, StoreError> {
    let original: Option<i64> = row.get(4)?;
    let original_author = match original {
        Some(_) => Some(row.user(4)?),
        None => None,
    };
    let facts = if with_facts { facts(row, 5)? } else { None };
    Ok(Candidate { entry: row.entry(1)?, original_author, facts })
}

/// The [`FACTS`] columns from `place` on; `None` if the content or its author has none.
fn facts(row: &Row, place: usize) -> Result<Option<CardFacts>, StoreError> {
    let (replies, version): (Option<i64>, Option<i64>) = (row.get(place)?, row.get(place + 4)?);
    let (Some(replies), Some(profile_version)) = (replies, version) else { return Ok(None) };
    let [likes, reposts, bookmarks] = [row.get(place + 1)?, row.get(place + 2)?, row.get(place + 3)?];
    let is_found = |place| Ok::<_, StoreError>(row.get::<Option<i64>>(place)?.is_some());
    Ok(Some(CardFacts {
        counters: Counters { replies, likes, reposts, bookmarks },
        reactions: ViewerReactions { liked: is_found(place + 5)?, bookmarked: is_found(place + 6)? },
        profile_version,
    }))
}
