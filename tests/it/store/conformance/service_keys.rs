//! [`ServiceKeys`] and [`ServiceLog`]: keys of services, and what these did.

use anyhow::{Context as _, Result, ensure};
use tidefeed::domain::{
    ServiceKeyId, UserId,
    account::service::{Scope, Scopes, ServiceName},
    limits::{MAX_LOGGED_AT_ONCE, MAX_LOGGED_CHARS},
};
use tidefeed::store::{
    ServiceKeys as _, ServiceLog as _,
    service_keys::{NEVER, NewKey},
    service_log::LoggedCall,
};

use super::{NOW, World, at_once, user};
use crate::servers::on_each_backend;

const DAY: i64 = 24 * 60 * 60 * 1_000;

fn id(number: i64) -> ServiceKeyId {
    ServiceKeyId::try_new(number).expect("tests name positive ids")
}

fn name(text: &str) -> ServiceName {
    text.parse().expect("tests name services")
}

fn new(number: i64, now_ms: i64, expires_at: Option<i64>) -> NewKey {
    NewKey { id: id(number), digest: format!("{number:064}"), now_ms, expires_at }
}

fn call(at_ms: i64, service: &str, as_whom: Option<UserId>) -> LoggedCall {
    let (operation, outcome) = ("x".repeat(MAX_LOGGED_CHARS), "NOT_FOUND".to_owned());
    LoggedCall { at_ms, service: name(service), user: as_whom, operation, outcome }
}

on_each_backend! {
    async fn a_key_is_found_by_its_digest_until_it_is_revoked(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let (store, night) = (&world.store, name("night"));
        let scopes: Scopes = [Scope::ActAs, Scope::Read].into_iter().collect();
        ensure!(store.add_key(&night, scopes, &new(1, NOW, None)).await?);
        ensure!(!store.add_key(&night, scopes, &new(2, NOW, None)).await?, "it has a key");
        let key = store.key(&new(1, NOW, None).digest).await?.context("not found")?;
        ensure!((key.id, key.service.as_str(), key.scopes) == (Some(id(1)), "night", scopes), "{key:?}");
        ensure!((key.created_at, key.expires_at, key.last_used_at) == (NOW, NEVER, 0), "{key:?}");
        store.note_used(id(1), NOW + 5).await?;
        store.note_used(id(1), NOW + 4).await?;
        ensure!(store.keys().await?.iter().map(|key| key.last_used_at).eq([NOW + 5]));
        ensure!(store.living_keys(&[id(1), id(2)], NOW).await? == [id(1)]);
        ensure!((store.revoke_keys(&night).await?, store.revoke_keys(&night).await?) == (1, 0));
        ensure!(store.key(&new(1, NOW, None).digest).await?.is_none());
        ensure!(store.living_keys(&[id(1)], NOW).await?.is_empty());
        ensure!(store.add_key(&night, scopes, &new(3, NOW, None)).await?, "the name is free again");
        Ok(())
    }

    async fn a_rotated_key_keeps_scopes_and_lifetime_and_the_former_ends(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let (store, night, scopes) = (&world.store, name("night"), Scopes::all());
        ensure!(store.rotate_key(&night, &new(1, NOW, None), NOW + DAY).await?.is_none(), "there is none");
        store.add_key(&night, scopes, &new(1, NOW, Some(NOW + 90 * DAY))).await?;
        let later = NOW + 10 * DAY;
        let second = store.rotate_key(&night, &new(2, later, None), later + DAY).await?.context("not rotated")?;
        ensure!((second.scopes, second.expires_at) == (scopes, later + 90 * DAY), "{second:?}");
        ensure!(store.living_keys(&[id(1), id(2)], later + DAY - 1).await?.len() == 2);
        ensure!(store.living_keys(&[id(1), id(2)], later + DAY).await? == [id(2)]);
        ensure!(store.keys().await?.iter().map(|key| key.id).eq([Some(id(2)), Some(id(1))]));
        let third = store.rotate_key(&night, &new(3, later, Some(later + 5)), later + DAY).await?.context("not rotated")?;
        ensure!(third.expires_at == later + 5);
        ensure!(store.forget_keys(later + DAY).await? == 1, "the one that ended first");
        ensure!(store.rotate_key(&night, &new(4, later + 91 * DAY, None), later + 92 * DAY).await?.is_none(), "over");
        Ok(())
    }

    async fn of_keys_added_at_once_a_service_gets_one(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let (night, scopes, store) = (&name("night"), Scopes::all(), &world.store);
        let add = |number| async move { store.add_key(night, scopes, &new(number, NOW, None)).await };
        let added = at_once((1..=4).map(add)).await?;
        ensure!(added.iter().filter(|added| **added).count() == 1, "{added:?}");
        Ok(())
    }

    async fn calls_are_logged_newest_first_and_forgotten_oldest_first(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let store = &world.store;
        let many = MAX_LOGGED_AT_ONCE + 1;
        let lines: Vec<_> = (0..many)
            .map(|nth| {
                let nth = i64::try_from(nth).unwrap_or(0);
                (call(NOW + nth / 2, if nth % 2 == 0 { "night" } else { "day" }, (nth % 2 == 0).then(|| user(7))), nth)
            })
            .collect();
        store.log_calls(&lines).await?;
        store.log_calls(&[]).await?;
        let newest = store.logged_calls(None, 3).await?;
        ensure!(newest.iter().eq(lines.iter().rev().take(3).map(|(call, _)| call)), "{newest:?}");
        let day = store.logged_calls(Some(&name("day")), 1_000).await?;
        ensure!(day.len() == many / 2 && day.iter().all(|call| call.user.is_none()));
        ensure!(store.forget_calls(NOW, 10).await? == 0);
        ensure!(store.forget_calls(NOW + 10, 3).await? == 4, "lines of one millisecond go together");
        ensure!(store.forget_calls(NOW + 10, 1_000).await? == 16);
        ensure!(store.logged_calls(None, 1_000).await?.len() == many - 20);
        Ok(())
    }
}
