//! [`ReadMarkers`]: they move only forwards.

use anyhow::Result;
use tidefeed::domain::Position;
use tidefeed::store::ReadMarkers as _;

use super::{World, at_once, user};
use crate::servers::on_each_backend;

on_each_backend! {
    async fn a_marker_moves_forwards_only(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let store = &world.store;
        assert_eq!(store.marker(user(1)).await?, None);
        for (moved_to, stands_at) in
            [((5, 5), (5, 5)), ((4, 9), (5, 5)), ((5, 4), (5, 5)), ((5, 6), (5, 6)), ((6, 1), (6, 1)), ((6, 1), (6, 1))]
        {
            let before = store.statements();
            store.advance(user(1), Position::bound(moved_to.0, moved_to.1)).await?;
            assert_eq!(store.statements() - before, 1);
            assert_eq!(store.marker(user(1)).await?, Some(Position::bound(stands_at.0, stands_at.1)), "{moved_to:?}");
        }
        assert_eq!(store.marker(user(2)).await?, None, "each reader has one of their own");
        Ok(())
    }

    async fn of_devices_that_move_it_at_once_the_newest_wins(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let positions = (1..=40).map(|number| Position::bound(100 + (number * 7) % 11, (number * 13) % 41));
        let newest = positions.clone().max();
        at_once(positions.map(|position| world.store.advance(user(1), position))).await?;
        assert_eq!(world.store.marker(user(1)).await?, newest);
        Ok(())
    }
}
