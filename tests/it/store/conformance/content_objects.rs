//! [`Contents`]: what products say of contents, and their external ids.

use anyhow::Result;
use serde_json::{Value, json};
use tidefeed::domain::account::external::ExternalId;
use tidefeed::domain::content::Draft;
use tidefeed::domain::object::ObjectInput;
use tidefeed::domain::{ContentId, ContentObject};
use tidefeed::store::account_deletions::Deleted;
use tidefeed::store::accounts::PasswordHash;
use tidefeed::store::cards::ContentParts;
use tidefeed::store::contents::{NewContent, Published, Removed};
use tidefeed::store::{AccountDeletions as _, Cards as _, Contents as _, StoreError};

use super::{NOW, World, at_once, content, content_id, user, version};
use crate::servers::{on_each_backend, open_store};

pub fn external(id: &str) -> ExternalId {
    ExternalId::try_new(id).expect("tests name valid ids")
}

fn object(input: &ObjectInput<'_>) -> ContentObject {
    ContentObject::try_new(input).expect("tests name valid objects").expect("something is said")
}

/// A content with this external id, which says the same whatever its id is.
pub fn named(id: i64, author: i64, external_id: &str) -> NewContent {
    let input = ObjectInput { external_id: Some(external_id), ..ObjectInput::default() };
    let new = content(id, author, NOW + id);
    NewContent { draft: Draft { text: "a run".to_owned(), object: Some(object(&input).into()), ..new.draft }, ..new }
}

fn with_attributes(new: NewContent, attributes: &Value) -> NewContent {
    let external_id = new.draft.external_id().map(ExternalId::as_str);
    let input = ObjectInput { external_id, attributes: Some(attributes), ..ObjectInput::default() };
    let object = Some(object(&input).into());
    NewContent { draft: Draft { object, ..new.draft }, ..new }
}

/// As large as each of it may be, in characters that take the most bytes.
fn largest() -> ContentObject {
    let attributes = json!({ "text": "👩".repeat(2_040), "n": [1.5, null] });
    object(&ObjectInput {
        external_id: Some(&format!("{}!\"'", "👩".repeat(63))),
        content_type: Some(&"a".repeat(64)),
        url: Some(&format!("https://a.example/{}", "👩".repeat(2_030))),
        attributes: Some(&attributes),
    })
}

/// Of contents with an external id, which leave more traces than others.
const TRACES: [&str; 5] = [
    "SELECT COUNT(*) FROM contents",
    "SELECT COUNT(*) FROM content_objects",
    "SELECT COUNT(*) FROM counters",
    "SELECT COUNT(*) FROM deliveries",
    "SELECT CAST(SUM(contents) AS SIGNED) FROM user_counts",
];

impl World {
    async fn traces_of_objects(&self) -> Result<Vec<i64>> {
        let mut traces = vec![self.number("SELECT COALESCE(MAX(stamp), 0) FROM outbox_heads").await?];
        for sql in TRACES {
            traces.push(self.number(sql).await?);
        }
        Ok(traces)
    }

    async fn created(&self, new: NewContent) -> Result<()> {
        let published = self.store.publish(new).await?;
        anyhow::ensure!(matches!(published, Published::Created { .. }), "{published:?}");
        Ok(())
    }

    /// The content that has, or had, the external id.
    async fn with_external_id(&self, id: &str) -> Result<Option<ContentId>> {
        Ok(self.store.by_external_ids(&[external(id), external("no such id")]).await?.first().map(|(_, id)| *id))
    }
}

on_each_backend! {
    async fn attributes_that_are_no_object_are_read_by_nobody(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        world.created(with_attributes(named(5, 1, "run-1"), &json!({ "km": 5 }))).await?;
        for text in ["1,\"x\":2", "{}\n{}", "[1]", ""] {
            anyhow::ensure!(world.run(&format!("UPDATE content_objects SET attributes = '{text}'")).await? == 1);
            let read = world.store.by_ids(None, &[content_id(5)]).await;
            assert!(matches!(read, Err(StoreError::Unreadable(_))), "{text}: {read:?}");
        }
        Ok(())
    }

    async fn what_a_product_says_is_read_back_as_it_was_published(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        let url = object(&ObjectInput { url: Some("https://a.example/1"), ..ObjectInput::default() });
        for (id, object) in [(5, Some(largest().into())), (6, Some(url.into())), (7, None)] {
            let new = content(id, 1, NOW);
            world.created(NewContent { draft: Draft { object: object.clone(), ..new.draft }, ..new }).await?;
            let read = world.store.by_ids(None, &[content_id(id)]).await?;
            assert_eq!(read.iter().map(|it| &it.object).collect::<Vec<_>>(), [&object]);
            let parts = ContentParts { counters: true, ..ContentParts::default() };
            let cards = world.store.content_cards(Some(user(1)), &[content_id(id)], parts).await?;
            let shown = cards.iter().map(|it| (&it.content.object, it.counters.is_some()));
            assert_eq!(shown.collect::<Vec<_>>(), [(&object, true)]);
        }
        assert_eq!(world.number("SELECT COUNT(*) FROM content_objects").await?, 2, "a plain content has no row");
        let external_ids = [largest().external_id.expect("it has one")];
        let found = world.store.by_external_ids(&external_ids).await?;
        assert_eq!(found, external_ids.map(|id| (id, content_id(5))));
        assert!(world.store.by_external_ids(&[]).await?.is_empty());
        Ok(())
    }

    async fn a_used_external_id_gives_the_same_content_or_a_conflict(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        let attributes = json!({ "km": 5 });
        world.publish(4, 2, NOW).await?;
        world.created(with_attributes(named(5, 1, "run-1"), &attributes)).await?;
        let before = world.traces_of_objects().await?;
        let again = || with_attributes(named(6, 1, "run-1"), &attributes);
        let Published::Duplicate(Some(first)) = world.store.publish(again()).await? else {
            anyhow::bail!("a duplicate was expected")
        };
        assert_eq!((first.id, first.publish_time), (content_id(5), NOW + 5));
        let reply = |new: NewContent| NewContent { draft: new.draft.replying_to(content_id(4)), ..new };
        let text = |new: NewContent| NewContent { draft: Draft { text: "another run".to_owned(), ..new.draft }, ..new };
        for other in [
            named(6, 1, "run-1"),
            with_attributes(named(6, 1, "run-1"), &json!({ "km": 6 })),
            with_attributes(named(6, 2, "run-1"), &attributes),
            reply(again()),
            text(again()),
            NewContent { id: content_id(5), ..text(again()) },
        ] {
            assert_eq!(world.store.publish(other.clone()).await?, Published::Conflict, "{other:?}");
        }
        let gone = NewContent { draft: again().draft.replying_to(content_id(99)), ..again() };
        assert_eq!(world.store.publish(gone).await?, Published::Conflict, "whatever else is wrong with it");
        assert_eq!(world.traces_of_objects().await?, before);
        assert_eq!(world.with_external_id("run-1").await?, Some(content_id(5)));
        Ok(())
    }

    async fn a_key_and_an_external_id_must_mean_one_content(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        let keyed = |new: NewContent| {
            NewContent { draft: Draft { idempotency_key: Some("key".to_owned()), ..new.draft }, ..new }
        };
        world.created(keyed(named(5, 1, "run-1"))).await?;
        for same in [keyed(named(6, 1, "run-1")), named(6, 1, "run-1"), keyed(content(6, 1, NOW))] {
            assert!(matches!(world.store.publish(same).await?, Published::Duplicate(Some(_))));
        }
        assert_eq!(world.store.publish(keyed(named(6, 1, "run-2"))).await?, Published::Conflict);
        assert_eq!(world.with_external_id("run-2").await?, None, "it is not used up");
        Ok(())
    }

    async fn external_ids_are_the_same_only_if_every_byte_is(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        for (id, external_id) in (5..).zip(["run", "RUN", "run ", " run", "rún", "ru\u{301}n", "ｒun", "%", "\\"]) {
            world.created(named(id, 1, external_id)).await?;
            assert_eq!(world.with_external_id(external_id).await?, Some(content_id(id)), "{external_id}");
        }
        Ok(())
    }

    async fn the_external_id_of_a_removed_content_is_never_given_again(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        world.created(with_attributes(named(5, 1, "run-1"), &json!({ "km": 5 }))).await?;
        world.created(named(6, 2, "run-2")).await?;
        assert!(matches!(world.store.remove(user(1), content_id(5), version(9), NOW).await?, Removed::Gone { .. }));
        let refused = async |external_id, author| -> Result<()> {
            let before = world.traces_of_objects().await?;
            for new in [named(7, author, external_id), with_attributes(named(7, 3, external_id), &json!({ "km": 5 }))] {
                assert_eq!(world.store.publish(new).await?, Published::Duplicate(None), "{external_id}");
            }
            assert_eq!(world.traces_of_objects().await?, before);
            Ok(())
        };
        refused("run-1", 1).await?;
        assert_eq!(world.with_external_id("run-1").await?, Some(content_id(5)), "whose it was is still known");
        let password = PasswordHash("hash of user_2".to_owned());
        assert!(matches!(world.store.delete(user(2), Some(&password), NOW).await?, Deleted::Gone { .. }));
        assert!(matches!(world.store.remove(user(2), content_id(6), version(8), NOW).await?, Removed::Gone { .. }));
        let left: Vec<_> = world.store.contents_left(user(2), 9).await?.iter().map(|it| it.entry).collect();
        world.store.erase(user(2), &left).await?;
        refused("run-2", 3).await?;
        world.run("DELETE FROM contents WHERE id = 6").await?;
        refused("run-2", 3).await
    }

    async fn erasing_an_accounts_contents_leaves_their_external_ids_alone(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        for (id, author) in [(5, 1), (6, 1), (7, 2)] {
            let new = content(id, author, NOW + id);
            let object = ContentObject { external_id: Some(external(&format!("run-{id}"))), ..largest() };
            let draft = Draft { object: Some(object.into()), ..new.draft };
            world.created(NewContent { draft, ..new }).await?;
        }
        let password = PasswordHash("hash of user_1".to_owned());
        assert!(matches!(world.store.delete(user(1), Some(&password), NOW).await?, Deleted::Gone { .. }));
        assert!(matches!(world.store.remove(user(1), content_id(5), version(8), NOW).await?, Removed::Gone { .. }));
        let left: Vec<_> = world.store.contents_left(user(1), 9).await?.iter().map(|it| it.entry).collect();
        world.store.erase(user(1), &left).await?;
        let blank = "type = 'post' AND url IS NULL AND attributes IS NULL AND external_id IS NOT NULL";
        let rows = format!("SELECT content_id FROM content_objects WHERE {blank} ORDER BY content_id");
        assert_eq!(world.column::<i64>(&rows).await?, [5], "6 is not removed yet, and 7 is another author's");
        Ok(())
    }

    async fn one_of_two_nodes_gives_an_external_id(backend: Backend) -> Result<()> {
        const AUTHORS: i64 = 6;
        let database = backend.migrated_database().await?;
        let other_node = open_store(&database.url).await?;
        let world = World::in_database(database).await?.with_users(AUTHORS).await?;
        for round in 1..=10 {
            let external_id = format!("run-{round}");
            let publish = |author: i64| {
                let node = if author % 2 == 0 { &world.store } else { &other_node };
                node.publish(named(round * 100 + author, author, &external_id))
            };
            let outcomes = at_once((1..=AUTHORS).map(publish)).await?;
            let created = outcomes.iter().filter(|it| matches!(it, Published::Created { .. })).count();
            let refused = outcomes.iter().filter(|it| **it == Published::Conflict).count();
            assert_eq!((created, refused), (1, 5), "{outcomes:?}");
            assert!(world.with_external_id(&external_id).await?.is_some());
        }
        for (sql, count) in TRACES.into_iter().zip([10; 5]) {
            assert_eq!(world.number(sql).await?, count, "{sql}");
        }
        Ok(())
    }

    async fn a_publish_repeated_on_two_nodes_makes_one_content(backend: Backend) -> Result<()> {
        let database = backend.migrated_database().await?;
        let other_node = open_store(&database.url).await?;
        let world = World::in_database(database).await?.with_users(1).await?;
        let publish = |id: i64| {
            let node = if id % 2 == 0 { &world.store } else { &other_node };
            node.publish(named(id, 1, "run-1"))
        };
        let outcomes = at_once((1..=8).map(publish)).await?;
        let created = outcomes.iter().filter(|it| matches!(it, Published::Created { .. })).count();
        let repeated = outcomes.iter().filter(|it| matches!(it, Published::Duplicate(Some(_)))).count();
        assert_eq!((created, repeated), (1, 7), "{outcomes:?}");
        let content = world.with_external_id("run-1").await?.expect("it was published");
        // A removal and repeated publishes at once: each of these finds the content or its tombstone.
        let removal = world.store.remove(user(1), content, version(0), NOW);
        let again = at_once((11..=18).map(publish));
        let (removed, again) = tokio::try_join!(async { Ok(removal.await?) }, again)?;
        assert!(matches!(removed, Removed::Gone { .. }));
        assert!(again.iter().all(|it| matches!(it, Published::Duplicate(_))), "{again:?}");
        assert_eq!(publish(20).await?, Published::Duplicate(None));
        assert_eq!(world.number("SELECT COUNT(*) FROM contents").await?, 1);
        Ok(())
    }
}
