//! [`Sessions`]: sign-ins that last.

use anyhow::{Context as _, Result};
use tidefeed::domain::account::session::{Presented, Session};
use tidefeed::domain::{SessionId, UserId};
use tidefeed::store::Sessions as _;
use tidefeed::store::sessions::{Begun, Rotation};

use super::{NOW, World, at_once, user};
use crate::servers::on_each_backend;

const LIFE_MS: i64 = 100_000;
const GRACE_MS: i64 = 30_000;

fn id(number: i64) -> SessionId {
    SessionId::try_new(number).expect("tests name positive ids")
}

fn session(number: i64, of: UserId, created_at: i64) -> Session {
    Session {
        id: id(number),
        user: of,
        family: format!("family {number}"),
        current: "1".to_owned(),
        previous: None,
        rotated_at: created_at,
        created_at,
        good_until: created_at + LIFE_MS,
        agent: "👩".repeat(120),
    }
}

fn rotation(number: i64, token: &str, next: &str, now_ms: i64) -> Rotation {
    Rotation {
        id: id(number),
        family: format!("family {number}"),
        token: token.to_owned(),
        nonce: format!("from {token}"),
        next: next.to_owned(),
        now_ms,
        grace_ms: GRACE_MS,
        good_until: now_ms + LIFE_MS,
    }
}

on_each_backend! {
    async fn a_session_is_kept_as_it_began_until_its_user_ends_it(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let begun = session(1, user(7), NOW);
        assert_eq!(world.store.begin(&begun, 50).await?, Begun::Began(vec![]));
        assert_eq!(world.store.begin(&begun, 50).await?, Begun::IdTaken, "the id is taken");
        assert_eq!(world.store.find(id(1)).await?, Some(begun.clone()));
        assert_eq!(world.store.of_user(user(7), NOW).await?, [begun]);
        assert_eq!(world.store.living(&[id(1), id(2)], NOW).await?, [id(1)]);
        assert!(
            world.store.living(&[id(1)], NOW + LIFE_MS).await?.is_empty()
                && world.store.living(&[], NOW).await?.is_empty()
        );
        assert!(!world.store.end(user(8), id(1)).await?, "it is somebody else's");
        assert!(world.store.end(user(7), id(1)).await? && !world.store.end(user(7), id(1)).await?);
        assert_eq!(world.store.find(id(1)).await?, None);
        Ok(())
    }

    async fn each_refresh_token_gives_the_next_and_a_retry_the_same(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        world.store.begin(&session(1, user(7), NOW), 50).await?;
        let first = world.store.rotate(&rotation(1, "1", "2", NOW + 1)).await?;
        assert_eq!(first, (Presented::Current, Some(user(7))));
        let again = world.store.rotate(&rotation(1, "1", "other", NOW + GRACE_MS)).await?;
        assert_eq!(again, (Presented::Again("from 1".to_owned()), Some(user(7))));
        let kept = world.store.find(id(1)).await?.context("a session")?;
        assert_eq!((kept.current.as_str(), kept.rotated_at, kept.good_until), ("2", NOW + 1, NOW + 1 + LIFE_MS));
        assert_eq!(world.store.rotate(&rotation(1, "2", "3", NOW + 5)).await?.0, Presented::Current);
        Ok(())
    }

    async fn a_reused_token_ends_its_session_and_an_unknown_one_none(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        for number in [1, 2] {
            world.store.begin(&session(number, user(7), NOW), 50).await?;
        }
        let stranger = Rotation { family: "guessed".to_owned(), ..rotation(1, "1", "2", NOW) };
        assert_eq!(world.store.rotate(&stranger).await?, (Presented::Unknown, None));
        assert_eq!(world.store.rotate(&rotation(9, "1", "2", NOW)).await?, (Presented::Unknown, None));
        assert_eq!(world.store.rotate(&rotation(1, "1", "2", NOW)).await?.0, Presented::Current);
        let reused = world.store.rotate(&rotation(1, "1", "3", NOW + GRACE_MS)).await?;
        assert_eq!(reused, (Presented::Reused, Some(user(7))));
        assert_eq!(world.store.rotate(&rotation(1, "2", "3", NOW)).await?.0, Presented::Unknown, "for its holder, too");
        assert_eq!(world.store.living(&[id(1), id(2)], NOW).await?, [id(2)], "other sessions go on");
        Ok(())
    }

    async fn concurrent_refreshes_with_one_token_give_one_successor(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        world.store.begin(&session(1, user(7), NOW), 50).await?;
        let all: Vec<_> =
            (0..8).map(|n| Rotation { nonce: format!("n{n}"), ..rotation(1, "1", &format!("t{n}"), NOW) }).collect();
        let ended = at_once(all.iter().map(|one| world.store.rotate(one))).await?;
        assert_eq!(ended.iter().filter(|(presented, _)| *presented == Presented::Current).count(), 1);
        let kept = world.store.find(id(1)).await?.context("a session")?;
        let nonce = kept.previous.context("a number")?.1;
        assert_eq!(kept.current, nonce.replace('n', "t"));
        assert_eq!(ended.iter().filter(|(presented, _)| *presented == Presented::Again(nonce.clone())).count(), 7);
        Ok(())
    }

    async fn the_oldest_sessions_and_those_that_are_over_make_room(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        world.store.begin(&session(1, user(7), NOW - LIFE_MS), 3).await?;
        for number in 2..=4 {
            let ended = world.store.begin(&session(number, user(7), NOW), 3).await?;
            assert_eq!(ended, Begun::Began(if number == 2 { vec![id(1)] } else { vec![] }));
        }
        world.store.begin(&session(9, user(8), NOW), 3).await?;
        assert_eq!(world.store.begin(&session(5, user(7), NOW), 3).await?, Begun::Began(vec![id(2)]));
        assert_eq!(world.store.end_all(user(7), Some(id(4))).await?.len(), 2);
        assert_eq!(world.store.end_all(user(7), None).await?, [id(4)]);
        assert_eq!(world.store.living(&[id(9)], NOW).await?, [id(9)]);
        assert_eq!(world.store.forget(NOW + LIFE_MS, 10).await?, 0);
        assert_eq!(world.store.forget(NOW + LIFE_MS + 1, 10).await?, 1);
        Ok(())
    }
}
