//! Measures a node with as many subscribers as it should hold: the memory of each, and when the first and the last get
//! an event.

use anyhow::{Context as _, Result, ensure};

use crate::{
    figure::{Figure, Target},
    node::{Node, set},
    processes,
    rounds::Rounds,
    rows::live::{Ask, BARE_PUBLISH, Broadcast, SILENCE_MS, broadcast, follow, opened, publish, subscribe},
    site::Site,
};

/// Subscribers, unless the command line says how many.
const CROWD: usize = 50_000;
/// Sockets of one viewer.
const SHARED: usize = 100;
/// Files that a process opens in addition to its sockets.
const OTHER_FILES: usize = 500;

/// The memory of each of many subscribers, and one publish to all of them against a bare broadcast of the same bytes
/// over as many sockets. The two run one after the other, because both at once would need twice as many open files.
/// Where a process may open fewer files than there are subscribers, each socket carries several.
pub async fn measure(site: &mut Site) -> Result<Vec<Figure>> {
    let count = site.options.subscribers.unwrap_or(site.options.size(CROWD, 20));
    let files = processes::open_many_sockets();
    ensure!(files > OTHER_FILES, "A process may open {files} files: raise the hard limit (`ulimit -Hn`).");
    let on_each = count.div_ceil(files - OTHER_FILES);
    let sockets = count.div_ceil(on_each);
    let silence = [set("websocket.ping_ms", &SILENCE_MS), set("websocket.pong_timeout_ms", &SILENCE_MS)];
    let room = [set("server.max_connections", &(sockets + OTHER_FILES))];
    site.restart(&[&silence[..], &room[..]].concat()).await?;
    let viewers = site.people((1, 1_000), sockets.div_ceil(SHARED)).await?;
    let (author, _) = site.author(0).await?;
    follow(site, &viewers, &author).await?;
    let mut ours = opened(site.address(), &viewers, viewers.len()).await?;
    subscribe(site, &mut ours, on_each).await?;
    drop(ours);
    let before = processes::resident_bytes(site.node_pid())?;
    let mut ours = opened(site.address(), &viewers, sockets).await?;
    subscribe(site, &mut ours, on_each).await?;
    let all = f64::from(u32::try_from(sockets * on_each)?);
    let each = (processes::resident_bytes(site.node_pid())? - before) / all / 1024.0;
    let (mut first, mut last) = (Rounds::default(), Rounds::default());
    let ask = Ask { address: site.address(), publish: publish(&author), times: 1, events: on_each };
    let mut event = None;
    for _ in 0..=site.options.rounds() {
        let Broadcast { first_ms, last_ms, event: rendered } = broadcast(&ask, &mut ours).await?;
        // The first time warms both sides.
        if event.replace(rendered).is_some() {
            first.ours.push(first_ms);
            last.ours.push(last_ms);
        }
    }
    drop(ours);
    let bare = Node::bare(site.store.folder(), b"{}", &event.context("no subscriber got an event")?).await?;
    let mut theirs = opened(bare.address, &viewers, sockets).await?;
    let ask = Ask { address: bare.address, publish: BARE_PUBLISH.to_vec(), times: on_each, events: on_each };
    broadcast(&ask, &mut theirs).await?;
    for _ in 0..site.options.rounds() {
        let Broadcast { first_ms, last_ms, .. } = broadcast(&ask, &mut theirs).await?;
        first.theirs.push(first_ms);
        last.theirs.push(last_ms);
    }
    drop(theirs);
    site.restart(&Vec::new()).await?;
    let units = ("ms", "ms");
    Ok(vec![
        Figure::alone(
            format!("each of {all} subscribers ({on_each} a socket, {SHARED} sockets a viewer)"),
            each,
            "KiB",
            Target::AtMost(20.0, 12.0),
        ),
        Figure::multiple("one publish, the first of them, against a bare broadcast", &first, units, Target::Free),
        Figure::multiple("the last of them", &last, units, Target::AtMost(1.5, 1.2)),
    ])
}
