//! Reads a file record by record.

use std::io;

use crate::{
    fault::{Code, Fault},
    input::{Digest, Input, InputError},
    lines::{Found, MAX_LINE_BYTES, next},
    parse::{Said, Unreadable, parse},
    record::Record,
    report::Refusal,
    write::HEADER,
};

/// How far ahead of the clock a time may be, in ms.
pub const AHEAD_MS: i64 = 5 * 60_000;
const BOM: &[u8] = b"\xef\xbb\xbf";
const UTF_16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// A record and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The number of the line, from 1 on. Empty lines count.
    pub number: u64,
    /// What it says.
    pub record: Record,
}

/// Why nothing more can be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file itself.
    #[error(transparent)]
    Input(#[from] InputError),
    /// It has no line.
    #[error("the file is empty; its first line must be {HEADER}")]
    Empty,
    /// Its first line is something else, or is missing a part.
    #[error("line {line} is not the header of this format: {what} The first line must be {HEADER}")]
    Header {
        /// Its number.
        line: u64,
        /// A sentence.
        what: String,
    },
    /// Its first bytes say so.
    #[error("the file is UTF-16; convert it to UTF-8 first, as with `iconv -f UTF-16 -t UTF-8`")]
    Utf16,
}

/// The records of a file, in turn. Holds one line at a time.
pub struct Records {
    input: Input,
    latest: i64,
    line: Vec<u8>,
    number: u64,
}

impl Records {
    /// Reads the header. `latest_allowed_time`, ms UTC: a record with a later one is refused.
    pub fn open(input: Input, latest_allowed_time: i64) -> Result<Self, ReadError> {
        let mut records = Self { input, latest: latest_allowed_time, line: Vec::new(), number: 0 };
        let what = match records.said()? {
            None => return Err(ReadError::Empty),
            Some(Ok(Said::Header)) => return Ok(records),
            Some(Ok(Said::Record(_))) => "It is a record.".to_owned(),
            Some(Err(unreadable)) => unreadable.fault.message,
        };
        if UTF_16.iter().any(|sign| records.line.starts_with(sign)) {
            return Err(ReadError::Utf16);
        }
        Err(ReadError::Header { line: records.number, what })
    }

    /// The next record, or why it is refused; `None` at the end of the file. Skips empty lines, and further headers:
    /// files may be joined. After a refusal the next line can be read; after an error, nothing.
    pub fn read_next(&mut self) -> Result<Option<Result<Line, Refusal>>, ReadError> {
        loop {
            let line = match self.said()? {
                None => return Ok(None),
                Some(Ok(Said::Header)) => continue,
                Some(Ok(Said::Record(record))) => Ok(Line { number: self.number, record: *record }),
                Some(Err(Unreadable { kind, external_id, fault })) => {
                    let external_id = external_id.map(|id| id.as_str().to_owned());
                    Err(Refusal { line: self.number, kind, external_id, fault })
                }
            };
            return Ok(Some(line));
        }
    }

    /// Reads on to the end of this line, whatever the lines say. `false`: the file has ended before.
    pub fn skip_through(&mut self, line: u64) -> Result<bool, ReadError> {
        while self.number < line {
            let found = next(&mut self.input, &mut self.line).map_err(|error| self.input.fault(error))?;
            if found == Found::End {
                return Ok(false);
            }
            self.number += 1;
        }
        Ok(true)
    }

    /// As [`Input::expect_unchanged`].
    pub fn expect_unchanged(&self) -> Result<(), ReadError> {
        Ok(self.input.expect_unchanged()?)
    }

    /// Lines that were read so far.
    pub const fn lines(&self) -> u64 {
        self.number
    }

    /// As [`Input::progress`].
    pub fn progress(&self) -> (u64, Option<u64>) {
        self.input.progress()
    }

    /// Reads what is left. Says which file it was, and fails if it has changed since it was opened.
    pub fn finish(self) -> Result<Digest, ReadError> {
        Ok(self.input.finish()?)
    }

    /// What the next line says that is not empty.
    fn said(&mut self) -> Result<Option<Result<Said, Unreadable>>, ReadError> {
        loop {
            let found = next(&mut self.input, &mut self.line);
            let found = found.map_err(|error: io::Error| self.input.fault(error))?;
            if found == Found::End {
                return Ok(None);
            }
            self.number += 1;
            if found == Found::TooLong {
                let what = format!("the line has more than {MAX_LINE_BYTES} bytes");
                return Ok(Some(Err(Fault::of_line(Code::TooLong, &what).into())));
            }
            let mut bytes = self.line.as_slice();
            if self.number == 1 {
                bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
            }
            let text = match std::str::from_utf8(bytes) {
                Ok(text) => text.trim_matches([' ', '\t', '\r']),
                Err(error) => {
                    let what = format!("the line is not UTF-8 from byte {} on", error.valid_up_to() + 1);
                    return Ok(Some(Err(Fault::of_line(Code::Invalid, &what).into())));
                }
            };
            if !text.is_empty() {
                return Ok(Some(parse(text, self.latest)));
            }
        }
    }
}
