//! Contents of an [`tidefeed::store::Imports`] batch: published as single ones are, with one version for each author.

use anyhow::{Result, ensure};
use tidefeed::domain::account::external::ExternalId;
use tidefeed::domain::object::ObjectInput;
use tidefeed::domain::{ContentObject, Reaction, Reference, content::Draft};
use tidefeed::store::contents::NewContent;
use tidefeed::store::imports::{
    ImportBatch, ImportedTombstone,
    RowOutcome::{Created, Refused, Unchanged, Updated},
    RowRefusal,
};
use tidefeed::store::{Contents as _, Exclusions as _, Reactions as _};

use super::{NOW, World, content, content_id, imports::store_removes, picture, user};
use crate::{coverage::BROKEN, servers::on_each_backend};

on_each_backend! {
    async fn imported_contents_are_published_as_single_ones_are(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(4).await?;
        let store = &world.store;
        world.publish(10, 1, NOW).await?;
        world.publish(11, 1, NOW + 1_000).await?;
        store_removes(&world, 1, 11).await?;
        store.block(user(3), user(1), 9, NOW).await?;
        let refer = |id, author, reference| {
            let mut new = content(id, author, NOW - id);
            new.draft.text = if matches!(reference, Reference::RepostOf(_)) { String::new() } else { new.draft.text };
            NewContent { draft: Draft { reference, ..new.draft }, ..new }
        };
        let (reply, repost) = (|id| Reference::ReplyTo(content_id(id)), |id| Reference::RepostOf(content_id(id)));
        let mut pictured = content(20, 1, NOW - 20);
        pictured.draft.media = vec![picture()];
        let batch = vec![
            pictured, content(21, 2, NOW + 5_000), refer(22, 2, reply(10)), refer(23, 2, reply(20)),
            refer(24, 2, repost(10)), refer(25, 4, repost(20)), refer(26, 4, repost(20)), refer(27, 2, reply(11)),
            refer(28, 3, reply(10)), content(29, 99, NOW), refer(30, 2, reply(24)), refer(31, 3, reply(20)),
        ];
        let applied = world.import(40, ImportBatch::Contents(batch)).await?;
        let (unknown, nobody) = (Refused(RowRefusal::UnknownContent), Refused(RowRefusal::UnknownUser));
        let expected = [
            Created, Created, Created, Created, Created, Created, Refused(RowRefusal::Repeated), unknown, unknown,
            nobody, unknown, unknown,
        ];
        assert_eq!(applied.outcomes, expected);
        assert_eq!(applied.authors, [user(1), user(2), user(4)]);
        let published: Vec<i64> = applied.published.iter().map(|id| id.get()).collect();
        assert_eq!(published, [20, 21, 22, 23, 24, 25]);
        let look = "SELECT content_id FROM deliveries WHERE content_id >= 20 ORDER BY content_id";
        assert_eq!(world.column::<i64>(look).await?, published);
        let due = "SELECT COUNT(*) FROM deliveries WHERE content_id >= 20 AND look_at > ";
        assert_eq!(world.number(&format!("{due}{NOW}")).await?, 6, "from now on, not from their times");
        let heads = "SELECT stamp FROM outbox_heads WHERE author_id IN (1, 2, 4) ORDER BY author_id";
        assert_eq!(world.column::<i64>(heads).await?, [40, 40, 40]);
        let last = "SELECT published_at FROM outbox_heads WHERE author_id IN (1, 2) ORDER BY author_id";
        assert_eq!(world.column::<i64>(last).await?, [NOW + 1_000, NOW + 5_000], "the past says nothing");
        let counters = |id| async move { anyhow::Ok(super::only(store.counters(&[content_id(id)]).await)?.1) };
        let (ten, twenty) = (counters(10).await?, counters(20).await?);
        assert_eq!((ten.replies, ten.reposts, twenty.replies, twenty.reposts), (1, 1, 1, 1));
        assert_eq!(world.number("SELECT repost_author_id FROM contents WHERE id = 24").await?, 1);
        assert_eq!(world.number("SELECT media_author_id FROM contents WHERE id = 20").await?, 1);
        let terms = |id| format!("SELECT COUNT(*) FROM search_terms WHERE content_id = {id}");
        assert_eq!(world.number(&terms(21)).await?, world.number(&terms(10)).await?);
        world.expect_right_counts().await
    }

    async fn imported_contents_keep_the_products_ids(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        let store = &world.store;
        let named = |id, author, external_id: &str, said: Option<&str>| {
            let url = said.map(|path| format!("https://a.example/{path}"));
            let input = ObjectInput { external_id: Some(external_id), url: url.as_deref(), ..ObjectInput::default() };
            let object = ContentObject::try_new(&input).expect("it is valid").map(Box::new);
            let new = content(id, author, NOW - 7);
            NewContent { draft: Draft { text: "a run".to_owned(), object, ..new.draft }, ..new }
        };
        let first = vec![named(10, 1, "p-1", None), named(11, 2, "p-2", Some("2")), named(12, 2, "p-3", None)];
        let applied = world.import(40, ImportBatch::Contents(first.clone())).await?;
        assert_eq!(applied.outcomes, [Created, Created, Created]);
        let found = store.by_external_ids(&["p-2", "p-4"].map(|id| ExternalId::try_new(id).expect("valid"))).await?;
        assert_eq!(found.iter().map(|(id, content)| (id.as_str(), content.get())).collect::<Vec<_>>(), [("p-2", 11)]);
        store_removes(&world, 2, 12).await?;
        let again: Vec<NewContent> =
            first.into_iter().map(|new| NewContent { id: content_id(new.id.get() + 10), ..new }).collect();
        let others = [
            named(30, 2, "p-1", None), named(31, 1, "p-1", Some("1")), named(32, 2, "p-2", Some("3")),
            NewContent { publish_time: NOW - 8, ..named(33, 1, "p-1", None) }, named(34, 3, "p-4", None),
        ];
        let applied = world.import(41, ImportBatch::Contents([again, others.to_vec()].concat())).await?;
        let (conflict, removed) = (Refused(RowRefusal::Conflict), Refused(RowRefusal::Removed));
        let expected = [Unchanged, Unchanged, removed, conflict, conflict, conflict, conflict, Created];
        assert_eq!(applied.outcomes, expected);
        assert_eq!((applied.published.as_slice(), applied.authors.as_slice()), (&[content_id(34)][..], &[user(3)][..]));
        assert_eq!(world.number("SELECT COUNT(*) FROM content_objects").await?, 4);
        let stamp = "SELECT stamp FROM outbox_heads WHERE author_id = 1";
        assert_eq!(world.number(stamp).await?, 40, "nothing was published");
        world.expect_right_counts().await
    }

    async fn one_external_id_that_two_import_at_once_is_published_once(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(4).await?;
        let input = ObjectInput { external_id: Some("p-1"), ..ObjectInput::default() };
        let object = ContentObject::try_new(&input)?.map(Box::new);
        let importing = (1..=4).map(|author| {
            let new = content(100 + author, author, NOW);
            let new = NewContent { draft: Draft { object: object.clone(), ..new.draft }, ..new };
            world.import(40 + author, ImportBatch::Contents(vec![new]))
        });
        let applied = futures_util::future::try_join_all(importing).await?;
        let created = applied.iter().filter(|it| it.outcomes == [Created]).count();
        let conflicts = applied.iter().filter(|it| it.outcomes == [Refused(RowRefusal::Conflict)]).count();
        assert_eq!((created, conflicts), (1, 3));
        assert_eq!(world.number("SELECT COUNT(*) FROM contents").await?, 1);
        world.expect_right_counts().await
    }

    async fn a_tombstone_keeps_an_external_id_for_ever(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        let id = |text: &str| ExternalId::try_new(text).expect("it is valid");
        let tombstone = |number, text: &str| ImportedTombstone {
            id: content_id(number), external_id: id(text), is_removed_now: number > 50,
        };
        let published = |number, text: &str, reference| {
            let input = ObjectInput { external_id: Some(text), ..ObjectInput::default() };
            let object = ContentObject::try_new(&input).expect("it is valid").map(Box::new);
            let new = content(number, 1, NOW);
            NewContent { draft: Draft { object, reference, ..new.draft }, ..new }
        };
        let contents = vec![published(1, "p-1", Reference::Nothing), published(2, "p-2", Reference::Nothing)];
        world.import(40, ImportBatch::Contents(contents)).await?;
        let living = world.import(41, ImportBatch::Tombstones(vec![tombstone(10, "p-0"), tombstone(11, "p-1")])).await;
        ensure!(living.is_err_and(|error| format!("{error:#}").contains("contended")), "it is removed first");
        store_removes(&world, 1, 1).await?;
        let batch = vec![tombstone(10, "p-0"), tombstone(51, "p-1")];
        let applied = world.import(42, ImportBatch::Tombstones(batch.clone())).await?;
        assert_eq!(applied.outcomes, [Created, Updated]);
        let again = vec![tombstone(20, "p-0"), tombstone(21, "p-1")];
        let applied = world.import(43, ImportBatch::Tombstones(again)).await?;
        assert_eq!(applied.outcomes, [Unchanged, Unchanged]);
        let batch = vec![published(30, "p-0", Reference::Nothing), published(31, "p-1", Reference::Nothing)];
        let applied = world.import(44, ImportBatch::Contents(batch)).await?;
        assert_eq!(applied.outcomes, [Refused(RowRefusal::Removed), Refused(RowRefusal::Removed)]);
        let known = vec![published(32, "p-2", Reference::Nothing), published(33, "p-3", Reference::ReplyTo(content_id(32)))];
        let referring = world.import(45, ImportBatch::Contents(known)).await;
        ensure!(referring.is_err_and(|error| format!("{error:#}").contains("contended")), "p-2 has another id");
        world.expect_right_counts().await
    }

    async fn publishes_removals_and_imports_at_once_leave_right_rows(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(4).await?;
        world.publish(1, 1, NOW).await?;
        world.publish(2, 2, NOW).await?;
        let imports = async {
            for number in 0..6 {
                let contents = (0..8).map(|nth| {
                    let new = content(1_000 + number * 10 + nth, 1 + (number + nth) % 4, NOW - nth);
                    let reference = Reference::ReplyTo(content_id(1 + nth % 2));
                    NewContent { draft: Draft { reference, ..new.draft }, ..new }
                });
                world.import(100 + number, ImportBatch::Contents(contents.collect())).await?;
            }
            anyhow::Ok(())
        };
        let others = async {
            for id in 10..30 {
                world.publish(id, 1 + id % 4, NOW + id).await?;
                world.store.react(user(1 + id % 4), content_id(id), Reaction::Like, id, NOW).await?;
                if id % 3 == 0 {
                    store_removes(&world, 1 + id % 4, id).await?;
                }
            }
            store_removes(&world, 2, 2).await
        };
        futures_util::future::try_join(imports, others).await?;
        world.expect_right_counts().await?;
        assert_eq!(world.number(BROKEN).await?, 0);
        let without = "SELECT COUNT(*) FROM contents c WHERE c.id >= 1000 AND NOT EXISTS \
                       (SELECT 1 FROM deliveries d WHERE d.content_id = c.id)";
        assert_eq!(world.number(without).await?, 0);
        Ok(())
    }
}
