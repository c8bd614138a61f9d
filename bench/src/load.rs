//! Clients that ask as fast as they are answered, for so long; what they saw and what the servers used meanwhile.

use std::{collections::BTreeMap, rc::Rc, time::Duration};

use anyhow::{Result, ensure};
use futures_util::future::try_join_all;
use tokio::time::Instant;

use crate::{client::Client, processes};

/// What a client asks next: a kind, by which times are told apart, and the request.
pub type Script = Box<dyn FnMut() -> (&'static str, Rc<[u8]>)>;

/// One client with what it asks.
pub struct Asking {
    pub client: Client,
    pub script: Script,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Burst {
    /// Answers without errors.
    pub accepted: u64,
    /// Answers 503.
    pub refused: u64,
    pub seconds: f64,
    /// Microseconds of the watched processes, in the order in which they were named.
    pub cpu_us: Vec<f64>,
    /// Microseconds of this process.
    pub generator_us: f64,
    /// Microseconds from request to answer, sorted, by kind.
    pub times: BTreeMap<&'static str, Vec<f64>>,
    /// The same of those that were refused.
    pub refusals: Vec<f64>,
}

impl Burst {
    /// Microseconds of all watched processes an answer.
    pub fn cost_us(&self) -> f64 {
        self.cpu_us.iter().sum::<f64>() / count(self.accepted)
    }

    /// Microseconds of one watched process an answer.
    pub fn cost_of(&self, process: usize) -> f64 {
        self.cpu_us.get(process).copied().unwrap_or_default() / count(self.accepted)
    }

    /// Answers a second.
    pub fn rate(&self) -> f64 {
        count(self.accepted) / self.seconds
    }

    /// Microseconds of the generator an answer.
    pub fn generator_cost_us(&self) -> f64 {
        self.generator_us / count(self.accepted + self.refused)
    }

    /// Microseconds within which so large a share of the answers of a kind came.
    pub fn quantile(&self, kind: &str, share: f64) -> f64 {
        quantile(self.times.get(kind).map_or(&[], Vec::as_slice), share)
    }
}

fn count(of: u64) -> f64 {
    f64::from(u32::try_from(of).unwrap_or(u32::MAX))
}

/// The value below which `share` of the sorted ones lie; 0 without any.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index"
    )]
    let at = (last as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or_default()
}

/// All clients ask for `length`, and each ends with an answer. Any answer that is an error fails the run, but 503 is
/// counted if `may_refuse`.
pub async fn burst(all: &mut [Asking], watched: &[u32], length: Duration, may_refuse: bool) -> Result<Burst> {
    let before: Vec<f64> = watched.iter().map(|pid| processes::cpu_us(*pid)).collect::<Result<_>>()?;
    let own = processes::own_cpu_us()?;
    let began = Instant::now();
    let seen = try_join_all(all.iter_mut().map(|asking| ask_until(asking, began + length, may_refuse))).await?;
    let seconds = began.elapsed().as_secs_f64();
    let after: Vec<f64> = watched.iter().map(|pid| processes::cpu_us(*pid)).collect::<Result<_>>()?;
    let cpu_us = after.iter().zip(before).map(|(after, before)| after - before).collect();
    let generator_us = processes::own_cpu_us()? - own;
    let mut burst = Burst { seconds, cpu_us, generator_us, ..Burst::default() };
    for Seen { times, refusals } in seen {
        for (kind, took) in times {
            burst.accepted += 1;
            burst.times.entry(kind).or_default().push(took);
        }
        burst.refused += refusals.len() as u64;
        burst.refusals.extend(refusals);
    }
    burst.times.values_mut().for_each(|times| times.sort_unstable_by(f64::total_cmp));
    burst.refusals.sort_unstable_by(f64::total_cmp);
    ensure!(burst.accepted > 0, "nothing was answered");
    Ok(burst)
}

#[derive(Default)]
struct Seen {
    times: Vec<(&'static str, f64)>,
    refusals: Vec<f64>,
}

async fn ask_until(asking: &mut Asking, end: Instant, may_refuse: bool) -> Result<Seen> {
    let mut seen = Seen::default();
    while Instant::now() < end {
        let (kind, request) = (asking.script)();
        let asked = Instant::now();
        let head = asking.client.ask(&request).await?;
        let took = asked.elapsed().as_secs_f64() * 1e6;
        if may_refuse && head.status == 503 {
            ensure!(head.has_retry_after, "a refusal without Retry-After");
            seen.refusals.push(took);
            continue;
        }
        let said = || String::from_utf8_lossy(asking.client.body()).chars().take(600).collect::<String>();
        ensure!(head.status == 200 && asking.client.succeeded(), "{kind}: {} {}", head.status, said());
        seen.times.push((kind, took));
    }
    Ok(seen)
}

/// A client that asks the same all the time.
pub async fn repeating(address: std::net::SocketAddr, kind: &'static str, request: Vec<u8>) -> Result<Asking> {
    let request: Rc<[u8]> = request.into();
    Ok(Asking { client: Client::to(address).await?, script: Box::new(move || (kind, Rc::clone(&request))) })
}

/// Numbers that look random and are the same in every run.
pub struct Draw(pub u64);

impl Draw {
    /// Below `bound`, which is not 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from(self.0 % u64::from(bound)).unwrap_or_default()
    }
}
