//! Sorts records so that each stands after what it refers to, in bounded memory: runs that fit into memory go sorted
//! into unnamed files, which are merged.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::File,
    io::{self, BufReader, BufWriter, Read, Seek as _, Write},
    path::PathBuf,
};

use crate::{
    record::{Kind, Record},
    write::{self, HEADER},
};

/// Bytes of lines that are sorted in memory.
pub const RUN_BYTES: usize = 64 * 1_024 * 1_024;
/// Bytes of lines for each one that a run has room to order.
const BYTES_PER_LINE: usize = 256;
/// Runs that are merged at once: so many files are open for each power of this number.
const MERGED_AT_ONCE: usize = 32;
/// Bytes that are buffered of each run while it is merged.
const PIECE: usize = 64 * 1_024;

/// The order of a sorted file: by kind, contents by their time, and otherwise as they came, or by a number that was
/// given. Lines of equal keys stand in the order of their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    kind: Kind,
    at: i64,
    number: u64,
}

/// Takes records in any order and writes them sorted.
pub struct Sorter {
    folder: PathBuf,
    run_bytes: usize,
    text: Vec<u8>,
    lines: Vec<(Key, usize)>,
    /// Runs by how often they were merged.
    levels: Vec<Vec<File>>,
    count: u64,
}

impl Sorter {
    /// Puts what does not fit into memory into `folder`, in files without names. `run_bytes`: see [`RUN_BYTES`].
    pub fn new(folder: PathBuf, run_bytes: usize) -> Self {
        // At once, because a buffer that doubles is there twice while it moves.
        let (text, lines) = (Vec::with_capacity(run_bytes), Vec::with_capacity(run_bytes / BYTES_PER_LINE + 1));
        Self { folder, run_bytes, text, lines, levels: Vec::new(), count: 0 }
    }

    /// Takes a record.
    pub fn push(&mut self, record: &Record) -> io::Result<()> {
        self.push_numbered(record, self.count)
    }

    /// Takes a record whose place among those of its kind and time is `number`.
    pub fn push_numbered(&mut self, record: &Record, number: u64) -> io::Result<()> {
        let line = write::line(record);
        let is_full = self.text.len() + line.len() > self.run_bytes || self.lines.len() == self.lines.capacity();
        if is_full && !self.lines.is_empty() {
            self.spill()?;
        }
        let at = if let Record::Content(content) = record { content.created_at } else { 0 };
        self.lines.push((Key { kind: record.kind(), at, number }, self.text.len()));
        self.text.extend_from_slice(line.as_bytes());
        self.count += 1;
        Ok(())
    }

    /// Records that it has.
    pub const fn lines(&self) -> u64 {
        self.count
    }

    /// Writes the header and all records to `to`. `each` is called before each line and may end it with an error.
    pub fn finish(mut self, to: &mut impl Write, mut each: impl FnMut() -> io::Result<()>) -> io::Result<()> {
        to.write_all(HEADER.as_bytes())?;
        to.write_all(b"\n")?;
        let mut line = |_: Key, line: &[u8]| {
            each()?;
            to.write_all(line)?;
            to.write_all(b"\n")
        };
        if self.levels.is_empty() {
            return self.each_sorted(line);
        }
        self.spill()?;
        self.text = Vec::new();
        merge(self.levels.into_iter().flatten().collect(), &mut line)
    }

    /// Hands on the run in memory, and empties it.
    fn each_sorted(&mut self, mut take: impl FnMut(Key, &[u8]) -> io::Result<()>) -> io::Result<()> {
        let ends = self.lines.iter().skip(1).map(|(_, begin)| *begin).chain([self.text.len()]);
        let text = &self.text;
        let mut lines: Vec<_> =
            self.lines.iter().zip(ends).map(|((key, begin), end)| (*key, &text[*begin..end])).collect();
        lines.sort_unstable();
        for (key, line) in lines {
            take(key, line)?;
        }
        self.text.clear();
        self.lines.clear();
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let mut run = Run::new(&self.folder)?;
        self.each_sorted(|key, line| run.write(key, line))?;
        let mut run = run.end()?;
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            self.levels[level].push(run);
            if self.levels[level].len() < MERGED_AT_ONCE {
                break;
            }
            let mut merged = Run::new(&self.folder)?;
            merge(std::mem::take(&mut self.levels[level]), &mut |key, line: &[u8]| merged.write(key, line))?;
            run = merged.end()?;
        }
        Ok(())
    }
}

/// Hands on the lines of sorted runs in their order.
fn merge(runs: Vec<File>, take: &mut impl FnMut(Key, &[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut runs: Vec<_> = runs.into_iter().map(|file| BufReader::with_capacity(PIECE, file)).collect();
    let mut next = BinaryHeap::with_capacity(runs.len());
    for (index, run) in runs.iter_mut().enumerate() {
        next.extend(read_line(run, Vec::new())?.map(|(key, line)| Reverse((key, line, index))));
    }
    while let Some(Reverse((key, line, index))) = next.pop() {
        take(key, &line)?;
        next.extend(read_line(&mut runs[index], line)?.map(|(key, line)| Reverse((key, line, index))));
    }
    Ok(())
}

/// A file of keys and lines while it is written.
struct Run(BufWriter<File>);

impl Run {
    fn new(folder: &std::path::Path) -> io::Result<Self> {
        Ok(Self(BufWriter::with_capacity(PIECE, tempfile::tempfile_in(folder)?)))
    }

    fn write(&mut self, key: Key, line: &[u8]) -> io::Result<()> {
        let kind = Kind::ALL.iter().position(|kind| *kind == key.kind).unwrap_or_default();
        let bytes = u64::try_from(line.len()).map_err(io::Error::other)?;
        self.0.write_all(&[u8::try_from(kind).map_err(io::Error::other)?])?;
        self.0.write_all(&key.at.to_be_bytes())?;
        self.0.write_all(&key.number.to_be_bytes())?;
        self.0.write_all(&bytes.to_be_bytes())?;
        self.0.write_all(line)
    }

    fn end(self) -> io::Result<File> {
        let mut file = self.0.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(file)
    }
}

/// Reads the next line of a run into `line`; `None` at the run's end.
fn read_line(run: &mut BufReader<File>, mut line: Vec<u8>) -> io::Result<Option<(Key, Vec<u8>)>> {
    let mut kind = [0];
    if run.read(&mut kind)? == 0 {
        return Ok(None);
    }
    let mut number = || {
        let mut bytes = [0; 8];
        run.read_exact(&mut bytes).map(|()| bytes)
    };
    let (at, place, bytes) =
        (i64::from_be_bytes(number()?), u64::from_be_bytes(number()?), u64::from_be_bytes(number()?));
    let kind = Kind::ALL.get(usize::from(kind[0])).copied().ok_or(io::ErrorKind::InvalidData)?;
    line.resize(usize::try_from(bytes).map_err(io::Error::other)?, 0);
    run.read_exact(&mut line)?;
    Ok(Some((Key { kind, at, number: place }, line)))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use proptest::prelude::*;

    use super::*;
    use crate::tests::record;

    fn sorted(records: &[Record], run_bytes: usize) -> Vec<String> {
        let mut sorter = Sorter::new(std::env::temp_dir(), run_bytes);
        for record in records {
            sorter.push(record).unwrap();
        }
        let mut to = Vec::new();
        sorter.finish(&mut to, || Ok(())).unwrap();
        let text = String::from_utf8(to).unwrap();
        assert!(text.ends_with('\n'));
        text.split_terminator('\n').map(str::to_owned).collect()
    }

    fn expected(records: &[Record]) -> Vec<String> {
        let key = |record: &Record| match record {
            Record::Content(content) => (record.kind(), content.created_at),
            record => (record.kind(), 0),
        };
        let mut sorted: Vec<&Record> = records.iter().collect();
        sorted.sort_by_key(|record| key(record));
        std::iter::once(HEADER.to_owned()).chain(sorted.into_iter().map(write::line)).collect()
    }

    proptest! {
        // Each case makes dozens of files.
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn a_sorted_file_has_every_line_once_in_order(records in prop::collection::vec(record(), 0..40), run in 1_usize..4_000) {
            let lines = expected(&records);
            prop_assert_eq!(&sorted(&records, run), &lines);
            prop_assert_eq!(&sorted(&records, 1 << 20), &lines);
        }
    }

    #[test]
    fn numbers_and_then_lines_order_what_came_in_any_order() {
        let mute = |user: &str| {
            let [user, other] = [user, "z"].map(|id| domain::account::external::ExternalId::try_new(id).unwrap());
            Record::Mute(crate::record::Pair { user, other })
        };
        for run_bytes in [1, 1 << 20] {
            let mut sorter = Sorter::new(std::env::temp_dir(), run_bytes);
            for (user, number) in [("c", 1), ("b", 0), ("d", 0), ("a", 0), ("b", 1)] {
                sorter.push_numbered(&mute(user), number).unwrap();
            }
            let mut to = Vec::new();
            sorter.finish(&mut to, || Ok(())).unwrap();
            let expected: Vec<String> = ["a", "b", "d", "b", "c"].iter().map(|user| write::line(&mute(user))).collect();
            assert_eq!(String::from_utf8(to).unwrap(), format!("{HEADER}\n{}\n", expected.join("\n")));
        }
    }

    #[test]
    fn many_runs_are_merged_in_levels() {
        let records = (0..2_500_i64).map(|number| {
            let id = |text: String| domain::account::external::ExternalId::try_new(&text).unwrap();
            Record::Content(crate::record::Content {
                external_id: id(format!("p{number}")),
                author: id("a".to_owned()),
                text: "x".to_owned(),
                media: Vec::new(),
                url: None,
                content_type: None,
                attributes: None,
                reference: crate::record::ContentReference::Nothing,
                created_at: number * 7_919 % 100,
                edited_at: None,
            })
        });
        let records: Vec<_> = records.collect();
        assert_eq!(sorted(&records, 1), expected(&records), "a run for each line, three levels");
    }
}
