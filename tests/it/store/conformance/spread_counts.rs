//! [`SpreadCounts`]: counts of celebrities and of viral contents are exact for everybody, whoever changes them at once.

use anyhow::{Result, ensure};
use sea_orm::{ConnectionTrait as _, TransactionTrait as _};
use tidefeed::domain::limits::{COUNT_SHARDS, MAX_GATHERED, SPREAD_FROM};
use tidefeed::domain::timeline::candidates::{Ask, CandidateLimits, Wanted};
use tidefeed::domain::{Counters, EdgeMode, PageRequest, PageSize, Reaction, Reference};
use tidefeed::store::audits::Counted;
use tidefeed::store::cards::{ContentParts, UserParts};
use tidefeed::store::contents::Published;
use tidefeed::store::exclusions::Blocked;
use tidefeed::store::follows::Followed;
use tidefeed::store::reactions::Reacted;
use tidefeed::store::{
    AccountDeletions as _, Accounts as _, Cards as _, Contents as _, CounterAudits as _, Exclusions as _, Follows as _,
    Reactions as _, SpreadCounts as _, StoreError, Timelines as _,
};

use super::{NOW, World, account, at_once, content, content_id, only, user};
use crate::servers::on_each_backend;

/// Spreads all counts that there are.
async fn spread(world: &World) -> Result<()> {
    world.run("UPDATE counters SET spread = 1").await?;
    world.run("UPDATE user_counts SET spread = 1").await.map(|_| ())
}

impl World {
    /// The counters of a content as its own statement, its card and both kinds of pages show them: the same.
    async fn counters_of(&self, content: i64) -> Result<Counters> {
        let (ids, reader) = ([content_id(content)], user(1));
        let counters = only(self.store.counters(&ids).await)?.1;
        let parts = ContentParts { counters: true, reactions: false, author: None };
        let card = only(self.store.content_cards(None, &ids, parts).await)?;
        ensure!(card.counters == Some(counters), "{card:?}, not {counters:?}");
        let (request, limits) = (PageRequest::newest(PageSize::try_new(9)?), CandidateLimits { ahead: 9, behind: 4 });
        let page = self.store.candidates(reader, &request, &Ask::of_inbox(limits, Wanted::ALL)).await?;
        let shown = page.ahead.iter().find(|it| it.entry.content == ids[0]).and_then(|it| it.facts);
        ensure!(shown.is_some_and(|it| it.counters == counters), "{page:?}, not {counters:?}");
        let definition = self.store.definition(reader, &request, true).await?;
        let shown = definition.facts.get(&ids[0]);
        ensure!(shown.is_some_and(|it| it.counters == counters), "{definition:?}, not {counters:?}");
        Ok(counters)
    }

    async fn followers_of(&self, author: i64) -> Result<i64> {
        let followers = only(self.store.counts(&[user(author)]).await)?.1.followers;
        let parts = UserParts { counts: true, ..UserParts::default() };
        let card = only(self.store.user_cards(None, &[user(author)], parts).await)?;
        ensure!(card.counts.is_some_and(|it| it.followers == followers), "{card:?}, not {followers}");
        Ok(followers)
    }

    async fn like(&self, liker: i64) -> Result<Reacted, StoreError> {
        self.store.react(user(liker), content_id(5), Reaction::Like, 7, NOW).await
    }

    async fn follow_star(&self, follower: i64) -> Result<Followed, StoreError> {
        self.store.follow(user(follower), user(1), EdgeMode::Fill, 7, NOW).await
    }

    /// Content 5 in the inbox of user 1, who has published it, and as many users.
    async fn with_post(self, users: i64) -> Result<Self> {
        let world = self.with_users(users).await?;
        world.publish(5, 1, NOW).await?;
        world.insert("inboxes", "user_id, publish_time, content_id, author_id", &[format!("(1, {NOW}, 5, 1)")]).await?;
        world.run("UPDATE inbox_states SET floor_time = 0, floor_content = 0 WHERE user_id = 1").await?;
        Ok(world)
    }
}

on_each_backend! {
    async fn counts_are_spread_from_a_threshold_on_and_shown_whole(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_post(4).await?;
        world.run(&format!("UPDATE counters SET likes = {}, reposts = 3 WHERE content_id = 5", SPREAD_FROM - 1)).await?;
        world.run(&format!("UPDATE user_counts SET followers = {} WHERE user_id = 1", SPREAD_FROM - 1)).await?;
        // The last of them changes no row: whether a row is spread is decided before or after its change.
        for liker in [2, 3, 4] {
            assert_eq!((world.like(liker).await?, world.follow_star(liker).await?), (Reacted::Done, Followed::New));
            assert_eq!(world.like(liker).await?, Reacted::Already);
            assert_eq!(world.follow_star(liker).await?, Followed::Already);
            let all = SPREAD_FROM - 2 + liker;
            assert_eq!(world.counters_of(5).await?, Counters { likes: all, reposts: 3, ..Counters::default() });
            assert_eq!(world.followers_of(1).await?, all);
        }
        for sql in ["SELECT likes FROM counters", "SELECT followers FROM user_counts WHERE user_id = 1"] {
            ensure!(world.number(sql).await? < SPREAD_FROM + 2, "{sql}");
        }
        assert_eq!(world.store.gather(MAX_GATHERED).await?, 2);
        assert_eq!(world.store.gather(MAX_GATHERED).await?, 0);
        assert_eq!(world.number("SELECT likes FROM counters").await?, SPREAD_FROM + 2);
        assert_eq!(world.number("SELECT followers FROM user_counts WHERE user_id = 1").await?, SPREAD_FROM + 2);
        assert_eq!(world.store.take_back(user(2), content_id(5), Reaction::Like, 8).await?, Reacted::Done);
        assert!(world.store.unfollow(user(2), user(1), 8, NOW).await?);
        assert_eq!(world.counters_of(5).await?.likes, SPREAD_FROM + 1);
        assert_eq!(world.followers_of(1).await?, SPREAD_FROM + 1);
        Ok(())
    }

    async fn replies_reposts_and_cleared_accounts_count_beside_a_spread_row(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_post(4).await?;
        spread(&world).await?;
        for liker in [2, 3] {
            world.like(liker).await?;
            world.follow_star(liker).await?;
        }
        let mut repost = content(6, 3, NOW);
        (repost.draft.text, repost.draft.reference) = (String::new(), Reference::RepostOf(content_id(5)));
        assert!(matches!(world.store.publish(repost).await?, Published::Created { .. }));
        assert_eq!(world.counters_of(5).await?, Counters { likes: 2, reposts: 1, ..Counters::default() });
        for found in [world.store.recount_contents(0, 10).await?, world.store.recount_users(0, 10).await?] {
            assert!(found.miscounts.is_empty(), "{found:?}");
        }
        assert_eq!(world.store.take_back_reactions(user(3), 10).await?, 1);
        world.store.remove(user(3), content_id(6), 77, NOW).await?;
        assert_eq!(world.counters_of(5).await?, Counters { likes: 1, ..Counters::default() });
        // A wrong row is corrected so that it is right with what waits beside it.
        world.run("UPDATE counters SET likes = 40, replies = 2").await?;
        world.run("UPDATE user_counts SET followers = 40 WHERE user_id = 1").await?;
        world.store.correct(Counted::Content(content_id(5))).await?;
        world.store.correct(Counted::User(user(1))).await?;
        for _ in 0..2 {
            assert_eq!(world.counters_of(5).await?, Counters { likes: 1, ..Counters::default() });
            assert_eq!(world.followers_of(1).await?, 2);
            world.store.gather(MAX_GATHERED).await?;
        }
        Ok(())
    }

    async fn deltas_of_what_is_gone_are_gathered_and_gone(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_post(3).await?;
        spread(&world).await?;
        world.like(2).await?;
        world.follow_star(2).await?;
        world.store.remove(user(1), content_id(5), 77, NOW).await?;
        assert_eq!(world.like(3).await?, Reacted::UnknownContent);
        world.store.delete(user(1), account(1, "user_1").password_hash.as_ref(), NOW).await?;
        assert_eq!(world.follow_star(3).await?, Followed::UnknownAuthor);
        assert!(world.store.unfollow(user(2), user(1), 8, NOW).await?, "as the remover does");
        assert_eq!(world.store.gather(MAX_GATHERED).await?, 2);
        assert_eq!(world.number("SELECT COUNT(*) FROM counter_deltas").await?, 0);
        assert_eq!(world.number("SELECT COUNT(*) FROM follower_deltas").await?, 0);
        Ok(())
    }

    /// Nobody takes back anything, so that a count that is lower than before was not of one snapshot.
    async fn counts_only_grow_while_they_are_changed_gathered_and_read(backend: Backend) -> Result<()> {
        const PEOPLE: i64 = 24;
        let world = World::on(backend).await?.with_post(PEOPLE).await?;
        spread(&world).await?;
        let likes = at_once((2..=PEOPLE).map(|liker| world.like(liker)));
        let follows = at_once((2..=PEOPLE).map(|follower| world.follow_star(follower)));
        let gathers = async {
            for _ in 0..12 {
                world.store.gather(MAX_GATHERED).await?;
            }
            Ok(())
        };
        let reads = async {
            let mut seen = (0, 0);
            for _ in 0..40 {
                let likes = only(world.store.counters(&[content_id(5)]).await)?.1.likes;
                let followers = only(world.store.counts(&[user(1)]).await)?.1.followers;
                ensure!(seen.0 <= likes && seen.1 <= followers, "{seen:?}, and then {likes} and {followers}");
                seen = (likes, followers);
            }
            Ok(())
        };
        let (liked, followed, (), ()) = tokio::try_join!(likes, follows, gathers, reads)?;
        assert!(liked.iter().all(|it| *it == Reacted::Done), "{liked:?}");
        assert!(followed.iter().all(|it| *it == Followed::New), "{followed:?}");
        world.store.gather(MAX_GATHERED).await?;
        assert_eq!(world.counters_of(5).await?.likes, PEOPLE - 1);
        assert_eq!(world.followers_of(1).await?, PEOPLE - 1);
        assert_eq!(world.number("SELECT followers FROM user_counts WHERE user_id = 1").await?, PEOPLE - 1);
        Ok(())
    }

    async fn no_edge_to_a_star_outlives_a_block_that_comes_at_once(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_post(2).await?;
        spread(&world).await?;
        for round in 0..6 {
            world.run("DELETE FROM exclusions").await?;
            let follows = at_once((0..4).map(|_| world.follow_star(2)));
            let backs = at_once((0..2).map(|_| world.store.follow(user(1), user(2), EdgeMode::Fill, 7, NOW)));
            let blocks = async { Ok(world.store.block(user(1), user(2), 9, NOW).await?) };
            let (_, _, blocked) = tokio::try_join!(follows, backs, blocks)?;
            assert!(matches!(blocked, Blocked::New { .. }), "{blocked:?}");
            let edges = "SELECT COUNT(*) FROM follows WHERE follower_id <> author_id";
            assert_eq!(world.number(edges).await?, 0, "round {round}");
            assert_eq!((world.followers_of(1).await?, world.followers_of(2).await?), (0, 0));
            assert_eq!(world.follow_star(2).await?, Followed::Blocked);
        }
        Ok(())
    }
}

/// Where rows are locked one by one.
mod on_servers {
    use sea_orm::IsolationLevel;

    use super::*;

    on_each_backend! {
        on mariadb, mysql;
        async fn who_follows_a_star_or_likes_its_post_waits_for_no_other(backend: Backend) -> Result<()> {
            let world = World::on(backend).await?.with_post(4).await?;
            spread(&world).await?;
            // As user 2 counts, who does not commit, and a gatherer, who locks the rows.
            let open = world.rows.begin_with_config(Some(IsolationLevel::ReadCommitted), None).await?;
            let shard = 2 % COUNT_SHARDS;
            for sql in [
                "SELECT user_id FROM user_counts WHERE user_id IN (1, 2) ORDER BY user_id FOR UPDATE",
                "SELECT content_id FROM counters WHERE content_id = 5 FOR UPDATE",
                &format!("INSERT INTO follower_deltas (user_id, shard, followers) VALUES (1, {shard}, 1)"),
                &format!("INSERT INTO counter_deltas (content_id, shard, likes) VALUES (5, {shard}, 1)"),
            ] {
                open.execute_unprepared(sql).await?;
            }
            assert_eq!((world.follow_star(3).await?, world.like(3).await?), (Followed::New, Reacted::Done));
            assert_eq!((world.followers_of(1).await?, world.counters_of(5).await?.likes), (1, 1));
            open.commit().await?;
            assert_eq!((world.followers_of(1).await?, world.counters_of(5).await?.likes), (2, 2));
            Ok(())
        }
    }
}
