//! Tests what the deliveries port promises for the followers who are served first, and the index that finds them.

use anyhow::Result;
use tidefeed::{
    domain::{EdgeMode, Floor, limits::MAX_LAST_SEEN},
    store::{Deliveries as _, deliveries::First, sql::HotStatement},
};

use super::{
    World,
    deliveries::{AUTHOR, counted_world, push_all, ranges, served, world},
    rows::entry,
    user,
};
use crate::{
    servers::{Backend, on_each_backend},
    store::explain::{STAR, fill, line, plan},
};

on_each_backend! {
    /// The author's targets lead, or, if the author has very many followers, the readers seen last.
    async fn the_last_seen_are_served_first_whichever_side_leads(backend: Backend) -> Result<()> {
        for followers in [40, MAX_LAST_SEEN] {
            let (world, content) = world(backend, 40).await?;
            world.insert("user_counts", "user_id, followers", &[format!("({AUTHOR}, {followers})")]).await?;
            world.run("UPDATE inbox_states SET last_seen = 1000 + user_id").await?;
            world.put_edge(user(39), user(AUTHOR), EdgeMode::Pull).await?;
            world.put_edge(user(38), user(AUTHOR), EdgeMode::Fill).await?;
            world.set_floor(user(37), Floor::Off).await?;
            world.run("UPDATE inbox_states SET last_seen = NULL WHERE user_id = 35").await?;
            let strangers: Vec<String> = (101..=150).map(|id| format!("({id}, 1, 1, {})", 5_000 + id)).collect();
            world.insert("inbox_states", "user_id, floor_time, floor_content, last_seen", &strangers).await?;
            let first = First { more_than: 38, seen_since_ms: 1_034, most: 3 };
            let id = content.content;
            let enough = First { more_than: 39, ..first };
            assert_eq!(world.store.serve_first(id, enough).await?, 0, "39 targets are no more than 39");
            assert_eq!(world.store.serve_first(id, first).await?, 3);
            assert_eq!(served(&world).await?, [36, 38, 40], "{followers} followers");
            assert_eq!(world.store.serve_first(id, first).await?, 0, "they have it");
            assert_eq!(world.store.serve_first(id, First { most: 9, ..first }).await?, 1);
            assert_eq!(served(&world).await?, [34, 36, 38, 40], "no more were seen since");
            assert!(ranges(&world).await?.is_empty() && world.store.find(id).await?.is_some());
            world.store.extend_chain(id, 10, 9).await?;
            let all = First { more_than: 1, seen_since_ms: 0, most: 100 };
            assert_eq!(world.store.serve_first(id, all).await?, 0, "a range is cut");
            for subtask in world.store.open_subtasks(id).await? {
                push_all(&world, &subtask, 4).await?;
            }
            assert!(world.store.finish(id).await?);
            assert_eq!(served(&world).await?.len(), 38, "everybody but the one who pulls and the one who is off");
            assert_eq!(world.store.serve_first(id, all).await?, 0, "the record is gone");
        }
        Ok(())
    }

    async fn a_removed_content_is_served_first_to_nobody(backend: Backend) -> Result<()> {
        let (world, content) = counted_world(backend, 9).await?;
        world.run("UPDATE inbox_states SET last_seen = 5").await?;
        world.remove(content.content).await?;
        let all = First { more_than: 1, seen_since_ms: 0, most: 100 };
        assert_eq!(world.store.serve_first(content.content, all).await?, 0);
        assert!(served(&world).await?.is_empty());
        Ok(())
    }

    /// The author's targets lead, or the readers seen last.
    async fn first_served_readers_are_found_by_an_index(backend: Backend) -> Result<()> {
        let world = World::on_own_tables(backend).await?;
        fill(&world).await?;
        let first = First { more_than: 1_000, seen_since_ms: 5, most: 1_000 };
        let few = plan(&world, backend, HotStatement::First(entry(1, user(STAR), 5), first, true)).await?;
        let many = plan(&world, backend, HotStatement::First(entry(1, user(STAR), 5), first, false)).await?;
        match backend {
            Backend::Sqlite => {
                line(&few, &["search f using covering index targets (author_id=? and mode=?)"])?;
                line(&many, &["inbox_states using index seen (last_seen>?)"])?;
                line(&many, &["search f using ", "(follower_id=? and ", "author_id=?)"])?;
            }
            Backend::MariaDb | Backend::Mysql => {
                line(&few, &[" f ", " targets ", "using index"])?;
                line(&many, &[" inbox_states ", " range ", " seen "])?;
                line(&many, &[" f ", " eq_ref ", " primary "])?;
            }
        }
        Ok(())
    }
}
