//! What became of each line, in the words of the report.

use std::{
    io::{self, Write},
    iter,
};

use ::import::{
    fault::{Code, Fault},
    read::Line,
    record::{Content, ContentReference, Kind, Record},
    report::{Outcome, Refusal, Remark, Report},
};

use super::rows::UNSEEN;
use crate::store::imports::{RowOutcome, RowRefusal};

/// What became of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedLine {
    /// Its kind, if that could be read.
    pub kind: Option<Kind>,
    /// `None`: what it says is there now.
    pub remark: Option<Remark>,
}

impl LoadedLine {
    /// A line that could not be read.
    pub(super) fn unreadable(refusal: &Refusal) -> Self {
        Self { kind: refusal.kind, remark: Some(refusal.clone().into()) }
    }

    /// A line of which no row was made.
    pub(super) fn refused(line: &Line, fault: Fault) -> Self {
        let remark = Remark::with_fault(line.number, &line.record, Outcome::Refused, fault);
        Self { kind: Some(line.record.kind()), remark: Some(remark) }
    }

    /// A line whose row has ended so.
    pub(super) fn ended(line: &Line, outcome: Option<RowOutcome>) -> Self {
        let remark = outcome.and_then(|outcome| remark_of(&line.record, outcome)).map(|(outcome, fault)| match fault {
            Some(fault) => Remark::with_fault(line.number, &line.record, outcome, fault),
            None => Remark::of(line.number, &line.record, outcome),
        });
        Self { kind: Some(line.record.kind()), remark }
    }
}

/// Lines that are there now are counted; others are reported. `file`: which file they are of, where that is to be said.
pub fn report_lines(report: &mut Report<impl Write>, file: Option<&str>, lines: Vec<LoadedLine>) -> io::Result<()> {
    for LoadedLine { kind, remark } in lines {
        let is_there = remark.as_ref().is_none_or(|it| [Outcome::Updated, Outcome::Unchanged].contains(&it.outcome));
        if let Some(kind) = kind.filter(|_| is_there) {
            report.summary.count(kind);
        }
        match remark {
            Some(remark) if is_there => report.summary.note(remark.outcome),
            Some(mut remark) => {
                remark.file = file.map(str::to_owned);
                report.remark(&remark)?;
            }
            None => {}
        }
    }
    Ok(())
}

/// What there is to say of a row.
fn remark_of(record: &Record, outcome: RowOutcome) -> Option<(Outcome, Option<Fault>)> {
    let refusal = match outcome {
        RowOutcome::Created => return None,
        RowOutcome::Updated => return Some((Outcome::Updated, None)),
        RowOutcome::Unchanged => return Some((Outcome::Unchanged, None)),
        RowOutcome::Refused(refusal) => refusal,
    };
    let (refused, conflict) = (Outcome::Refused, Outcome::Conflict);
    let (outcome, field, code, message) = match refusal {
        RowRefusal::HandleTaken => (refused, "handle", Code::Taken, "another user has the handle"),
        RowRefusal::AccountDeleted => {
            (conflict, "", Code::Conflict, "the account was deleted; `upsertUsers` opens another")
        }
        RowRefusal::UnknownUser => (refused, "", Code::NotFound, "a user of this line has no account any more"),
        RowRefusal::UnknownContent => (refused, content_field(record), Code::NotFound, UNSEEN),
        RowRefusal::Blocked => (refused, "", Code::NotAllowed, "one of the two has blocked the other"),
        RowRefusal::TooManyFollows => (refused, "follower", Code::NotAllowed, "the user follows as many as one may"),
        RowRefusal::Repeated => (conflict, "repostOf", Code::Conflict, "the author has reposted this content before"),
        RowRefusal::Conflict => (conflict, "", Code::Conflict, "the content is there, and says something else"),
        RowRefusal::Removed => (conflict, "", Code::Conflict, "the content was removed, and does not come back"),
    };
    let path: Vec<&str> = iter::once("data").chain((!field.is_empty()).then_some(field)).collect();
    Some((outcome, Some(Fault::at(&path, code, message))))
}

fn content_field(record: &Record) -> &'static str {
    match record {
        Record::Content(Content { reference: ContentReference::ReplyTo(_), .. }) => "replyTo",
        Record::Content(_) => "repostOf",
        _ => "content",
    }
}
