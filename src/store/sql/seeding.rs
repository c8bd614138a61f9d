//! Bulk inserts of a generated world in SQL: many rows in a statement, one transaction in a call.

use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;
use sql_driver::{Dialect, Tx, Value};

use super::{SqlStore, bulk::insert, contents::objects, people, rows::DomainColumns as _, search};
use crate::{
    domain::{
        ContentId, Counters, EdgeMode, UserId,
        search::{
            people::KEYS_FORM,
            terms::{FORM, terms_of},
        },
    },
    store::{
        Seeding, StoreError,
        accounts::PasswordHash,
        seeding::{SeedAuthor, SeedContent, SeedFollow, tally},
    },
};

#[async_trait]
impl Seeding for SqlStore {
    async fn prepare(&self) -> Result<(), StoreError> {
        self.transaction(move |tx| async move {
            if tx.query_one("SELECT 1 FROM contents LIMIT 1", []).await?.is_some() {
                return tx.roll_back(()).await;
            }
            nothing_to_catch_up(&tx, "search_progress", FORM).await?;
            if tx.query_one("SELECT 1 FROM users LIMIT 1", []).await?.is_none() {
                nothing_to_catch_up(&tx, "name_progress", KEYS_FORM).await?;
            }
            tx.commit(()).await
        })
        .await
    }

    async fn add_authors(&self, authors: &[SeedAuthor]) -> Result<(), StoreError> {
        let tally = tally(authors).map_err(|error| StoreError::Refused(Box::new(error)))?;
        let tally = &tally;
        self.transaction(move |tx| async move {
            insert_users(&tx, authors).await?;
            insert_contents(&tx, authors, tally).await?;
            insert_reactions(&tx, authors).await?;
            tx.commit(()).await
        })
        .await
    }

    async fn add_follows(&self, follows: &[SeedFollow]) -> Result<(), StoreError> {
        self.transaction(move |tx| async move {
            let rows = follows
                .iter()
                .map(|follow| edge(follow.follower, follow.author, follow.incarnation, follow.followed_at));
            insert(&tx, EDGES, "", rows.collect()).await?;
            raise_counts(&tx, follows).await?;
            tx.commit(()).await
        })
        .await
    }

    async fn open_accounts(&self, users: &[UserId], password: &PasswordHash) -> Result<(), StoreError> {
        self.transaction(move |tx| async move {
            let rows = users.iter().map(|user| [user.get().into(), password.0.clone().into()]);
            let keep = format!("{} user_id = credentials.user_id", tx.dialect().on_conflict_update("user_id"));
            insert(&tx, "credentials (user_id, password_hash)", &keep, rows.collect()).await?;
            tx.commit(()).await
        })
        .await
    }

    async fn take_statistics(&self) -> Result<(), StoreError> {
        self.run_each(statistics(self.dialect)).await
    }

    async fn visitors(&self, limit: u32) -> Result<Vec<(UserId, i64)>, StoreError> {
        let sql = "SELECT user_id, last_seen FROM inbox_states WHERE user_id IN (SELECT user_id FROM sessions) \
                   ORDER BY last_seen DESC LIMIT ?";
        let rows = self.read(sql, [i64::from(limit).into()]).await?;
        rows.iter().map(|row| Ok((row.user(0)?, row.get(1)?))).collect()
    }

    async fn published_since(&self, since_ms: i64) -> Result<u64, StoreError> {
        let rows = self.read("SELECT COUNT(*) FROM contents WHERE publish_time > ?", [since_ms.into()]).await?;
        rows.first().map_or(Ok(0), |row| row.count(0))
    }
}

/// Marks an index as complete, because there is nothing to index yet.
async fn nothing_to_catch_up(tx: &Tx, progress: &str, form: i64) -> Result<(), StoreError> {
    let done = format!("{} is_done = 1", tx.dialect().on_conflict_update("form"));
    let sql = format!("INSERT INTO {progress} (form, through_id, is_done) VALUES (?, 0, 1) {done}");
    tx.execute(&sql, [form.into()]).await.map(|_| ())
}

/// As [`Dialect::refresh_statistics`], now, on every engine, for the tables that a seeded world fills. MySQL and
/// MariaDB read some pages of each index.
const fn statistics(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Sqlite => dialect.refresh_statistics(),
        Dialect::Mysql | Dialect::Tidb => {
            &["ANALYZE NO_WRITE_TO_BINLOG TABLE contents, content_objects, counters, follows, inbox_states, \
             outbox_heads, reactions, search_terms, user_counts, users"]
        }
    }
}

const EDGES: &str = "follows (follower_id, author_id, mode, inc, followed_at)";

/// The row of an edge that claims nothing, because the follower's inbox is off: see [`crate::store::seeding`].
fn edge(follower: UserId, author: UserId, incarnation: i64, followed_at: i64) -> [Value; 5] {
    let mode = EdgeMode::Push.code();
    [follower.get().into(), author.get().into(), mode.into(), incarnation.into(), followed_at.into()]
}

/// Inserts the users and their initial rows, without credentials. Their inboxes have no floor, so they are off.
async fn insert_users(tx: &Tx, authors: &[SeedAuthor]) -> Result<(), StoreError> {
    let users = authors.iter().map(|author| {
        let profile = &author.registration;
        let handle = profile.handle.as_str();
        let (name, bio, avatar) = (profile.name.clone(), profile.bio.clone(), profile.avatar_url.clone());
        [author.id.get().into(), handle.into(), name.into(), bio.into(), avatar.into(), author.created_at.into()]
    });
    insert(tx, "users (id, handle, name, bio, avatar_url, created_at)", "", users.collect()).await?;
    let names = authors
        .iter()
        .flat_map(|author| people::names::rows(author.id, &author.registration.handle, &author.registration.name));
    insert(tx, people::names::COLUMNS, "", names.collect()).await?;
    let states = authors.iter().map(|author| [author.id.get().into(), author.last_seen.into()]);
    insert(tx, "inbox_states (user_id, last_seen)", "", states.collect()).await?;
    let selves = authors.iter().map(|author| edge(author.id, author.id, author.incarnation, author.created_at));
    insert(tx, EDGES, "", selves.collect()).await?;
    let published = |author: &SeedAuthor| i64::try_from(author.contents.len()).unwrap_or(i64::MAX);
    let version = |author: &SeedAuthor| if author.contents.is_empty() { 0 } else { author.incarnation };
    let heads = authors.iter().map(|author| [author.id.get().into(), version(author).into()]);
    insert(tx, "outbox_heads (author_id, stamp)", "", heads.collect()).await?;
    let counts = authors.iter().map(|author| [author.id.get().into(), published(author).into()]);
    insert(tx, "user_counts (user_id, contents)", "", counts.collect()).await
}

/// Each content's author and counters, as [`tally`] returns them.
type Tally = HashMap<ContentId, (UserId, Counters)>;

/// Inserts contents and counters. Needs no delivery records: the inboxes of their readers are all off, or the readers
/// cannot have followed yet.
async fn insert_contents(tx: &Tx, authors: &[SeedAuthor], tally: &Tally) -> Result<(), StoreError> {
    let all = || authors.iter().flat_map(|author| author.contents.iter().map(move |content| (author.id, content)));
    let contents: Result<Vec<_>, _> = all().map(|(author, content)| content_row(author, content, tally)).collect();
    let into = "contents (id, author_id, kind, text, media, publish_time, reply_to, repost_of, repost_author_id, \
                media_author_id)";
    insert(tx, into, "", contents?).await?;
    let said = |content: &SeedContent| Some(objects::values(content.id, content.draft.object.as_ref()?));
    insert(tx, objects::INTO, "", all().filter_map(|(_, content)| said(content)).collect()).await?;
    let counters = all().map(|(_, content)| {
        let counters = tally.get(&content.id).map(|(_, counters)| *counters).unwrap_or_default();
        let numbers = [content.id.get(), counters.replies, counters.likes, counters.reposts, counters.bookmarks];
        numbers.map(Value::from)
    });
    insert(tx, "counters (content_id, replies, likes, reposts, bookmarks)", "", counters.collect()).await?;
    insert(tx, search::terms::COLUMNS, "", term_rows(all().map(|(_, content)| content))).await
}

/// The rows in descending order of the key, because [`insert`] begins at the end.
fn term_rows<'a>(contents: impl Iterator<Item = &'a SeedContent>) -> Vec<[Value; 3]> {
    let mut rows: Vec<[i64; 3]> = contents
        .flat_map(|content| {
            let at = [content.publish_time, content.id.get()];
            terms_of(&content.draft.text).into_iter().map(move |term| [term.into(), at[0], at[1]])
        })
        .collect();
    rows.sort_unstable_by(|a, b| b.cmp(a));
    rows.into_iter().map(|row| row.map(Value::from)).collect()
}

async fn insert_reactions(tx: &Tx, authors: &[SeedAuthor]) -> Result<(), StoreError> {
    let contents = authors.iter().flat_map(|author| &author.contents);
    let reactions = contents.flat_map(|content| {
        content
            .reactions
            .iter()
            .map(|own| [content.id.get().into(), own.reaction.code().into(), own.user.get().into(), own.at.into()])
    });
    insert(tx, "reactions (content_id, kind, user_id, created_at)", "", reactions.collect()).await
}

fn content_row(author: UserId, content: &SeedContent, tally: &Tally) -> Result<[Value; 10], StoreError> {
    let draft = &content.draft;
    let reference = draft.reference;
    let repeated = reference.repost_of().and_then(|original| tally.get(&original));
    let media = serde_json::to_string(&draft.media).map_err(|error| StoreError::Refused(Box::new(error)))?;
    let text = draft.text.clone();
    Ok([
        content.id.get().into(),
        author.get().into(),
        reference.kind().code().into(),
        text.into(),
        media.into(),
        content.publish_time.into(),
        reference.reply_to().map(ContentId::get).into(),
        reference.repost_of().map(ContentId::get).into(),
        repeated.map(|(author, _)| author.get()).into(),
        (!draft.media.is_empty()).then_some(author.get()).into(),
    ])
}

/// Adds both sides of every edge to the counts and renews the version of their authors; ascending, so that two seeders
/// cannot deadlock.
async fn raise_counts(tx: &Tx, follows: &[SeedFollow]) -> Result<(), StoreError> {
    let mut more: BTreeMap<UserId, (i64, i64, i64)> = BTreeMap::new();
    for follow in follows {
        for (user, [followers, following]) in [(follow.author, [1, 0]), (follow.follower, [0, 1])] {
            let counted = more.entry(user).or_default();
            *counted = (counted.0 + followers, counted.1 + following, follow.incarnation);
        }
    }
    let rows = more.iter().map(|(user, (followers, following, incarnation))| {
        [user.get(), *followers, *following, *incarnation].map(Value::from)
    });
    let dialect = tx.dialect();
    let add = |column: &str| format!("{column} = user_counts.{column} + {}", dialect.incoming(column));
    let conflict = dialect.on_conflict_update("user_id");
    let version = format!("authors_version = {}", dialect.incoming("authors_version"));
    let raise = format!("{conflict} {}, {}, {version}", add("followers"), add("following"));
    insert(tx, "user_counts (user_id, followers, following, authors_version)", &raise, rows.collect()).await
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::{
        domain::{Handle, Reaction, account::profile::Registration, content::Draft},
        store::{Accounts, Contents, Follows, seeding::SeedReaction, sql::tests::migrated},
    };

    const USERS: i64 = 700;

    fn user(number: i64) -> UserId {
        UserId::try_new(number).unwrap()
    }

    fn author(number: i64) -> SeedAuthor {
        let content = |nth| SeedContent {
            id: ContentId::try_new(number * 10 + nth).unwrap(),
            draft: Draft::try_new("text", Vec::new(), None).unwrap(),
            publish_time: 100 + nth,
            reactions: (1..=nth)
                .map(|fan| SeedReaction { user: user(fan), reaction: Reaction::Like, at: 200 })
                .collect(),
        };
        SeedAuthor {
            id: user(number),
            registration: Registration::try_new(&format!("u{number}"), "U", "", None).unwrap(),
            created_at: 1,
            last_seen: 50,
            incarnation: number,
            contents: (0..number % 3).map(content).collect(),
        }
    }

    async fn seeded(store: &SqlStore) {
        store.add_authors(&(1..=USERS).map(author).collect::<Vec<_>>()).await.unwrap();
        let follow =
            |follower| SeedFollow { follower: user(follower), author: user(1), incarnation: follower, followed_at: 60 };
        store.add_follows(&(2..=USERS).map(follow).collect::<Vec<_>>()).await.unwrap();
        store
            .add_follows(&[SeedFollow { follower: user(1), author: user(2), incarnation: 9, followed_at: 60 }])
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn counts_outboxes_and_counters_are_right_after_every_call() {
        let folder = tempfile::tempdir().unwrap();
        let store = migrated(&folder).await;
        seeded(&store).await;
        assert_eq!(store.count().await.unwrap(), USERS.unsigned_abs());
        let counts = store.counts(&[user(1), user(2)]).await.unwrap();
        let of = |id| counts.iter().find(|(user, _)| *user == id).map(|(_, c)| (c.followers, c.following, c.contents));
        assert_eq!((of(user(1)), of(user(2))), (Some((USERS - 1, 1, 1)), Some((1, 1, 2))));
        assert_eq!(store.followed_by(user(1)).await.unwrap(), [user(1), user(2)]);
        let heads = store.outbox_heads(&[user(2)], 10).await.unwrap();
        assert_eq!((heads[0].version, heads[0].entries.len(), heads[0].whole), (2, 2, true));
        let counters = store.counters(&[ContentId::try_new(21).unwrap()]).await.unwrap();
        assert_eq!(counters[0].1.likes, 1);
    }

    #[tokio::test]
    async fn visitors_have_sessions_and_seeded_people_have_not() {
        let folder = tempfile::tempdir().unwrap();
        let store = migrated(&folder).await;
        seeded(&store).await;
        assert!(store.visitors(9).await.unwrap().is_empty());
        store
            .run_each(&[
                "INSERT INTO sessions (id, user_id, family, current_token, rotated_at, created_at, good_until, \
                       agent) VALUES (1, 5, 'f', 'c', 1, 1, 99, '')",
            ])
            .await
            .unwrap();
        assert_eq!(store.visitors(9).await.unwrap(), [(user(5), 50)]);
        let all = store.published_since(99).await.unwrap();
        assert!(all > 0 && store.published_since(100).await.unwrap() < all);
        assert_eq!(store.published_since(101).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn seeded_replies_are_counted_and_refused_without_their_original() {
        let folder = tempfile::tempdir().unwrap();
        let store = migrated(&folder).await;
        let (asked, mut answering) = (author(2), author(5));
        let question = asked.contents[0].id;
        answering.contents[0].draft = Draft::try_new("yes", Vec::new(), None).unwrap().replying_to(question);
        answering.contents[1].draft = Draft::repost(question);
        let refused = store.add_authors(std::slice::from_ref(&answering)).await;
        assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
        assert_eq!(store.count().await.unwrap(), 0);
        store.add_authors(&[asked, answering]).await.unwrap();
        let counters = store.counters(&[question]).await.unwrap()[0].1;
        assert_eq!((counters.replies, counters.reposts, counters.likes), (1, 1, 0));
        let reposts = store.reposted_among(user(5), &[question]).await.unwrap();
        assert_eq!(reposts, [(question, ContentId::try_new(51).unwrap())]);
    }

    #[tokio::test]
    async fn a_statement_writes_512_rows_of_a_table() {
        let folder = tempfile::tempdir().unwrap();
        let store = migrated(&folder).await;
        let before = store.statements();
        let mut authors: Vec<SeedAuthor> = (1..=1024).map(author).collect();
        authors.iter_mut().flat_map(|author| &mut author.contents).for_each(|content| content.draft.text.clear());
        store.add_authors(&authors).await.unwrap();
        // 1024 users in five tables and with three names each, 1024 contents without words in two, and 341 likes,
        // which are 256 + 64 + 16 + 4 + 1.
        assert_eq!(store.statements() - before, 5 * 2 + 3 * 2 + 2 * 2 + 5);
    }

    #[tokio::test]
    async fn a_seeded_world_leaves_nothing_to_index() {
        let folder = tempfile::tempdir().unwrap();
        let store = migrated(&folder).await;
        store.prepare().await.unwrap();
        seeded(&store).await;
        store.prepare().await.unwrap();
        let step = crate::store::SearchTerms::index_next(&store).await.unwrap();
        assert_eq!((step.contents, step.is_done), (0, true));
        assert!(crate::store::People::is_current(&store).await.unwrap(), "names, too");
    }

    #[tokio::test]
    async fn contents_that_were_there_before_are_indexed_as_ever() {
        let folder = tempfile::tempdir().unwrap();
        let store = migrated(&folder).await;
        seeded(&store).await;
        store.prepare().await.unwrap();
        assert!(crate::store::SearchTerms::index_next(&store).await.unwrap().contents > 0);
    }

    #[tokio::test]
    async fn seeded_accounts_refuse_sign_in_until_they_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let store = migrated(&folder).await;
        seeded(&store).await;
        let handle = Handle::try_new("u5").unwrap();
        assert!(store.credential(&handle).await.unwrap().is_none());
        let (first, second) = (PasswordHash("first".to_owned()), PasswordHash("second".to_owned()));
        store.open_accounts(&[user(5)], &first).await.unwrap();
        store.open_accounts(&[user(5), user(6)], &second).await.unwrap();
        assert_eq!(store.credential(&handle).await.unwrap().unwrap().1.0, "first");
    }

    #[tokio::test]
    async fn a_taken_handle_is_refused_and_nothing_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = migrated(&folder).await;
        store.add_authors(&[author(1)]).await.unwrap();
        let taken = SeedAuthor { id: user(3), registration: author(1).registration, ..author(3) };
        let refused = store.add_authors(&[author(2), taken]).await;
        assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
        assert_eq!(store.count().await.unwrap(), 1);
    }

    #[tokio::test]
    async fn seeded_readers_are_off_and_their_edges_claim_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = migrated(&folder).await;
        seeded(&store).await;
        let off =
            "SELECT COUNT(*) FROM inbox_states WHERE floor_time IS NULL AND floor_content IS NULL AND last_seen = 50";
        assert_eq!(store.read(off, []).await.unwrap()[0].count(0).unwrap(), USERS.unsigned_abs());
    }
}
