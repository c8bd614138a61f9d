//! [`Imports`]: a batch is committed once with its progress, brings what single operations bring, and changes nothing
//! when it comes again.

use anyhow::{Context as _, Result, bail, ensure};
use tidefeed::domain::account::{attributes::Attributes, profile::Registration};
use tidefeed::domain::limits::MAX_FOLLOWS;
use tidefeed::domain::timeline::outside::{Bucket, BucketToken, Generation, NodeId};
use tidefeed::domain::{EdgeMode, Handle, Position, Reaction};
use tidefeed::store::accounts::NewAccount;
use tidefeed::store::contents::Removed;
use tidefeed::store::identities::{Identity, Revision};
use tidefeed::store::imports::{
    Applied, AppliedBatch, BegunImport, ImportBatch, ImportCounts, ImportFile, ImportLease, ImportState, ImportStep,
    ImportedExclusion, ImportedExclusionKind, ImportedFollow, ImportedMarker, ImportedReaction, ImportedUser,
    RowOutcome::{Created, Refused, Unchanged, Updated},
    RowRefusal,
};
use tidefeed::store::profiles::ProfileEdit;
use tidefeed::store::relations::Pair;
use tidefeed::store::{
    AccountDeletions as _, Accounts as _, Contents, CounterAudits as _, Exclusions as _, Follows as _, Identities as _,
    Imports as _, Inboxes as _, OutsideStates as _, Profiles as _, Reactions as _, ReadMarkers as _,
};

use super::{NOW, World, at_once, content, content_id, rows::entry, user};
use crate::{coverage::BROKEN, servers::on_each_backend};

/// The tables that a batch may change.
const TABLES: [&str; 14] = [
    "users",
    "user_names",
    "user_counts",
    "external_identities",
    "outbox_heads",
    "inbox_states",
    "follows",
    "relations",
    "reactions",
    "contents",
    "counters",
    "exclusions",
    "read_markers",
    "deliveries",
];

pub fn lease(holder: i64, now_ms: i64) -> ImportLease {
    ImportLease { holder, now_ms, until_ms: now_ms + 60_000 }
}

pub fn file(digest: &str) -> ImportFile {
    ImportFile { digest: digest.to_owned(), bytes: 10, lines: 1_000 }
}

pub fn imported(number: i64, handle: &str) -> ImportedUser {
    let registration = Registration::try_new(handle, handle, "", None).expect("tests name valid handles");
    let handle = registration.handle.clone();
    let (digest, issuer, subject) = (format!("d{number}"), "product".to_owned(), format!("{number}"));
    ImportedUser {
        account: NewAccount {
            id: user(number),
            registration,
            password_hash: None,
            incarnation: number,
            now_ms: NOW - number,
        },
        other_handle: None,
        identity: Identity { digest, issuer, subject },
        revision: Revision { handle: Some(handle), version: 77, ..Revision::default() },
        is_deactivated: None,
        is_restated_now: false,
    }
}

pub fn follow(follower: i64, author: i64) -> ImportedFollow {
    let pair = Pair { follower: user(follower), author: user(author) };
    ImportedFollow { pair, followed_at: NOW - follower }
}

fn like(liker: i64, content: i64) -> ImportedReaction {
    ImportedReaction { user: user(liker), content: content_id(content), reaction: Reaction::Like, reacted_at: NOW - 5 }
}

fn exclusion(kind: ImportedExclusionKind, of: i64, other: i64) -> ImportedExclusion {
    ImportedExclusion { user: user(of), other: user(other), kind }
}

/// The author removes a content.
pub async fn store_removes(world: &World, author: i64, content: i64) -> Result<()> {
    let removed = Contents::remove(&world.store, user(author), content_id(content), 9, NOW).await?;
    ensure!(matches!(removed, Removed::Gone { .. }), "{removed:?}");
    Ok(())
}

impl World {
    /// Applies one batch of an import of its own; the version is the digest's number.
    pub async fn import(&self, number: i64, batch: ImportBatch) -> Result<AppliedBatch> {
        let (digest, lease) = (format!("import {number}"), lease(number, NOW));
        let BegunImport::Mine(begun) = self.store.begin(&file(&digest), lease).await? else { bail!("it is taken") };
        let after_line = begun.through_line;
        let through_line = after_line + batch.len() as u64;
        let step = ImportStep { digest, lease, after_line, through_line, refused: 0, version: number };
        match self.store.apply(&step, &batch).await? {
            Applied::Committed(applied) => Ok(applied),
            Applied::NotMine(import) => bail!("somebody else's: {import:?}"),
        }
    }

    /// All rows that a batch may change.
    pub async fn rows_of_imports(&self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for table in TABLES {
            let mut rows = self.texts(&format!("SELECT * FROM {table}")).await?;
            rows.sort_unstable();
            all.extend(rows.into_iter().map(|row| format!("{table} {row:?}")));
        }
        Ok(all)
    }

    /// Every count equals the number of its rows.
    pub async fn expect_right_counts(&self) -> Result<()> {
        let (users, contents) =
            (self.store.recount_users(0, 10_000).await?, self.store.recount_contents(0, 10_000).await?);
        ensure!(users.miscounts.is_empty() && contents.miscounts.is_empty(), "{users:?} {contents:?}");
        Ok(())
    }

    async fn mode_code(&self, follower: i64, author: i64) -> Result<i64> {
        self.number(&format!("SELECT mode FROM follows WHERE follower_id = {follower} AND author_id = {author}")).await
    }

    async fn authors_version(&self, of: i64) -> Result<i64> {
        self.number(&format!("SELECT authors_version FROM user_counts WHERE user_id = {of}")).await
    }
}

on_each_backend! {
    async fn an_import_goes_on_where_it_was_left(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let store = &world.store;
        assert_eq!(store.import("a").await?, None);
        let BegunImport::Mine(import) = store.begin(&file("a"), lease(1, NOW)).await? else { bail!("it is free") };
        assert_eq!((import.through_line, import.state), (0, ImportState::Running));
        let step = |holder, after_line, through_line| ImportStep {
            digest: "a".to_owned(),
            lease: lease(holder, NOW + 1),
            after_line,
            through_line,
            refused: 2,
            version: 5,
        };
        let two = ImportBatch::Users(vec![imported(1, "ann"), imported(2, "bob")]);
        let Applied::Committed(applied) = store.apply(&step(1, 0, 5), &two).await? else { bail!("it is its own") };
        assert_eq!(applied.outcomes, [Created, Created]);
        let Applied::NotMine(import) = store.apply(&step(1, 0, 5), &two).await? else { bail!("it was read") };
        assert_eq!((import.through_line, import.updated_at), (5, NOW + 1));
        let counts = ImportCounts { created: 2, refused: 2, ..ImportCounts::default() };
        assert_eq!(import.counts, counts);

        let BegunImport::Running(other) = store.begin(&file("a"), lease(2, NOW + 2)).await? else { bail!("taken") };
        assert_eq!(other, import);
        assert!(matches!(store.begin(&file("b"), lease(2, NOW)).await?, BegunImport::Mine(_)), "another file");
        let BegunImport::Mine(later) = store.begin(&file("a"), lease(2, NOW + 60_002)).await? else { bail!("free") };
        assert_eq!((later.through_line, later.counts, later.started_at), (5, counts, NOW));
        assert!(matches!(store.apply(&step(1, 5, 6), &ImportBatch::Nothing).await?, Applied::NotMine(_)));
        assert!(!store.end("a", lease(1, NOW), true).await?, "it is the other's");

        assert!(store.cancel("a", NOW).await? && !store.cancel("a", NOW).await? && !store.cancel("c", NOW).await?);
        let Applied::NotMine(import) = store.apply(&step(2, 5, 6), &ImportBatch::Nothing).await? else { bail!("no") };
        assert_eq!(import.state, ImportState::Cancelled);
        let BegunImport::Mine(import) = store.begin(&file("a"), lease(3, NOW)).await? else { bail!("it was left") };
        assert_eq!(import.through_line, 5);
        assert!(matches!(store.apply(&step(3, 5, 9), &ImportBatch::Nothing).await?, Applied::Committed(_)));
        assert!(store.end("a", lease(3, NOW), false).await?, "given back");
        let BegunImport::Mine(import) = store.begin(&file("a"), lease(4, NOW)).await? else { bail!("given back") };
        assert_eq!((import.through_line, import.counts.refused), (9, 4));
        assert!(store.end("a", lease(4, NOW + 9), true).await?);
        let import = store.import("a").await?.context("an import")?;
        assert_eq!((import.state, import.through_line, import.updated_at), (ImportState::Finished, 9, NOW + 9));
        let BegunImport::Mine(again) = store.begin(&file("a"), lease(5, NOW + 70)).await? else { bail!("free") };
        assert_eq!((again.through_line, again.counts, again.started_at), (0, ImportCounts::default(), NOW + 70));
        let all: Vec<String> = store.imports(9).await?.into_iter().map(|it| it.file.digest).collect();
        assert_eq!(all, ["a", "b"], "the last begun first");
        Ok(())
    }

    async fn of_two_who_begin_an_import_at_once_one_has_it(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let file = file("a");
        let begun = at_once((1..=8).map(|holder| world.store.begin(&file, lease(holder, NOW)))).await?;
        assert_eq!(begun.iter().filter(|it| matches!(it, BegunImport::Mine(_))).count(), 1);
        Ok(())
    }

    async fn imported_users_are_readers_who_are_off(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        let mut second = imported(12, "user_1");
        second.revision.handle = None;
        second.other_handle = Some(Handle::try_new("user_1b").context("a handle")?);
        let mut third = imported(13, "cleo");
        third.revision.edit.attributes = Some(Attributes::try_new([("city".to_owned(), "Oslo".to_owned())])?);
        let batch = ImportBatch::Users(vec![imported(11, "bob"), second, imported(14, "bob"), third]);
        let applied = world.import(1, batch.clone()).await?;
        assert_eq!(applied.outcomes, [Created, Created, Refused(RowRefusal::HandleTaken), Created]);
        let digests = ["d11", "d12", "d13", "d14"].map(str::to_owned);
        let mut known: Vec<_> = world.store.identified(&digests).await?.into_iter().map(|it| it.user.get()).collect();
        known.sort_unstable();
        assert_eq!(known, [11, 12, 13]);
        let mut profiles = world.store.profiles(&[user(11), user(12)]).await?;
        profiles.sort_unstable_by_key(|it| it.id);
        let shown: Vec<_> = profiles.iter().map(|it| (it.handle.as_str(), it.name.as_str(), it.created_at)).collect();
        assert_eq!(shown, [("bob", "bob", NOW - 11), ("user_1b", "user_1", NOW - 12)]);
        assert_eq!(world.store.attributes(&[user(13)]).await?[0].1.iter().next(), Some(("city", "Oslo")));
        let off = "SELECT COUNT(*) FROM inbox_states WHERE floor_time IS NULL AND last_seen IS NULL";
        assert_eq!(world.number(off).await?, 3);
        assert_eq!(world.mode_code(11, 11).await?, i64::from(EdgeMode::Push.code()));
        assert_eq!(world.number("SELECT COUNT(*) FROM outbox_heads WHERE stamp = 0").await?, 4);
        assert_eq!(world.number("SELECT COUNT(*) FROM user_names WHERE user_id = 12").await?, 3);
        world.expect_right_counts().await?;

        let before = world.rows_of_imports().await?;
        let applied = world.import(2, batch).await?;
        assert_eq!(applied.outcomes, [Unchanged, Unchanged, Refused(RowRefusal::HandleTaken), Unchanged]);
        assert_eq!(world.rows_of_imports().await?, before);
        Ok(())
    }

    async fn users_who_are_there_change_only_where_they_differ(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        world.import(1, ImportBatch::Users((11..=14).map(|id| imported(id, &format!("u{id}"))).collect())).await?;
        let (mut named, mut taken) = (imported(91, "u11"), imported(92, "user_1"));
        named.identity = imported(11, "u11").identity;
        named.revision.edit = ProfileEdit { name: Some("Ann".to_owned()), ..ProfileEdit::default() };
        taken.identity = imported(12, "u12").identity;
        let batch = ImportBatch::Users(vec![imported(13, "u13"), named, taken, imported(15, "u15")]);
        let applied = world.import(2, batch).await?;
        assert_eq!(applied.outcomes, [Unchanged, Updated, Refused(RowRefusal::HandleTaken), Created]);
        let profile = world.store.profiles(&[user(11)]).await?.pop().context("a profile")?;
        assert_eq!((profile.name.as_str(), profile.version), ("Ann", 77));
        assert_eq!(world.number("SELECT COUNT(*) FROM users WHERE profile_version <> 0").await?, 1);

        assert!(world.store.delete(user(14), None, NOW).await.is_ok());
        let applied = world.import(3, ImportBatch::Users(vec![ImportedUser {
            account: NewAccount { id: user(24), ..imported(24, "u24").account },
            ..imported(14, "u24")
        }])).await?;
        assert_eq!(applied.outcomes, [Refused(RowRefusal::AccountDeleted)], "the file may be older than the deletion");
        assert_eq!(world.number("SELECT COUNT(*) FROM users WHERE handle = 'u24'").await?, 0);
        Ok(())
    }

    async fn an_imported_edge_is_trusted_only_if_its_reader_is_off_and_in_sql(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        let store = &world.store;
        world.import(1, ImportBatch::Users((11..=14).map(|id| imported(id, &format!("u{id}"))).collect())).await?;
        let (bucket, node) = (Bucket::of(user(12)), NodeId::of([9; 20]));
        assert!(store.set_token(bucket, None, Some(BucketToken { node, epoch: 1 })).await?);
        assert!(store.enter(user(12), Generation(3)).await?, "a reader outside SQL, who is off there");
        world.run("DELETE FROM inbox_states WHERE user_id = 13").await?;
        store.block(user(2), user(14), 9, NOW).await?;
        store.follow(user(3), user(2), EdgeMode::Fill, 9, NOW).await?;
        let (two, three) = (world.authors_version(2).await?, world.authors_version(3).await?);

        let follows = [
            (1, 2), (11, 2), (12, 2), (13, 2), (14, 2), (3, 2), (11, 99), (98, 2), (11, 12), (1, 1),
        ];
        let batch = ImportBatch::Follows(follows.map(|(by, to)| follow(by, to)).to_vec());
        let applied = world.import(70, batch.clone()).await?;
        let unknown = Refused(RowRefusal::UnknownUser);
        let blocked = Refused(RowRefusal::Blocked);
        let expected =
            [Created, Created, Created, Created, blocked, Unchanged, unknown, unknown, Created, Unchanged];
        assert_eq!(applied.outcomes, expected);
        assert_eq!(applied.followers, [1, 11, 12, 13].map(user), "each may be watching");
        let (pull, push) = (i64::from(EdgeMode::Pull.code()), i64::from(EdgeMode::Push.code()));
        for ((by, to), mode) in [((1, 2), pull), ((11, 2), push), ((12, 2), pull), ((13, 2), push), ((11, 12), push)] {
            assert_eq!(world.mode_code(by, to).await?, mode, "{by} follows {to}");
        }
        assert_eq!(world.number("SELECT followed_at FROM follows WHERE follower_id = 11 AND author_id = 2").await?, NOW - 11);
        assert_eq!(world.number("SELECT COUNT(*) FROM relations WHERE author_id = 2").await?, 1, "none is pending");
        for of in [1, 11, 12, 13] {
            assert_eq!(world.authors_version(of).await?, 70, "{of}");
        }
        assert_eq!((world.authors_version(2).await?, world.authors_version(3).await?), (two, three));
        let counts = store.counts(&[user(2)]).await?.pop().context("counts")?.1;
        assert_eq!(counts.followers, 5);
        world.expect_right_counts().await?;

        let before = world.rows_of_imports().await?;
        let applied = world.import(71, batch).await?;
        assert!(applied.followers.is_empty() && !applied.outcomes.contains(&Created), "{applied:?}");
        assert_eq!(world.rows_of_imports().await?, before);
        Ok(())
    }

    async fn nobody_follows_more_by_an_import_than_by_hand(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(4).await?;
        world.run(&format!("UPDATE user_counts SET following = {} WHERE user_id = 1", MAX_FOLLOWS - 1)).await?;
        world.run("UPDATE user_counts SET followers = 999 WHERE user_id = 2").await?;
        let follows = [(1, 2), (1, 3), (4, 2)].map(|(by, to)| follow(by, to)).to_vec();
        let applied = world.import(5, ImportBatch::Follows(follows)).await?;
        assert_eq!(applied.outcomes, [Created, Refused(RowRefusal::TooManyFollows), Created]);
        assert_eq!(world.number("SELECT followers FROM user_counts WHERE user_id = 2").await?, 1_001);
        assert_eq!(world.number("SELECT spread FROM user_counts WHERE user_id = 2").await?, 1, "from 1,000 on");
        Ok(())
    }

    async fn a_reader_who_comes_while_edges_are_imported_trusts_nothing_missing(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let store = &world.store;
        world.import(1, ImportBatch::Users((11..=40).map(|id| imported(id, &format!("u{id}"))).collect())).await?;
        world.put_contents(&(1..=3).map(|id| entry(id, user(11), NOW + id)).collect::<Vec<_>>()).await?;
        world.run("UPDATE user_counts SET contents = 3 WHERE user_id = 11").await?;
        let seen = async {
            let readers: Vec<_> = (12..=40).map(user).collect();
            for some in readers.chunks(3) {
                store.mark_seen(some, NOW).await?;
                for reader in some {
                    store.extend(*reader, 10).await?;
                }
            }
            anyhow::Ok(())
        };
        let imported = async {
            for (number, from) in (12..=40).step_by(5).enumerate() {
                let follows = (from..=40.min(from + 4)).map(|by| follow(by, 11)).collect();
                world.import(10 + i64::try_from(number)?, ImportBatch::Follows(follows)).await?;
            }
            anyhow::Ok(())
        };
        futures_util::future::try_join(seen, imported).await?;
        assert_eq!(world.number(BROKEN).await?, 0, "contents that nobody delivers are missing from a trusted inbox");
        assert_eq!(world.number("SELECT COUNT(*) FROM follows WHERE author_id = 11").await?, 30);
        world.expect_right_counts().await
    }

    async fn imported_reactions_are_counted_once(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(5).await?;
        for id in [21, 22, 23] {
            world.publish(id, 1, NOW).await?;
        }
        world.run("UPDATE counters SET spread = 1 WHERE content_id = 22").await?;
        world.store.react(user(2), content_id(21), Reaction::Like, 8, NOW).await?;
        store_removes(&world, 1, 23).await?;
        let bookmark = ImportedReaction { reaction: Reaction::Bookmark, ..like(2, 21) };
        let batch = ImportBatch::Reactions(vec![
            like(2, 21), bookmark, like(3, 21), like(3, 22), like(4, 22), like(4, 23), like(4, 99), like(77, 21),
        ]);
        let applied = world.import(60, batch.clone()).await?;
        let (content, nobody) = (Refused(RowRefusal::UnknownContent), Refused(RowRefusal::UnknownUser));
        assert_eq!(applied.outcomes, [Unchanged, Created, Created, Created, Created, content, content, nobody]);
        let versions = world.column::<i64>("SELECT reactions_version FROM user_counts ORDER BY user_id").await?;
        assert_eq!(versions, [0, 60, 60, 60, 0]);
        let times = "SELECT created_at FROM reactions WHERE user_id = 3 AND content_id = 22";
        assert_eq!(world.number(times).await?, NOW - 5);
        world.expect_right_counts().await?;
        let before = world.rows_of_imports().await?;
        world.import(61, batch).await?;
        assert_eq!(world.rows_of_imports().await?, before);
        Ok(())
    }

    async fn imported_blocks_end_edges_and_markers_move_forwards(backend: Backend) -> Result<()> {
        use ImportedExclusionKind::{Block, Hide, Mute};
        let world = World::on(backend).await?.with_users(6).await?;
        let store = &world.store;
        store.follow(user(1), user(2), EdgeMode::Fill, 8, NOW).await?;
        store.follow(user(2), user(1), EdgeMode::Fill, 8, NOW).await?;
        store.mute(user(5), user(6), 8).await?;
        let batch = ImportBatch::Exclusions(vec![
            exclusion(Mute, 1, 3), exclusion(Hide, 1, 4), exclusion(Block, 1, 2), exclusion(Mute, 5, 6),
            exclusion(Mute, 5, 99), exclusion(Block, 2, 1),
        ]);
        let applied = world.import(50, batch.clone()).await?;
        let outcomes = [Created, Created, Created, Unchanged, Refused(RowRefusal::UnknownUser), Created];
        assert_eq!(applied.outcomes, outcomes);
        let ended: Vec<_> = applied.unfollowed.iter().map(|it| (it.follower.get(), it.author.get())).collect();
        assert_eq!(ended, [(1, 2), (2, 1)]);
        let states = store.exclusion_states(user(1), &[user(2), user(3), user(4)]).await?;
        let shown: Vec<_> = states.iter().map(|(_, it)| (it.has_blocked, it.has_muted, it.is_hiding)).collect();
        assert_eq!(shown, [(true, false, false), (false, true, false), (false, false, true)]);
        let versions = world.column::<i64>("SELECT authors_version FROM user_counts ORDER BY user_id").await?;
        assert_eq!(versions, [50, 50, 0, 50, 8, 0]);
        world.expect_right_counts().await?;
        let before = world.rows_of_imports().await?;
        world.import(51, batch).await?;
        assert_eq!(world.rows_of_imports().await?, before);

        let marker = |reader, at| ImportedMarker { reader: user(reader), position: Position::bound(at, 7) };
        store.advance(user(2), Position::bound(50, 9)).await?;
        let batch = ImportBatch::Markers(vec![marker(1, 40), marker(2, 50), marker(3, 9), marker(99, 9)]);
        let applied = world.import(52, batch).await?;
        assert_eq!(applied.outcomes, [Created, Unchanged, Created, Refused(RowRefusal::UnknownUser)]);
        let applied = world.import(53, ImportBatch::Markers(vec![marker(1, 41), marker(3, 8)])).await?;
        assert_eq!(applied.outcomes, [Updated, Unchanged]);
        assert_eq!(store.marker(user(1)).await?, Some(Position::bound(41, 7)));
        assert_eq!(store.marker(user(2)).await?, Some(Position::bound(50, 9)));
        Ok(())
    }

    async fn a_large_batch_takes_few_statements(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let users: Vec<_> = (1..=500).map(|id| imported(id, &format!("u{id}"))).collect();
        let before = world.store.statements();
        world.import(1, ImportBatch::Users(users)).await?;
        let follows: Vec<_> = (2..=500).map(|by| follow(by, 1)).collect();
        world.import(2, ImportBatch::Follows(follows)).await?;
        let contents = (1..=500).map(|id| content(10_000 + id, id, NOW - id)).collect();
        world.import(3, ImportBatch::Contents(contents)).await?;
        let sent = world.store.statements() - before;
        assert!(sent <= 170, "{sent} statements");
        world.expect_right_counts().await?;
        Ok(())
    }
}
