//! Defines the rows of the table and runs them. Each row can run alone.

mod away;
mod crowd;
pub mod delivery;
mod import;
pub mod inboxes;
mod life;
pub mod live;
mod mix;
pub mod pages;
mod peer;
mod replicas;
mod returning;
mod small;
mod stampede;
mod start;
mod trim;
pub mod writes;

use self::writes::Write;
use crate::{
    figure::{Figure, line, print_head},
    options::Options,
    processes,
    scratch::Scratch,
    site::Site,
    world::Engine::{self, MariaDb, Sqlite},
};
use anyhow::{Context as _, Result, ensure};

/// The measurement of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Small,
    Page,
    Deep,
    PastKept,
    Away,
    Return,
    Followees,
    FanOut,
    Publish,
    Write(Write),
    Live,
    Idle,
    Crowd,
    Start,
    Mix,
    Peer,
    Overload,
    Inboxes,
    Stampede,
    Trim,
    Import,
    Replicas,
}

/// Name, what it measures, where. Rows on one engine are consecutive and share a node, so later rows see what earlier
/// ones changed in the world: `followees` leaves a reader of 5,000 authors, and `trim`, the last one, short inboxes.
const ROWS: &[(&str, Kind, Engine)] = &[
    ("start-sqlite", Kind::Start, Sqlite),
    ("small-sqlite", Kind::Small, Sqlite),
    ("page-sqlite", Kind::Page, Sqlite),
    ("deep-sqlite", Kind::Deep, Sqlite),
    ("past-kept-sqlite", Kind::PastKept, Sqlite),
    ("away-sqlite", Kind::Away, Sqlite),
    ("return-sqlite", Kind::Return, Sqlite),
    ("followees-sqlite", Kind::Followees, Sqlite),
    ("fan-out-sqlite", Kind::FanOut, Sqlite),
    ("publish-sqlite", Kind::Publish, Sqlite),
    ("like-sqlite", Kind::Write(Write::Like), Sqlite),
    ("follow-sqlite", Kind::Write(Write::Follow), Sqlite),
    ("post-sqlite", Kind::Write(Write::Publish), Sqlite),
    ("live-sqlite", Kind::Live, Sqlite),
    ("idle-sqlite", Kind::Idle, Sqlite),
    ("crowd-sqlite", Kind::Crowd, Sqlite),
    ("mix-sqlite", Kind::Mix, Sqlite),
    ("peer-sqlite", Kind::Peer, Sqlite),
    ("overload-sqlite", Kind::Overload, Sqlite),
    ("import-sqlite", Kind::Import, Sqlite),
    ("trim-sqlite", Kind::Trim, Sqlite),
    ("page-mariadb", Kind::Page, MariaDb),
    ("deep-mariadb", Kind::Deep, MariaDb),
    ("past-kept-mariadb", Kind::PastKept, MariaDb),
    ("away-mariadb", Kind::Away, MariaDb),
    ("return-mariadb", Kind::Return, MariaDb),
    ("followees-mariadb", Kind::Followees, MariaDb),
    ("fan-out-mariadb", Kind::FanOut, MariaDb),
    ("publish-mariadb", Kind::Publish, MariaDb),
    ("like-mariadb", Kind::Write(Write::Like), MariaDb),
    ("follow-mariadb", Kind::Write(Write::Follow), MariaDb),
    ("post-mariadb", Kind::Write(Write::Publish), MariaDb),
    ("live-mariadb", Kind::Live, MariaDb),
    ("mix-mariadb", Kind::Mix, MariaDb),
    ("peer-mariadb", Kind::Peer, MariaDb),
    ("overload-mariadb", Kind::Overload, MariaDb),
    ("inboxes-mariadb", Kind::Inboxes, MariaDb),
    ("stampede-mariadb", Kind::Stampede, MariaDb),
    ("import-mariadb", Kind::Import, MariaDb),
    ("replicas-mariadb", Kind::Replicas, MariaDb),
    ("trim-mariadb", Kind::Trim, MariaDb),
];

/// Measures and prints the rows that were asked for.
pub async fn run(options: &Options) -> Result<()> {
    if options.list {
        return ROWS.iter().try_for_each(|(name, ..)| line(name));
    }
    let is_asked = |name: &str| options.row.is_empty() || options.row.iter().any(|asked| name.starts_with(asked));
    let asked: Vec<_> = ROWS.iter().filter(|(name, ..)| is_asked(name)).collect();
    ensure!(!asked.is_empty(), "there is no row {}; --list prints all names", options.row.join(" or "));
    processes::open_many_sockets();
    let folder = Scratch::within(&options.folder)?;
    line(&format!(
        "<!-- {} users, {} rounds of {:?} each side; {} -->",
        options.users(),
        options.rounds(),
        options.length(),
        processes::machine()
    ))?;
    let mut bench = Bench { options, folder, site: None };
    let mut failed = Vec::new();
    print_head()?;
    for (name, kind, engine) in asked {
        if let Err(error) = bench.row(name, *kind, *engine).await {
            line(&format!("| {name} | failed: {} | | | | | |", format!("{error:#}").replace(['|', '\n'], " ")))?;
            failed.push(*name);
            // The next row starts with a new copy of the world.
            bench.site = None;
        }
    }
    bench.leave().await?;
    ensure!(failed.is_empty(), "these rows failed: {}", failed.join(", "));
    Ok(())
}

struct Bench<'a> {
    options: &'a Options,
    folder: Scratch,
    site: Option<Site>,
}

impl Bench<'_> {
    async fn row(&mut self, name: &str, kind: Kind, engine: Engine) -> Result<()> {
        if self.site.as_ref().is_none_or(|site| site.store.engine != engine) {
            self.leave().await?;
            let folder = self.folder.folder()?;
            self.site = Some(Site::open(engine, self.options, &folder).await?);
        }
        let site = self.site.as_mut().context("no site")?;
        let before = processes::load_average();
        let figures = measure(kind, site).await?;
        figures.iter().try_for_each(|figure| figure.print(name))?;
        line(&format!("<!-- {name}: load {before} before, {} after -->", processes::load_average()))
    }

    async fn leave(&mut self) -> Result<()> {
        match self.site.take() {
            Some(site) => site.close().await,
            None => Ok(()),
        }
    }
}

async fn measure(kind: Kind, site: &mut Site) -> Result<Vec<Figure>> {
    match kind {
        Kind::Small => small::measure(site).await,
        Kind::Page => pages::page(site).await,
        Kind::Deep => pages::deep(site).await,
        Kind::PastKept => pages::past_kept(site).await,
        Kind::Away => away::measure(site).await,
        Kind::Return => returning::measure(site).await,
        Kind::Followees => pages::followees(site).await,
        Kind::FanOut => delivery::fan_out(site).await,
        Kind::Publish => delivery::publish_latency(site).await,
        Kind::Write(write) => writes::measure(site, write).await,
        Kind::Live => live::one_publish(site).await,
        Kind::Idle => live::idle(site).await,
        Kind::Crowd => crowd::measure(site).await,
        Kind::Start => start::measure(site).await,
        Kind::Overload => mix::overload(site).await,
        Kind::Mix => mix::measure(site).await,
        Kind::Peer => peer::measure(site).await,
        Kind::Inboxes => inboxes::measure(site).await,
        Kind::Stampede => stampede::measure(site).await,
        Kind::Trim => trim::measure(site).await,
        Kind::Import => import::measure(site).await,
        Kind::Replicas => replicas::measure(site).await,
    }
}
