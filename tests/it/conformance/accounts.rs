//! [`Accounts`]: users, their profiles and their credentials.

use anyhow::{Context as _, Result};
use tidefeed::domain::profile::{ProfileCounts, Registration};
use tidefeed::domain::{Handle, Profile};
use tidefeed::store::accounts::Registered;
use tidefeed::store::{Accounts as _, Follows as _};

use super::{NOW, World, account, at_once, user};
use crate::servers::on_each_backend;

fn handle(text: &str) -> Handle {
    Handle::try_new(text).expect("tests name valid handles")
}

/// Everything as long, and as far from ASCII, as it may be.
fn longest() -> Registration {
    let url = format!("https://a.example/{}", "字".repeat(2_030));
    Registration::try_new(&"x".repeat(30), &"👩".repeat(60), &"👩".repeat(500), Some(url)).expect("within the limits")
}

on_each_backend! {
    async fn a_registered_user_is_found_by_id_and_by_handle(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let mut new = account(7, "ann");
        new.registration = longest();
        assert_eq!(world.store.register(new.clone()).await?, Registered::Created);
        let Registration { handle: taken, name, bio, avatar_url } = longest();
        let profile = Profile { id: user(7), handle: taken.clone(), name, bio, avatar_url, created_at: NOW };
        assert_eq!(world.store.profiles(&[user(7)]).await?, std::slice::from_ref(&profile));
        assert_eq!(world.store.by_handle(&taken).await?, Some(profile));
        let (id, hash) = world.store.credential(&taken).await?.context("a credential")?;
        assert_eq!((id, hash.0), (user(7), new.password_hash.0));
        Ok(())
    }

    async fn a_user_begins_with_nothing_but_the_own_edge(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        assert_eq!(world.store.counts(&[user(1)]).await?, [(user(1), ProfileCounts::default())]);
        assert_eq!(world.store.followed_by(user(1)).await?, [user(1)]);
        assert_eq!(world.number("SELECT COUNT(*) FROM follows WHERE mode = 2 AND inc = 1001").await?, 1);
        let open = format!(
            "SELECT COUNT(*) FROM inbox_states WHERE user_id = 1 AND floor_time = {max} AND floor_content = {max} AND last_seen = {NOW}",
            max = i64::MAX
        );
        assert_eq!(world.number(&open).await?, 1);
        assert_eq!(world.number("SELECT COUNT(*) FROM relations").await?, 0, "there is nothing to cover");
        Ok(())
    }

    async fn a_taken_handle_is_told_from_a_taken_id_and_leaves_nothing(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        assert_eq!(world.store.register(account(2, "user_1")).await?, Registered::HandleTaken);
        assert_eq!(world.store.register(account(1, "other")).await?, Registered::IdTaken);
        assert_eq!(world.store.count().await?, 1);
        assert!(world.store.by_handle(&handle("other")).await?.is_none());
        for table in ["credentials", "user_counts", "inbox_states", "follows", "outbox_heads"] {
            assert_eq!(world.number(&format!("SELECT COUNT(*) FROM {table}")).await?, 1, "{table}");
        }
        let hash = world.store.credential(&handle("user_1")).await?.context("still there")?.1;
        assert_eq!(hash.0, "hash of user_1");
        Ok(())
    }

    async fn users_that_do_not_exist_are_left_out(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        let asked: Vec<_> = [9, 3, 1, 3, 8].map(user).to_vec();
        let mut profiles: Vec<_> = world.store.profiles(&asked).await?.iter().map(|profile| profile.id).collect();
        profiles.sort_unstable();
        assert_eq!(profiles, [user(1), user(3)]);
        let mut counts: Vec<_> = world.store.counts(&asked).await?.iter().map(|(id, _)| *id).collect();
        counts.sort_unstable();
        assert_eq!(counts, [user(1), user(3)]);
        assert!(world.store.profiles(&[]).await?.is_empty());
        assert!(world.store.counts(&[]).await?.is_empty());
        assert!(world.store.by_handle(&handle("nobody")).await?.is_none());
        assert!(world.store.credential(&handle("nobody")).await?.is_none());
        assert_eq!(world.store.count().await?, 3);
        let many: Vec<_> = (1..=20_000).map(user).collect();
        assert_eq!(world.store.profiles(&many).await?.len(), 3);
        Ok(())
    }

    async fn of_parallel_registrations_of_one_handle_one_wins(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let outcomes = at_once((1..=12).map(|id| world.store.register(account(id, "ann")))).await?;
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Registered::Created).count(), 1);
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Registered::HandleTaken).count(), 11);
        assert_eq!(world.store.count().await?, 1);
        let outcomes = at_once((1..=12).map(|n| world.store.register(account(50, &format!("bob_{n}"))))).await?;
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Registered::Created).count(), 1);
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Registered::IdTaken).count(), 11);
        assert_eq!(world.number("SELECT COUNT(*) FROM credentials").await?, 2);
        Ok(())
    }

    async fn a_migration_on_several_nodes_is_made_once(backend: Backend) -> Result<()> {
        let world = World::without_tables(backend.fresh_database().await?).await?;
        at_once((0..4).map(|_| world.store.migrate())).await?;
        assert!(world.store.pending_migrations().await?.is_empty());
        let twice = "SELECT COUNT(*) - COUNT(DISTINCT version) FROM seaql_migrations";
        assert_eq!(world.number(twice).await?, 0);
        assert_eq!(world.store.count().await?, 0);
        Ok(())
    }
}
