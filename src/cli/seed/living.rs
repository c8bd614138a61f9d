//! `tidefeed seed --live`: a node, and the people of its seeded store, who act by the same use cases as clients. They
//! are a task of the node: without Redis, the queue and the announcements are in its process.

use std::sync::Arc;

use anyhow::{Context, ensure};
use demo::{Act, Album, Cast, Guest, HANDLE, Life, Remark, Scene};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{
    app::{App, UseCases},
    cli::{completion::Completion, node, print},
    clock::{Clock, SystemClock},
    config::Config,
    domain::{Content, ContentId, ContentKind, Handle, PageRequest, PageSize, Reaction, UserId, content::Draft},
    publish::PublishError,
    rng::SharedRng,
    store::{Accounts, Ports, Seeding, StoreError},
};

/// Contents that a store gets after it was seeded. From then on its people answer visitors and do nothing else.
const MOST_CONTENTS: u64 = 20_000;
/// How old something is at most that people react to.
const LATELY_MS: i64 = 60 * 60 * 1_000;
/// How long somebody who was seen counts as being here.
const HERE_MS: i64 = 15 * 60 * 1_000;
/// Visitors of whom people know, the latest first; what one statement reads of them.
const VISITORS: u32 = 63;
/// Visitors whose follows decide who posts.
const WATCHED: usize = 3;

/// Serves the store. Its people live if it was seeded; otherwise it is refused, unless `others_stay`.
pub async fn serve(
    accounts: impl Accounts,
    config: &Config,
    album: Album,
    others_stay: bool,
) -> anyhow::Result<Completion> {
    let people = people_of(&accounts).await.context("the people cannot be read")?;
    drop(accounts); // The node opens its own.
    ensure!(
        people.is_some() || others_stay,
        "the people of this database are not those of `tidefeed seed`, so nobody acts for them: seed an empty \
         database, or run `tidefeed serve`"
    );
    match &people {
        Some((cast, _)) => print::line(format!(
            "{} people act every 5 to 20 s while somebody is here: they post, like, follow back and answer.",
            cast.len()
        ))?,
        None => print::line("The people of this database are not those of `tidefeed seed`. They are left alone.")?,
    }
    node::serve(&node::ServeArguments::default(), config, |app, lifecycle| {
        let Some((cast, guest)) = people else { return };
        let living = Living::new(app, cast, guest, album);
        let draining = lifecycle.draining();
        lifecycle.spawn("seeded people", living.run(draining));
    })
    .await
}

/// The guest's account.
#[derive(Debug, Clone, Copy)]
struct Account {
    id: UserId,
    /// When the store was seeded.
    seeded_at: i64,
}

/// The people of a store that `tidefeed seed` has filled, with the guest; `None` if others have.
async fn people_of(accounts: &dyn Accounts) -> anyhow::Result<Option<(Cast, Account)>> {
    let Some(guest) = accounts.by_handle(&Handle::try_new(HANDLE)?).await? else { return Ok(None) };
    let mut found = Vec::new();
    for handle in Cast::handles() {
        found.push(accounts.by_handle(&Handle::try_new(&handle)?).await?.map(|profile| profile.id));
    }
    let guest = Account { id: guest.id, seeded_at: Guest::seeded_at(guest.created_at) };
    Ok(Cast::gather(&found).map(|cast| (cast, guest)))
}

/// People who act in a node.
struct Living {
    seeding: Arc<dyn Seeding>,
    ports: Ports,
    use_cases: Arc<UseCases>,
    life: Life,
    guest: Account,
    began_at: i64,
    /// Contents since the store was seeded; `None` until they were counted.
    contents: Option<u64>,
}

impl Living {
    fn new(app: &App, cast: Cast, guest: Account, album: Album) -> Self {
        let adapters = &app.adapters;
        Self {
            seeding: Arc::new(adapters.store.clone()),
            ports: adapters.ports.clone(),
            use_cases: app.use_cases.clone(),
            life: Life::new(cast, album, SharedRng::from_system().u64()),
            guest,
            began_at: SystemClock.now_ms(),
            contents: None,
        }
    }

    async fn run(mut self, draining: CancellationToken) {
        while draining.run_until_cancelled(sleep(self.life.pause())).await.is_some() {
            if let Err(error) = self.run_once(SystemClock.now_ms()).await {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "Somebody of the seeded people could not act. Somebody else tries next.");
            }
        }
    }

    /// One act, or none.
    async fn run_once(&mut self, now_ms: i64) -> Result<Option<Act>, PublishError> {
        let scene = self.scene(now_ms).await?;
        let act = self.life.act(&scene);
        match act.clone() {
            Some(Act::Publish(by, draft)) => self.publish(by, draft).await?,
            Some(Act::Answer(by, content)) => {
                let said = self.said(by, content.id).await?;
                let said: Vec<&str> = said.iter().map(|earlier| earlier.text.as_str()).collect();
                if let Some(draft) = self.life.reply(by, &content, &said) {
                    self.publish(by, draft).await?;
                }
            }
            Some(Act::Like(by, content)) => {
                drop(self.use_cases.reacting.react(by, content, Reaction::Like).await?);
            }
            Some(Act::Follow(by, author)) => drop(self.use_cases.following.follow(by, author).await?),
            None => {}
        }
        tracing::debug!(?act, "The seeded people live.");
        Ok(act)
    }

    async fn publish(&mut self, by: UserId, draft: Draft) -> Result<(), PublishError> {
        self.use_cases.publisher.publish(by, draft).await?;
        self.contents = self.contents.map(|contents| contents + 1);
        Ok(())
    }

    /// What the person has said lately, and others in reply to the content, newest first.
    async fn said(&self, by: UserId, content: ContentId) -> Result<Vec<Content>, StoreError> {
        let replies = self.ports.contents.replies(None, &[content], &newest(20)?).await?;
        let ids: Vec<ContentId> =
            replies.iter().flat_map(|page| page.ahead.entries()).map(|entry| entry.content).collect();
        let mut said = self.ports.contents.by_ids(None, &ids).await?;
        said.extend(self.newest(&[by], 50).await?);
        said.sort_by_key(|content| std::cmp::Reverse(content.position()));
        Ok(said)
    }

    async fn scene(&mut self, now_ms: i64) -> Result<Scene, StoreError> {
        let contents = match self.contents {
            Some(contents) => contents,
            None => self.seeding.published_since(self.guest.seeded_at).await?,
        };
        self.contents = Some(contents);
        let mut here = self.seeding.visitors(VISITORS).await?;
        let is_watched = self.use_cases.hub.subscribers() > 0
            || here.first().map_or(0, |(_, seen)| *seen).max(self.began_at) > now_ms - HERE_MS;
        if here.iter().all(|(visitor, _)| *visitor != self.guest.id) {
            here.push((self.guest.id, 0));
        }
        let visitors: Vec<UserId> = here.into_iter().map(|(visitor, _)| visitor).collect();
        let mut known = Vec::new();
        for visitor in visitors.iter().take(WATCHED) {
            known.extend(self.ports.follows.followed_by(*visitor).await?);
        }
        let seen = self.life.glance();
        Ok(Scene {
            now_ms,
            remarks: self.remarks(&visitors, now_ms - LATELY_MS).await?,
            followed: self.followed(&visitors, now_ms - LATELY_MS).await?,
            seen: self.newest(&seen, 3).await?,
            visitors: visitors.into_iter().collect(),
            known,
            is_watched,
            is_full: contents >= MOST_CONTENTS,
        })
    }

    /// The newest posts and replies of each, without reposts.
    async fn newest(&self, authors: &[UserId], each: i64) -> Result<Vec<Content>, StoreError> {
        let outboxes = self.ports.contents.outbox(None, authors, &newest(each)?).await?;
        let entries = outboxes.iter().flat_map(|outbox| outbox.ahead.entries());
        let ids: Vec<ContentId> = entries.map(|entry| entry.content).collect();
        let mut contents = self.ports.contents.by_ids(None, &ids).await?;
        contents.retain(|content| content.kind != ContentKind::Repost);
        contents.sort_by_key(|content| std::cmp::Reverse(content.position()));
        Ok(contents)
    }

    async fn remarks(&self, visitors: &[UserId], since: i64) -> Result<Vec<Remark>, StoreError> {
        let mut contents = self.newest(visitors, 5).await?;
        contents.retain(|content| content.publish_time > since);
        contents.truncate(64);
        let ids: Vec<ContentId> = contents.iter().map(|content| content.id).collect();
        let replies = self.ports.contents.replies(None, &ids, &newest(20)?).await?;
        let above: Vec<ContentId> = contents.iter().filter_map(|content| content.reference.reply_to()).collect();
        let above = self.ports.contents.by_ids(None, &above).await?;
        let author_of = |id: ContentId| above.iter().find(|content| content.id == id).map(|content| content.author);
        let remarks = contents.into_iter().zip(replies).map(|(content, replies)| Remark {
            to: content.reference.reply_to().and_then(author_of),
            answered_by: replies
                .ahead
                .entries()
                .iter()
                .map(|entry| entry.author)
                .filter(|it| *it != content.author)
                .collect(),
            content,
        });
        Ok(remarks.collect())
    }

    /// Pairs of a visitor and somebody whom they have followed lately, and who does not follow them.
    async fn followed(&self, visitors: &[UserId], since: i64) -> Result<Vec<(UserId, UserId)>, StoreError> {
        let lists = self.ports.follows.following(None, visitors, &newest(3)?).await?;
        let mut followed = Vec::new();
        for (visitor, list) in visitors.iter().zip(lists) {
            for row in list.rows.into_iter().filter(|row| row.since > since && self.life.cast().has(row.item)) {
                let is_other = !visitors.contains(&row.item);
                if is_other && self.ports.follows.followed_among(row.item, &[*visitor]).await?.is_empty() {
                    followed.push((*visitor, row.item));
                }
            }
        }
        Ok(followed)
    }
}

fn newest(size: i64) -> Result<PageRequest, StoreError> {
    let size = PageSize::try_new(size).map_err(|invalid| StoreError::Refused(Box::new(invalid)))?;
    Ok(PageRequest::newest(size))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use clap::{Args as _, Command, FromArgMatches as _};

    use super::*;
    use crate::{
        ambient::Ambient,
        cli::seed::{SeedArguments, fill},
        config::{Environment, Sources},
        lifecycle::Lifecycle,
        publish::PublishOutcome,
        store::announcements::Announcement,
    };

    /// A node over a seeded store, and its people.
    async fn seeded(folder: &tempfile::TempDir) -> (Arc<App>, Living) {
        let url = format!("sqlite://{}", folder.path().join("tidefeed.db").display());
        let named = [("STORE__URL", url.as_str()), ("AUTH__SECRET", &"x".repeat(64))];
        let named = named.map(|(name, value)| (format!("TIDEFEED__{name}"), value.to_owned()));
        let config = Config::load(&Sources::new(None, Environment::of(named))).unwrap();
        let app = App::open(&config, Ambient::of_system(), &Lifecycle::new()).await.unwrap();
        let given = SeedArguments::augment_args(Command::new("seed")).get_matches_from(["seed", "--users", "60"]);
        fill(&SeedArguments::from_arg_matches(&given).unwrap(), &config).await.unwrap();
        let (cast, guest) = people_of(&app.adapters.store).await.unwrap().unwrap();
        let living = Living::new(&app, cast, guest, Album::default());
        (Arc::new(app), living)
    }

    #[tokio::test]
    async fn people_answer_and_follow_the_visitor_back_and_pages_stay_exact() {
        let folder = tempfile::tempdir().unwrap();
        let (app, mut living) = seeded(&folder).await;
        let (ports, visitor) = (&app.adapters.ports, living.guest.id);
        let mut announced = ports.announcements.listen();
        let draft = Draft::try_new("Guten Tag! Wie war das Wochenende?", Vec::new(), None).unwrap();
        let published = app.use_cases.publisher.publish(visitor, draft).await.unwrap();
        let question = if let PublishOutcome::Published(content) = published { Some(content) } else { None }.unwrap();
        let known = ports.follows.followed_by(visitor).await.unwrap();
        let friends = ports.follows.following(None, &[visitor], &newest(1).unwrap()).await.unwrap();
        let (mut answer, mut acts) = (None, 0);
        for _ in 0..60 {
            let act = living.run_once(question.publish_time + 60_000).await.unwrap();
            acts += usize::from(act.is_some());
            match act {
                Some(Act::Answer(by, to)) if to.id == question.id && answer.is_none() => answer = Some((acts, by)),
                _ => {}
            }
        }
        let (after, by) = answer.unwrap();
        assert!(after <= 5 && acts > 40, "answered as act {after} of {acts}");
        assert!(living.life.cast().has(by) && known.len() > 20 && !friends.is_empty());
        let replies = ports.contents.replies(None, &[question.id], &newest(9).unwrap()).await.unwrap();
        let reply = replies[0].ahead.entries().iter().find(|entry| entry.author == by).unwrap();
        let reply = ports.contents.by_ids(None, &[reply.content]).await.unwrap().remove(0);
        assert!(reply.text.contains("Wochenende"), "{reply:?}");
        let sent = std::iter::from_fn(|| announced.try_recv().ok());
        assert!(sent.filter(|it| matches!(it, Announcement::Published { .. })).count() > 10);
        let page = app.use_cases.reader.read_raw(visitor, &newest(50).unwrap()).await.unwrap();
        let mut expected = ports.timelines.oracle(visitor, &newest(50).unwrap()).await.unwrap();
        expected.truncate(50);
        assert_eq!(page.entries, expected);
    }

    #[tokio::test]
    async fn who_is_followed_follows_back_and_a_full_store_stays_full() {
        let folder = tempfile::tempdir().unwrap();
        let (app, mut living) = seeded(&folder).await;
        let (ports, visitor) = (&app.adapters.ports, living.guest.id);
        let known = ports.follows.followed_by(visitor).await.unwrap();
        let mut handles = Cast::handles().into_iter().take(60);
        let stranger = loop {
            let handle = Handle::try_new(&handles.next().unwrap()).unwrap();
            let person = ports.accounts.by_handle(&handle).await.unwrap().unwrap().id;
            let back = ports.follows.followed_among(person, &[visitor]).await.unwrap();
            if !known.contains(&person) && back.is_empty() {
                break person;
            }
        };
        app.use_cases.following.follow(visitor, stranger).await.unwrap();
        living.contents = Some(MOST_CONTENTS);
        for _ in 0..12 {
            living.run_once(SystemClock.now_ms()).await.unwrap();
        }
        assert_eq!(ports.follows.followed_among(stranger, &[visitor]).await.unwrap(), [visitor]);
        assert_eq!(living.contents, Some(MOST_CONTENTS));
    }
}
