//! Measures answers of the API as ratios to a bare axum handler that answers the same bytes in the same run.
//!
//! `make bench` runs it. In process, without sockets: the processor time of all threads of this process, which a busy
//! machine stretches less than time. A and B in turn, medians of rounds.

use std::io::Write as _;

use anyhow::Result;
use axum::{Router, body::Bytes, http::header, routing::post};
use serde_json::json;

use support::{
    benched::processor_time_us,
    world::{PAGE, World, answer, request},
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 31;
/// Requests of a round.
const REQUESTS: u32 = 100;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let world = World::open().await?;
    let token = Some(world.token.as_str());
    let first = json!({ "first": 20 });
    let mut out = std::io::stdout().lock();
    writeln!(out, "{:<34}{:>10}{:>10}{:>10}{:>8}", "SQLite, in process", "bytes", "us", "bare us", "ratio")?;
    for (name, asked) in [
        ("{ __typename }", request(None, "{ __typename }", &json!({}))),
        ("{ __typename }, signed in", request(token, "{ __typename }", &json!({}))),
        ("{ viewer { id } }, anonymous", request(None, "{ viewer { id } }", &json!({}))),
        ("{ viewer { id } }, signed in", request(token, "{ viewer { id } }", &json!({}))),
        ("{ viewer { handle name } }", request(token, "{ viewer { handle name } }", &json!({}))),
        ("a page of 20", request(token, PAGE, &first)),
    ] {
        let bytes = world.ask(&asked).await?;
        let bare = bare(bytes.clone());
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let begun = processor_time_us();
            for _ in 0..REQUESTS {
                world.ask(&asked).await?;
            }
            ours.push((processor_time_us() - begun) / f64::from(REQUESTS));
            let begun = processor_time_us();
            for _ in 0..REQUESTS {
                answer(bare.clone(), &asked).await?;
            }
            theirs.push((processor_time_us() - begun) / f64::from(REQUESTS));
        }
        let (ours, theirs) = (median(&mut ours), median(&mut theirs));
        writeln!(out, "{name:<34}{:>10}{ours:>10.1}{theirs:>10.1}{:>8.3}", bytes.len(), theirs / ours)?;
    }
    Ok(())
}

/// Reads a body and answers `bytes`.
fn bare(bytes: Bytes) -> Router {
    let reply = move |_read: Bytes| {
        let bytes = bytes.clone();
        async move { ([(header::CONTENT_TYPE, "application/json")], bytes) }
    };
    Router::new().route("/graphql", post(reply))
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}
