//! [`Profiles`]: how users change their own profiles.

use anyhow::{Context as _, Result};
use tidefeed::domain::{Handle, Profile, account::attributes::Attributes};
use tidefeed::store::profiles::{ProfileEdit, Renamed};
use tidefeed::store::{Accounts as _, Profiles as _};

use super::{World, at_once, user};
use crate::servers::on_each_backend;

fn attributes(pairs: &[(&str, &str)]) -> Attributes {
    let pairs = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    Attributes::try_new(pairs).expect("tests name valid attributes")
}

async fn profile(world: &World, of: i64) -> Result<Profile> {
    world.store.profiles(&[user(of)]).await?.pop().context("a profile")
}

on_each_backend! {
    async fn what_an_edit_does_not_name_stays_as_it_is(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        let before = profile(&world, 1).await?;
        assert!(world.store.edit(user(1), &ProfileEdit::default(), 2003).await?, "nothing to change is no failure");
        assert_eq!(profile(&world, 1).await?, Profile { version: 2003, ..before.clone() });
        let avatar = Some("https://a.example/a.png".to_owned());
        let edit =
            ProfileEdit { name: Some("👩".repeat(60)), avatar_url: Some(avatar.clone()), ..ProfileEdit::default() };
        assert!(world.store.edit(user(1), &edit, 2004).await?);
        let renamed = Profile { name: "👩".repeat(60), avatar_url: avatar, version: 2004, ..before.clone() };
        assert_eq!(profile(&world, 1).await?, renamed);
        let edit = ProfileEdit { bio: Some("hi".to_owned()), avatar_url: Some(None), ..ProfileEdit::default() };
        assert!(world.store.edit(user(1), &edit, 2005).await?);
        let (name, bio) = ("👩".repeat(60), "hi".to_owned());
        let after = Profile { name, bio, avatar_url: None, version: 2005, ..before };
        assert_eq!(profile(&world, 1).await?, after);
        assert_eq!(profile(&world, 2).await?.name, "user_2");
        assert!(!world.store.edit(user(3), &edit, 2006).await?);
        Ok(())
    }

    async fn attributes_come_back_as_they_were_and_can_be_taken_away(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        let value = "👩".repeat(200);
        let keys: Vec<String> = (0..16).map(|n| format!("{}{n:02}", "k".repeat(30))).collect();
        let most: Vec<_> = keys.iter().map(|key| (key.as_str(), value.as_str())).collect();
        for some in [attributes(&most), attributes(&[("city", "Ann's \"\\ town"), ("empty", "")])] {
            let edit = ProfileEdit { attributes: Some(some.clone()), ..ProfileEdit::default() };
            assert!(world.store.edit(user(1), &edit, 2007).await?);
            let mut read = world.store.attributes(&[user(1), user(2), user(3)]).await?;
            read.sort_unstable_by_key(|(id, _)| *id);
            assert_eq!(read, [(user(1), some), (user(2), Attributes::default())]);
        }
        let edit = ProfileEdit { attributes: Some(Attributes::default()), ..ProfileEdit::default() };
        assert!(world.store.edit(user(1), &edit, 2008).await?);
        assert_eq!(world.store.attributes(&[user(1)]).await?, [(user(1), Attributes::default())]);
        assert!(world.store.attributes(&[]).await?.is_empty());
        Ok(())
    }

    async fn a_handle_belongs_to_one_user_and_is_free_when_they_take_another(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        let handle = |text: &str| Handle::try_new(text).expect("tests name valid handles");
        assert_eq!(world.store.rename(user(1), &handle("user_2"), 2009).await?, Renamed::Taken);
        assert_eq!(world.store.rename(user(1), &handle("user_1"), 2010).await?, Renamed::Done, "their own");
        assert_eq!(world.store.rename(user(9), &handle("nobody"), 2011).await?, Renamed::NoUser);
        let wanted = handle("wanted");
        let ends = at_once((1..=3).map(|id| world.store.rename(user(id), &wanted, 2012))).await?;
        assert_eq!(ends.iter().filter(|end| **end == Renamed::Done).count(), 1);
        let winner = world.store.by_handle(&wanted).await?.context("somebody")?.id;
        assert_eq!(world.store.rename(winner, &handle("another"), 2013).await?, Renamed::Done);
        assert!(world.store.by_handle(&wanted).await?.is_none());
        assert_eq!(world.store.credential(&handle("another")).await?.context("the password stays")?.0, winner);
        Ok(())
    }
}
