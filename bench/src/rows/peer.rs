//! A page against the same page from PostGraphile 5 on PostgreSQL, which pulls it from the followed authors.

use std::rc::Rc;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{
    client::Client,
    figure::{Figure, Target},
    load::burst,
    people::{self, Person},
    postgraphile::{Peer, page, texts},
    rounds::{Rounds, alternate},
    rows::pages::{SIZE, in_turn, turns},
    site::Site,
};

/// CPU of all servers on both sides, and rates.
pub async fn measure(site: &mut Site) -> Result<Vec<Figure>> {
    let readers = site.readers().await?;
    let peer = Peer::open(&mut site.database().await?).await?;
    for reader in &readers {
        same_page(site, &peer, reader).await?;
    }
    let mut ours = turns(site.address(), &readers, json!({ "first": SIZE })).await?;
    let asked: Vec<Rc<[u8]>> = readers.iter().map(|reader| page(reader.number, SIZE).into()).collect();
    let mut theirs = in_turn(peer.address, &asked).await?;
    let (options, pids) = (&site.options, site.pids());
    // From here on it has its connections.
    burst(&mut theirs, &[], options.length(), false).await?;
    let mut rates = (Vec::new(), Vec::new());
    let rounds = alternate(
        options.rounds(),
        async || {
            let seen = burst(&mut ours, &pids, options.length(), false).await?;
            rates.0.push(seen.rate());
            Ok(seen.cost_us())
        },
        async || {
            let seen = burst(&mut theirs, &peer.pids()?, options.length(), false).await?;
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

/// Both must say the same, or the comparison says nothing.
async fn same_page(site: &Site, peer: &Peer, reader: &Person) -> Result<()> {
    let mut client = Client::to(site.address()).await?;
    let ours = client.data(Some(&reader.token), people::PAGE, json!({ "first": SIZE })).await?;
    let mut client = Client::to(peer.address).await?;
    client.ask(&page(reader.number, SIZE)).await?;
    let theirs: Value = serde_json::from_slice(client.body())?;
    let (ours, theirs) = (texts(&ours), texts(&theirs["data"]));
    ensure!(ours.len() == SIZE && ours == theirs, "two pages of {}: {ours:?}, {theirs:?}", reader.number);
    Ok(())
}
