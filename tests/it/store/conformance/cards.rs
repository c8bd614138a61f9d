//! [`Cards`]: one combined read returns the same as each port alone.

use std::collections::{BTreeMap, HashMap, HashSet};

use anyhow::Result;
use tidefeed::domain::{ContentId, EdgeMode, Reaction, UserId};
use tidefeed::store::account_deletions::Deleted;
use tidefeed::store::accounts::PasswordHash;
use tidefeed::store::cards::{ContentParts, UserCard, UserParts};
use tidefeed::store::{
    AccountDeletions as _, Accounts as _, Cards as _, Contents as _, Exclusions as _, Follows as _, Reactions as _,
};

use super::{NOW, World, content_id, user};
use crate::servers::on_each_backend;

const USERS: i64 = 8;
const EACH: [bool; 2] = [false, true];

impl World {
    /// Everyone has published. User 1 follows, likes, mutes and blocks, another user blocks them, and one account is
    /// deleted.
    async fn with_relations(self) -> Result<Self> {
        let world = self.with_users(USERS).await?;
        for author in 1..=USERS {
            for number in 0..2 {
                world.publish(author * 10 + number, author, NOW + number).await?;
            }
        }
        let of = |id| content_id(id);
        for (id, reaction) in
            [(20, Reaction::Like), (20, Reaction::Bookmark), (30, Reaction::Like), (41, Reaction::Bookmark)]
        {
            world.store.react(user(1), of(id), reaction, 7, NOW).await?;
            world.store.react(user(2), of(id), Reaction::Like, 7, NOW).await?;
        }
        for author in [2, 3, 4] {
            world.store.follow(user(1), user(author), EdgeMode::Fill, 7, NOW).await?;
            world.store.follow(user(author), user(5), EdgeMode::Fill, 8, NOW).await?;
        }
        world.store.mute(user(1), user(3), 1038).await?;
        world.store.mute(user(4), user(1), 1039).await?;
        world.store.hide(user(1), user(4), 1040).await?;
        world.store.hide(user(2), user(1), 1041).await?;
        world.store.block(user(1), user(5), 1042, NOW).await?;
        world.store.block(user(6), user(1), 1043, NOW).await?;
        let password = PasswordHash("hash of user_7".to_owned());
        assert!(matches!(world.store.delete(user(7), Some(&password), NOW).await?, Deleted::Gone { .. }));
        world.store.remove(user(8), of(81), 99, NOW).await?;
        Ok(world)
    }

    async fn check_user(&self, viewer: Option<UserId>, parts: UserParts, card: &UserCard) -> Result<()> {
        let (id, whose) = (card.profile.id, format!("{} for {viewer:?}", card.profile.id));
        assert_eq!(self.store.profiles(&[id]).await?, [(*card.profile).clone()], "{whose}");
        let counts = self.store.counts(&[id]).await?.first().map(|(_, counts)| *counts);
        assert_eq!(card.counts, counts.filter(|_| parts.counts), "{whose}");
        let Some(viewer) = viewer else {
            assert_eq!((card.is_followed, card.exclusions), (None, None), "{whose}");
            return Ok(());
        };
        let is_followed = !self.store.followed_among(viewer, &[id]).await?.is_empty();
        assert_eq!(card.is_followed, parts.following.then_some(is_followed), "{whose}");
        let exclusion_states: HashMap<_, _> = self.store.exclusion_states(viewer, &[id]).await?.into_iter().collect();
        let exclusions = exclusion_states.get(&id).copied().unwrap_or_default();
        assert_eq!(card.exclusions, parts.exclusions.then_some(exclusions), "{whose}");
        Ok(())
    }
}

fn of_users() -> Vec<UserParts> {
    let mut all = Vec::new();
    for counts in EACH {
        for following in EACH {
            all.extend(EACH.map(|exclusions| UserParts { counts, following, exclusions }));
        }
    }
    all
}

on_each_backend! {
    async fn a_users_card_says_what_each_port_does(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_relations().await?;
        let ids: Vec<UserId> = (1..=USERS + 1).map(user).collect();
        let there: HashSet<UserId> = world.store.profiles(&ids).await?.iter().map(|profile| profile.id).collect();
        assert!(!there.contains(&user(7)), "a deleted account is shown nowhere");
        for viewer in [None, Some(user(1)), Some(user(4))] {
            for parts in of_users() {
                let cards = world.store.user_cards(viewer, &ids, parts).await?;
                assert_eq!(cards.iter().map(|card| card.profile.id).collect::<HashSet<_>>(), there);
                for card in &cards {
                    world.check_user(viewer, parts, card).await?;
                }
            }
        }
        Ok(())
    }

    async fn a_contents_card_says_what_each_port_does(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_relations().await?;
        let ids: Vec<ContentId> =
            (1..=USERS).flat_map(|author| [author * 10, author * 10 + 1]).map(content_id).collect();
        for viewer in [None, Some(user(1)), Some(user(5))] {
            let contents: BTreeMap<_, _> =
                world.store.by_ids(viewer, &ids).await?.into_iter().map(|content| (content.id, content)).collect();
            let counters: HashMap<_, _> = world.store.counters(&ids).await?.into_iter().collect();
            let reactions: HashMap<_, _> = match viewer {
                Some(viewer) => world.store.of_user(viewer, &ids).await?.into_iter().collect(),
                None => HashMap::new(),
            };
            let authors = of_users().into_iter().map(Some).chain([None]);
            for (number, author) in authors.enumerate() {
                let parts = ContentParts { counters: number % 2 == 0, reactions: number % 3 != 0, author };
                let cards = world.store.content_cards(viewer, &ids, parts).await?;
                let found: BTreeMap<_, _> =
                    cards.iter().map(|card| (card.content.id, (*card.content).clone())).collect();
                assert_eq!(found, contents, "for {viewer:?}");
                for card in &cards {
                    let id = card.content.id;
                    assert_eq!(card.counters, counters.get(&id).copied().filter(|_| parts.counters), "{id}");
                    let own = reactions.get(&id).copied().unwrap_or_default();
                    assert_eq!(card.reactions, (parts.reactions && viewer.is_some()).then_some(own), "{id}");
                    assert_eq!(card.author.is_some(), author.is_some());
                    if let (Some(author), Some(parts)) = (&card.author, author) {
                        assert_eq!(author.profile.id, card.content.author);
                        world.check_user(viewer, parts, author).await?;
                    }
                }
            }
        }
        Ok(())
    }

    async fn cards_of_everything_are_one_statement(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_relations().await?;
        let of_user = UserParts { counts: true, following: true, exclusions: true };
        let parts = ContentParts { counters: true, reactions: true, author: Some(of_user) };
        let before = world.store.statements();
        world.store.content_cards(Some(user(1)), &[content_id(20), content_id(30)], parts).await?;
        world.store.user_cards(Some(user(1)), &[user(2), user(3)], of_user).await?;
        assert_eq!(world.store.statements() - before, 2);
        Ok(())
    }
}
