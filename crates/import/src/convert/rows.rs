//! Reads tables: CSV by RFC 4180, with commas, semicolons or tabs. A row is bounded as a line of the format is.

use std::io::{BufRead, Chain, Cursor, Read as _};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use crate::{
    convert::ConvertError,
    fault::{Code, Fault},
    input::Input,
    lines::{Found, MAX_LINE_BYTES, next},
};

/// Columns of a table.
const MAX_COLUMNS: usize = 256;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// A table while it is read.
pub struct Rows {
    input: Chain<Cursor<Vec<u8>>, Input>,
    reader: Reader,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    line: u64,
}

/// A row and the number of the line that it begins in.
pub struct Row {
    /// From 1 on.
    pub line: u64,
    /// Its cells, or why they cannot be read.
    pub cells: Result<Vec<String>, Fault>,
}

impl Rows {
    /// A table whose cells end with the one of `,`, `;` and tab that its first line has most of.
    pub fn of(mut input: Input) -> Result<Self, ConvertError> {
        let mut first = Vec::new();
        match next(&mut input, &mut first) {
            Ok(Found::TooLong) => {
                return Err(ConvertError::Form(format!("the first line has more than {MAX_LINE_BYTES} bytes")));
            }
            Ok(Found::Line) => first.push(b'\n'),
            Ok(Found::End) => (),
            Err(error) => return Err(input.fault(error).into()),
        }
        let first = first.strip_prefix(BOM).map(<[u8]>::to_vec).unwrap_or(first);
        let cells = |sign: &u8| first.split(|byte| byte == sign).count();
        // Of equals, `max_by_key` takes the last.
        let delimiter = [b'\t', b';', b','].into_iter().max_by_key(cells).unwrap_or(b',');
        let reader = ReaderBuilder::new().delimiter(delimiter).build();
        let input = Cursor::new(first).chain(input);
        Ok(Self { input, reader, bytes: vec![0; MAX_LINE_BYTES], ends: vec![0; MAX_COLUMNS], line: 1 })
    }

    /// The next row that is not empty; `None` at the end.
    pub fn read_next(&mut self) -> Result<Option<Row>, ConvertError> {
        let (mut line, mut written, mut ended) = (self.line, 0, 0);
        let (mut is_begun, mut is_too_long) = (false, false);
        loop {
            let read = match self.input.fill_buf() {
                Ok(read) => read,
                Err(error) => return Err(self.input.get_ref().1.fault(error).into()),
            };
            if !is_begun && read.first().is_some_and(|byte| [b'\r', b'\n'].contains(byte)) {
                self.line += u64::from(read[0] == b'\n');
                line = self.line;
                self.input.consume(1);
                continue;
            }
            is_begun = true;
            let (bytes, ends) = (&mut self.bytes[written..], &mut self.ends[ended..]);
            let (result, used, more, columns) = self.reader.read_record(read, bytes, ends);
            let feeds = read[..used].split(|byte| *byte == b'\n').count() - 1;
            self.line += u64::try_from(feeds).unwrap_or_default();
            self.input.consume(used);
            (written, ended) = (written + more, ended + columns);
            match result {
                ReadRecordResult::InputEmpty => (),
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    (written, ended, is_too_long) = (0, 0, true);
                }
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return Ok(None),
            }
        }
        let cells = if is_too_long {
            let what = format!("the row has more than {MAX_LINE_BYTES} bytes or {MAX_COLUMNS} columns");
            Err(Fault::of_line(Code::TooLong, &what))
        } else {
            self.cells(ended)
        };
        Ok(Some(Row { line, cells }))
    }

    /// Checks that the file is still the one that was opened.
    pub fn finish(self) -> Result<(), ConvertError> {
        self.input.into_inner().1.finish()?;
        Ok(())
    }

    fn cells(&self, count: usize) -> Result<Vec<String>, Fault> {
        let mut begin = 0;
        let cells = self.ends[..count].iter().map(|end| {
            let cell = std::str::from_utf8(&self.bytes[begin..*end]).map(str::to_owned);
            begin = *end;
            cell.map_err(|_| Fault::of_line(Code::Invalid, "the row is not UTF-8"))
        });
        cells.collect()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use std::io::Cursor;

    use super::*;

    fn rows(text: &str) -> Vec<(u64, Option<Vec<String>>)> {
        let mut rows = Rows::of(Input::of(Cursor::new(text.as_bytes().to_vec())).unwrap()).unwrap();
        let mut read = Vec::new();
        while let Some(row) = rows.read_next().unwrap() {
            read.push((row.line, row.cells.ok()));
        }
        read
    }

    fn row(line: u64, cells: &[&str]) -> (u64, Option<Vec<String>>) {
        (line, Some(cells.iter().map(|cell| (*cell).to_owned()).collect()))
    }

    #[test]
    fn quotes_may_hold_lines_commas_and_quotes() {
        let text = "\u{feff}id,text\r\n1,\"a, \"\"b\"\"\r\nc\"\r\n2,d";
        assert_eq!(rows(text), [row(1, &["id", "text"]), row(2, &["1", "a, \"b\"\r\nc"]), row(4, &["2", "d"])]);
        assert_eq!(rows("a;b\n1;2,3\n"), [row(1, &["a", "b"]), row(2, &["1", "2,3"])]);
        assert_eq!(rows("a\tb\n"), [row(1, &["a", "b"])]);
        assert_eq!(rows(""), []);
    }

    #[test]
    fn a_row_beyond_the_bound_is_skipped_alone() {
        let long = "x".repeat(MAX_LINE_BYTES + 1);
        assert_eq!(rows(&format!("a\n{long}\nb\n")), [row(1, &["a"]), (2, None), row(3, &["b"])]);
        let wide = ",".repeat(MAX_COLUMNS + 9);
        assert_eq!(rows(&format!("a\n{wide}\nb,c\n")), [row(1, &["a"]), (2, None), row(3, &["b", "c"])]);
    }
}
