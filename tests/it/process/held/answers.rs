//! Tests answers that the client does not read.

use futures_util::SinkExt as _;
use tokio_tungstenite::tungstenite::Message;

use super::*;

const JSON: &str = "application/json";
const MIB: usize = 1024 * 1024;

async fn unread(served: &Served, address: &str, accept: &str) -> Result<Line> {
    let mut line = Line::to(&served.peer).await?;
    line.ask(address, accept, &large()).await;
    Ok(line)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_answers_have_room_for_a_client_and_for_the_node() -> Result<()> {
    let limits = format!("max_unsent_bytes = {}\nmax_unsent_bytes_per_client = {}", 23 * MIB, 15 * MIB);
    let served = Served::start(&limits, None).await?;
    served.publish_the_longest_texts().await?;
    let mut kept = Vec::new();
    for (count, address) in [(1, "192.0.2.1"), (2, "192.0.2.1"), (3, "192.0.2.2")] {
        kept.push(unread(&served, address, JSON).await?);
        served.until_held("answers", count * LARGE_BYTES).await?;
    }
    unread(&served, "192.0.2.1", JSON).await?.answer().await?.ensure_refused(429, "RATE_LIMITED")?;
    unread(&served, "192.0.2.2", JSON).await?.answer().await?.ensure_refused(503, "INTERNAL_SERVER_ERROR")?;
    let mut small = Line::to(&served.peer).await?;
    small.ask("192.0.2.1", JSON, r#"{ user(handle: "ann") { name } }"#).await;
    let small = small.answer().await?;
    ensure!(small.body["data"]["user"]["name"] == "Ann", "there is room for less: {small:?}");

    let read = kept[0].answer().await?;
    let edges = read.body["data"]["user"]["contents"]["edges"].as_array().map(Vec::len);
    ensure!(edges == Some(TEXTS), "who reads late reads all");
    drop(kept);
    served.until_all_is_given_back().await?;
    ensure!(unread(&served, "192.0.2.1", JSON).await?.answer().await?.status == 200);
    served.until_all_is_given_back().await
}

/// Answers of one viewer count together, whatever addresses they are requested from.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_answers_of_a_viewer_count_wherever_they_are() -> Result<()> {
    let served = Served::start(&format!("max_unsent_bytes_per_client = {}", 9 * MIB), None).await?;
    served.publish_the_longest_texts().await?;
    let body = json!({ "query": large() }).to_string();
    let mut lines = Vec::new();
    for address in ["192.0.2.1", "192.0.2.2"] {
        let mut line = Line::to(&served.peer).await?;
        let accept = format!("{JSON}\r\nauthorization: Bearer {}", served.token);
        line.post((address, &accept), body.len(), body.as_bytes()).await;
        lines.push(line);
        served.until_held("answers", LARGE_BYTES).await?;
    }
    let mut second = lines.pop().context("two lines")?;
    second.answer().await?.ensure_refused(429, "RATE_LIMITED")?;
    drop(lines);
    served.until_all_is_given_back().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_events_count_and_are_given_back_with_their_streams() -> Result<()> {
    let served = Served::start("", None).await?;
    served.publish_the_longest_texts().await?;
    for _ in 0..2 {
        let stream = unread(&served, "192.0.2.1", "text/event-stream").await?;
        served.until_held("answers", LARGE_BYTES).await?;
        drop(stream);
        served.until_all_is_given_back().await?;
    }

    let mut socket = sockets::socket(&served.peer, "192.0.2.1", json!({})).await?;
    let ask = json!({ "type": "subscribe", "id": "1", "payload": { "query": large() } });
    socket.send(Message::text(ask.to_string())).await?;
    served.until_held("answers", LARGE_BYTES).await?;
    drop(socket);
    served.until_all_is_given_back().await
}
