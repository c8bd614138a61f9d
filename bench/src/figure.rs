//! Formats and prints one line of the table.

use std::io::Write as _;

use anyhow::Result;

use crate::rounds::{Rounds, Spread};

/// Target of a ratio: the near goal of the current work, then the final goal.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    AtLeast(f64, f64),
    AtMost(f64, f64),
    /// Reported without a target.
    Free,
}

impl Target {
    fn reported(self, ratio: Option<f64>) -> String {
        let (text, met) = match self {
            Self::AtLeast(near, far) => (format!(">= {near} / {far}"), ratio.map(|it| (it >= near, it >= far))),
            Self::AtMost(near, far) => (format!("<= {near} / {far}"), ratio.map(|it| (it <= near, it <= far))),
            Self::Free => return String::new(),
        };
        let met = match met {
            Some((_, true)) => "met",
            Some((true, false)) => "first met",
            Some(_) => "missed",
            None => "",
        };
        format!("{text} {met}")
    }
}

/// One line.
#[derive(Debug)]
pub struct Figure {
    pub what: String,
    pub ours: String,
    pub theirs: String,
    pub ratio: Option<Spread>,
    pub target: Target,
    /// Processor time of the load generator per answer, in microseconds.
    pub generator_us: Option<f64>,
}

impl Figure {
    /// Two costs; the ratio is theirs to ours, so that 1 is as good as the limit.
    pub fn share_of_limit(what: impl Into<String>, rounds: &Rounds, units: (&str, &str), target: Target) -> Self {
        let (ours, theirs) = rounds.medians();
        let ratio = Some(rounds.theirs_to_ours());
        Self::new(what, (number(ours, units.0), number(theirs, units.1)), ratio, target)
    }

    /// Two costs or times; the ratio is ours to theirs.
    pub fn multiple(what: impl Into<String>, rounds: &Rounds, units: (&str, &str), target: Target) -> Self {
        let (ours, theirs) = rounds.medians();
        let ratio = Some(rounds.ours_to_theirs());
        Self::new(what, (number(ours, units.0), number(theirs, units.1)), ratio, target)
    }

    /// Two rates, each measured once; the ratio is ours to theirs.
    pub fn rates(what: impl Into<String>, (ours, theirs): (f64, f64), unit: &str, target: Target) -> Self {
        let ratio = ours / theirs;
        let ratio = Spread { median: ratio, least: ratio, most: ratio };
        Self::new(what, (number(ours, unit), number(theirs, unit)), Some(ratio), target)
    }

    /// A figure that stands for itself; the target is for the figure.
    pub fn alone(what: impl Into<String>, value: f64, unit: &str, target: Target) -> Self {
        let ratio = Spread { median: value, least: value, most: value };
        Self::new(what, (number(value, unit), String::new()), Some(ratio), target)
    }

    /// Text alone.
    pub fn reported(what: impl Into<String>, ours: impl Into<String>) -> Self {
        Self::new(what, (ours.into(), String::new()), None, Target::Free)
    }

    fn new(what: impl Into<String>, (ours, theirs): (String, String), ratio: Option<Spread>, target: Target) -> Self {
        Self { what: what.into(), ours, theirs, ratio, target, generator_us: None }
    }

    /// Adds the generator's own cost per answer, in microseconds.
    pub const fn generated_in(mut self, us: f64) -> Self {
        self.generator_us = Some(us);
        self
    }

    /// Formats the figure as a row of a Markdown table.
    pub fn print(&self, row: &str) -> Result<()> {
        let shown = self.ratio.filter(|_| !self.theirs.is_empty());
        let ratio =
            shown.map(|it| format!("**{}** ({} to {})", precise(it.median), precise(it.least), precise(it.most)));
        let target = self.target.reported(self.ratio.map(|it| it.median));
        let generator = self.generator_us.map(|us| number(us, "us")).unwrap_or_default();
        let Self { what, ours, theirs, .. } = self;
        let ratio = ratio.unwrap_or_default();
        line(&format!("| {row} | {what} | {ours} | {theirs} | {ratio} | {target} | {generator} |"))
    }
}

/// The head of the table.
pub fn print_head() -> Result<()> {
    line(
        "| row | figure | ours | limit or peer | ratio (least to most of the rounds) | target now / later | generator |",
    )?;
    line("|---|---|---|---|---|---|---|")
}

/// One line on standard output.
pub fn line(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()?;
    Ok(())
}

/// Formats a number with about three significant digits.
fn precise(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else if value >= 0.1 {
        format!("{value:.2}")
    } else {
        format!("{value:.4}")
    }
}

/// A number with its unit.
pub fn number(value: f64, unit: &str) -> String {
    format!("{} {unit}", precise(value)).trim_end().to_owned()
}
