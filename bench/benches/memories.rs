//! Measures what each memory of a node saves a page: pages of 20 that do not find one thing, against pages that find
//! everything, by processor time and statements. docs/memories.md lists the memories.
//!
//! In process, on SQLite, without sockets; medians over worlds, which are all opened alike.

use std::io::Write as _;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use support::{
    benched::processor_time_us,
    world::{Asked, PAGE, World, request},
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const WORLDS: usize = 7;
/// Pages of one row.
const PAGES: i64 = 50;
/// Pages of 20 that an inbox of 300 holds.
const DEEP: usize = 14;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut rows: Vec<(&str, Vec<(f64, f64)>)> = Vec::new();
    for _ in 0..WORLDS {
        for (number, (name, figures)) in measure().await?.into_iter().enumerate() {
            match rows.get_mut(number) {
                Some(row) => row.1.push(figures),
                None => rows.push((name, vec![figures])),
            }
        }
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{:<42}{:>8}{:>8}{:>12}", "a page of 20, SQLite, in process", "us", "ratio", "statements")?;
    let mut whole = None;
    for (name, figures) in &mut rows {
        figures.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (us, statements) = figures[figures.len() / 2];
        writeln!(out, "{name:<42}{us:>8.0}{:>8.2}{statements:>12.2}", us / *whole.get_or_insert(us))?;
    }
    Ok(())
}

/// Microseconds and statements a page, for each row.
async fn measure() -> Result<Vec<(&'static str, (f64, f64))>> {
    let world = World::with_readers(1 + PAGES).await?;
    let own = Some(world.token.as_str());
    let plain = |token| request(token, PAGE, &json!({ "first": 20 }));
    // A comment makes another document of the same.
    let other = |number: i64, first: i64| request(own, &format!("{PAGE} # {number}"), &json!({ "first": first }));
    let mut tokens = (Vec::new(), Vec::new());
    for reader in 1..=PAGES {
        tokens.0.push(world.sign_in(reader).await?);
        tokens.1.push(world.sign_in(reader).await?);
    }
    for number in 0..PAGES {
        world.ask(&other(number, 1)).await?;
        // Who asks is known; the timeline is not.
        world.ask(&request(Some(&tokens.0[usize::try_from(number)?]), "{ viewer { id } }", &json!({}))).await?;
    }
    world.ask(&plain(own)).await?;
    let again: Vec<Asked> = (0..PAGES).map(|_| plain(own)).collect();
    let mut rows = vec![("everything is remembered", cost(&world, &again).await?)];
    let asked: Vec<Asked> = (PAGES..2 * PAGES).map(|number| other(number, 20)).collect();
    let unknown = cost(&world, &asked).await?;
    let asked: Vec<Asked> = (0..PAGES).map(|number| other(number, 20)).collect();
    let unrendered = cost(&world, &asked).await?;
    rows.push(("but the JSON of 19 contents", unrendered));
    rows.push(("but the document, and all JSON", unknown));
    let asked: Vec<Asked> = tokens.0.iter().map(|token| plain(Some(token))).collect();
    rows.push(("but the reader", cost(&world, &asked).await?));
    let asked: Vec<Asked> = tokens.1.iter().map(|token| plain(Some(token))).collect();
    rows.push(("but who asks: token and session", cost(&world, &asked).await?));
    let deep = deep(&world).await?;
    rows.push(("further down: contents and JSON unknown", cost(&world, &deep(0)).await?));
    rows.push(("further down: JSON unknown", cost(&world, &deep(1)).await?));
    rows.push(("further down: everything is remembered", cost(&world, &deep(1)).await?));
    Ok(rows)
}

/// The pages after the first one, in one of two documents that are known.
async fn deep(world: &World) -> Result<impl Fn(i64) -> Vec<Asked>> {
    let text = |number: i64| format!("{PAGE} # deep {number}");
    let mut cursors = vec![Value::Null];
    for _ in 0..DEEP {
        let query = "query($after: String) { timeline(first: 20, after: $after) { pageInfo { endCursor } } }";
        let page = world.ask(&request(Some(&world.token), query, &json!({ "after": cursors.last() }))).await?;
        let page: Value = serde_json::from_slice(&page)?;
        cursors.push(page.pointer("/data/timeline/pageInfo/endCursor").context("a cursor")?.clone());
    }
    for number in [0, 1] {
        world.ask(&request(Some(&world.token), &text(number), &json!({ "first": 1 }))).await?;
    }
    let (token, cursors) = (world.token.clone(), cursors[1..DEEP].to_vec());
    Ok(move |number| {
        let ask = |after: &Value| request(Some(&token), &text(number), &json!({ "first": 20, "after": after }));
        cursors.iter().map(ask).collect()
    })
}

async fn cost(world: &World, asked: &[Asked]) -> Result<(f64, f64)> {
    let (begun, before) = (processor_time_us(), world.store.statements());
    for asked in asked {
        world.ask(asked).await?;
    }
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let [statements, pages] = [world.store.statements() - before, asked.len() as u64].map(|number| number as f64);
    Ok(((processor_time_us() - begun) / pages, statements / pages))
}
