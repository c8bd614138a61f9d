//! Tests that a node with little memory refuses excess requests, keeps serving, and returns the memory.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::*;

const JSON: &str = "application/json";
/// Bodies from one address: nearly as many as it may have connections.
const BODIES: usize = 1_990;
const BODY_BYTES: usize = 250 * 1024;
const ANSWERS: usize = 150;
const PAGES: usize = 100;
const SOCKETS: usize = 600;
/// Requests that run at once.
const AT_ONCE: usize = 32;

impl Served {
    pub(super) async fn in_little_memory() -> Result<Self> {
        let served = Self::start("", Some(LITTLE_MEMORY)).await?;
        served.publish_the_longest_texts().await?;
        served.serves_pages().await?;
        Ok(served)
    }

    /// Reads pages, so many at once that all connections to the store are open afterwards. They stay open.
    pub(super) async fn serves_pages(&self) -> Result<()> {
        self.serves_pages_at(&self.peer).await
    }

    /// The same of another node.
    pub(super) async fn serves_pages_at(&self, peer: &Peer) -> Result<()> {
        let page = format!("{{ timeline(first: {TEXTS}) {{ edges {{ node {{ id text }} }} }} }}");
        let pages = stream::iter(0..PAGES).map(async |_| {
            let mut answer = Value::Null;
            // A busy node may refuse a page, which is then asked for again.
            until("a page is not refused for load", async || {
                answer = peer.query(Some(&self.token), &page).await?;
                Ok(answer["errors"][0]["extensions"]["code"] != "OVERLOADED")
            })
            .await?;
            let edges = answer["data"]["timeline"]["edges"].as_array().map(Vec::len);
            ensure!(edges == Some(TEXTS), "{:.1000}", answer.to_string());
            Ok(())
        });
        pages.buffer_unordered(AT_ONCE).try_collect().await
    }

    /// Waits until the memory is returned, however long that takes, while nobody asks for anything.
    pub(super) async fn is_back_within(&self, before: u64) -> Result<()> {
        let most = before * 3 / 2;
        let back = until("the memory is given back", async || Ok(self.node.resident_bytes()? <= most)).await;
        back.with_context(|| format!("{before} bytes before, {:?} now", self.node.resident_bytes()))
    }
}

/// How many of the lines were answered with `status`.
fn answered_with(lines: &[Line], status: &str) -> usize {
    let mut count = 0;
    for line in lines {
        let mut begin = [0; 12];
        let length = line.0.try_read(&mut begin).unwrap_or_default();
        count += usize::from(String::from_utf8_lossy(&begin[..length]).ends_with(status));
    }
    count
}

/// Documents that cost far more than they show, each with the number of requests that would use noticeable memory.
fn bombs() -> [(usize, String); 4] {
    let times = |count: usize, part: fn(usize) -> String| (0..count).map(part).collect::<Vec<_>>().join(" ");
    let fragments = times(190, |number| format!("fragment f{number} on Query {{ viewer {{ id }} }}"));
    [
        (100, format!("{{ {} }}", times(900, |_| "viewer { id }".to_owned()))),
        (100, format!("{{ {} }} {fragments}", times(190, |number| format!("...f{number}")))),
        (20, format!("{{ {} }}", times(49, |number| format!("a{number}: __schema {{ types {{ name }} }}")))),
        (200, format!("{{ {} }}", "a".repeat(65_000))),
    ]
}

mod slow {
    use super::*;

    #[cfg(target_os = "linux")]
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn bodies_without_end_are_refused_in_little_memory_which_comes_back() -> Result<()> {
        let served = Served::in_little_memory().await?;
        let before = served.node.resident_bytes()?;
        let begin = vec![b' '; BODY_BYTES];
        let opening = stream::iter(0..BODIES).map(async |_| {
            let mut line = Line::to(&served.peer).await?;
            line.post(("192.0.2.1", JSON), 256 * 1024, &begin).await;
            Ok(line)
        });
        let lines: Vec<Result<Line>> = opening.buffer_unordered(AT_ONCE).collect().await;
        let lines = lines.into_iter().collect::<Result<Vec<_>>>()?;
        served.serves_pages().await?;
        ensure!(served.held("bodies").await? <= 16 << 20);
        let refused = answered_with(&lines, "429");
        ensure!(refused > BODIES / 2, "{refused}");
        let during = served.node.resident_bytes()?;
        drop(lines);
        served.until_all_is_given_back().await?;
        served.serves_pages().await?;
        served.is_back_within(before).await.with_context(|| format!("{during} bytes during the storm"))
    }

    #[cfg(target_os = "linux")]
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn unread_large_answers_are_refused_within_bounded_memory() -> Result<()> {
        let served = Served::in_little_memory().await?;
        let before = served.node.resident_bytes()?;
        let query = large();
        let opening = stream::iter(0..ANSWERS).map(async |number| {
            let mut line = Line::to(&served.peer).await?;
            line.ask(&format!("192.0.2.{}", number % 10), JSON, &query).await;
            line.0.readable().await?;
            Ok(line)
        });
        let lines: Vec<Result<Line>> = opening.buffer_unordered(AT_ONCE).collect().await;
        let lines = lines.into_iter().collect::<Result<Vec<_>>>()?;
        ensure!(served.held("answers").await? <= 128 << 20);
        let (node, client, served_at_all) =
            (answered_with(&lines, "503"), answered_with(&lines, "429"), answered_with(&lines, "200"));
        ensure!(
            node > 0 && node + client > ANSWERS / 2,
            "{node} by the node's bound, {client} by a client's, {served_at_all} answers"
        );
        let during = served.node.resident_bytes()?;
        drop(lines);
        served.until_all_is_given_back().await?;
        served.serves_pages().await?;
        served.is_back_within(before).await.with_context(|| format!("{during} bytes during the storm"))
    }

    #[cfg(target_os = "linux")]
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn documents_that_cost_much_are_forgotten() -> Result<()> {
        let served = Served::in_little_memory().await?;
        let before = served.node.resident_bytes()?;
        for (count, query) in bombs() {
            let asking = stream::iter(0..count).map(async |_| served.peer.query(Some(&served.token), &query).await);
            asking.buffer_unordered(AT_ONCE).try_collect::<Vec<Value>>().await?;
            served.is_back_within(before).await.with_context(|| format!("{query:.100}"))?;
        }
        Ok(())
    }

    /// Each document is cached while the cache has room.
    #[cfg(target_os = "linux")]
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn storms_of_new_documents_use_bounded_memory() -> Result<()> {
        let served = Served::in_little_memory().await?;
        let fields = (0..100).map(|number| format!("a{number}: id")).collect::<Vec<_>>().join(" ");
        let storm = async |from: usize| {
            let asking = stream::iter(from..from + 1_100).map(async |number| {
                let query = format!("{{ viewer {{ b{number}: name {fields} }} }}");
                served.peer.query(Some(&served.token), &query).await
            });
            asking.buffer_unordered(AT_ONCE).try_collect::<Vec<Value>>().await
        };
        // As many as the cache ever keeps.
        storm(0).await?;
        let before = served.node.resident_bytes()?;
        storm(1_100).await?;
        served.is_back_within(before).await
    }

    #[cfg(target_os = "linux")]
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn endless_heads_and_messages_are_refused_within_bounded_memory() -> Result<()> {
        let served = Served::in_little_memory().await?;
        let before = served.node.resident_bytes()?;
        let head = format!("GET /graphql?query={} HTTP/1.1\r\nhost: a\r\n", "a".repeat(60_000));
        let heads = stream::iter(0..BODIES).map(async |_| {
            let mut line = Line::to(&served.peer).await?;
            // A refused client may be unable to send everything.
            let _ = line.0.write_all(head.as_bytes()).await;
            Ok(line)
        });
        let heads: Vec<Result<Line>> = heads.buffer_unordered(AT_ONCE).collect().await;
        let begin = &sockets::frame(0x81, sockets::padded(256 * 1024).as_bytes())[..BODY_BYTES];
        let messages = stream::iter(0..SOCKETS).map(async |number| {
            let mut socket = sockets::socket(&served.peer, &format!("192.0.2.{}", number % 10), json!({})).await?;
            let _ = socket.get_mut().write_all(begin).await;
            Ok(socket)
        });
        let messages: Vec<Result<sockets::Socket>> = messages.buffer_unordered(AT_ONCE).collect().await;
        ensure!(served.held("heads").await? <= 64 << 20 && served.held("bodies").await? <= 64 << 20);
        let during = served.node.resident_bytes()?;
        drop((heads, messages));
        served.until_all_is_given_back().await?;
        served.serves_pages().await?;
        served.is_back_within(before).await.with_context(|| format!("{during} bytes during the storm"))
    }
}
