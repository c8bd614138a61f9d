//! Tests deleting an account: every read omits it at once, and its rows are removed step by step, whatever crashes in
//! between.

use anyhow::{Result, ensure};
use tidefeed::domain::{
    ContentId, Direction, Floor, Handle, PageRequest, PageSize, Reaction, Reference, Run, UserId,
    account::profile::{ProfileCounts, Registration},
    content::Draft,
    limits::MAX_LEAVING_ACCOUNTS,
    timeline::candidates::{Ask, CandidateLimits, Wanted},
};
use tidefeed::publish::PublishOutcome;
use tidefeed::store::{
    AccountDeletions as _, Accounts as _, Timelines as _,
    account_deletions::Deleted,
    accounts::{NewAccount, PasswordHash, Registered},
    exclusions::Excluded,
    follows::Followed,
    profiles::{ProfileEdit, Renamed},
    reactions::Reacted,
};

use crate::{
    harness::{CacheBackend, TestApp},
    servers::{connect_sql, execute, numbers, on_each_backend},
    store::conformance::{World, account, user},
    usecases::delivery::followed_author,
};

/// More than one step removes.
const POSTS: usize = 130;

/// An author with many contents and three followers: one with a pushed edge, one who pulls through the outbox cache,
/// and one who is off.
struct Story {
    app: std::sync::Arc<TestApp>,
    /// The last content of the author whose account is deleted.
    last: ContentId,
    /// A content of a reader, to which the deleted author has replied, and which they have liked and bookmarked.
    other: ContentId,
}

const GONE: i64 = 1;
const READERS: [i64; 3] = [2, 3, 4];

impl Story {
    async fn on(backend: crate::servers::Backend) -> Result<Self> {
        let app = TestApp::start_with(backend, CacheBackend::NoCache, crate::harness::settings()).await?;
        followed_author(&app, 3).await?;
        for number in 0..POSTS - 1 {
            post(&app, user(GONE), &format!("words {number}"), Reference::Nothing).await?;
        }
        for reader in READERS {
            app.reactivator.visit(user(reader), None).await?;
        }
        app.settle().await?;
        app.demote(user(3), user(GONE)).await?;
        app.turn_off(user(4)).await?;
        let other = post(&app, user(2), "of a reader", Reference::Nothing).await?;
        app.following.follow(user(GONE), user(2)).await?;
        let last = post(&app, user(GONE), "an answer, and not delivered yet", Reference::ReplyTo(other)).await?;
        post(&app, user(3), "", Reference::RepostOf(last)).await?;
        let now = app.now_ms();
        for (who, content) in [(GONE, other), (2, last), (3, other)] {
            for reaction in [Reaction::Like, Reaction::Bookmark] {
                app.ports.contents.react(user(who), content, reaction, 7, now).await?;
            }
        }
        app.ports.exclusions.mute(user(GONE), user(4), 1001).await?;
        app.ports.exclusions.hide(user(3), user(GONE), 1002).await?;
        app.ports.exclusions.unhide(user(3), user(GONE), 1003).await?;
        Ok(Self { app, last, other })
    }

    async fn delete(&self) -> Result<()> {
        let deleted = self.app.ports.accounts.delete(user(GONE), None, self.app.now_ms()).await?;
        ensure!(deleted == Deleted::Gone { sessions: Vec::new() }, "{deleted:?}");
        Ok(())
    }

    /// Checks every read that could show something of theirs.
    async fn nothing_is_shown(&self) -> Result<()> {
        let (ports, gone) = (&self.app.ports, user(GONE));
        let request = PageRequest::newest(PageSize::try_new(100)?);
        let nothing = Run::from_limited_query(Direction::Older, Vec::new(), request.need());
        for reader in READERS.map(user) {
            let page = self.app.reader.page(reader, &request).await?;
            ensure!(page.entries.iter().all(|it| it.author != gone), "{reader}'s page shows them: {page:?}");
            let oracle = ports.timelines.oracle(reader, &request).await?;
            ensure!(page.entries.iter().eq(oracle.iter().take(100)), "{reader}: {page:?}, not {oracle:?}");
            ensure!(!ports.follows.followed_by(reader).await?.contains(&gone));
            ensure!(ports.contents.by_ids(Some(reader), &[self.last]).await?.is_empty());
            ensure!(ports.contents.outbox(Some(reader), &[gone], &request).await?[0].ahead == nothing);
            ensure!(ports.contents.replies(Some(reader), &[self.other], &request).await?[0].ahead == nothing);
            let likers = ports.contents.likers(Some(reader), &[self.other], &request).await?;
            ensure!(likers[0].rows.iter().all(|it| it.item != gone), "{likers:?}");
            let followers = ports.follows.followers(Some(reader), &[user(2)], &request).await?;
            ensure!(followers[0].rows.iter().all(|it| it.item != gone), "{followers:?}");
            let following = ports.follows.following(Some(reader), &[reader], &request).await?;
            ensure!(following[0].rows.iter().all(|it| it.item != gone), "{following:?}");
            ensure!(ports.timelines.visible(reader, &[self.last]).await?.is_empty());
        }
        for reaction in [Reaction::Like, Reaction::Bookmark] {
            let kept = ports.contents.reacted_to(user(2), reaction, &request).await?;
            ensure!(kept.rows.iter().all(|it| it.item.author != gone), "{kept:?}");
        }
        ensure!(ports.contents.by_ids(None, &[self.last]).await?.is_empty());
        ensure!(ports.timelines.visible_to(self.last, &READERS.map(user)).await?.is_empty());
        ensure!(ports.accounts.profiles(&[gone]).await?.is_empty());
        ensure!(ports.accounts.by_handle(&Handle::try_new("user1")?).await?.is_none());
        ensure!(ports.accounts.attributes(&[gone]).await?.is_empty());
        Ok(())
    }

    async fn number(&self, sql: &str) -> Result<i64> {
        let rows = connect_sql(self.app.database_url()).await?;
        Ok(numbers(&rows, sql).await?.first().copied().unwrap_or(-1))
    }
}

async fn post(app: &TestApp, author: UserId, text: &str, reference: Reference) -> Result<ContentId> {
    app.clock.advance(1);
    let draft = if reference.repost_of().is_some() {
        Draft { text: String::new(), media: Vec::new(), idempotency_key: None, reference, object: None }
    } else {
        Draft { reference, ..Draft::try_new(text, Vec::new(), None)? }
    };
    match app.publisher.publish(author, draft).await? {
        PublishOutcome::Published(content) => Ok(content.id),
        other => anyhow::bail!("not published: {other:?}"),
    }
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn nothing_of_a_deleted_account_is_shown_from_its_deletion_on(backend: Backend) -> Result<()> {
        let story = Story::on(backend).await?;
        let page = PageRequest::newest(PageSize::try_new(10)?);
        for reader in READERS.map(user) {
            ensure!(
                story.app.reader.page(reader, &page).await?.entries.iter().any(|it| it.author == user(GONE)),
                "{reader} follows them"
            );
        }
        story.delete().await?;
        story.nothing_is_shown().await?;
        let mut steps = 0;
        while story.app.remover.run_once().await? {
            story.nothing_is_shown().await?;
            steps += 1;
        }
        ensure!(steps >= 2, "{POSTS} contents in one step");
        story.app.settle().await?;
        story.app.clock.advance(60_000);
        story.app.sweep().await?;
        ensure!(!story.app.remover.run_once().await?);
        story.nothing_is_shown().await
    }

    async fn a_deleted_account_is_cleared_away_whatever_crashes_in_between(backend: Backend) -> Result<()> {
        let story = Story::on(backend).await?;
        story.delete().await?;
        let (app, ports) = (&story.app, &story.app.ports);
        // A node takes the account, removes some contents, and dies before it records that.
        let now = app.now_ms();
        ensure!(ports.accounts.due(now, now + 30_000).await?.is_some_and(|it| it.user == user(GONE)));
        for content in ports.accounts.contents_left(user(GONE), 7).await? {
            ports.contents.remove(user(GONE), content.entry.content, app.rng.version(), now).await?;
        }
        ensure!(!app.remover.run_once().await?, "it is somebody else's for now");
        // A visit opens the inbox in a transaction that does not see the deletion yet.
        let open = "UPDATE inbox_states SET floor_time = 0, floor_content = 0 WHERE user_id = 1";
        execute(&connect_sql(app.database_url()).await?, open).await?;
        app.clock.advance(30_001);
        while app.remover.run_once().await? {}
        ensure!(
            story.number("SELECT COUNT(*) FROM account_deletions WHERE look_at IS NULL").await? == 0,
            "writes may be under way"
        );
        app.clock.advance(60_000);
        ensure!(!app.remover.run_once().await?);
        for (left, sql) in [
            (
                0,
                "SELECT COUNT(*) FROM contents WHERE author_id = 1 AND (removed_at IS NULL OR text <> '' OR media <> '[]')",
            ),
            (130, "SELECT COUNT(*) FROM contents WHERE author_id = 1"),
            (0, "SELECT COUNT(*) FROM follows WHERE author_id = 1 OR follower_id = 1"),
            (0, "SELECT COUNT(*) FROM reactions WHERE user_id = 1"),
            (0, "SELECT COUNT(*) FROM exclusions WHERE author_id = 1 OR reader_id = 1"),
            (0, "SELECT COUNT(*) FROM user_counts WHERE user_id = 1"),
            (0, "SELECT COUNT(*) FROM inbox_states WHERE user_id = 1 AND floor_time IS NOT NULL"),
            (1, "SELECT COUNT(*) FROM account_deletions WHERE look_at IS NULL"),
            (1, "SELECT COUNT(*) FROM users WHERE id = 1 AND handle = 'user1' AND name = '' AND bio = ''"),
            (0, "SELECT COUNT(*) FROM search_terms t JOIN contents c ON c.id = t.content_id WHERE c.author_id = 1"),
        ] {
            ensure!(story.number(sql).await? == left, "{sql}: {}", story.number(sql).await?);
        }
        let counts = ports.accounts.counts(&[user(2)]).await?;
        ensure!(counts == [(user(2), ProfileCounts { followers: 0, following: 0, contents: 1 })], "{counts:?}");
        let counters = ports.contents.counters(&[story.other]).await?[0].1;
        ensure!((counters.replies, counters.likes, counters.bookmarks) == (0, 1, 1), "{counters:?}");
        Ok(())
    }

    async fn a_deleted_account_changes_nothing(backend: Backend) -> Result<()> {
        let story = Story::on(backend).await?;
        story.delete().await?;
        let (app, ports, gone, now) = (&story.app, &story.app.ports, user(GONE), story.app.now_ms());
        let draft = Draft::try_new("late", Vec::new(), None)?;
        ensure!(app.publisher.publish(gone, draft).await? == PublishOutcome::UnknownAuthor);
        let mode = tidefeed::domain::EdgeMode::Fill;
        ensure!(ports.follows.follow(gone, user(3), mode, 5, now).await? == Followed::UnknownAuthor);
        ensure!(ports.follows.follow(user(5), gone, mode, 5, now).await? == Followed::UnknownAuthor);
        ensure!(ports.contents.react(gone, story.other, Reaction::Like, 8, now).await? == Reacted::UnknownContent);
        ensure!(ports.contents.react(user(3), story.last, Reaction::Like, 9, now).await? == Reacted::UnknownContent);
        ensure!(ports.exclusions.mute(user(2), gone, 1004).await? == Excluded::UnknownUser);
        let edit = ProfileEdit { name: Some("back".into()), ..ProfileEdit::default() };
        ensure!(!ports.accounts.edit(gone, &edit, 2001).await?);
        ensure!(ports.accounts.rename(gone, &Handle::try_new("back")?, 2002).await? == Renamed::NoUser);
        ensure!(ports.accounts.delete(gone, None, now).await? == Deleted::Unknown);
        let seen = ports.inboxes.mark_seen(&[gone, user(3)], now).await?;
        ensure!(seen.iter().map(|it| it.reader.reader).eq([user(3)]), "{seen:?}");
        ensure!(ports.inboxes.mark_seen(&[gone], now).await?.is_empty());
        ensure!(ports.inboxes.floor(gone).await? == Floor::Off, "a late visit opens the inbox again");
        let registration = Registration::try_new("user1", "Another", "", None)?;
        let another = NewAccount { id: user(77), registration, password_hash: None, incarnation: 1, now_ms: now };
        ensure!(ports.accounts.register(another).await? == Registered::HandleTaken, "a handle is nobody else's");
        Ok(())
    }

    async fn a_follow_that_commits_after_the_remover_has_ended_is_taken_back(backend: Backend) -> Result<()> {
        let app = TestApp::start_with(backend, CacheBackend::NoCache, crate::harness::settings()).await?;
        followed_author(&app, 1).await?;
        app.ports.accounts.delete(user(GONE), None, app.now_ms()).await?;
        while app.remover.run_once().await? {}
        app.clock.advance(60_000);
        while app.remover.run_once().await? {}
        app.sweep().await?;
        // It had found the account before that was deleted.
        let rows = connect_sql(app.database_url()).await?;
        for sql in [
            "INSERT INTO follows (follower_id, author_id, mode, inc, followed_at) VALUES (2, 1, 1, 7, 1)",
            "INSERT INTO relations (follower_id, author_id, version, attempts, look_at) VALUES (2, 1, 7, 0, 1)",
            "UPDATE user_counts SET following = following + 1 WHERE user_id = 2",
        ] {
            execute(&rows, sql).await?;
        }
        app.sweep().await?;
        app.sweep().await?;
        for left in ["follows WHERE author_id = 1", "relations", "user_counts WHERE user_id = 2 AND following <> 0"] {
            ensure!(numbers(&rows, &format!("SELECT COUNT(*) FROM {left}")).await? == [0], "{left}");
        }
        Ok(())
    }

    async fn candidates_of_a_page_name_leaving_accounts_up_to_a_bound(
        backend: Backend,
    ) -> Result<()> {
        let most = i64::try_from(MAX_LEAVING_ACCOUNTS)?;
        let world = World::on(backend).await?.with_users(most + 2).await?;
        let request = PageRequest::newest(PageSize::try_new(10)?);
        let ask = Ask::of_inbox(CandidateLimits { ahead: 11, behind: 4 }, Wanted::ALL);
        for gone in 2..=most + 2 {
            let found = world.store.candidates(user(1), &request, &ask).await?;
            ensure!(found.leaving.len() == usize::try_from(gone - 2)? && found.in_flight.is_some(), "{found:?}");
            let hash = account(gone, &format!("user_{gone}")).password_hash;
            ensure!(matches!(world.store.delete(user(gone), hash.as_ref(), 5).await?, Deleted::Gone { .. }));
        }
        let found = world.store.candidates(user(1), &request, &ask).await?;
        ensure!(found.in_flight.is_none(), "one more than are named: {found:?}");
        Ok(())
    }

    async fn deleting_an_account_needs_its_password_and_constant_statements(
        backend: Backend,
    ) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        let store = &world.store;
        let wrong = PasswordHash("another".into());
        for given in [Some(&wrong), None] {
            ensure!(store.delete(user(1), given, 5).await? == Deleted::PasswordChanged);
        }
        ensure!(store.delete(user(9), None, 5).await? == Deleted::Unknown);
        ensure!(store.profiles(&[user(1)]).await?.len() == 1 && store.counts(&[user(1)]).await?.len() == 1);
        for id in 1..=20 {
            world.publish(id, 2, id).await?;
        }
        let mut statements = Vec::new();
        for id in 1..=2 {
            let hash = account(id, &format!("user_{id}")).password_hash;
            let before = store.statements();
            ensure!(matches!(store.delete(user(id), hash.as_ref(), 5).await?, Deleted::Gone { .. }));
            statements.push(store.statements() - before);
        }
        ensure!(statements[0] == statements[1], "{statements:?}");
        Ok(())
    }
}
