//! [`Accounts`]: users, their profiles and their credentials.

use anyhow::{Context as _, Result};
use tidefeed::domain::account::profile::{ProfileCounts, Registration};
use tidefeed::domain::{Handle, Profile};
use tidefeed::store::accounts::{NewAccount, PasswordHash, Registered};
use tidefeed::store::identities::{Adopted, Identity, Revised, Revision};
use tidefeed::store::profiles::ProfileEdit;
use tidefeed::store::sql::SqlStore;
use tidefeed::store::{Accounts as _, Follows as _, Identities as _, StoreError};

use super::{NOW, World, account, at_once, user};
use crate::servers::on_each_backend;

fn handle(text: &str) -> Handle {
    Handle::try_new(text).expect("tests name valid handles")
}

/// A registration with values of maximum length that are as far from ASCII as allowed.
fn longest() -> Registration {
    let url = format!("https://a.example/{}", "字".repeat(2_030));
    Registration::try_new(&"x".repeat(30), &"👩".repeat(60), &"👩".repeat(500), Some(url)).expect("within the limits")
}

/// Migrates. Retries after a minute of contention, because a busy machine may take longer to create the tables.
async fn migrated(store: &SqlStore) -> Result<(), StoreError> {
    for _ in 0..5 {
        match store.migrate().await {
            Err(StoreError::Contended(_)) => {}
            ended => return ended,
        }
    }
    store.migrate().await
}

on_each_backend! {
    async fn a_registered_user_is_found_by_id_and_by_handle(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let mut new = account(7, "ann");
        new.registration = longest();
        assert_eq!(world.store.register(new.clone()).await?, Registered::Created);
        let Registration { handle: taken, name, bio, avatar_url } = longest();
        let profile =
            Profile { id: user(7), handle: taken.clone(), name, bio, avatar_url, created_at: NOW, version: 0 };
        assert_eq!(world.store.profiles(&[user(7)]).await?, std::slice::from_ref(&profile));
        assert_eq!(world.store.by_handle(&taken).await?, Some(profile));
        let (id, hash) = world.store.credential(&taken).await?.context("a credential")?;
        assert_eq!((id, Some(hash.0)), (user(7), new.password_hash.map(|hash| hash.0)));
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

    async fn a_taken_handle_differs_from_a_taken_id_and_writes_nothing(backend: Backend) -> Result<()> {
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

    async fn concurrent_registrations_of_a_handle_create_one_user(backend: Backend) -> Result<()> {
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

    async fn a_password_is_replaced_only_given_the_current_one(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        let (old, new) = (PasswordHash("hash of user_1".to_owned()), PasswordHash("new".to_owned()));
        assert!(world.store.replace_password(user(1), &old, &new).await?);
        assert!(!world.store.replace_password(user(1), &old, &new).await?, "it stands there no more");
        let (name, hash) = world.store.credential_of(user(1)).await?.context("a credential")?;
        assert_eq!((name.as_str(), hash.0.as_str()), ("user_1", "new"));
        assert_eq!(world.store.credential(&handle("user_2")).await?.context("another")?.1.0, "hash of user_2");
        assert!(world.store.credential_of(user(3)).await?.is_none());
        Ok(())
    }

    async fn concurrent_first_sign_ins_of_an_identity_create_one_user(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        let identity = |text: &str| Identity {
            digest: text.repeat(32),
            issuer: "https://issuer".to_owned(),
            subject: "字".repeat(300),
        };
        let new = |id: i64, handle: &str| NewAccount { password_hash: None, ..account(id, handle) };
        let accounts: Vec<_> = (2..=9).map(|id| new(id, &format!("ann_{id}"))).collect();
        let whose = identity("ab");
        let seen = at_once(accounts.iter().map(|account| world.store.adopt(account, &whose))).await?;
        let made = world.store.identified(std::slice::from_ref(&whose.digest)).await?.pop().context("a user")?.user;
        assert_eq!(seen.iter().filter(|it| **it == Adopted::Created).count(), 1);
        assert_eq!(seen.iter().filter(|it| **it == Adopted::Known(made)).count(), 7);
        assert_eq!(world.store.count().await?, 2);
        assert!(world.store.credential_of(made).await?.is_none(), "no password signs them in");
        let other = identity("cd");
        assert_eq!(world.store.adopt(&new(20, "user_1"), &other).await?, Adopted::Not(Registered::HandleTaken));
        assert_eq!(world.store.adopt(&new(1, "bob"), &other).await?, Adopted::Not(Registered::IdTaken));
        assert_eq!(world.store.identified(&[other.digest]).await?, [], "what was refused leaves nothing");
        Ok(())
    }

    async fn a_revision_changes_what_differs_unless_it_is_older(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        let identity = Identity { digest: "ab".repeat(32), issuer: "product".to_owned(), subject: "42".to_owned() };
        let revise = async |name: &str, new_handle: Option<&str>, as_of| {
            let edit = ProfileEdit { name: Some(name.to_owned()), ..ProfileEdit::default() };
            let revision = Revision { handle: new_handle.map(handle), edit, as_of, now_ms: 25, version: 9 };
            world.store.revise(&identity.digest, &revision).await
        };
        assert_eq!(revise("a", None, None).await?, Revised::Unknown);
        let new = NewAccount { password_hash: None, ..account(7, "mara") };
        assert_eq!(world.store.adopt(&new, &identity).await?, Adopted::Created);
        let (changed, unchanged) = (Revised::Changed(user(7)), Revised::Unchanged(user(7)));
        for (name, new_handle, as_of, revised) in [
            ("first", None, Some(10), changed),
            ("older", None, Some(9), unchanged),
            ("first", None, Some(20), unchanged),
            ("older", None, Some(19), unchanged),
            ("second", Some("user_1"), None, Revised::HandleTaken),
            ("second", Some("mara_2"), None, changed),
            ("second", Some("mara_2"), Some(25), unchanged),
            ("older", None, Some(24), unchanged),
        ] {
            assert_eq!(revise(name, new_handle, as_of).await?, revised, "{name} {new_handle:?} {as_of:?}");
        }
        let profile = world.store.by_handle(&handle("mara_2")).await?.context("a profile")?;
        assert_eq!((profile.name.as_str(), profile.version), ("second", 9));
        assert_eq!(world.number("SELECT COUNT(*) FROM user_names WHERE user_id = 7 AND folded = 'second'").await?, 1);
        let seen = at_once((0..6).map(|_| revise("third", None, Some(30)))).await?;
        assert_eq!(seen.iter().filter(|it| **it == changed).count(), 1, "{seen:?}");
        Ok(())
    }

    async fn a_migration_on_several_nodes_is_made_once(backend: Backend) -> Result<()> {
        let world = World::without_tables(backend).await?;
        at_once((0..4).map(|_| migrated(&world.store))).await?;
        assert!(world.store.pending_migrations().await?.is_empty());
        let twice = "SELECT COUNT(*) - COUNT(DISTINCT version) FROM seaql_migrations";
        assert_eq!(world.number(twice).await?, 0);
        assert_eq!(world.store.count().await?, 0);
        Ok(())
    }
}
