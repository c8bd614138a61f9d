//! Measures pages amid changes that are read on the primary alone, on one replica and on two.

use anyhow::Result;

use crate::{
    figure::{Figure, Target},
    rows::life,
    site::Site,
};

/// Replicas that are started; a node reads on none, one and all of them in turn.
const REPLICAS: u32 = 2;

/// Pages a second, and a page's processor time on the primary: without replicas it reads, with them it only says where
/// it is.
pub async fn measure(site: &mut Site) -> Result<Vec<Figure>> {
    site.replicate(REPLICAS).await?;
    let readers = site.readers()?;
    let mut figures = Vec::new();
    let mut alone = 0.0;
    for replicas in 0..=REPLICAS {
        let settings = site.store.reading_on(replicas as usize);
        site.restart(&settings).await?;
        let pids: Vec<u32> = site.pids().into_iter().chain(site.store.replica_pids()).collect();
        let mut life = life::among_changes(site, &readers).await?;
        // The first run fills what the node remembers.
        life.page_costs(&pids, site.options.length()).await?;
        let seen = life.page_costs(&pids, site.options.length()).await?;
        let [node, primary, redis, one, other] = [0, 1, 2, 3, 4].map(|at| seen.each_us[at]);
        if replicas == 0 {
            alone = primary;
        }
        let what = format!(
            "page amid changes, {replicas} replicas: {:.0} a second; node {node:.0} us, primary {primary:.0} us, Redis \
             {redis:.0} us, replicas {one:.0} and {other:.0} us; the primary's time over that without replicas",
            seen.rate
        );
        let target = if replicas == 0 { Target::Free } else { Target::AtMost(0.3, 0.1) };
        figures.push(Figure::alone(what, primary / alone, "", target).generated_in(seen.generator_us));
    }
    site.replicate(0).await?;
    Ok(figures)
}
