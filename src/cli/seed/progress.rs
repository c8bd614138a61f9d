//! Shows the progress of a stage: a bar on a terminal, nothing elsewhere.

use std::borrow::Cow;

use indicatif::{ProgressBar, ProgressStyle};

/// The bar of one stage.
pub struct Progress(ProgressBar);

impl Progress {
    /// A stage of `total` people.
    pub fn of(stage: &'static str, total: u64) -> Self {
        let bar = ProgressBar::new(total).with_message(Cow::Borrowed("")).with_prefix(stage);
        if let Ok(style) = ProgressStyle::with_template("{prefix:<20} {wide_bar} {pos}/{len} {msg} {eta:>4}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Reports that `people` are done, with this `count` of `things`.
    pub fn reached(&self, people: u64, count: u64, things: &str) {
        self.0.set_message(format!("({count} {things})"));
        self.0.set_position(people);
    }

    /// Ends the stage; its bar stays.
    pub fn finish(&self) {
        self.0.abandon();
    }
}
