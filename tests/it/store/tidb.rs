//! Counts how often hot statements ask the store on TiDB, where each request is a round trip, over the tables of
//! [`super::explain`]. `make test-tidb` runs it; with `PLANS` set it prints what each statement does.

use anyhow::{Context as _, Result, ensure};
use tidefeed::{
    domain::{
        Direction, Entry, PageRequest, Position, UserId,
        delivery::subtask::Range,
        search::Source,
        timeline::{
            authors::TimelineAuthors,
            candidates::{CandidateLimits, Wanted},
            stretch::Stretch,
        },
    },
    store::sql::{HotPage, HotStatement},
};

use super::explain::{AUTHORS, ROWS, STAR, fill, look, request, spans};
use crate::{
    servers::{Backend, is_tidb},
    store::conformance::{World, content_id, rows::entry, user},
};

/// Requests to the store of a statement, as EXPLAIN ANALYZE tells them, in a session like the store's own.
async fn requests_of(world: &World, statement: HotStatement) -> Result<(usize, String)> {
    let text = format!("EXPLAIN ANALYZE {}", world.store.spell_out(statement));
    let plan = world.texts_after("SET SESSION tidb_min_paging_size = 1024", &text).await?;
    let mut requests = 0;
    for line in &plan {
        let info = line.get(5).context("EXPLAIN ANALYZE has no execution info")?;
        for before in ["cop_task: {num: ", "Get:{num_rpc:"] {
            for counted in info.split(before).skip(1) {
                let digits: String = counted.chars().take_while(char::is_ascii_digit).collect();
                requests += digits.parse::<usize>()?;
            }
        }
    }
    Ok((requests, plan.iter().map(|line| line.join(" | ")).collect::<Vec<_>>().join("\n")))
}

/// Statements with their names, and the most requests that each may make: some more than a fresh store needs, which
/// has a request for each region once its tables are split, and fewer than one for each author.
fn statements() -> Result<Vec<(&'static str, HotStatement, usize)>> {
    let newest = request(Direction::Older, None)?;
    let middle = request(Direction::Older, Some(ROWS / 2))?;
    let limits = CandidateLimits { ahead: newest.need(), behind: 4 };
    let page = |request: PageRequest, authors: Vec<UserId>| {
        HotStatement::Page(user(1), request, HotPage::Candidates(limits, Wanted::ALL, authors))
    };
    let named: Vec<UserId> = (101..105).map(user).collect();
    let followed: Vec<_> = (101..101 + 100).map(|author| (user(author), true)).collect();
    let end_ms = middle.bound.map_or(0, Position::publish_time) - 100;
    let stretch = Stretch { end_ms, most_rows: 100, facts_end_ms: Some(end_ms) };
    let stretch = HotPage::Stretch(stretch, TimelineAuthors::new(0, &followed, Vec::new()));
    let newest_ms = 1_000 + ROWS / 2;
    let definition =
        |request, ahead, behind| HotStatement::Page(user(1), request, HotPage::DefinitionWithin(ahead, behind));
    let range = Range { after: 10_500, through: 11_500 };
    let batch: Entry = entry(1, user(STAR), 5);
    let cards: Vec<_> = (1..=20).map(|number| content_id(ROWS - number)).collect();
    let below = middle.bound.context("a bound")?;
    let of_known_reader = |wanted| HotStatement::Page(user(1), newest, HotPage::Candidates(limits, wanted, Vec::new()));
    let without_reactions = Wanted { facts: true, ..Wanted::ENTRIES };
    Ok(vec![
        ("the entries of a page, of a reader whom the node knows", of_known_reader(Wanted::ENTRIES), 9),
        ("the same with what cards show", of_known_reader(without_reactions), 11),
        ("the newest page of a reader whom it does not know", page(newest, Vec::new()), 16),
        ("a page in the middle", page(middle, Vec::new()), 20),
        ("a page with named authors", page(newest, named.clone()), 36),
        ("a page by its definition", definition(newest, newest_ms - 100, None), 16),
        ("a page by its definition in the middle", definition(middle, end_ms, Some(end_ms + 200)), 30),
        ("a stretch", HotStatement::Page(user(1), middle, stretch), 12),
        ("what a node remembers", HotStatement::Reader(user(1)), 10),
        ("a search", HotStatement::Candidates(user(2), look(None), spans()[1]), 12),
        ("counts of a search", HotStatement::Counts(vec![Source::Author(user(101)), look(None).along], spans()[1]), 6),
        ("an extension", HotStatement::CoveredBelow(user(1), below, end_ms, 20), 6),
        ("cards of contents", HotStatement::ContentCards(user(2), cards), 8),
        ("cards of users", HotStatement::UserCards(user(2), (101..=120).map(user).collect()), 4),
        ("a delivery", HotStatement::FanOut(batch, range), 6),
        ("targets", HotStatement::Targets(user(STAR), range, 100), 3),
        ("filling", HotStatement::Filling(user(STAR), range), 3),
        ("due", HotStatement::Due(0, 2_000_000, 100), 3),
        ("backlog", HotStatement::Backlog(0), 3),
        ("unseen", HotStatement::Unseen(0, 2_000_000, 100), 3),
        // Joins read ahead of the limit while the store is slow to answer.
        ("followers", HotStatement::Followers(user(2), vec![user(STAR)], newest), 20),
        ("an author's page", HotStatement::Outboxes(user(2), vec![user(101)], newest), 5),
        ("authors whom readers pull", HotStatement::PulledAuthors((1..=40).map(user).collect()), 3),
        ("suggestions of people", HotStatement::MostFollowed(Some(user(1)), 20), 40),
    ])
}

#[expect(clippy::print_stderr, reason = "a person asked for the plans")]
fn show(name: &str, requests: usize, plan: &str) {
    if std::env::var_os("PLANS").is_some() {
        eprintln!("{name}: {requests} requests\n{plan}\n");
    }
}

/// The line of a plan that reads all deliveries (or all changes of counts, which have the same alias). The store keeps
/// rows that are deleted for minutes, and a scan would read them, too.
fn scan_of_a_queue(plan: &str) -> Option<&str> {
    plan.lines().find(|line| line.contains("FullScan") && line.contains("table:d"))
}

/// With as many followed authors as [`AUTHORS`], no statement asks for each of them, and none reads a whole queue.
async fn hot_statements_ask_the_store_few_times() -> Result<()> {
    ensure!(is_tidb(), "TIDB is not set: `make test-tidb` runs this test");
    let world = World::on_own_tables(Backend::Mysql).await?;
    fill(&world).await?;
    let mut dear = Vec::new();
    for (name, statement, most) in statements()? {
        let (requests, plan) = requests_of(&world, statement).await?;
        show(name, requests, &plan);
        if requests > most {
            dear.push(format!("{name}: {requests} requests for {AUTHORS} authors, {most} wanted"));
        }
        dear.extend(scan_of_a_queue(&plan).map(|line| format!("{name}: {line}")));
    }
    ensure!(dear.is_empty(), "{}", dear.join("\n"));
    Ok(())
}

mod mysql {
    #[tokio::test]
    #[ignore = "`make test-tidb` runs it"]
    async fn hot_statements_ask_the_store_few_times() -> anyhow::Result<()> {
        super::hot_statements_ask_the_store_few_times().await
    }
}
