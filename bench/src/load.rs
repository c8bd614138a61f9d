//! Generates load in a closed loop (each client waits for its answer), and records times and the servers' processor
//! time.

use std::{collections::BTreeMap, rc::Rc, time::Duration};

use anyhow::{Result, ensure};
use futures_util::future::try_join_all;
use tokio::time::{Instant, sleep};

use crate::{client::Client, processes};

/// How long a refused client waits before its next request, as `Retry-After` says.
const COME_AGAIN: Duration = Duration::from_secs(1);

/// What a client does that is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It fails the run.
    Fails,
    /// It waits as it was told.
    Waits,
    /// It asks again at once.
    Repeats,
}

/// Gives a client's next request, with the kind under which its time is recorded.
pub type Script = Box<dyn FnMut() -> (&'static str, Rc<[u8]>)>;

/// A client and its requests.
pub struct Asking {
    pub client: Client,
    pub script: Script,
}

/// The results of one run of load.
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
    /// Microseconds from request to refusal, sorted, by kind.
    pub refusals: BTreeMap<&'static str, Vec<f64>>,
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

    /// Answers a second of a kind.
    pub fn rate_of(&self, kind: &str) -> f64 {
        count(self.times.get(kind).map_or(0, Vec::len) as u64) / self.seconds
    }

    /// The share of these kinds that was refused.
    pub fn refused_share(&self, kinds: &[&str]) -> f64 {
        let of = |all: &BTreeMap<&'static str, Vec<f64>>| {
            count(kinds.iter().map(|kind| all.get(kind).map_or(0, Vec::len) as u64).sum())
        };
        of(&self.refusals) / (of(&self.refusals) + of(&self.times)).max(1.0)
    }

    /// Refusals a second.
    pub fn refusal_rate(&self) -> f64 {
        count(self.refused) / self.seconds
    }

    /// Microseconds of the generator an answer.
    pub fn generator_cost_us(&self) -> f64 {
        self.generator_us / count(self.accepted + self.refused)
    }

    /// The quantile `share` of the answer times of a kind, in microseconds.
    pub fn quantile(&self, kind: &str, share: f64) -> f64 {
        quantile(self.times.get(kind).map_or(&[], Vec::as_slice), share)
    }
}

/// A number as a figure, at most 2^32 - 1.
pub fn count(of: u64) -> f64 {
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

/// Closed loop: all clients send requests for `length`, and each ends with an answer. Any error fails the run, except
/// that 503 is counted unless `refusal` fails.
pub async fn burst(all: &mut [Asking], watched: &[u32], length: Duration, refusal: Refusal) -> Result<Burst> {
    let end = Instant::now() + length;
    watch(watched, try_join_all(all.iter_mut().map(|asking| ask_until(asking, end, refusal)))).await
}

/// Runs `work` and measures the processor time of the watched processes meanwhile.
async fn watch(watched: &[u32], work: impl Future<Output = Result<Vec<Seen>>>) -> Result<Burst> {
    let before: Vec<f64> = watched.iter().map(|pid| processes::cpu_us(*pid)).collect::<Result<_>>()?;
    let own = processes::own_cpu_us()?;
    let began = Instant::now();
    let seen = work.await?;
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
        for (kind, took) in refusals {
            burst.refusals.entry(kind).or_default().push(took);
        }
    }
    let all = burst.times.values_mut().chain(burst.refusals.values_mut());
    all.for_each(|times| times.sort_unstable_by(f64::total_cmp));
    ensure!(burst.accepted > 0, "No request was answered.");
    Ok(burst)
}

#[derive(Default)]
struct Seen {
    times: Vec<(&'static str, f64)>,
    refusals: Vec<(&'static str, f64)>,
}

async fn ask_until(asking: &mut Asking, end: Instant, refusal: Refusal) -> Result<Seen> {
    let mut seen = Seen::default();
    while Instant::now() < end {
        let is_refused = seen.ask(asking, Instant::now(), refusal != Refusal::Fails).await?;
        if is_refused && refusal == Refusal::Waits {
            sleep(COME_AGAIN).await;
        }
    }
    Ok(seen)
}

impl Seen {
    /// Whether it was refused.
    async fn ask(&mut self, asking: &mut Asking, asked: Instant, may_refuse: bool) -> Result<bool> {
        let (kind, request) = (asking.script)();
        let head = asking.client.ask(&request).await?;
        let took = asked.elapsed().as_secs_f64() * 1e6;
        if may_refuse && head.status == 503 {
            ensure!(head.has_retry_after, "A refusal has no Retry-After.");
            self.refusals.push((kind, took));
            return Ok(true);
        }
        let body = || String::from_utf8_lossy(asking.client.body()).chars().take(600).collect::<String>();
        ensure!(head.status == 200 && asking.client.succeeded(), "{kind}: {} {}", head.status, body());
        self.times.push((kind, took));
        Ok(false)
    }
}

/// A client that repeats one request.
pub async fn repeating(address: std::net::SocketAddr, kind: &'static str, request: Vec<u8>) -> Result<Asking> {
    let request: Rc<[u8]> = request.into();
    Ok(Asking { client: Client::to(address).await?, script: Box::new(move || (kind, Rc::clone(&request))) })
}

/// A seeded generator: the same numbers in every run.
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
