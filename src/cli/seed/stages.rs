//! The stages in which a world is written: people with their contents, then who follows whom, then their accounts.
//! Each batch is one transaction after which everything is consistent; the order is the one that [`Seeding`] asks for.

use demo::{Guest, World};
use tokio_util::sync::CancellationToken;

use super::progress::Progress;
use crate::{
    domain::UserId,
    store::{
        Seeding,
        accounts::PasswordHash,
        seeding::{SeedAuthor, SeedFollow},
    },
};

/// Edges of one transaction, about; as many as rows of a neighbourhood, because each also raises two counts, and those
/// come together.
const EDGE_ROWS: usize = 20_000;
/// Accounts of one transaction.
const ACCOUNTS: usize = 2_000;

/// What is written, and where.
pub struct Stages<'a> {
    pub store: &'a dyn Seeding,
    pub world: &'a World,
    /// The guest, unless one exists.
    pub guest: Option<&'a Guest>,
    /// Ends the stages after the current batch.
    pub interrupted: CancellationToken,
}

/// What has been written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    pub users: u64,
    pub contents: u64,
    pub reactions: u64,
    pub follows: u64,
    /// Whether the run was interrupted.
    pub interrupted: bool,
}

impl Written {
    fn count(&mut self, people: &[SeedAuthor]) {
        let contents = || people.iter().flat_map(|author| &author.contents);
        self.users += people.len() as u64;
        self.contents += contents().count() as u64;
        self.reactions += contents().map(|content| content.reactions.len() as u64).sum::<u64>();
    }

    /// Rows that people would count.
    pub const fn rows(&self) -> u64 {
        self.users + self.contents + self.reactions + self.follows
    }
}

impl Stages<'_> {
    /// Writes everything. After an interruption it still creates the accounts of those who were written.
    pub async fn run(&self, password: &PasswordHash) -> anyhow::Result<Written> {
        let mut written = Written::default();
        self.store.prepare().await?;
        let ranks = self.people(&mut written).await?;
        if ranks == self.world.users() {
            self.follows(&mut written).await?;
        }
        self.accounts(ranks, password).await?;
        if let Err(error) = self.store.take_statistics().await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "The statistics of the planner could not be taken. Until the server takes them, pages may be slow."
            );
        }
        written.interrupted = self.interrupted.is_cancelled();
        Ok(written)
    }

    /// Returns how many ranks have been written.
    async fn people(&self, written: &mut Written) -> anyhow::Result<u64> {
        let progress = Progress::of("People and contents", self.world.users());
        let mut done = 0;
        for ranks in self.world.neighbourhoods() {
            let mut people = self.world.neighbourhood(ranks.clone())?;
            if let Some(guest) = self.guest.filter(|_| ranks.start == 0) {
                guest.move_in(self.world, &mut people)?;
            }
            self.store.add_authors(&people).await?;
            written.count(&people);
            done = ranks.end;
            progress.reached(done, written.contents, "contents");
            if self.interrupted.is_cancelled() {
                break;
            }
        }
        progress.finish();
        Ok(done)
    }

    async fn follows(&self, written: &mut Written) -> anyhow::Result<()> {
        let progress = Progress::of("Follows", self.world.users());
        let mut batch: Vec<SeedFollow> = self.guest.map(|guest| guest.follows.clone()).unwrap_or_default();
        for rank in 0..self.world.users() {
            batch.extend(self.world.follows(rank));
            if batch.len() < EDGE_ROWS && rank + 1 < self.world.users() {
                continue;
            }
            if self.interrupted.is_cancelled() {
                break;
            }
            self.store.add_follows(&batch).await?;
            written.follows += batch.len() as u64;
            batch.clear();
            progress.reached(rank + 1, written.follows, "follows");
        }
        progress.finish();
        Ok(())
    }

    /// Runs after an interruption, too, so that every seeded user can sign in.
    async fn accounts(&self, ranks: u64, password: &PasswordHash) -> anyhow::Result<()> {
        let progress = Progress::of("Accounts", ranks);
        let mut batch: Vec<UserId> = self.guest.filter(|_| ranks > 0).iter().map(|guest| guest.author.id).collect();
        for rank in 0..ranks {
            batch.push(self.world.user_id(rank));
            if batch.len() >= ACCOUNTS || rank + 1 == ranks {
                self.store.open_accounts(&batch, password).await?;
                batch.clear();
                progress.reached(rank + 1, rank + 1, "accounts");
            }
        }
        progress.finish();
        Ok(())
    }
}
