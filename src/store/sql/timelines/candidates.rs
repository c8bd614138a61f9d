//! Reads the page of a reader whose authors the node remembers, in one statement without edges and exclusions.

use super::{
    super::{
        fragment::Fragment,
        rows::{DomainColumns as _, Row},
    },
    shown::Timeline,
    side::{PageShape, SideShape},
    slots::Slot,
    statement::{IN_FLIGHT, INBOX, ROW, STATE},
};
use crate::{
    domain::{
        Counters, EdgeMode, Floor, Reaction, ViewerReactions,
        limits::{MAX_FEW_IN_FLIGHT, MAX_LEAVING_ACCOUNTS, MAX_REMEMBERED_EXCLUSIONS, MAX_REMEMBERED_REACTIONS},
        timeline::{
            authors::{ReaderSnapshot, TimelineAuthors},
            candidates::{Candidate, Candidates, CardFacts, Wanted},
            reactions::RememberedReactions,
        },
    },
    store::StoreError,
};

const VERSION: i64 = 0;
const FOLLOWED: i64 = 1;
const EXCLUDED: i64 = 2;
const REACTED: i64 = 3;
/// Rows of accounts that are being deleted, beside the tags of [`super::statement`].
const LEAVING: i64 = 6;

impl Timeline {
    /// Rows of a tag and four columns: the versions and the floor; followed authors with the mode of the edge; excluded
    /// authors; reactions.
    pub(super) fn reader(self) -> Fragment<Slot> {
        let by_key = self.by_key();
        let text = format!(
            "SELECT {VERSION} AS tag, n.authors_version AS a, s.floor_time AS t, s.floor_content AS c, n.reactions_version AS r \
             FROM user_counts n LEFT JOIN inbox_states s ON s.user_id = n.user_id WHERE n.user_id = ? \
             UNION ALL SELECT {FOLLOWED} AS tag, f.author_id AS a, f.mode AS t, 0 AS c, 0 AS r FROM follows f{by_key} WHERE f.follower_id = ? \
             UNION ALL SELECT {EXCLUDED} AS tag, e.author_id AS a, 0 AS t, 0 AS c, 0 AS r \
             FROM (SELECT x.author_id FROM exclusions x{by_key} WHERE x.reader_id = ? LIMIT {most_excluded}) e \
             UNION ALL SELECT {REACTED} AS tag, v.content_id AS a, v.kind AS t, 0 AS c, 0 AS r \
             FROM (SELECT r.content_id, r.kind FROM reactions r{of_user} WHERE r.user_id = ? LIMIT {most_reactions}) v",
            most_excluded = MAX_REMEMBERED_EXCLUSIONS + 1,
            most_reactions = MAX_REMEMBERED_REACTIONS + 1,
            of_user = self.dialect.force_index("reactions_of_user"),
        );
        Fragment::with(text, [Slot::Reader; 4])
    }

    /// Rows of a tag and four columns: floor and versions; or position, author and original's author of a candidate; or
    /// an author whose account is being deleted. With facts, their columns follow; only inbox rows ahead of the bound
    /// have values there.
    ///
    /// MySQL and MariaDB spend about 15 us per run to plan each further table, and about 2 us per probe of a row. So
    /// the statement joins nothing that the node knows: the followed authors, the end of the inbox, and the reader's
    /// reactions.
    pub(super) fn candidates(self, page: PageShape, wanted: Wanted) -> Fragment<Slot> {
        let ahead = SideShape::ahead(page);
        let behind = SideShape::behind(page).map(SideShape::limited);
        let mut inbox = vec![self.inbox_of_anybody(ahead, wanted, self.facts(INBOX_ROW, wanted))];
        let none = || (no_facts(wanted), Fragment::default());
        inbox.extend(behind.map(|side| self.inbox_of_anybody(side, Wanted::ENTRIES, none())));
        self.with_inbox(page, inbox, wanted)
    }

    /// The same with these branches in place of the inbox.
    pub(super) fn with_inbox(self, page: PageShape, inbox: Vec<Fragment<Slot>>, wanted: Wanted) -> Fragment<Slot> {
        let no_facts = no_facts(wanted);
        let text = format!(
            "SELECT {STATE} AS tag, s.floor_time AS t, s.floor_content AS c, n.authors_version AS a, n.reactions_version AS o{no_facts} \
             FROM user_counts n LEFT JOIN inbox_states s ON s.user_id = n.user_id WHERE n.user_id = ?",
        );
        let leaving = format!(
            "SELECT {LEAVING} AS tag, g.user_id, 0 AS c, 0 AS a, 0 AS o{no_facts} FROM account_deletions g \
             WHERE g.look_at IS NOT NULL LIMIT {most}",
            most = MAX_LEAVING_ACCOUNTS + 1,
        );
        let mut branches = vec![self.few_in_flight(SideShape::ahead(page), &no_facts), Fragment::new(leaving, [])];
        branches.extend(inbox);
        branches.into_iter().fold(Fragment::with(text, [Slot::Reader]), |whole, branch| {
            whole.add(" UNION ALL ", []).then(self.dialect.limited_branch(branch))
        })
    }

    /// Contents in flight of all authors. A row without an author stands for a content that is removed or of another
    /// kind.
    fn few_in_flight(self, side: SideShape, no_facts: &str) -> Fragment<Slot> {
        let text = format!(
            "SELECT {IN_FLIGHT} AS tag, d.publish_time, d.content_id, c.author_id, c.repost_author_id{no_facts} \
             FROM deliveries d LEFT JOIN contents c{by_key} ON c.id = d.content_id AND ",
            by_key = self.by_key(),
        );
        Fragment::new(text, [])
            .then(side.of_contents("c"))
            .add(&format!(" LIMIT {most}", most = MAX_FEW_IN_FLIGHT + 1), [])
    }

    /// Like [`Timeline::inbox`], but with rows of all authors, and with rows below the floor. The content's counters
    /// say whether it exists, if nothing else of its row is needed.
    fn inbox_of_anybody(
        self,
        side: SideShape,
        wanted: Wanted,
        (columns, joins): (String, Fragment<Slot>),
    ) -> Fragment<Slot> {
        let (by_key, then, tag) = (self.by_key(), self.dialect.join_in_order(), side.end.tag(INBOX));
        let reads_counters_alone = wanted.facts && !wanted.original_authors && side.kinds.is_all();
        let (original, exists, condition) = if reads_counters_alone {
            ("NULL", format!("{then} counters k{by_key} ON k.content_id = i.content_id"), Fragment::default())
        } else {
            let counters = if wanted.facts {
                format!(" LEFT JOIN counters k{by_key} ON k.content_id = i.content_id")
            } else {
                String::new()
            };
            let exists = format!("{then} contents c{by_key} ON c.id = i.content_id{counters}");
            ("c.repost_author_id", exists, Fragment::new(" AND ", []).then(side.of_contents("c")))
        };
        let text = format!(
            "SELECT {tag} AS tag, i.publish_time, i.content_id, i.author_id, {original}{columns} FROM inboxes i{by_key} {exists}",
        );
        Fragment::new(text, [])
            .then(joins)
            .add_with(" WHERE i.user_id = ?", [Slot::Reader])
            .then(condition)
            .then(side.window(ROW))
            .then(side.first(ROW))
    }

    /// The facts of a content with the counters `k`, and the joins that they need; these columns have the content's and
    /// the author's id. A content without them is still shown; its card reads them separately.
    pub(super) fn facts(self, (content, author): (&str, &str), wanted: Wanted) -> (String, Fragment<Slot>) {
        if !wanted.facts {
            return Default::default();
        }
        let (by_key, columns) = (self.by_key(), FACTS);
        let author = Fragment::new(format!(" LEFT JOIN users u{by_key} ON u.id = {author}"), []);
        if !wanted.reactions {
            return (columns.to_owned(), author);
        }
        let reaction = |name: &str, reaction: Reaction| {
            let kind = reaction.code();
            let text = format!(
                " LEFT JOIN reactions {name}{by_key} ON {name}.content_id = {content} AND {name}.kind = {kind} AND {name}.user_id = ?"
            );
            Fragment::with(text, [Slot::Reader])
        };
        (
            format!("{columns}, l.kind AS liked, b.kind AS kept"),
            author.then(reaction("l", Reaction::Like)).then(reaction("b", Reaction::Bookmark)),
        )
    }
}

/// The columns of an inbox row that [`Timeline::facts`] takes.
const INBOX_ROW: (&str, &str) = ("i.content_id", "i.author_id");

/// The columns of facts without reactions, of the tables `counters` and `users`.
pub(super) const FACTS: &str = ", k.replies, k.likes, k.reposts, k.bookmarks, u.profile_version";

/// As many columns as facts have, without values.
pub(super) fn no_facts(wanted: Wanted) -> String {
    ", NULL".repeat(columns_of(wanted))
}

/// Columns of a candidate's facts: four counters and the version of the author's profile; two reactions.
const fn columns_of(wanted: Wanted) -> usize {
    match wanted {
        Wanted { facts: false, .. } => 0,
        Wanted { reactions: false, .. } => 5,
        Wanted { .. } => 7,
    }
}

/// Decodes the rows of [`Timeline::reader`].
pub(super) fn reader(rows: &[Row]) -> Result<Option<ReaderSnapshot>, StoreError> {
    let (mut state, mut followed, mut excluded) = (None, Vec::with_capacity(rows.len()), Vec::new());
    let mut reactions = Vec::new();
    for row in rows {
        match row.get(0)? {
            VERSION => state = Some((row.get(1)?, row.floor(2)?, row.get(4)?)),
            FOLLOWED => followed.push((row.user(1)?, row.get::<i64>(2)? == i64::from(EdgeMode::Push.code()))),
            EXCLUDED => excluded.push(row.user(1)?),
            _ => reactions.push((row.content(1)?, reaction(row.get(2)?)?)),
        }
    }
    let is_bounded = excluded.len() <= MAX_REMEMBERED_EXCLUSIONS;
    Ok(state.filter(|_| is_bounded).map(|(version, floor, reactions_version)| ReaderSnapshot {
        authors: TimelineAuthors::new(version, followed, excluded),
        reactions: (reactions.len() <= MAX_REMEMBERED_REACTIONS)
            .then(|| RememberedReactions::new(reactions_version, reactions)),
        floor,
    }))
}

fn reaction(code: i64) -> Result<Reaction, StoreError> {
    let mut all = [Reaction::Like, Reaction::Bookmark].into_iter();
    let found = all.find(|reaction| i64::from(reaction.code()) == code);
    found.ok_or_else(|| StoreError::Unreadable(format!("a reaction of the kind {code}")))
}

/// Decodes the rows of [`Timeline::candidates`].
pub(super) fn candidates(rows: &[Row], wanted: Wanted) -> Result<Candidates, StoreError> {
    let mut found = all_candidates(rows, wanted)?;
    let floor = found.floor.trusted_from();
    for rows in [&mut found.ahead, &mut found.behind] {
        rows.retain(|row| row.entry.position() >= floor);
    }
    Ok(found)
}

/// The same with rows below the floor.
pub(super) fn all_candidates(rows: &[Row], wanted: Wanted) -> Result<Candidates, StoreError> {
    let (mut version, mut reactions_version, mut floor) = (None, 0, Floor::Off);
    let (mut in_flight, mut leaving) = (Vec::new(), Vec::new());
    let (mut ahead, mut behind) = (Vec::with_capacity(rows.len()), Vec::new());
    for row in rows {
        match row.get(0)? {
            STATE => (version, reactions_version, floor) = (Some(row.get(3)?), row.get(4)?, row.floor(1)?),
            IN_FLIGHT => {
                in_flight.push(row.get::<Option<i64>>(3)?.map(|_| candidate(row, Wanted::ENTRIES)).transpose()?);
            }
            LEAVING => leaving.push(row.user(1)?),
            INBOX => ahead.push(candidate(row, wanted)?),
            _ => behind.push(candidate(row, Wanted::ENTRIES)?),
        }
    }
    let are_few = in_flight.len() <= MAX_FEW_IN_FLIGHT && leaving.len() <= MAX_LEAVING_ACCOUNTS;
    let in_flight = are_few.then(|| in_flight.into_iter().flatten().collect());
    Ok(Candidates { version, reactions_version, floor, in_flight, leaving, ahead, behind })
}

fn candidate(row: &Row, wanted: Wanted) -> Result<Candidate, StoreError> {
    let original: Option<i64> = row.get(4)?;
    let original_author = match original {
        Some(_) => Some(row.user(4)?),
        None => None,
    };
    let facts = if wanted.facts { facts(row, 5, wanted.reactions)? } else { None };
    Ok(Candidate { entry: row.entry(1)?, original_author, facts })
}

/// The facts from the column `place` on; `None` if the content or its author has none.
pub(super) fn facts(row: &Row, place: usize, with_reactions: bool) -> Result<Option<CardFacts>, StoreError> {
    let (replies, version): (Option<i64>, Option<i64>) = (row.get(place)?, row.get(place + 4)?);
    let (Some(replies), Some(profile_version)) = (replies, version) else { return Ok(None) };
    let [likes, reposts, bookmarks] = [row.get(place + 1)?, row.get(place + 2)?, row.get(place + 3)?];
    let is_found = |place| Ok::<_, StoreError>(with_reactions && row.get::<Option<i64>>(place)?.is_some());
    Ok(Some(CardFacts {
        counters: Counters { replies, likes, reposts, bookmarks },
        reactions: ViewerReactions { liked: is_found(place + 5)?, bookmarked: is_found(place + 6)? },
        profile_version,
    }))
}
