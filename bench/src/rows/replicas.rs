//! Measures pages that are read on the primary alone, on one replica and on two.

use anyhow::Result;
use serde_json::json;

use crate::{
    figure::{Figure, Target},
    load::{Refusal, burst},
    rows::{
        life,
        pages::{SIZE, page_requests},
    },
    site::Site,
};

/// Replicas that are started; a node reads on none, one and all of them in turn.
const REPLICAS: u32 = 2;

/// Readers whom a node remembers.
const REMEMBERED: (usize, usize) = (500, 3);

/// A page's processor time on the primary: of readers whom the node remembers, for which it only says where it is; and
/// of all readers amid changes.
pub async fn measure(site: &mut Site) -> Result<Vec<Figure>> {
    site.replicate(REPLICAS).await?;
    let readers = site.readers()?;
    let remembered = &readers[..readers.len().min(site.options.size(REMEMBERED.0, REMEMBERED.1))];
    let mut figures = Vec::new();
    let mut alone = [0.0; 2];
    for replicas in 0..=REPLICAS {
        let settings = site.store.reading_on(replicas as usize);
        site.restart(&settings).await?;
        let pids: Vec<u32> = site.pids().into_iter().chain(site.store.replica_pids()).collect();
        let length = site.options.length();
        let mut pages = page_requests(site.address(), remembered, json!({ "first": SIZE })).await?;
        // The first runs fill what the node remembers, of each reader twice: on a slow machine one is too short.
        let mut filled = 0;
        while filled < 2 * remembered.len() as u64 {
            filled += burst(&mut pages, &pids, length, Refusal::Fails).await?.accepted;
        }
        let seen = burst(&mut pages, &pids, length, Refusal::Fails).await?;
        let remembered = (seen.rate(), [0, 1, 2, 3, 4].map(|at| seen.cost_of(at)));
        drop(pages);
        let mut life = life::among_changes(site, &readers).await?;
        life.page_costs(&pids, length).await?;
        let seen = life.page_costs(&pids, length).await?;
        let amid_changes = (seen.rate, [0, 1, 2, 3, 4].map(|at| seen.each_us[at]));
        let sorts = [
            ("of remembered readers", remembered, Target::AtMost(0.3, 0.15)),
            ("amid changes", amid_changes, Target::Free),
        ];
        for (at, (sort, (rate, [node, primary, redis, one, other]), target)) in sorts.into_iter().enumerate() {
            let target = if replicas == 0 { Target::Free } else { target };
            if replicas == 0 {
                alone[at] = primary;
            }
            let what = format!(
                "page {sort}, {replicas} replicas: {rate:.0} a second; node {node:.0} us, primary {primary:.0} us, Redis \
                 {redis:.0} us, replicas {one:.0} and {other:.0} us; the primary's time over that without replicas"
            );
            figures.push(Figure::alone(what, primary / alone[at], "", target).generated_in(seen.generator_us));
        }
    }
    site.replicate(0).await?;
    Ok(figures)
}
