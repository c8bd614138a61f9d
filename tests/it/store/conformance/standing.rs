//! [`Deactivations`] and [`Identities`]: who may sign in, and what the product calls users.

use anyhow::{Context as _, Result};
use tidefeed::domain::account::session::Session;
use tidefeed::domain::{Handle, SessionId, UserId};
use tidefeed::store::accounts::{NewAccount, PasswordHash};
use tidefeed::store::identities::{Adopted, Identity, Rebound, Revised, Revision, Standing};
use tidefeed::store::imports::{
    ImportBatch, ImportedUser,
    RowOutcome::{Created, Unchanged, Updated},
};
use tidefeed::store::profiles::ProfileEdit;
use tidefeed::store::sessions::Begun;
use tidefeed::store::{
    AccountDeletions as _, Accounts as _, Deactivations as _, Identities as _, People as _, Profiles as _,
    Sessions as _, StoreError,
};

use super::{NOW, World, account, at_once, imports::imported, user};
use crate::servers::on_each_backend;

fn session(number: i64, user: UserId) -> Session {
    let id = SessionId::try_new(number).expect("a positive number");
    let (family, current, agent) = (format!("family {number}"), "1".to_owned(), String::new());
    let good_until = NOW + 1_000;
    Session { id, user, family, current, previous: None, rotated_at: NOW, created_at: NOW, good_until, agent }
}

/// An identity that `issuer` calls `subject`.
fn identity(issuer: &str, subject: &str) -> Identity {
    let digest = format!("{issuer}/{subject}");
    Identity { digest, issuer: issuer.to_owned(), subject: subject.to_owned() }
}

/// Whose the identity is, and how they stand.
async fn whose(world: &World, identity: &Identity) -> Result<Option<(UserId, Standing)>> {
    let found = world.store.identified(&[identity.digest.clone(), "unknown".to_owned()]).await?;
    Ok(found.first().map(|it| (it.user, it.standing)))
}

/// What `product` calls the user, and whether they are deactivated.
async fn membership(world: &World, user: UserId) -> Result<Option<(Option<String>, bool)>> {
    let found = world.store.memberships("product", &[user]).await?.pop();
    Ok(found.map(|it| (it.subject, it.is_deactivated)))
}

on_each_backend! {
    async fn a_deactivated_user_has_no_session_and_is_suggested_to_nobody(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        world.store.begin(&session(1, user(1)), 50).await?;
        let names = "SELECT COUNT(*) FROM user_names WHERE user_id = 1";
        let named = world.number(names).await?;
        assert_eq!(world.store.deactivate(user(1), NOW).await?, Some(vec![session(1, user(1)).id]));
        assert_eq!(world.store.deactivate(user(1), NOW).await?, Some(vec![]));
        assert_eq!(world.store.begin(&session(2, user(1)), 50).await?, Begun::Deactivated);
        assert_eq!(world.store.begin(&session(3, user(2)), 50).await?, Begun::Began(vec![]));
        let edit = ProfileEdit { name: Some("new name".to_owned()), ..ProfileEdit::default() };
        assert!(world.store.edit(user(1), &edit, 5).await?, "the profile is there");
        assert_eq!(world.number(names).await?, 0, "but not found by a name, old or new");
        for viewer in [None, Some(user(3))] {
            assert!(!world.store.suggested(viewer, 10).await?.contains(&user(1)));
        }
        assert_eq!(world.store.active_among(&[user(1), user(2), user(9)]).await?, [user(2)]);
        assert_eq!(membership(&world, user(1)).await?, Some((None, true)));
        assert!(world.store.reactivate(user(1)).await? && world.store.reactivate(user(1)).await?);
        assert!(world.number(names).await? >= named);
        assert_eq!(world.number("SELECT COUNT(*) FROM user_names WHERE folded = 'new name'").await?, 1);
        assert_eq!(world.store.begin(&session(2, user(1)), 50).await?, Begun::Began(vec![]));
        assert_eq!(world.store.active_among(&[user(1)]).await?, [user(1)]);
        assert!(world.store.deactivate(user(9), NOW).await?.is_none() && !world.store.reactivate(user(9)).await?);
        Ok(())
    }

    async fn no_session_outlives_a_deactivation_at_the_same_time(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        for round in 0..6 {
            let sessions: Vec<Session> = (1..=6).map(|n| session(round * 10 + n, user(1))).collect();
            let beginning = at_once(sessions.iter().map(|it| world.store.begin(it, 50)));
            let (_, ended) = tokio::join!(beginning, world.store.deactivate(user(1), NOW));
            assert!(ended?.is_some());
            assert_eq!(world.store.of_user(user(1), NOW).await?, []);
            world.store.reactivate(user(1)).await?;
        }
        Ok(())
    }

    async fn identities_are_listed_by_their_issuer(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(4).await?;
        assert_eq!(world.store.former_issuer("a").await?, None, "nobody has an id");
        for number in 1..=4 {
            let issuer = if number == 4 { "b" } else { "a" };
            world.store.rebind(user(number), &identity(issuer, &number.to_string()), number).await?;
        }
        let password = PasswordHash("hash of user_3".to_owned());
        world.store.delete(user(3), Some(&password), NOW).await?;
        let first = world.store.of_issuer("a", "", 1).await?.pop().context("an identity")?;
        let second = world.store.of_issuer("a", &first.digest, 9).await?.pop().context("another")?;
        let mut subjects = [(first.user, first.subject), (second.user, second.subject)];
        subjects.sort_unstable();
        assert_eq!(subjects, [(user(1), "1".to_owned()), (user(2), "2".to_owned())]);
        assert_eq!(world.store.of_issuer("a", &second.digest, 9).await?, [], "of an account that exists");
        assert_eq!(world.store.former_issuer("b").await?, None, "it has users");
        assert!(world.store.former_issuer("c").await?.is_some_and(|it| ["a", "b"].contains(&it.as_str())));
        Ok(())
    }

    async fn an_identity_follows_the_product_and_comes_free_with_a_deletion(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        let (first, second, other) = (identity("product", "1"), identity("product", "2"), identity("elsewhere", "1"));
        assert_eq!(world.store.rebind(user(1), &first, 7).await?, Rebound::Done, "a first one");
        assert_eq!(world.store.rebind(user(1), &other, 8).await?, Rebound::Done);
        assert_eq!(world.store.rebind(user(2), &first, 9).await?, Rebound::Taken);
        assert_eq!(whose(&world, &first).await?, Some((user(1), Standing::Active)));
        assert_eq!(membership(&world, user(1)).await?, Some((Some("1".to_owned()), false)));
        let edit = ProfileEdit { name: Some("Mara".to_owned()), ..ProfileEdit::default() };
        let revision = Revision { edit, as_of: Some(20), version: 9, ..Revision::default() };
        assert_eq!(world.store.revise(&first.digest, &revision).await?, Revised::Changed(user(1)));
        assert_eq!(world.store.rebind(user(1), &second, 10).await?, Rebound::Done);
        let known = world.store.identified(std::slice::from_ref(&second.digest)).await?;
        assert_eq!(known.first().map(|it| it.as_of), Some(20), "what was said of the user is as new as it was");
        assert_eq!(world.store.profiles(&[user(1)]).await?.pop().context("a profile")?.version, 10);
        assert_eq!(whose(&world, &first).await?, None, "the former one is nobody's");
        assert_eq!(whose(&world, &other).await?, Some((user(1), Standing::Active)), "that of another issuer stays");
        assert_eq!(world.store.rebind(user(9), &first, 11).await?, Rebound::NoUser);
        world.store.deactivate(user(1), NOW).await?;
        assert_eq!(whose(&world, &second).await?, Some((user(1), Standing::Deactivated)));
        assert!(!world.store.release(&second.digest).await?, "the account exists");
        world.store.delete(user(1), Some(&PasswordHash("hash of user_1".to_owned())), NOW).await?;
        assert_eq!(whose(&world, &second).await?, Some((user(1), Standing::Deleted)));
        assert_eq!(membership(&world, user(1)).await?, None);
        assert_eq!(world.store.rebind(user(2), &other, 12).await?, Rebound::Done, "that account is no more");
        assert!(world.store.release(&second.digest).await? && !world.store.release(&second.digest).await?);
        let new = NewAccount { password_hash: None, ..account(7, "mara") };
        assert_eq!(world.store.adopt(&new, &second).await?, Adopted::Created);
        assert_eq!(whose(&world, &second).await?, Some((user(7), Standing::Active)));
        assert!(world.store.by_handle(&Handle::try_new("user_1")?).await?.is_none());
        Ok(())
    }

    async fn an_imported_user_is_in_the_state_of_the_line_or_the_batch_is_contended(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let stated = |number: i64, is_deactivated| ImportedUser {
            is_deactivated: Some(is_deactivated),
            ..imported(number, &format!("u{number}"))
        };
        let users = || vec![stated(11, true), stated(12, false), imported(13, "u13")];
        let applied = world.import(1, ImportBatch::Users(users())).await?;
        assert_eq!(applied.outcomes, [Created; 3]);
        assert_eq!(world.number("SELECT user_id FROM deactivations").await?, 11);
        assert_eq!(world.number(&format!("SELECT deactivated_at - {NOW} FROM deactivations")).await?, 0);
        assert_eq!(world.number("SELECT COUNT(*) FROM user_names WHERE user_id = 11").await?, 0, "nobody finds them");
        let named = "SELECT COUNT(DISTINCT user_id) FROM user_names WHERE user_id IN (12, 13)";
        assert_eq!(world.number(named).await?, 2);
        let applied = world.import(2, ImportBatch::Users(users())).await?;
        assert_eq!(applied.outcomes, [Unchanged; 3]);
        for other in [stated(11, false), stated(12, true)] {
            let refused = world.import(3, ImportBatch::Users(vec![other])).await.err().context("it is committed")?;
            assert!(matches!(refused.downcast_ref(), Some(StoreError::Contended(_))), "{refused:?}");
        }
        world.store.reactivate(user(11)).await?;
        let restated = ImportedUser { is_restated_now: true, ..stated(11, false) };
        assert_eq!(world.import(3, ImportBatch::Users(vec![restated])).await?.outcomes, [Updated]);
        Ok(())
    }
}
