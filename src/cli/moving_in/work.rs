//! What the commands share: reading with progress, the report and the result; and the commands `check` and `sort`.

use std::{
    fmt::Write as _,
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ::import::{
    check::Seen,
    input::Input,
    read::{Line, Records},
    report::{Outcome, Remark, Report},
    sort::{RUN_BYTES, Sorter},
};
use anyhow::Context as _;
use content_schemas::ContentSchemas;
use tokio::time::Instant;

use super::target::{self, Target, is_standard};
use crate::{
    cli::{completion::Completion, print},
    import::check_attributes,
};

/// Set when the command is interrupted.
pub type Stop = Arc<AtomicBool>;

/// How long an interrupted command may take to remove what it was writing. A read that waits for a pipe is left alone.
pub const GRACE: Duration = Duration::from_secs(1);
/// Time before progress is shown for the first time.
const FIRST: Duration = Duration::from_secs(2);
/// Time between two times.
const EVERY: Duration = Duration::from_secs(5);
/// Records between two looks at the clock.
const STEP: u64 = 256;

/// A command that is under way.
pub struct Work {
    stop: Stop,
    /// No time in a file may be later, ms UTC.
    pub latest: i64,
    begun: Instant,
    next: Duration,
}

impl Work {
    /// Begins now.
    pub fn new(stop: Stop, latest: i64) -> Self {
        Self { stop, latest, begun: Instant::now(), next: FIRST }
    }

    /// Begins another part, whose progress is its own.
    pub fn begin_part(&mut self) {
        (self.begun, self.next) = (Instant::now(), FIRST);
    }

    /// Shows progress if it is time: `lines` are done, and `done` of `all` (bytes, or lines). Fails if the command is
    /// interrupted.
    pub fn reached(&mut self, what: &str, lines: u64, (done, all): (u64, Option<u64>)) -> io::Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
        if !lines.is_multiple_of(STEP) {
            return Ok(());
        }
        let elapsed = self.begun.elapsed();
        if elapsed >= self.next {
            self.next = elapsed + EVERY;
            print::complaint(progress(what, lines, (done, all), elapsed));
        }
        Ok(())
    }
}

/// `Read 1200 lines, 600 a second, 50 %, 2 s left.`
fn progress(what: &str, lines: u64, (done, all): (u64, Option<u64>), elapsed: Duration) -> String {
    let ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    let mut text = format!("{what} {lines} lines, {} a second", lines.saturating_mul(1_000) / ms);
    if let Some(all) = all.filter(|_| done > 0) {
        let percent = done.saturating_mul(100) / all.max(1);
        let left = u128::from(ms) * u128::from(all.saturating_sub(done)) / u128::from(done) / 1_000;
        let _ = write!(text, ", {} %, {left} s left", percent.min(100));
    }
    text + "."
}

/// Opens a file, or standard input.
pub fn open(path: &Path) -> anyhow::Result<Input> {
    if is_standard(path) {
        return Input::of(io::stdin()).context("standard input");
    }
    Input::open(path).with_context(|| format!("`{}`", path.display()))
}

/// Reads all records of a file. `take` returns why one is refused after all.
fn read(
    path: &Path,
    work: &mut Work,
    report: &mut Report<impl io::Write>,
    mut take: impl FnMut(&Line) -> io::Result<Option<Remark>>,
) -> anyhow::Result<String> {
    let named = || format!("`{}`", path.display());
    let mut records = Records::open(open(path)?, work.latest).with_context(named)?;
    while let Some(read) = records.read_next().with_context(named)? {
        work.reached("Read", records.lines(), records.progress())?;
        let remark = match read {
            Ok(line) => {
                let remark = take(&line).context("what was read cannot be kept")?;
                if remark.is_none() {
                    report.summary.count(line.record.kind());
                }
                remark
            }
            Err(refusal) => Some(refusal.into()),
        };
        if let Some(remark) = remark {
            report.remark(&remark).context("the report cannot be written")?;
        }
    }
    report.summary.lines = records.lines();
    Ok(records.finish().with_context(named)?.sha256)
}

/// `tidefeed import check`.
pub fn check(
    path: &Path,
    is_part: bool,
    to: Option<&Path>,
    schemas: &ContentSchemas,
    mut work: Work,
) -> anyhow::Result<Completion> {
    let mut report = Report::new(target::report(to, false)?);
    let mut seen = Seen::new(is_part);
    let sha256 = read(path, &mut work, &mut report, |line| {
        let misfit = check_attributes(schemas, &line.record).map_err(|fault| (Outcome::Refused, fault));
        let found = misfit.and_then(|()| seen.check(&line.record)).err();
        Ok(found.map(|(outcome, fault)| Remark::with_fault(line.number, &line.record, outcome, fault)))
    })?;
    let ended = end("Checked", report)?;
    print::complaint(format!("SHA-256: {sha256}"));
    Ok(ended)
}

/// `tidefeed import sort`.
pub fn sort(path: &Path, to: &Path, report: Option<&Path>, mut work: Work) -> anyhow::Result<Completion> {
    let target = Target::of(to)?;
    let mut report = Report::new(target::report(report, is_standard(to))?);
    let mut sorter = Sorter::new(target.folder(), RUN_BYTES);
    read(path, &mut work, &mut report, |line| sorter.push(&line.record).map(|()| None))?;
    write(sorter, target, &mut work)?;
    end("Sorted", report)
}

/// Writes sorted records to their file.
pub fn write(sorter: Sorter, target: Target, work: &mut Work) -> anyhow::Result<()> {
    work.begin_part();
    let (mut lines, all) = (0, sorter.lines());
    target.write(|mut to| {
        sorter.finish(&mut to, || {
            lines += 1;
            work.reached("Wrote", lines, (lines, Some(all)))
        })
    })
}

/// Ends the report, and says how it went.
pub fn end(what: &str, report: Report<impl io::Write>) -> anyhow::Result<Completion> {
    let summary = report.end().context("the report cannot be written")?;
    let mut text = format!("{what} {} lines:", summary.lines);
    for (kind, count) in &summary.records {
        let _ = write!(text, " {kind} {count},");
    }
    let _ = write!(text, " refused {}", summary.of(Outcome::Refused));
    let conflicts = summary.of(Outcome::Conflict);
    if conflicts > 0 {
        let _ = write!(text, ", in conflict {conflicts}");
    }
    print::complaint(text + ".");
    Ok(if summary.left_out() > 0 { Completion::SomeRefused } else { Completion::Done })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_has_a_rate_and_the_time_left() {
        let second = Duration::from_secs(4);
        assert_eq!(progress("Read", 512, (250, Some(1_000)), second), "Read 512 lines, 128 a second, 25 %, 12 s left.");
        assert_eq!(progress("Read", 512, (250, None), second), "Read 512 lines, 128 a second.");
        assert_eq!(progress("Wrote", 0, (0, Some(0)), Duration::ZERO), "Wrote 0 lines, 0 a second.");
    }
}
