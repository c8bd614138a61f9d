//! Contents of a batch: P1 for all of them in one transaction, with one new version of each author's outbox. Locks as a
//! single publish does: outboxes, counts, and the counters of what is referred to.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use sql_driver::{Tx, Value};

use super::{
    super::{
        bulk::{Lookup, insert, insert_new},
        contents::{
            objects,
            rows::{COLUMNS, EXTERNAL_ID, WIDTH, content},
        },
        rows::{DomainColumns as _, Row, id_list, value_list},
        search,
    },
    follows::{blocked, lock_counts},
    reactions::{lock_counters, raise_counters},
};
use crate::{
    domain::{
        Content, ContentId, Reference, UserId, account::external::ExternalId, delivery::rate, search::terms::terms_of,
    },
    store::{
        StoreError,
        contents::NewContent,
        imports::{AppliedBatch, ImportStep, RowOutcome, RowRefusal},
        relations::Pair,
    },
};

/// Delay after the commit at which the sweeper first looks at a delivery that the import has not ended.
const FIRST_LOOK_MS: i64 = 10_000;

/// A content that an external id leads to; `None`: it is gone, and never comes back.
type Earlier = HashMap<ExternalId, Option<Content>>;

/// What the batch finds once everything is locked.
struct Found {
    accounts: HashSet<UserId>,
    earlier: Earlier,
    /// Authors of what may be referred to.
    originals: HashMap<ContentId, UserId>,
    blocked: HashSet<Pair>,
    /// What an author has reposted.
    reposted: HashSet<(UserId, ContentId)>,
}

/// Publishes the contents that are missing.
pub(super) async fn publish(tx: &Tx, contents: &[NewContent], step: &ImportStep) -> Result<AppliedBatch, StoreError> {
    let authors: Vec<UserId> = contents.iter().map(|it| it.author).collect::<BTreeSet<_>>().into_iter().collect();
    let heads = lock_heads(tx, &authors).await?;
    let accounts = lock_counts(tx, authors.iter().copied()).await?.into_keys().collect();
    let originals = originals(tx, contents).await?;
    let found = Found {
        accounts,
        earlier: earlier(tx, contents).await?,
        blocked: blocked(tx, &referring(contents, &originals)).await?,
        reposted: reposted(tx, contents).await?,
        originals,
    };
    expect_known(contents, &found.earlier)?;
    let (outcomes, new) = judged(contents, found);
    if !new.is_empty() {
        insert_contents(tx, &new, step.lease.now_ms).await?;
        renew_heads(tx, &heads, &new, step.version).await?;
        count(tx, &new).await?;
    }
    let published = new.iter().map(|(new, _)| new.id).collect();
    let authors = new.iter().map(|(new, _)| new.author).collect::<BTreeSet<_>>().into_iter().collect();
    Ok(AppliedBatch { outcomes, published, authors, ..AppliedBatch::default() })
}

/// What becomes of each content, and those to be written, each with the author of what it reposts.
fn judged(contents: &[NewContent], mut found: Found) -> (Vec<RowOutcome>, Vec<(&NewContent, Option<UserId>)>) {
    let mut new = Vec::with_capacity(contents.len());
    let outcomes = contents.iter().map(|content| {
        let original = match found.judge(content) {
            Ok(original) => original,
            Err(outcome) => return outcome,
        };
        let reference = content.draft.reference;
        if reference.repost_of().is_none() {
            found.originals.insert(content.id, content.author);
        }
        found.reposted.extend(reference.repost_of().map(|original| (content.author, original)));
        new.push((content, original.filter(|_| reference.repost_of().is_some())));
        RowOutcome::Created
    });
    (outcomes.collect(), new)
}

impl Found {
    /// The author of what the content refers to, if it is to be published.
    fn judge(&self, new: &NewContent) -> Result<Option<UserId>, RowOutcome> {
        let refused = |refusal| Err(RowOutcome::Refused(refusal));
        if !self.accounts.contains(&new.author) {
            return refused(RowRefusal::UnknownUser);
        }
        match new.draft.external_id().and_then(|id| self.earlier.get(id)) {
            None => {}
            Some(None) => return refused(RowRefusal::Removed),
            Some(Some(earlier)) if is_same(new, earlier) => return Err(RowOutcome::Unchanged),
            Some(Some(_)) => return refused(RowRefusal::Conflict),
        }
        let Some(other) = new.draft.reference.content() else { return Ok(None) };
        let Some(author) = self.originals.get(&other).copied() else { return refused(RowRefusal::UnknownContent) };
        if self.blocked.contains(&Pair { follower: new.author, author }) {
            return refused(RowRefusal::UnknownContent);
        }
        if new.draft.reference.repost_of().is_some() && self.reposted.contains(&(new.author, other)) {
            return refused(RowRefusal::Repeated);
        }
        Ok(Some(author))
    }
}

/// Refuses a batch that refers to a content of its own by the id drawn for it, if that content was published meanwhile:
/// it has another id then.
fn expect_known(contents: &[NewContent], earlier: &Earlier) -> Result<(), StoreError> {
    let is_earlier = |it: &&NewContent| it.draft.external_id().is_some_and(|id| earlier.contains_key(id));
    let drawn: HashSet<ContentId> = contents.iter().filter(is_earlier).map(|it| it.id).collect();
    if contents.iter().filter_map(|it| it.draft.reference.content()).any(|other| drawn.contains(&other)) {
        return Err(StoreError::Contended("a content of the batch was published meanwhile".into()));
    }
    Ok(())
}

fn is_same(new: &NewContent, earlier: &Content) -> bool {
    new.publish_time == earlier.publish_time && new.draft.is_published_as(new.author, earlier)
}

/// The outboxes of these authors, locked in ascending ids: the first lock, as that of a single publish.
async fn lock_heads(tx: &Tx, authors: &[UserId]) -> Result<HashMap<UserId, Row>, StoreError> {
    let (list, values) = id_list(authors);
    let sql = format!(
        "SELECT author_id, published_at, publish_every_ms FROM outbox_heads{by_key} WHERE author_id IN {list} \
         ORDER BY author_id {for_update}",
        by_key = tx.dialect().force_index("PRIMARY"),
        for_update = tx.dialect().for_update(),
    );
    tx.query(&sql, values).await?.into_iter().map(|row| Ok((row.user(0)?, row))).collect()
}

/// The contents that have, or had, the external ids of the batch.
async fn earlier(tx: &Tx, contents: &[NewContent]) -> Result<Earlier, StoreError> {
    let ids: Vec<&ExternalId> = contents.iter().filter_map(|it| it.draft.external_id()).collect();
    if ids.is_empty() {
        return Ok(Earlier::new());
    }
    let (list, values) = value_list(ids.into_iter().map(|id| id.as_str().into()));
    let sql = format!(
        "SELECT {COLUMNS}, c.removed_at FROM content_objects o LEFT JOIN contents c ON c.id = o.content_id \
         WHERE o.external_id IN {list}"
    );
    let read = |row: &Row| {
        let is_gone = row.get::<Option<i64>>(0)?.is_none() || row.get::<Option<i64>>(WIDTH)?.is_some();
        let id = ExternalId::try_new(&row.get::<String>(EXTERNAL_ID)?);
        let id = id.map_err(|error| StoreError::Unreadable(error.to_string()))?;
        Ok((id, if is_gone { None } else { Some(content(row)?) }))
    };
    tx.query(&sql, values).await?.iter().map(read).collect()
}

/// The authors of earlier contents that the batch may refer to. Their counters are locked: no removal comes between.
async fn originals(tx: &Tx, contents: &[NewContent]) -> Result<HashMap<ContentId, UserId>, StoreError> {
    let own: HashSet<ContentId> = contents.iter().map(|it| it.id).collect();
    let others = contents.iter().filter_map(|it| it.draft.reference.content()).filter(|other| !own.contains(other));
    let there: Vec<ContentId> = lock_counters(tx, others).await?.into_iter().collect();
    if there.is_empty() {
        return Ok(HashMap::new());
    }
    let (list, values) = id_list(&there);
    let sql = format!("SELECT id, author_id FROM contents WHERE id IN {list} AND repost_of IS NULL");
    tx.query(&sql, values).await?.iter().map(|row| Ok((row.content(0)?, row.user(1)?))).collect()
}

/// Who refers to whom: the pairs of authors between whom no block may stand.
fn referring(contents: &[NewContent], originals: &HashMap<ContentId, UserId>) -> Vec<Pair> {
    let own: HashMap<ContentId, UserId> = contents.iter().map(|it| (it.id, it.author)).collect();
    let pair = |it: &NewContent| {
        let other = it.draft.reference.content()?;
        let author = originals.get(&other).or_else(|| own.get(&other))?;
        Some(Pair { follower: it.author, author: *author })
    };
    contents.iter().filter_map(pair).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Whose reposts there are. The authors' outboxes are locked, so nobody makes or removes one.
async fn reposted(tx: &Tx, contents: &[NewContent]) -> Result<HashSet<(UserId, ContentId)>, StoreError> {
    let reposts = contents.iter().filter_map(|it| Some([it.draft.reference.repost_of()?.get(), it.author.get()]));
    let lookup = Lookup {
        select: "t.author_id, t.repost_of",
        table: "contents",
        index: "reposts",
        key: &["repost_of", "author_id"],
        condition: " AND t.removed_at IS NULL",
    };
    let rows = lookup.rows(tx, &reposts.collect::<Vec<_>>()).await?;
    rows.iter().map(|row| Ok((row.user(0)?, row.content(1)?))).collect()
}

/// Inserts contents with what belongs to them: what the product says, counters, delivery records and search terms, also
/// of long texts, for which there is no place to wait.
async fn insert_contents(tx: &Tx, new: &[(&NewContent, Option<UserId>)], now_ms: i64) -> Result<(), StoreError> {
    let rows = new.iter().map(|(new, repost_author)| content_row(new, *repost_author));
    let into = "contents (id, author_id, kind, text, media, publish_time, reply_to, repost_of, repost_author_id, \
                media_author_id)";
    insert_new(tx, into, rows.collect::<Result<Vec<_>, _>>()?).await?;
    let said = new.iter().filter_map(|(new, _)| Some(objects::values(new.id, new.draft.object.as_ref()?)));
    insert_new(tx, objects::INTO, said.collect()).await?;
    let counters = new.iter().map(|(new, _)| [Value::from(new.id.get())]);
    insert(tx, "counters (content_id)", "", counters.collect()).await?;
    let look_at = now_ms.saturating_add(FIRST_LOOK_MS);
    let records =
        new.iter().map(|(new, _)| [new.id.get(), new.author.get(), new.publish_time, look_at].map(Value::from));
    insert(tx, "deliveries (content_id, author_id, publish_time, look_at)", "", records.collect()).await?;
    // In descending order of the key, because an insert begins with the last rows.
    let mut terms: Vec<[i64; 3]> = new
        .iter()
        .flat_map(|(new, _)| {
            terms_of(&new.draft.text).into_iter().map(|term| [term.into(), new.publish_time, new.id.get()])
        })
        .collect();
    terms.sort_unstable_by(|a, b| b.cmp(a));
    insert(tx, search::terms::COLUMNS, "", terms.into_iter().map(|row| row.map(Value::from)).collect()).await
}

fn content_row(new: &NewContent, repost_author: Option<UserId>) -> Result<[Value; 10], StoreError> {
    let (draft, reference) = (&new.draft, new.draft.reference);
    let media = serde_json::to_string(&draft.media).map_err(|error| StoreError::Refused(Box::new(error)))?;
    Ok([
        new.id.get().into(),
        new.author.get().into(),
        reference.kind().code().into(),
        draft.text.as_str().into(),
        media.into(),
        new.publish_time.into(),
        reference.reply_to().map(ContentId::get).into(),
        reference.repost_of().map(ContentId::get).into(),
        repost_author.map(UserId::get).into(),
        (!draft.media.is_empty()).then_some(new.author.get()).into(),
    ])
}

/// One new version for each author. Only times after the last one count for how often the author publishes: history
/// says nothing of it.
async fn renew_heads(
    tx: &Tx,
    heads: &HashMap<UserId, Row>,
    new: &[(&NewContent, Option<UserId>)],
    version: i64,
) -> Result<(), StoreError> {
    let mut times: BTreeMap<UserId, Vec<i64>> = BTreeMap::new();
    for (new, _) in new {
        times.entry(new.author).or_default().push(new.publish_time);
    }
    let (mut renewed, mut first) = (Vec::new(), Vec::new());
    for (author, mut times) in times {
        times.sort_unstable();
        let head = heads.get(&author);
        let (mut last, mut every) = match head {
            Some(row) => (row.get::<Option<i64>>(1)?, row.get::<Option<i64>>(2)?),
            None => (None, None),
        };
        for at in times {
            if last.is_none_or(|last| at > last) {
                every = rate::smoothed(every, last, at, 0);
                last = Some(at);
            }
        }
        let row = [author.get().into(), version.into(), last.into(), every.into()];
        if head.is_some() { renewed.push(row) } else { first.push(row) }
    }
    let columns = ["stamp", "published_at", "publish_every_ms"];
    let into = format!("outbox_heads (author_id, {})", columns.join(", "));
    let dialect = tx.dialect();
    let sets = columns.map(|column| format!("{column} = {}", dialect.incoming(column))).join(", ");
    insert(tx, &into, &format!("{} {sets}", dialect.on_conflict_update("author_id")), renewed).await?;
    insert_new(tx, &into, first).await
}

/// Counts the authors' contents, and the replies and reposts of what is referred to, also within the batch.
async fn count(tx: &Tx, new: &[(&NewContent, Option<UserId>)]) -> Result<(), StoreError> {
    let mut contents: BTreeMap<UserId, i64> = BTreeMap::new();
    let mut references: BTreeMap<ContentId, [i64; 2]> = BTreeMap::new();
    for (new, _) in new {
        *contents.entry(new.author).or_default() += 1;
        match new.draft.reference {
            Reference::Nothing => {}
            Reference::ReplyTo(other) => references.entry(other).or_default()[0] += 1,
            Reference::RepostOf(other) => references.entry(other).or_default()[1] += 1,
        }
    }
    let dialect = tx.dialect();
    let conflict = dialect.on_conflict_update("user_id");
    let raise = format!("{conflict} contents = user_counts.contents + {}", dialect.incoming("contents"));
    let rows = contents.iter().map(|(author, more)| [author.get(), *more].map(Value::from));
    insert(tx, "user_counts (user_id, contents)", &raise, rows.collect()).await?;
    let rows = references.iter().map(|(other, [replies, reposts])| [other.get(), *replies, *reposts]);
    raise_counters(tx, ["replies", "reposts"], rows.collect()).await
}
