//! [`People`]: compares searches by name, page by page, with the naive scan of all names; and checks suggestions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use tidefeed::domain::search::people::{FoundUser, KeyPrefix, keys_of};
use tidefeed::domain::{EdgeMode, Handle, PageSize, UserId, account::profile::Registration};
use tidefeed::read::lists::ListReader;
use tidefeed::store::accounts::{NewAccount, PasswordHash, Registered};
use tidefeed::store::identities::{Adopted, Identity};
use tidefeed::store::memory::{MemoryAnnouncements, MemoryQueue};
use tidefeed::store::profiles::{ProfileEdit, Renamed};
use tidefeed::store::seeding::SeedAuthor;
use tidefeed::store::{
    AccountDeletions as _, Accounts as _, Exclusions as _, Follows as _, Identities as _, People as _, Ports,
    Profiles as _, Seeding as _,
};

use super::{NOW, World, account, at_once, user};
use crate::servers::on_each_backend;

fn handle(text: &str) -> Handle {
    Handle::try_new(text).expect("tests name valid handles")
}

fn named(id: i64, name: &str) -> NewAccount {
    let registration = Registration::try_new(&format!("h{id}"), name, "", None).expect("tests name valid names");
    NewAccount { registration, password_hash: None, ..account(id, "whoever") }
}

fn edit(name: &str) -> ProfileEdit {
    ProfileEdit { name: Some(name.to_owned()), ..ProfileEdit::default() }
}

impl World {
    /// Users 1, 2, .. of these names, with the handles h1, h2, ..
    async fn with_names(self, names: &[&str]) -> Result<Self> {
        for (id, name) in (1..).zip(names) {
            ensure!(self.store.register(named(id, name)).await? == Registered::Created, "{name}");
        }
        Ok(self)
    }

    /// Everyone who is found, read in pages of this size.
    async fn walk(&self, viewer: Option<i64>, text: &str, size: usize) -> Result<Vec<FoundUser>> {
        let (prefix, mut all) = (KeyPrefix::try_new(text)?, Vec::new());
        loop {
            let page = self.store.named(viewer.map(user), &prefix, all.last(), size).await?;
            let is_last = page.len() < size;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    async fn people_found(&self, viewer: Option<i64>, text: &str) -> Result<Vec<i64>> {
        Ok(self.walk(viewer, text, 100).await?.iter().map(|it| it.user.get()).collect())
    }

    async fn follow_all(&self, edges: &[(i64, i64)]) -> Result<()> {
        for (at, (follower, author)) in (NOW..).zip(edges) {
            self.store.follow(user(*follower), user(*author), EdgeMode::Fill, 7, at).await?;
        }
        Ok(())
    }

    async fn suggestions(&self, viewer: Option<i64>, limit: usize) -> Result<Vec<i64>> {
        Ok(self.store.suggested(viewer.map(user), limit).await?.into_iter().map(UserId::get).collect())
    }
}

fn lists(world: &World) -> ListReader {
    let (queue, announcements) = (MemoryQueue::new(1, Duration::ZERO), MemoryAnnouncements::new(1));
    let store = Arc::new(world.store.clone());
    ListReader::new(&Ports::with_primary_store(store, Arc::new(queue), None, Arc::new(announcements)))
}

/// The users that a scan of all names finds.
fn scan(users: &BTreeMap<i64, (String, String)>, text: &str) -> Vec<FoundUser> {
    let prefix = KeyPrefix::try_new(text).expect("tests look for something");
    let first = |(id, (own, name)): (&i64, &(String, String))| {
        let key = keys_of(&handle(own), name).into_iter().find(|key| key.starts_with(prefix.from()))?;
        Some(FoundUser { key, user: user(*id) })
    };
    let mut found: Vec<FoundUser> = users.iter().filter_map(first).collect();
    found.sort();
    found
}

const NAMES: [&str; 18] = [
    "Ada Lovelace",
    "ada",
    "ADA  Byron",
    "Adá",
    "Lo",
    "Lo Lo Lo",
    "Ａｄａ Full",
    "Große Straße",
    "grosse strasse",
    "王小明",
    "小明",
    "김철수",
    "🎉 Party",
    "👍🏽 ok",
    "100% Ada",
    "100_ ada",
    "ad\u{10FFFF}a",
    "O’Brien-Ada",
];
const TEXTS: [&str; 25] = [
    "a",
    "ad",
    "ada",
    "ADA",
    "ａｄａ",
    "adá",
    "ada b",
    "ada byron",
    "lo",
    "lo lo",
    "straß",
    "strass",
    "小",
    "明",
    "王",
    "철",
    "🎉",
    "👍",
    "100%",
    "100_",
    "ad\u{10FFFF}",
    "o'b",
    "h",
    "@h1",
    "@ada",
];

on_each_backend! {
    async fn searching_people_equals_a_scan_of_all_names(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_names(&NAMES).await?;
        let mut users: BTreeMap<i64, (String, String)> =
            (1..).zip(NAMES).map(|(id, name)| (id, (format!("h{id}"), name.to_owned()))).collect();
        for (id, own) in [(4, "lo_h"), (5, "ada_1"), (6, "_ada")] {
            ensure!(world.store.rename(user(id), &handle(own), 2014).await? == Renamed::Done);
            users.entry(id).and_modify(|it| own.clone_into(&mut it.0));
        }
        ensure!(world.store.edit(user(2), &edit("Lovelace Ada"), 2015).await?);
        users.entry(2).and_modify(|it| "Lovelace Ada".clone_into(&mut it.1));
        let mut found = 0;
        for text in TEXTS.into_iter().chain(["_a", "lovelace", "@lo", "@_"]) {
            let expected = scan(&users, text);
            found += expected.len();
            for size in [1, 2, 100] {
                assert_eq!(world.walk(None, text, size).await?, expected, "{text} in pages of {size}");
            }
        }
        assert!(found > 60, "{found} found");
        assert_eq!(world.people_found(None, "@lo").await?, [4], "a handle alone");
        Ok(())
    }

    async fn paging_people_meets_each_unrenamed_user_once(backend: Backend) -> Result<()> {
        let names: Vec<String> =
            (1..=24).map(|id| format!("Ada {}", char::from(b'a' + u8::try_from(id).unwrap_or(0)))).collect();
        let world = World::on(backend).await?.with_names(&names.iter().map(String::as_str).collect::<Vec<_>>()).await?;
        let prefix = KeyPrefix::try_new("ada")?;
        let mut met: Vec<FoundUser> = Vec::new();
        for (turn, name) in (0_i64..).zip(["Ada", "Bob", "Ada zzz"].into_iter().cycle()) {
            let page = world.store.named(None, &prefix, met.last(), 3).await?;
            let (is_last, mover) = (page.len() < 3, 3 * (turn % 8) + 1);
            met.extend(page);
            if is_last {
                break;
            }
            // The user at the cursor moves, too: to the end, to the beginning, away.
            let place = met.last().map_or(0, |it| it.user.get());
            for (id, name) in [(mover, "Ada zz"), (place, name)] {
                if id % 3 != 2 {
                    ensure!(world.store.edit(user(id), &edit(name), 2016).await?);
                }
            }
            ensure!(turn < 40, "it goes on for ever: {met:?}");
        }
        for id in (1..=24).filter(|id| id % 3 == 2) {
            assert_eq!(met.iter().filter(|it| it.user == user(id)).count(), 1, "{id} in {met:?}");
        }
        Ok(())
    }

    async fn blocked_users_do_not_find_each_other(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_names(&["Ada", "Ada", "Ada", "Ada"]).await?;
        world.store.block(user(1), user(2), 1060, NOW).await?;
        world.store.mute(user(1), user(3), 1053).await?;
        world.store.hide(user(1), user(4), 1054).await?;
        for text in ["ada", "@h"] {
            assert_eq!(world.people_found(Some(1), text).await?, [1, 3, 4], "{text}");
            assert_eq!(world.people_found(Some(2), text).await?, [2, 3, 4], "{text}");
            assert_eq!(world.people_found(Some(3), text).await?, [1, 2, 3, 4], "{text}");
            assert_eq!(world.people_found(None, text).await?, [1, 2, 3, 4], "{text}");
        }
        assert_eq!(world.walk(Some(1), "ada", 1).await?.len(), 3, "pages are full");
        world.store.unblock(user(1), user(2), 1055).await?;
        assert_eq!(world.people_found(Some(2), "ada").await?, [1, 2, 3, 4]);
        Ok(())
    }

    async fn names_are_kept_with_every_change_and_go_with_the_account(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_names(&["Ada Lovelace", "Bob"]).await?;
        let store = &world.store;
        let identity = Identity { digest: "d".to_owned(), issuer: "i".to_owned(), subject: "s".to_owned() };
        ensure!(matches!(store.adopt(&named(3, "Outside Ada"), &identity).await?, Adopted::Created));
        store
            .add_authors(&[SeedAuthor {
                id: user(4),
                registration: Registration::try_new("seeded", "Seeded Ada", "", None)?,
                created_at: NOW,
                last_seen: NOW,
                incarnation: 9,
                contents: Vec::new(),
            }])
            .await?;
        assert_eq!(world.people_found(None, "ada").await?, [3, 4, 1]);
        assert_eq!([world.people_found(None, "outside").await?, world.people_found(None, "@seed").await?], [[3], [4]]);
        assert_eq!(store.rename(user(1), &handle("h2"), 2017).await?, Renamed::Taken);
        assert_eq!(store.rename(user(9), &handle("h9"), 2018).await?, Renamed::NoUser);
        assert!(!store.edit(user(9), &edit("Ada"), 2019).await?);
        assert_eq!(world.people_found(None, "@h").await?, [1, 2, 3], "what is refused changes nothing");
        ensure!(store.rename(user(1), &handle("Countess"), 2020).await? == Renamed::Done);
        ensure!(
            store.edit(user(1), &edit("Augusta"), 2021).await? && store.edit(user(1), &edit("Augusta"), 2022).await?
        );
        ensure!(
            store.edit(user(1), &ProfileEdit { bio: Some("Ada".to_owned()), ..ProfileEdit::default() }, 2023).await?
        );
        assert_eq!([world.people_found(None, "ada").await?, world.people_found(None, "@h").await?], [[3, 4], [2, 3]]);
        assert_eq!([world.people_found(None, "aug").await?, world.people_found(None, "count").await?], [[1], [1]]);
        store.delete(user(1), None, NOW).await?;
        for text in ["aug", "count", "@count"] {
            assert!(world.people_found(None, text).await?.is_empty(), "{text}");
        }
        ensure!(
            !store.edit(user(1), &edit("Augusta"), 2024).await?
                && store.rename(user(1), &handle("back"), 2025).await? == Renamed::NoUser
        );
        assert_eq!(world.number("SELECT COUNT(*) FROM user_names WHERE user_id = 1").await?, 0);
        Ok(())
    }

    async fn changes_at_once_leave_the_names_of_one_of_them(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_names(&["Start", "Other"]).await?;
        let names: Vec<String> = (0..8).map(|number| format!("Name{number} End")).collect();
        let store = &world.store;
        at_once(names.iter().map(|name| async move { store.edit(user(1), &edit(name), 2026).await })).await?;
        let handles: Vec<Handle> = (0..8).map(|number| handle(&format!("handle_{number}"))).collect();
        at_once(handles.iter().map(|own| store.rename(user(1), own, 2027))).await?;
        let profile = store.profiles(&[user(1)]).await?.remove(0);
        let kept: Vec<String> = world.walk(None, "@handle", 9).await?.into_iter().map(|it| it.key).collect();
        assert_eq!(kept, [format!("@{}", profile.handle)]);
        let rows = world.number("SELECT COUNT(*) FROM user_names WHERE user_id = 1").await?;
        assert_eq!(usize::try_from(rows)?, keys_of(&profile.handle, &profile.name).len(), "{profile:?}");
        Ok(())
    }

    async fn users_from_before_the_table_are_found_once_it_is_there(backend: Backend) -> Result<()> {
        let world = World::without_tables(backend).await?;
        world.apply_migrations(7).await?;
        let rows: Vec<String> = (1..=1_201).map(|id| format!("({id}, 'h{id}', 'Ada Number{id}', '', {NOW})")).collect();
        world.insert("users", "id, handle, name, bio, created_at", &rows).await?;
        world.insert("account_deletions", "user_id, deleted_at", &["(7, 1)".to_owned()]).await?;
        world.store.migrate().await?;
        assert_eq!(world.walk(None, "ada", 200).await?.len(), 1_200);
        assert_eq!(
            [world.people_found(None, "number1201").await?, world.people_found(None, "@h500").await?],
            [[1_201], [500]]
        );
        assert!(world.people_found(None, "number7 ").await?.iter().all(|id| *id != 7), "an account that is deleted");
        let rows = world.number("SELECT COUNT(*) FROM user_names").await?;
        world.store.migrate().await?;
        assert_eq!(world.number("SELECT COUNT(*) FROM user_names").await?, rows);
        assert!(world.store.pending_migrations().await?.is_empty());
        Ok(())
    }

    async fn while_names_are_indexed_anew_both_forms_are_searched(backend: Backend) -> Result<()> {
        let names: Vec<&str> = std::iter::repeat_n("İnci", 130).chain(["O'Reilly"]).collect();
        let world = World::on(backend).await?.with_names(&names).await?;
        while !world.store.index_next().await? {}
        world.run("DELETE FROM user_names WHERE folded = 'reilly'").await?;
        world.run("UPDATE user_names SET folded = 'i\u{307}nci' WHERE folded = 'inci'").await?;
        world.run("DELETE FROM user_names WHERE user_id = 5").await?;
        world.run("DELETE FROM name_progress").await?;
        let lists = lists(&world);
        let found = async |text: &str| -> Result<Vec<i64>> {
            let (prefix, mut all, mut after) = (KeyPrefix::try_new(text)?, Vec::new(), None);
            loop {
                let page = lists.named(None, &prefix, after.as_ref(), PageSize::try_new(100)?).await?;
                all.extend(page.rows.iter().map(|it| it.user.get()));
                after = page.rows.last().cloned();
                if !page.has_more {
                    all.sort_unstable();
                    return Ok(all);
                }
            }
        };
        let all: Vec<i64> = (1..=130).filter(|id| *id != 5).collect();
        assert_eq!((found("İn").await?, found("in").await?), (all.clone(), vec![]));
        assert!(!world.store.index_next().await?);
        assert_eq!(found("İn").await?, all, "those of before and those of after");
        assert!(world.store.index_next().await?);
        assert_eq!((found("İn").await?, found("in").await?, found("reil").await?), (all.clone(), all, vec![131]));
        assert_eq!(world.number("SELECT COUNT(*) FROM user_names WHERE user_id = 5").await?, 0, "a deleted account");
        Ok(())
    }

    async fn users_followed_by_the_followed_are_suggested_first(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(9).await?;
        // Of 2, 3 and 4, whom 1 follows, all follow 5, two 6 and 7; 8 has most followers.
        world.follow_all(&[(1, 2), (1, 3), (1, 4), (2, 5), (3, 5), (4, 5), (2, 6), (3, 6), (2, 7), (3, 7)]).await?;
        world.follow_all(&[(5, 7), (2, 1), (3, 4)]).await?;
        world.follow_all(&[(5, 8), (6, 8), (7, 8), (9, 8)]).await?;
        assert_eq!(world.suggestions(Some(1), 50).await?, [5, 7, 6, 8, 9]);
        assert_eq!(world.suggestions(Some(1), 2).await?, [5, 7]);
        assert_eq!(world.suggestions(None, 3).await?, [8, 7, 5]);
        // 8, whom 9 follows, follows nobody.
        assert_eq!(world.suggestions(Some(9), 3).await?, [7, 5, 6]);
        world.store.unfollow(user(1), user(4), 1061, NOW).await?;
        assert_eq!(world.suggestions(Some(1), 50).await?, [7, 5, 6, 4, 8, 9], "two each; then 4, whom 3 follows");
        Ok(())
    }

    async fn users_excluded_either_way_are_not_suggested(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(9).await?;
        let store = &world.store;
        world.follow_all(&[(1, 2), (2, 3), (2, 4), (2, 5), (2, 6), (2, 7), (2, 8), (2, 9)]).await?;
        assert_eq!(world.suggestions(Some(1), 50).await?, [9, 8, 7, 6, 5, 4, 3]);
        store.block(user(1), user(3), 1062, NOW).await?;
        store.block(user(4), user(1), 1063, NOW).await?;
        store.mute(user(1), user(5), 1056).await?;
        store.hide(user(1), user(6), 1057).await?;
        store.hide(user(7), user(1), 1058).await?;
        store.mute(user(8), user(1), 1059).await?;
        assert_eq!(world.suggestions(Some(1), 50).await?, [9, 8], "that 8 has muted 1 is for 8 to know");
        store.unfollow(user(1), user(2), 1064, NOW).await?;
        assert_eq!(world.suggestions(Some(1), 50).await?, [9, 8, 2], "nor among the most followed");
        store.delete(user(9), Some(&PasswordHash("hash of user_9".to_owned())), NOW).await?;
        assert_eq!(world.suggestions(Some(1), 50).await?, [8, 2]);
        assert_eq!(world.suggestions(None, 50).await?, [8, 7, 6, 5, 4, 3, 2, 1]);
        Ok(())
    }

    async fn suggestions_are_three_statements_however_many_follow(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(80).await?;
        world.follow_all(&[(1, 2)]).await?;
        world.follow_all(&(3..=75).map(|author| (1, author)).collect::<Vec<_>>()).await?;
        world.follow_all(&(3..=75).map(|author| (author, 76)).collect::<Vec<_>>()).await?;
        world.follow_all(&[(2, 77), (3, 78), (10, 79), (11, 79), (75, 79)]).await?;
        for (limit, statements) in [(1, 2), (50, 3)] {
            let before = world.store.statements();
            let suggested = world.suggestions(Some(1), limit).await?;
            assert_eq!(world.store.statements() - before, statements);
            assert_eq!(suggested[..limit.min(2)], [76, 79][..limit.min(2)]);
            assert!(limit == 1 || suggested == [76, 79, 78, 77, 80], "{suggested:?}");
        }
        Ok(())
    }
}
