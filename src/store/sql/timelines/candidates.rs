//! Reads the page of a reader whose authors the node remembers, in one statement without edges and exclusions.

use super::{
    super::{fragment::Fragment, rows::Row},
    shown::Timeline,
    side::Side,
    statement::{IN_FLIGHT, INBOX, ROW, STATE},
};
use crate::{
    domain::{
        Counters, EdgeMode, Floor, PageRequest, Reaction, ViewerReactions,
        limits::{MAX_FEW_IN_FLIGHT, MAX_LEAVING_ACCOUNTS, MAX_REMEMBERED_EXCLUSIONS},
        timeline::authors::{Candidate, CandidateLimits, Candidates, CardFacts, TimelineAuthors},
    },
    store::StoreError,
};

const VERSION: i64 = 0;
const FOLLOWED: i64 = 1;
const EXCLUDED: i64 = 2;
/// Rows of accounts that are being deleted, beside the tags of [`super::statement`].
const LEAVING: i64 = 6;

impl Timeline {
    /// Rows of a tag and three numbers: the version and the floor; followed authors with the mode of the edge; excluded
    /// authors.
    pub(super) fn authors(self) -> Fragment {
        let reader = self.reader.get();
        let by_key = self.by_key();
        let text = format!(
            "SELECT {VERSION} AS tag, n.authors_version AS a, s.floor_time AS t, s.floor_content AS c FROM user_counts n \
             LEFT JOIN inbox_states s ON s.user_id = n.user_id WHERE n.user_id = ? \
             UNION ALL SELECT {FOLLOWED} AS tag, f.author_id AS a, f.mode AS t, 0 AS c FROM follows f{by_key} WHERE f.follower_id = ? \
             UNION ALL SELECT {EXCLUDED} AS tag, e.author_id AS a, 0 AS t, 0 AS c FROM (SELECT x.author_id FROM exclusions x{by_key} WHERE x.reader_id = ? LIMIT {most}) e",
            most = MAX_REMEMBERED_EXCLUSIONS + 1,
        );
        Fragment::new(text, [reader, reader, reader])
    }

    /// Rows of a tag and four columns: floor and version; or position, author and original's author of a candidate; or
    /// an author whose account is being deleted. With facts, the [`FACTS`] columns follow; only inbox rows ahead of
    /// the bound have values there.
    ///
    /// MySQL and MariaDB spend about 15 us per run to plan each further table, and about 2 us per probe of a row. So
    /// the statement joins nothing that the node knows: the followed authors and the end of the inbox.
    pub(super) fn candidates(self, request: &PageRequest, limits: CandidateLimits, with_facts: bool) -> Fragment {
        let ahead = Side { limit: limits.ahead, ..Side::ahead(request) };
        let behind = Side::behind(request).map(|side| Side { limit: limits.behind, ..side });
        let mut inbox = vec![self.inbox_of_anybody(ahead, self.facts(INBOX_ROW, with_facts))];
        inbox.extend(behind.map(|side| self.inbox_of_anybody(side, (no_facts(with_facts), Fragment::default()))));
        self.around_inbox(request, inbox, with_facts)
    }

    /// The same with these branches for the inbox.
    pub(super) fn around_inbox(self, request: &PageRequest, inbox: Vec<Fragment>, with_facts: bool) -> Fragment {
        let no_facts = no_facts(with_facts);
        let text = format!(
            "SELECT {STATE} AS tag, s.floor_time AS t, s.floor_content AS c, n.authors_version AS a, 0 AS o{no_facts} \
             FROM user_counts n LEFT JOIN inbox_states s ON s.user_id = n.user_id WHERE n.user_id = ?",
        );
        let leaving = format!(
            "SELECT {LEAVING} AS tag, g.user_id, 0 AS c, 0 AS a, 0 AS o{no_facts} FROM account_deletions g \
             WHERE g.look_at IS NOT NULL LIMIT {most}",
            most = MAX_LEAVING_ACCOUNTS + 1,
        );
        let mut branches = vec![self.few_in_flight(Side::ahead(request), &no_facts), Fragment::new(leaving, [])];
        branches.extend(inbox);
        branches.into_iter().fold(Fragment::new(text, [self.reader.get()]), |whole, branch| {
            whole.add(" UNION ALL ", []).then(self.dialect.limited_branch(branch))
        })
    }

    /// Contents in flight of all authors. A row without an author stands for a content that is removed or of another
    /// kind.
    fn few_in_flight(self, side: Side, no_facts: &str) -> Fragment {
        let text = format!(
            "SELECT {IN_FLIGHT} AS tag, d.publish_time, d.content_id, c.author_id, c.repost_author_id{no_facts} \
             FROM deliveries d LEFT JOIN contents c{by_key} ON c.id = d.content_id AND ",
            by_key = self.by_key(),
        );
        Fragment::new(text, [])
            .then(side.of_contents("c"))
            .add(&format!(" LIMIT {most}", most = MAX_FEW_IN_FLIGHT + 1), [])
    }

    /// Like [`Timeline::inbox`], but with rows of all authors, and with rows below the floor.
    fn inbox_of_anybody(self, side: Side, (columns, joins): (String, Fragment)) -> Fragment {
        let text = format!(
            "SELECT {tag} AS tag, i.publish_time, i.content_id, i.author_id, c.repost_author_id{columns} \
             FROM inboxes i{by_key} {then} contents c{by_key} ON c.id = i.content_id",
            tag = side.tag + INBOX,
            by_key = self.by_key(),
            then = self.dialect.join_in_order(),
        );
        Fragment::new(text, [])
            .then(joins)
            .add(" WHERE i.user_id = ? AND ", [self.reader.get()])
            .then(side.of_contents("c"))
            .then(side.window(ROW))
            .then(side.first(ROW))
    }

    /// [`FACTS`] columns of a content and the joins that they need; the content's and the author's id are in these
    /// columns. A content without them is still shown; its card reads them separately.
    pub(super) fn facts(self, (content, author): (&str, &str), with_facts: bool) -> (String, Fragment) {
        if !with_facts {
            return Default::default();
        }
        let by_key = self.by_key();
        let columns =
            ", k.replies, k.likes, k.reposts, k.bookmarks, u.profile_version, l.kind AS liked, b.kind AS kept";
        let joins = format!(
            " LEFT JOIN counters k{by_key} ON k.content_id = {content} LEFT JOIN users u{by_key} ON u.id = {author}"
        );
        let reaction = |name: &str, reaction: Reaction| {
            let kind = reaction.code();
            let text = format!(
                " LEFT JOIN reactions {name}{by_key} ON {name}.content_id = {content} AND {name}.kind = {kind} AND {name}.user_id = ?"
            );
            Fragment::new(text, [self.reader.get()])
        };
        let joins = Fragment::new(joins, []);
        (columns.to_owned(), joins.then(reaction("l", Reaction::Like)).then(reaction("b", Reaction::Bookmark)))
    }
}

/// The columns of an inbox row that [`Timeline::facts`] takes.
const INBOX_ROW: (&str, &str) = ("i.content_id", "i.author_id");

/// As many columns as facts have, without values.
pub(super) fn no_facts(with_facts: bool) -> String {
    if with_facts { ", NULL".repeat(FACTS) } else { String::new() }
}

/// Columns of a candidate's facts: four counters, the version of the author's profile, two reactions.
const FACTS: usize = 7;

/// Decodes the rows of [`Timeline::authors`].
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

/// Decodes the rows of [`Timeline::candidates`].
pub(super) fn candidates(rows: &[Row], with_facts: bool) -> Result<Candidates, StoreError> {
    let mut found = all_candidates(rows, with_facts)?;
    let floor = found.floor.trusted_from();
    for rows in [&mut found.ahead, &mut found.behind] {
        rows.retain(|row| row.entry.position() >= floor);
    }
    Ok(found)
}

/// The same with rows below the floor.
pub(super) fn all_candidates(rows: &[Row], with_facts: bool) -> Result<Candidates, StoreError> {
    let (mut version, mut floor) = (None, Floor::Off);
    let (mut in_flight, mut leaving) = (Vec::new(), Vec::new());
    let (mut ahead, mut behind) = (Vec::with_capacity(rows.len()), Vec::new());
    for row in rows {
        match row.get(0)? {
            STATE => (version, floor) = (Some(row.get(3)?), row.floor(1)?),
            IN_FLIGHT => in_flight.push(row.get::<Option<i64>>(3)?.map(|_| candidate(row, false)).transpose()?),
            LEAVING => leaving.push(row.user(1)?),
            INBOX => ahead.push(candidate(row, with_facts)?),
            _ => behind.push(candidate(row, false)?),
        }
    }
    let are_few = in_flight.len() <= MAX_FEW_IN_FLIGHT && leaving.len() <= MAX_LEAVING_ACCOUNTS;
    let in_flight = are_few.then(|| in_flight.into_iter().flatten().collect());
    Ok(Candidates { version, floor, in_flight, leaving, ahead, behind })
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
