//! Alternates two measurements (A B A B), so that other load on the machine affects both alike.

use anyhow::Result;

/// The results of all rounds.
#[derive(Debug, Clone, Default)]
pub struct Rounds {
    pub ours: Vec<f64>,
    pub theirs: Vec<f64>,
}

/// A ratio with the least and the greatest of its rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Rounds {
    /// The ratio of ours to theirs: of the medians, with the extremes of the rounds.
    pub fn ours_to_theirs(&self) -> Spread {
        spread(&self.ours, &self.theirs)
    }

    /// The ratio of theirs to ours: of the medians, with the extremes of the rounds.
    pub fn theirs_to_ours(&self) -> Spread {
        spread(&self.theirs, &self.ours)
    }

    /// The medians.
    pub fn medians(&self) -> (f64, f64) {
        (median(&self.ours), median(&self.theirs))
    }
}

fn spread(over: &[f64], under: &[f64]) -> Spread {
    let each = || over.iter().zip(under).map(|(over, under)| over / under);
    Spread {
        median: median(over) / median(under),
        least: each().fold(f64::INFINITY, f64::min),
        most: each().fold(0.0, f64::max),
    }
}

/// The middle one; 0 without any.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// Measures ours and theirs in turn.
pub async fn alternate(
    rounds: usize,
    mut ours: impl AsyncFnMut() -> Result<f64>,
    mut theirs: impl AsyncFnMut() -> Result<f64>,
) -> Result<Rounds> {
    let mut seen = Rounds::default();
    for _ in 0..rounds {
        seen.ours.push(ours().await?);
        seen.theirs.push(theirs().await?);
    }
    Ok(seen)
}
