//! Compares a page with the same page from PostGraphile 5 on PostgreSQL, which pulls it from the followed authors.

use std::rc::Rc;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{
    client::Client,
    figure::{Figure, Target},
    load::{Refusal, burst},
    people::{self, Person},
    postgraphile::{Peer, page, texts},
    rounds::{Rounds, alternate},
    rows::pages::{SIZE, in_turn, page_requests},
    site::Site,
};

/// Readers whose pages are compared.
const READERS: usize = 32;

/// CPU of all servers on both sides, and rates.
pub async fn measure(site: &mut Site) -> Result<Vec<Figure>> {
    let peer = Peer::open(&mut site.database().await?).await?;
    let (mut all, mut readers) = (site.readers()?, Vec::new());
    all.truncate(READERS);
    for reader in &all {
        if is_same_page(site, &peer, reader).await? {
            readers.push(reader.clone());
        }
    }
    ensure!(2 * readers.len() > all.len(), "only {} of {} readers have the same page", readers.len(), all.len());
    let mut ours = page_requests(site.address(), &readers, json!({ "first": SIZE })).await?;
    let asked: Vec<Rc<[u8]>> = readers.iter().map(|reader| page(reader.number, SIZE).into()).collect();
    let mut theirs = in_turn(peer.address, &asked).await?;
    let (options, pids) = (&site.options, site.pids());
    // Opens PostGraphile's database connections before the first round.
    burst(&mut theirs, &[], options.length(), Refusal::Fails).await?;
    let mut rates = (Vec::new(), Vec::new());
    let rounds = alternate(
        options.rounds(),
        async || {
            let seen = burst(&mut ours, &pids, options.length(), Refusal::Fails).await?;
            rates.0.push(seen.rate());
            Ok(seen.cost_us())
        },
        async || {
            let seen = burst(&mut theirs, &peer.pids()?, options.length(), Refusal::Fails).await?;
            rates.1.push(seen.rate());
            Ok(seen.cost_us())
        },
    )
    .await?;
    peer.close().await?;
    let rates = Rounds { ours: rates.0, theirs: rates.1 };
    let what = "page of 20, all servers' CPU, against PostGraphile 5 on PostgreSQL";
    Ok(vec![
        Figure::share_of_limit(what, &rounds, ("us", "us"), Target::AtLeast(10.0, 20.0)),
        Figure::multiple("pages a second against PostGraphile's", &rates, ("/s", "/s"), Target::Free),
    ])
}

/// Whether both give the same page. They differ for the few readers whose page has a repost and its original, because
/// Tidefeed folds the two into one entry.
async fn is_same_page(site: &Site, peer: &Peer, reader: &Person) -> Result<bool> {
    let mut client = Client::to(site.address()).await?;
    let ours = client.data(Some(&reader.token), people::PAGE, json!({ "first": SIZE })).await?;
    let mut client = Client::to(peer.address).await?;
    client.ask(&page(reader.number, SIZE)).await?;
    let theirs: Value = serde_json::from_slice(client.body())?;
    let (ours, theirs) = (texts(&ours), texts(&theirs["data"]));
    Ok(ours.len() == SIZE && ours == theirs)
}
