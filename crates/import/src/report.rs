//! The report: a line of JSON for each record that was not plain, and a summary.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use serde::Serialize;

use crate::{
    fault::{Code, Fault},
    record::{Kind, Record},
};

/// Why a record of a file is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The number of its line, from 1 on.
    pub line: u64,
    /// Its kind, if that could be read.
    pub kind: Option<Kind>,
    /// The id that it defines, if it defines one and that could be read.
    pub external_id: Option<String>,
    /// Why.
    pub fault: Fault,
}

impl Refusal {
    /// Of a record of line `line` that could be read.
    pub fn of(line: u64, record: &Record, fault: Fault) -> Self {
        let external_id = record.external_id().map(|id| id.as_str().to_owned());
        Self { line, kind: Some(record.kind()), external_id, fault }
    }
}

/// What became of a record that was not simply done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is left out; all others are not touched by that.
    Refused,
    /// All of it was so already.
    Unchanged,
    /// It changed what was there.
    Updated,
    /// It is left out, because what is there contradicts it and never changes.
    Conflict,
}

/// A line of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Remark {
    /// The file, where several are read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The number of the file's line, from 1 on.
    pub line: u64,
    /// The record's `type`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// The id that it defines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// What became of it.
    pub outcome: Outcome,
    /// Why, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// The path to the value at fault.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub field: Vec<String>,
    /// Why, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl Remark {
    /// Of a record of line `line` that needs no reason.
    pub fn of(line: u64, record: &Record, outcome: Outcome) -> Self {
        let external_id = record.external_id().map(|id| id.as_str().to_owned());
        let kind = Some(record.kind().as_str());
        Self { file: None, line, kind, external_id, outcome, code: None, field: Vec::new(), message: None }
    }

    /// Of a record of line `line` that has a fault.
    pub fn with_fault(line: u64, record: &Record, outcome: Outcome, fault: Fault) -> Self {
        let Fault { code, field, message } = fault;
        Self { code: Some(code), field, message: Some(message), ..Self::of(line, record, outcome) }
    }
}

impl From<Refusal> for Remark {
    fn from(refusal: Refusal) -> Self {
        let Refusal { line, kind, external_id, fault: Fault { code, field, message } } = refusal;
        let (code, message) = (Some(code), Some(message));
        let (kind, outcome) = (kind.map(Kind::as_str), Outcome::Refused);
        Self { file: None, line, kind, external_id, outcome, code, field, message }
    }
}

/// The numbers at the end of a report.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Summary {
    /// Lines that were read, the header and empty ones among them.
    pub lines: u64,
    /// Records that were not refused, by their type.
    pub records: BTreeMap<&'static str, u64>,
    /// Remarks, by outcome.
    pub outcomes: BTreeMap<Outcome, u64>,
}

impl Summary {
    /// Counts a record that was not refused.
    pub fn count(&mut self, kind: Kind) {
        *self.records.entry(kind.as_str()).or_default() += 1;
    }

    /// Counts how a record ended.
    pub fn note(&mut self, outcome: Outcome) {
        *self.outcomes.entry(outcome).or_default() += 1;
    }

    /// Records that were not refused.
    pub fn all(&self) -> u64 {
        self.records.values().sum()
    }

    /// How often something ended so.
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.outcomes.get(&outcome).copied().unwrap_or_default()
    }

    /// Records that were left out.
    pub fn left_out(&self) -> u64 {
        self.of(Outcome::Refused) + self.of(Outcome::Conflict)
    }
}

/// Writes a report while it counts.
pub struct Report<W> {
    to: W,
    /// What was counted so far.
    pub summary: Summary,
}

impl<W: Write> Report<W> {
    /// A report that goes to `to`, unbuffered.
    pub fn new(to: W) -> Self {
        Self { to, summary: Summary::default() }
    }

    /// Where it goes.
    pub const fn to(&mut self) -> &mut W {
        &mut self.to
    }

    /// Writes a line, and counts it.
    pub fn remark(&mut self, remark: &Remark) -> io::Result<()> {
        self.summary.note(remark.outcome);
        self.write(remark)
    }

    /// Writes the summary, `{"summary":{..}}`, as the last line. Without it, a report is not whole.
    pub fn end(mut self) -> io::Result<Summary> {
        let summary = std::mem::take(&mut self.summary);
        self.write(&BTreeMap::from([("summary", &summary)]))?;
        self.to.flush()?;
        Ok(summary)
    }

    fn write(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.to.write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use domain::account::external::ExternalId;

    use super::*;
    use crate::record::Tombstone;

    #[test]
    fn a_report_says_what_is_known_and_ends_with_a_summary() {
        let mut written = Vec::new();
        let mut report = Report::new(&mut written);
        let fault = Fault::at(&["data", "text"], Code::TooLong, "the text is too long");
        let refused = Refusal { line: 17, kind: Some(Kind::Content), external_id: Some("p-9".to_owned()), fault };
        report.remark(&refused.into()).unwrap();
        let gone = Record::Tombstone(Tombstone { content: ExternalId::try_new("p-1").unwrap() });
        report.remark(&Remark::of(18, &gone, Outcome::Unchanged)).unwrap();
        report.summary.count(Kind::Tombstone);
        report.summary.lines = 18;
        assert_eq!((report.summary.left_out(), report.summary.all()), (1, 1));
        report.end().unwrap();
        let expected = concat!(
            r#"{"line":17,"type":"content","externalId":"p-9","outcome":"refused","code":"TOO_LONG","#,
            r#""field":["data","text"],"message":"The text is too long."}"#,
            "\n",
            r#"{"line":18,"type":"tombstone","externalId":"p-1","outcome":"unchanged"}"#,
            "\n",
            r#"{"summary":{"lines":18,"records":{"tombstone":1},"outcomes":{"refused":1,"unchanged":1}}}"#,
            "\n"
        );
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }
}
