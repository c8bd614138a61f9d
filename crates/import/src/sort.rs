//! Sorts records so that each stands after what it refers to, in bounded memory.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use crate::{
    record::{Kind, Record},
    references::{ID_BYTES, Id, PLACE_BYTES, Place, References, Reorder, ids},
    runs::Runs,
    write::{self, HEADER},
};

/// Bytes that are sorted in memory.
pub const RUN_BYTES: usize = 64 * 1_024 * 1_024;
/// Bytes of each line for which a run has room to order it.
const BYTES_PER_LINE: usize = 256;
/// One part in this many of the memory is for what contents refer to.
const REFERENCES_PART: usize = 8;

/// Takes records in any order and writes them sorted: by kind, contents by their time, and otherwise as they came, or
/// by a number that was given. Lines of equal kinds and numbers stand in the order of their bytes. A content that is
/// older than what it refers to stands after it.
pub struct Sorter {
    lines: Runs,
    references: References,
    count: u64,
}

impl Sorter {
    /// Puts what does not fit into memory into `folder`, in files without names. `run_bytes`: see [`RUN_BYTES`].
    pub fn new(folder: PathBuf, run_bytes: usize) -> Self {
        let of_references = run_bytes / REFERENCES_PART;
        let lines = Runs::new(folder.clone(), run_bytes - of_references, BYTES_PER_LINE);
        Self { lines, references: References::new(folder, of_references), count: 0 }
    }

    /// Takes a record.
    pub fn push(&mut self, record: &Record) -> io::Result<()> {
        self.push_numbered(record, self.count)
    }

    /// Takes a record whose place among those of its kind and time is `number`. No two contents have the same.
    pub fn push_numbered(&mut self, record: &Record, number: u64) -> io::Result<()> {
        let (kind, line) = ([code(record.kind())], write::line(record));
        if let Record::Content(content) = record {
            let (place, [own, other]) = (Place { at: content.created_at, number }, ids(content));
            self.references.add(place, [own, other])?;
            self.lines.push(&[&kind, &place.bytes(), &own, &other, line.as_bytes()])?;
        } else {
            self.lines.push(&[&kind, &Place { at: 0, number }.bytes(), line.as_bytes()])?;
        }
        self.count += 1;
        Ok(())
    }

    /// Records that it has.
    pub const fn lines(&self) -> u64 {
        self.count
    }

    /// Writes the header and all records to `to`. `each` is called before each line and may end it with an error.
    pub fn finish(self, to: &mut impl Write, mut each: impl FnMut() -> io::Result<()>) -> io::Result<()> {
        let mut contents = Reorder::new(self.references.forward()?);
        to.write_all(HEADER.as_bytes())?;
        to.write_all(b"\n")?;
        let mut write = |line: &[u8]| {
            each()?;
            to.write_all(line)?;
            to.write_all(b"\n")
        };
        self.lines.each(&mut |entry| {
            let (kind, rest) = cut::<1>(entry)?;
            let (place, rest) = cut::<PLACE_BYTES>(rest)?;
            if kind != [code(Kind::Content)] {
                contents.end(&mut write)?;
                return write(rest);
            }
            let ((own, rest), place) = (cut::<ID_BYTES>(rest)?, Place::of(place));
            let (other, line): (Id, _) = cut(rest)?;
            contents.take(place, [own, other], line, &mut write)
        })?;
        contents.end(&mut write)
    }
}

/// The first bytes of an entry, and the others.
fn cut<const BYTES: usize>(entry: &[u8]) -> io::Result<([u8; BYTES], &[u8])> {
    let (first, rest) = entry.split_first_chunk().ok_or(io::ErrorKind::InvalidData)?;
    Ok((*first, rest))
}

fn code(kind: Kind) -> u8 {
    Kind::ALL.iter().zip(0..).find(|(it, _)| **it == kind).map_or(u8::MAX, |(_, code)| code)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use std::collections::HashSet;

    use domain::account::external::ExternalId;
    use proptest::prelude::*;

    use super::*;
    use crate::{
        record::{Content, ContentReference, Pair},
        tests::record,
    };

    /// The lines of the sorted file.
    fn numbered(records: &[(Record, u64)], run_bytes: usize) -> Vec<String> {
        let mut sorter = Sorter::new(std::env::temp_dir(), run_bytes);
        for (record, number) in records {
            sorter.push_numbered(record, *number).unwrap();
        }
        let mut to = Vec::new();
        sorter.finish(&mut to, || Ok(())).unwrap();
        let text = String::from_utf8(to).unwrap();
        assert!(text.ends_with('\n'));
        text.split_terminator('\n').map(str::to_owned).collect()
    }

    fn sorted(records: &[Record], run_bytes: usize) -> Vec<String> {
        numbered(&records.iter().cloned().zip(0..).collect::<Vec<_>>(), run_bytes)
    }

    /// The lines by kind and time alone.
    fn expected(records: &[Record]) -> Vec<String> {
        let key = |record: &Record| match record {
            Record::Content(content) => (record.kind(), content.created_at),
            record => (record.kind(), 0),
        };
        let mut sorted: Vec<&Record> = records.iter().collect();
        sorted.sort_by_key(|record| key(record));
        std::iter::once(HEADER.to_owned()).chain(sorted.into_iter().map(write::line)).collect()
    }

    fn id(text: &str) -> ExternalId {
        ExternalId::try_new(text).unwrap()
    }

    fn content(name: &str, created_at: i64, other: Option<&str>) -> Record {
        let reference = other.map_or(ContentReference::Nothing, |other| ContentReference::ReplyTo(id(other)));
        Record::Content(Content {
            external_id: id(name),
            author: id("a"),
            text: "x".to_owned(),
            media: Vec::new(),
            url: None,
            content_type: None,
            attributes: None,
            reference,
            created_at,
            edited_at: None,
        })
    }

    /// Contents of few times in any order. None refer to each other in a circle.
    fn forest() -> impl Strategy<Value = Vec<Record>> {
        let drawn = (0..4_i64, prop::option::of(any::<prop::sample::Index>()));
        let contents = prop::collection::vec(drawn, 0..24).prop_map(|drawn| {
            let each = drawn.iter().enumerate().map(|(index, (at, other))| {
                let other = other.filter(|_| index > 0).map(|other| format!("p{}", other.index(index)));
                content(&format!("p{index}"), *at, other.as_deref())
            });
            each.collect::<Vec<_>>()
        });
        contents.prop_shuffle()
    }

    proptest! {
        // Each case makes dozens of files.
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_sorted_file_has_every_line_once_in_order(records in prop::collection::vec(record(), 0..40), run in 1_usize..4_000) {
            let mut records = records;
            for record in &mut records {
                if let Record::Content(content) = record {
                    content.reference = ContentReference::Nothing;
                }
            }
            let lines = expected(&records);
            prop_assert_eq!(&sorted(&records, run), &lines);
            prop_assert_eq!(&sorted(&records, 1 << 20), &lines);
        }

        #[test]
        fn contents_stand_behind_what_they_refer_to_and_stay_there(records in forest(), run in 1_usize..4_000) {
            let lines = sorted(&records, 1 << 20);
            prop_assert_eq!(&sorted(&records, run), &lines);
            let by_line = |line: &String| records.iter().find(|record| write::line(record) == *line).cloned();
            let again: Vec<Record> = lines.iter().filter_map(by_line).collect();
            prop_assert_eq!(again.len(), records.len());
            let mut before = HashSet::new();
            for record in &again {
                let Record::Content(content) = record else { continue };
                let other = content.reference.content();
                prop_assert!(other.is_none_or(|other| before.contains(other)), "{} stands too early", write::line(record));
                before.insert(content.external_id.clone());
            }
            prop_assert_eq!(&sorted(&again, run), &lines, "sorted by other numbers, it is the same");
        }
    }

    #[test]
    fn a_content_older_than_what_it_refers_to_moves_behind_it() {
        let records = [
            content("early", 1, Some("late")),
            content("to_early", 2, Some("early")),
            content("between", 3, None),
            content("later", 5, Some("late")),
            content("same", 4, Some("late")),
            content("late", 4, None),
            content("elsewhere", 0, Some("unknown")),
            content("itself", 0, Some("itself")),
        ];
        let expected = [6, 7, 2, 5, 0, 4, 1, 3].map(|index: usize| write::line(&records[index]));
        assert_eq!(sorted(&records, 1)[1..], expected);
    }

    #[test]
    fn contents_in_a_circle_come_last_and_keep_no_other_back() {
        let records = [
            content("a", 1, Some("b")),
            content("b", 2, Some("a")),
            content("to_a", 0, Some("a")),
            content("c", 3, None),
            Record::Mute(Pair { user: id("a"), other: id("z") }),
        ];
        let expected = [3, 2, 0, 1, 4].map(|index: usize| write::line(&records[index]));
        assert_eq!(sorted(&records, 1 << 20)[1..], expected);
    }

    #[test]
    fn numbers_and_then_lines_order_what_came_in_any_order() {
        let mute = |user: &str| Record::Mute(Pair { user: id(user), other: id("z") });
        for run_bytes in [1, 1 << 20] {
            let given = [("c", 1), ("b", 0), ("d", 0), ("a", 0), ("b", 1)];
            let lines = numbered(&given.map(|(user, number)| (mute(user), number)), run_bytes);
            let expected = ["a", "b", "d", "b", "c"].map(|user| write::line(&mute(user)));
            assert_eq!(lines[1..], expected);
        }
    }

    #[test]
    fn many_runs_are_merged_in_levels() {
        let records: Vec<_> = (0..2_500_i64).map(|it| content(&format!("p{it}"), it * 7_919 % 100, None)).collect();
        assert_eq!(sorted(&records, 1), expected(&records), "a run for each line, three levels");
    }
}
