//! Compares the smallest operations with a static answer: the cost of a request before it reads anything.

use anyhow::Result;
use serde_json::json;

use crate::{
    client::{Client, request},
    figure::{Figure, Target},
    load::{Asking, Refusal, burst, repeating},
    node::Node,
    rounds::alternate,
    site::Site,
};

const CLIENTS: usize = 4;

/// Processor time per answer of the node, against the bare server's with the same bytes.
pub async fn measure(site: &mut Site) -> Result<Vec<Figure>> {
    let readers = site.readers()?;
    let token = Some(readers[0].token.as_str());
    let operations = [
        ("`{ __typename }`", request(None, "{ __typename }", &json!({}))),
        ("`{ viewer { id } }`, anonymous", request(None, "{ viewer { id } }", &json!({}))),
        ("`{ viewer { id } }`, signed in", request(token, "{ viewer { id } }", &json!({}))),
    ];
    let mut figures = Vec::new();
    for (what, asked) in operations {
        let mut client = Client::to(site.address()).await?;
        client.ask(&asked).await?;
        let bare = Node::bare(site.store.folder(), client.body(), "").await?;
        figures.push(compare(site, &bare, what, &asked).await?);
    }
    Ok(figures)
}

async fn compare(site: &Site, bare: &Node, what: &str, asked: &[u8]) -> Result<Figure> {
    let mut ours = clients(site.address(), asked).await?;
    let mut theirs = clients(bare.address, asked).await?;
    let (options, pids) = (&site.options, [site.node_pid()]);
    let mut generator = 0.0;
    let rounds = alternate(
        options.rounds(),
        async || {
            let seen = burst(&mut ours, &pids, options.length(), Refusal::Fails).await?;
            generator = seen.generator_cost_us();
            Ok(seen.cost_us())
        },
        async || Ok(burst(&mut theirs, &[bare.server.pid], options.length(), Refusal::Fails).await?.cost_us()),
    )
    .await?;
    Ok(Figure::share_of_limit(what, &rounds, ("us CPU", "us CPU"), Target::Free).generated_in(generator))
}

async fn clients(address: std::net::SocketAddr, asked: &[u8]) -> Result<Vec<Asking>> {
    let mut all = Vec::new();
    for _ in 0..CLIENTS {
        all.push(repeating(address, "small", asked.to_vec()).await?);
    }
    Ok(all)
}
