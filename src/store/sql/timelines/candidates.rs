//! Reads the candidates of a page in one statement: the reader's state, what is in flight, the inbox, and the outboxes
//! of the uncovered authors, who are named. It reads no exclusions, and no edges but those of the named authors.
//!
//! Every branch that is ordered and limited is a table of its own, `SELECT .. FROM (SELECT .. ORDER BY .. LIMIT ?) x`:
//! the only form that all engines accept. tests/it/store/explain.rs bounds the cost of each branch.

use super::{
    super::{
        dialect::Dialect,
        fragment::Fragment,
        keyset::Columns,
        rows::{DomainColumns as _, Row},
        spread_counts::{COUNTER_COLUMNS, COUNTER_WIDTH, counters},
    },
    bindings::{End, List},
    shown::Timeline,
    side::{PageShape, Side},
};
use crate::{
    domain::{
        Direction, EdgeMode, Floor, Reaction, ViewerReactions,
        limits::{MAX_FEW_IN_FLIGHT, MAX_LEAVING_ACCOUNTS, MAX_REMEMBERED_EXCLUSIONS, MAX_REMEMBERED_REACTIONS},
        timeline::{
            authors::{ReaderSnapshot, TimelineAuthors},
            candidates::{Ask, Candidate, Candidates, CardFacts, OutboxVersion, Pulled, Wanted},
            reactions::RememberedReactions,
        },
    },
    store::StoreError,
};

/// Rows of the state: floor time, floor content, the version of the authors, the version of the reactions.
pub(super) const STATE: i64 = 0;
/// Rows of named authors: the version of the outbox, 0, the author.
const OUTBOX: i64 = 1;
/// Rows of entries in flight, on both sides of the bound.
const IN_FLIGHT: i64 = 2;
/// Rows of the inbox; [`End::tag`](super::bindings::End::tag) is of one side.
pub(super) const INBOX: i64 = 3;
/// As [`INBOX`]: contents of named authors.
const PULLED: i64 = 4;
/// Rows of accounts that are being deleted.
const LEAVING: i64 = 6;
const INBOX_BEHIND: i64 = End::Behind.tag(INBOX);

/// Columns of the position of an inbox row.
const ROW: Columns = Columns { time: "i.publish_time", id: "i.content_id" };

/// In place of an original's author: the content of the row does not exist. No user has this id.
const GONE: i64 = 0;

/// Which rows of the inbox are read, up to the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InboxRows {
    /// Those whose contents exist, of the kinds of the page.
    Existing,
    /// The nearest ones. For pages of all kinds.
    Nearest,
}

const VERSION: i64 = 0;
const FOLLOWED: i64 = 1;
const EXCLUDED: i64 = 2;
const REACTED: i64 = 3;

impl Timeline<'_> {
    /// Rows of a tag and four columns: the versions and the floor; followed authors with the mode of the edge; excluded
    /// authors; reactions.
    pub(super) fn reader(self) -> Fragment {
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
        Fragment::with(text, vec![self.bindings.reader(); 4])
    }

    /// Rows of a tag and four columns: floor and versions; or position, author and original's author of a candidate; or
    /// the version of an outbox and its author; or an author whose account is being deleted. With facts, their columns
    /// follow; only rows ahead of the bound have values there.
    ///
    /// MySQL and MariaDB spend about 15 us per run to plan each further table, and about 2 us per probe of a row. So
    /// the statement joins nothing that the node knows (the followed authors, the end of the inbox, and the reader's
    /// reactions), and has a branch only if there is something to read.
    pub(super) fn candidates(self, page: PageShape, ask: &Ask<'_>, inbox: InboxRows) -> Fragment {
        let ahead = Side::ahead(page, self.bindings);
        let behind = Side::behind(page, self.bindings).map(Side::limited);
        let wanted = ask.wanted;
        let read = |side, wanted, facts| match inbox {
            InboxRows::Existing => self.inbox_of_anybody(side, wanted, facts),
            InboxRows::Nearest => self.nearest_of_inbox(side, wanted, facts),
        };
        let mut sides = vec![read(ahead, wanted, self.facts(INBOX_ROW, wanted))];
        let none = || (no_facts(wanted), Fragment::default());
        sides.extend(behind.map(|side| read(side, Wanted::ENTRIES, none())));
        self.with_inbox(page, sides, ask)
    }

    /// The same with these branches in place of the inbox.
    pub(super) fn with_inbox(self, page: PageShape, inbox: Vec<Fragment>, ask: &Ask<'_>) -> Fragment {
        let no_facts = no_facts(ask.wanted);
        let leaving = format!(
            "SELECT {LEAVING} AS tag, g.user_id, 0 AS c, 0 AS a, 0 AS o{no_facts} FROM account_deletions g \
             WHERE g.look_at IS NOT NULL LIMIT {most}",
            most = MAX_LEAVING_ACCOUNTS + 1,
        );
        let in_flight = self.few_in_flight(Side::ahead(page, self.bindings), ask.many_in_flight, &no_facts);
        let mut branches = vec![in_flight, Fragment::new(leaving, [])];
        branches.extend(inbox);
        branches.extend(self.named(page, ask));
        branches.into_iter().fold(self.state_and_versions(ask.wanted), |whole, branch| {
            whole.add(" UNION ALL ", []).then(self.dialect.limited_branch(branch))
        })
    }

    /// Contents in flight: of all authors, or of those whom the reader follows. A row without an author stands for a
    /// content that is removed or of another kind.
    ///
    /// A scan of the deliveries is the cheapest for InnoDB and SQLite. TiDB's store keeps deleted rows for minutes, and
    /// a scan would read all of them: there each followed author is sought, many in one request
    /// (docs/decisions/2026-11-29-lingering-rows.md).
    fn few_in_flight(self, side: Side<'_>, of_followed: bool, no_facts: &str) -> Fragment {
        let by_key = self.by_key();
        let of_followed = of_followed || self.dialect == Dialect::Tidb;
        let by_index = self.dialect.joined_by_index("d, c");
        // Elsewhere the planner chooses, by their numbers, between a scan of the deliveries and a seek for each author.
        let (from, followed) = if of_followed {
            let from = format!("follows f{by_key} JOIN deliveries d ON d.author_id = f.author_id");
            (from, Fragment::with(" WHERE f.follower_id = ?", [self.bindings.reader()]))
        } else {
            ("deliveries d".to_owned(), Fragment::default())
        };
        let text = format!(
            "SELECT{by_index} {IN_FLIGHT} AS tag, d.publish_time, d.content_id, c.author_id, c.repost_author_id{no_facts} \
             FROM {from} LEFT JOIN contents c{by_key} ON c.id = d.content_id AND ",
        );
        Fragment::new(text, [])
            .then(side.of_contents("c"))
            .then(followed)
            .add(&format!(" LIMIT {most}", most = MAX_FEW_IN_FLIGHT + 1), [])
    }

    /// What is read of the named authors' outboxes.
    fn named(self, page: PageShape, ask: &Ask<'_>) -> Vec<Fragment> {
        match ask.pulled {
            Pulled::Contents([]) | Pulled::Versions([]) => Vec::new(),
            Pulled::Versions(_) => vec![self.outbox_versions(&no_facts(ask.wanted))],
            Pulled::Contents(_) => {
                let behind = Side::behind(page, self.bindings).map(Side::limited);
                let none = Wanted { original_authors: ask.wanted.original_authors, ..Wanted::ENTRIES };
                let mut sides = vec![self.outboxes_of(Side::ahead(page, self.bindings), ask.wanted, "")];
                sides.extend(behind.map(|side| self.outboxes_of(side, none, &no_facts(ask.wanted))));
                sides
            }
        }
    }

    fn named_authors(self, columns: &str, joins: &str) -> Fragment {
        let by_key = self.by_key();
        let text =
            format!("SELECT {columns} FROM follows e{by_key}{joins} WHERE e.follower_id = ? AND e.author_id IN ");
        Fragment::with(text, [self.bindings.reader()]).then(self.bindings.list(List::Authors))
    }

    fn outbox_versions(self, no_facts: &str) -> Fragment {
        let columns = format!("{OUTBOX} AS tag, COALESCE(o.stamp, 0) AS t, 0 AS c, e.author_id AS a, 0 AS o{no_facts}");
        let heads = format!(" LEFT JOIN outbox_heads o{} ON o.author_id = e.author_id", self.by_key());
        self.named_authors(&columns, &heads)
    }

    /// The first contents of these authors together. The originals' authors and the facts are looked up for those
    /// alone.
    fn outboxes_of(self, side: Side<'_>, wanted: Wanted, no_facts: &str) -> Fragment {
        let by_key = self.by_key();
        let (facts, joins) = self.facts(("x.id", "x.author_id"), wanted);
        let author = if wanted.original_authors { "z.repost_author_id" } else { "NULL" };
        let text = format!(
            "SELECT {tag} AS tag, x.publish_time, x.id, x.author_id, {author}{facts}{no_facts} FROM ",
            tag = side.end.tag(PULLED),
        );
        let original = |text| if wanted.original_authors { text } else { String::new() };
        let counters = |text| if wanted.facts { text } else { String::new() };
        let looked_up = original(format!(" LEFT JOIN contents z{by_key} ON z.id = x.id"))
            + &counters(format!(" LEFT JOIN counters k{by_key} ON k.content_id = x.id"));
        let authors = self.named_authors("e.author_id", "");
        Fragment::new(text, []).then(side.pulled(self.dialect, authors).into_table("x")).add(&looked_up, []).then(joins)
    }

    /// A range of the inbox's own key, read in the page's order, so that it stops at the limit: rows of all authors,
    /// also below the floor. The content's counters say whether it exists, if nothing else of its row is needed.
    fn inbox_of_anybody(self, side: Side<'_>, wanted: Wanted, (columns, joins): (String, Fragment)) -> Fragment {
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
            .add_with(" WHERE i.user_id = ?", [self.bindings.reader()])
            .then(condition)
            .then(side.window(ROW))
            .then(side.first(ROW))
    }

    /// The same rows whether their contents exist or not; those of which none exists have [`GONE`] for an original's
    /// author. TiDB does not stop a join at a limit: it would read thousands of rows and their contents.
    fn nearest_of_inbox(self, side: Side<'_>, wanted: Wanted, (columns, joins): (String, Fragment)) -> Fragment {
        let (by_key, tag) = (self.by_key(), side.end.tag(INBOX));
        let counters = format!(" LEFT JOIN counters k{by_key} ON k.content_id = i.content_id");
        let (original, looked_up) = if wanted.facts && !wanted.original_authors {
            (format!("CASE WHEN k.content_id IS NULL THEN {GONE} END"), Fragment::new(counters, []))
        } else {
            let contents = format!(" LEFT JOIN contents c{by_key} ON c.id = i.content_id AND ");
            let counters = if wanted.facts { counters } else { String::new() };
            (
                format!("CASE WHEN c.id IS NULL THEN {GONE} ELSE c.repost_author_id END"),
                Fragment::new(contents, []).then(side.of_contents("c")).add(&counters, []),
            )
        };
        let rows =
            format!("SELECT i.publish_time, i.content_id, i.author_id FROM inboxes i{by_key} WHERE i.user_id = ?");
        let rows =
            Fragment::with(rows, [self.bindings.reader()]).then(side.window(ROW)).then(side.first(ROW)).into_table("i");
        let text =
            format!("SELECT {tag} AS tag, i.publish_time, i.content_id, i.author_id, {original} AS o{columns} FROM ");
        Fragment::new(text, []).then(rows).then(looked_up).then(joins).add(&ROW.order(side.direction), [])
    }

    /// The facts of a content with the counters `k`, and the joins that they need; these columns have the content's and
    /// the author's id. A content without them is still shown; its card reads them separately.
    pub(super) fn facts(self, (content, author): (&str, &str), wanted: Wanted) -> (String, Fragment) {
        if !wanted.facts {
            return Default::default();
        }
        let (by_key, columns) = (self.by_key(), facts_columns());
        let author = Fragment::new(format!(" LEFT JOIN users u{by_key} ON u.id = {author}"), []);
        if !wanted.reactions {
            return (columns, author);
        }
        let reaction = |name: &str, reaction: Reaction| {
            let kind = reaction.code();
            let text = format!(
                " LEFT JOIN reactions {name}{by_key} ON {name}.content_id = {content} AND {name}.kind = {kind} AND {name}.user_id = ?"
            );
            Fragment::with(text, [self.bindings.reader()])
        };
        (
            format!("{columns}, l.kind AS liked, b.kind AS kept"),
            author.then(reaction("l", Reaction::Like)).then(reaction("b", Reaction::Bookmark)),
        )
    }

    /// The row of the reader's state.
    pub(super) fn state_and_versions(self, wanted: Wanted) -> Fragment {
        let text = format!(
            "SELECT {STATE} AS tag, s.floor_time AS t, s.floor_content AS c, n.authors_version AS a, n.reactions_version AS o{} \
             FROM user_counts n LEFT JOIN inbox_states s ON s.user_id = n.user_id WHERE n.user_id = ?",
            no_facts(wanted),
        );
        Fragment::with(text, [self.bindings.reader()])
    }
}

/// The columns of an inbox row that [`Timeline::facts`] takes.
const INBOX_ROW: (&str, &str) = ("i.content_id", "i.author_id");

/// The columns of facts without reactions, of the tables `counters` and `users`.
pub(super) fn facts_columns() -> String {
    format!(", {COUNTER_COLUMNS}, u.profile_version")
}

/// As many columns as facts have, without values.
pub(super) fn no_facts(wanted: Wanted) -> String {
    ", NULL".repeat(columns_of(wanted))
}

/// Columns of a candidate's facts: the counters and the version of the author's profile; two reactions.
const fn columns_of(wanted: Wanted) -> usize {
    match wanted {
        Wanted { facts: false, .. } => 0,
        Wanted { reactions: false, .. } => COUNTER_WIDTH + 1,
        Wanted { .. } => COUNTER_WIDTH + 3,
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
        authors: TimelineAuthors::new(version, &followed, excluded),
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

/// Whether the content of some row of the inbox is gone, so that others take its place in a page.
pub(super) fn lacks_contents(rows: &[Row]) -> Result<bool, StoreError> {
    for row in rows {
        if [INBOX, INBOX_BEHIND].contains(&row.get(0)?) && row.get::<Option<i64>>(4)? == Some(GONE) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Decodes the rows of [`Timeline::candidates`].
pub(super) fn candidates(rows: &[Row], wanted: Wanted, direction: Direction) -> Result<Candidates, StoreError> {
    let mut found = all_candidates(rows, wanted, direction)?;
    let floor = found.floor.trusted_from();
    for rows in [&mut found.ahead, &mut found.behind] {
        rows.retain(|row| row.entry.position() >= floor);
    }
    Ok(found)
}

/// The same with rows below the floor.
pub(super) fn all_candidates(rows: &[Row], wanted: Wanted, direction: Direction) -> Result<Candidates, StoreError> {
    let mut found = Candidates {
        version: None,
        reactions_version: 0,
        floor: Floor::Off,
        in_flight: None,
        leaving: Vec::new(),
        ahead: Vec::with_capacity(rows.len()),
        behind: Vec::new(),
        pulled_ahead: Vec::new(),
        pulled_behind: Vec::new(),
        versions: Vec::new(),
    };
    let mut in_flight = Vec::new();
    for row in rows {
        match row.get(0)? {
            STATE => {
                found.floor = row.floor(1)?;
                (found.version, found.reactions_version) = (Some(row.get(3)?), row.get(4)?);
            }
            OUTBOX => found.versions.push(OutboxVersion { author: row.user(3)?, version: row.get(1)? }),
            IN_FLIGHT => {
                in_flight.push(row.get::<Option<i64>>(3)?.map(|_| candidate(row, Wanted::ENTRIES)).transpose()?);
            }
            LEAVING => found.leaving.push(row.user(1)?),
            INBOX => found.ahead.push(candidate(row, wanted)?),
            PULLED => found.pulled_ahead.push(candidate(row, wanted)?),
            INBOX_BEHIND => found.behind.push(candidate(row, Wanted::ENTRIES)?),
            _ => found.pulled_behind.push(candidate(row, Wanted::ENTRIES)?),
        }
    }
    let are_few = in_flight.len() <= MAX_FEW_IN_FLIGHT && found.leaving.len() <= MAX_LEAVING_ACCOUNTS;
    found.in_flight = are_few.then(|| in_flight.into_iter().flatten().collect());
    // A run is known to end at the last of its rows, so that their order counts.
    for (rows, direction) in [(&mut found.pulled_ahead, direction), (&mut found.pulled_behind, direction.reversed())] {
        rows.sort_unstable_by(|a, b| match direction {
            Direction::Older => b.entry.position().cmp(&a.entry.position()),
            Direction::Newer => a.entry.position().cmp(&b.entry.position()),
        });
    }
    Ok(found)
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
    let (counters, place) = (counters(row, place)?, place + COUNTER_WIDTH);
    let (Some(counters), Some(profile_version)) = (counters, row.get::<Option<i64>>(place)?) else { return Ok(None) };
    let is_found = |place| Ok::<_, StoreError>(with_reactions && row.get::<Option<i64>>(place)?.is_some());
    Ok(Some(CardFacts {
        counters,
        reactions: ViewerReactions { liked: is_found(place + 1)?, bookmarked: is_found(place + 2)? },
        profile_version,
    }))
}
