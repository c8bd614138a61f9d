//! Tests that several clients who take as much as they can of what lasts, documents of subscriptions and answers that
//! nobody reads, leave room for one more: an honest client is served nine times of ten. No time is asserted.

use super::*;

/// Those who take: more than there are whole shares of the room.
const TAKING: u8 = 12;
const HONEST: &str = "198.51.100.1";
/// The honest client asks so often, and has to be served so often.
const ASKED: usize = 10;
const SERVED: usize = 9;
const FEED: &str = "subscription { newFeed { __typename } }";
const JSON: &str = "application/json";

/// A request of which nothing but the status is read; `None` if it was refused for lack of room.
async fn taken(served: &Served, address: &str, accept: &str, query: &str) -> Result<Option<Line>> {
    let mut line = Line::to(&served.peer).await?;
    line.ask(address, accept, query).await;
    let mut begin = [0; 12];
    timeout(LIMIT, line.0.read_exact(&mut begin)).await??;
    match String::from_utf8_lossy(&begin).rsplit(' ').next() {
        Some("200") => Ok(Some(line)),
        Some("429" | "503") => Ok(None),
        other => bail!("{other:?}"),
    }
}

/// Lets each address take what it gets, the largest first.
async fn take_all(
    served: &Served,
    queries: &[String],
    accept: impl AsyncFn(u8) -> Result<String>,
) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for place in 0..TAKING {
        let (address, accept) = (format!("192.0.2.{place}"), accept(place).await?);
        for query in queries {
            while let Some(line) = taken(served, &address, &accept, query).await? {
                lines.push(line);
            }
        }
    }
    Ok(lines)
}

fn streaming(token: &str) -> String {
    format!("text/event-stream\r\nauthorization: Bearer {token}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_of_several_addresses_leave_room_for_others() -> Result<()> {
    let served = Served::start("max_incoming_bytes = 1600000\nmax_incoming_bytes_per_address = 400000", None).await?;
    let queries = [50_000, 3_000, 0].map(|bytes| format!("{FEED}{}", " ".repeat(bytes)));
    let lines = take_all(&served, &queries, async |place| {
        Ok(streaming(&register(&served.peer, &format!("eve{place}")).await?))
    });
    let lines = lines.await?;
    let held = served.held("documents").await?;
    ensure!(held >= 500_000, "{held} bytes in {} streams", lines.len());
    let mut feeds = Vec::new();
    for _ in 0..ASKED {
        feeds.extend(taken(&served, HONEST, &streaming(&served.token), FEED).await?);
    }
    ensure!(feeds.len() >= SERVED, "{} of {ASKED} were served beside {} streams", feeds.len(), lines.len());
    drop((lines, feeds));
    served.until_all_is_given_back().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_answers_of_several_addresses_leave_room_for_others() -> Result<()> {
    let served = Served::start("max_unsent_bytes = 49000000\nmax_unsent_bytes_per_client = 13000000", None).await?;
    served.publish_the_longest_texts().await?;
    // More than the kernel's buffers take.
    let queries = [12, 10].map(with_texts);
    let lines = take_all(&served, &queries, async |_| Ok(JSON.to_owned())).await?;
    let held = served.held("answers").await?;
    ensure!(held >= 25_000_000, "{held} bytes in {} answers", lines.len());
    let mut count = 0;
    for _ in 0..ASKED {
        let mut line = Line::to(&served.peer).await?;
        line.ask(HONEST, JSON, &with_texts(4)).await;
        count += usize::from(line.answer().await?.status == 200);
    }
    ensure!(count >= SERVED, "{count} of {ASKED} were served beside {} answers", lines.len());
    drop(lines);
    served.until_all_is_given_back().await
}
