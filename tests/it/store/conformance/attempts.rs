//! [`Attempts`]: failed sign-ins, counted where every node sees them.

use anyhow::Result;
use tidefeed::domain::{account::attempts::SignInDecision, limits::FREE_ATTEMPTS};
use tidefeed::store::attempts::Subjects;
use tidefeed::store::{Attempts as _, sql::SqlStore};

use super::{NOW, World, at_once};
use crate::servers::on_each_backend;

fn subjects(account: &str, network: &str) -> Subjects {
    let [pair, account, network] = [format!("{account}@{network}"), format!("a {account}"), format!("n {network}")];
    Subjects { pair, account, network }
}

async fn fail(store: &SqlStore, subjects: &Subjects, times: u32) -> Result<()> {
    for _ in 0..times {
        assert_eq!(store.admit(subjects, NOW).await?, SignInDecision::Admitted);
    }
    Ok(())
}

on_each_backend! {
    async fn repeated_failures_wait_without_delaying_others(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let (here, there) = (subjects("ann", "here"), subjects("ann", "there"));
        fail(&world.store, &here, FREE_ATTEMPTS).await?;
        assert_eq!(world.store.admit(&here, NOW + 999).await?, SignInDecision::NotBefore(NOW + 1_000));
        assert_eq!(world.store.admit(&there, NOW).await?, SignInDecision::Admitted);
        assert_eq!(world.store.admit(&subjects("bob", "here"), NOW).await?, SignInDecision::Admitted);
        assert_eq!(
            world.store.admit(&here, NOW + 1_000).await?,
            SignInDecision::Admitted,
            "what was refused has not counted"
        );
        assert_eq!(
            world.store.admit(&here, NOW + 1_001).await?,
            SignInDecision::NotBefore(NOW + 3_000),
            "and the next wait is longer"
        );
        Ok(())
    }

    async fn a_success_forgets_the_failures_of_its_network(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let (here, there) = (subjects("ann", "here"), subjects("ann", "there"));
        fail(&world.store, &there, 2).await?;
        fail(&world.store, &here, FREE_ATTEMPTS).await?;
        world.store.succeeded(&here, NOW).await?;
        fail(&world.store, &here, FREE_ATTEMPTS).await?;
        assert!(matches!(world.store.admit(&here, NOW).await?, SignInDecision::NotBefore(_)));
        let of = |subject: &str| format!("SELECT failures FROM sign_in_attempts WHERE subject = '{subject}'");
        assert_eq!(world.number(&of("ann@there")).await?, 2);
        assert_eq!(world.number(&of("a ann")).await?, 2 + 4 + 5, "of all, the one that succeeded does not count");
        Ok(())
    }

    async fn concurrent_attempts_are_admitted_no_more_often_than_sequential_ones(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let whose: Vec<Subjects> = (0..20).map(|_| subjects("ann", "here")).collect();
        let admissions = at_once(whose.iter().map(|subjects| world.store.admit(subjects, NOW))).await?;
        let admitted = admissions.iter().filter(|it| **it == SignInDecision::Admitted).count();
        assert_eq!(admitted, usize::try_from(FREE_ATTEMPTS)?);
        Ok(())
    }

    async fn only_attempts_old_in_both_respects_are_forgotten(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        fail(&world.store, &subjects("ann", "here"), 1).await?;
        let bobs = subjects("bob", "there");
        fail(&world.store, &bobs, 1).await?;
        world.store.succeeded(&bobs, NOW).await?;
        assert_eq!(world.store.forget(NOW, NOW, 100).await?, 0);
        assert_eq!(world.store.forget(NOW + 1, NOW, 2).await?, 2, "so many at most");
        assert_eq!(world.store.forget(NOW + 1, NOW, 100).await?, 3);
        assert_eq!(world.column::<String>("SELECT subject FROM sign_in_attempts").await?, ["bob@there"]);
        Ok(())
    }
}
