//! Reads lines of a bounded length: a longer one is skipped without being held.

use std::io::{self, BufRead};

/// Bytes of a line, without its end. A record within every bound fits: its longest part is nine media with addresses
/// and descriptions of characters of four bytes each.
pub const MAX_LINE_BYTES: usize = 192 * 1_024;

/// What was found where a line may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// A line, perhaps without its end at the end of the file.
    Line,
    /// A line longer than [`MAX_LINE_BYTES`]. Its bytes are dropped.
    TooLong,
    /// The end of the file.
    End,
}

/// Reads the next line into `line`, without its line feed.
pub fn next(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Found> {
    line.clear();
    let (mut is_too_long, mut is_empty) = (false, true);
    loop {
        let read = match from.fill_buf() {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if read.is_empty() {
            return Ok(match (is_empty, is_too_long) {
                (true, _) => Found::End,
                (false, true) => Found::TooLong,
                (false, false) => Found::Line,
            });
        }
        is_empty = false;
        let end = read.iter().position(|byte| *byte == b'\n');
        let part = &read[..end.unwrap_or(read.len())];
        is_too_long |= line.len() + part.len() > MAX_LINE_BYTES;
        if is_too_long {
            line.clear();
        } else {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        from.consume(used);
        if end.is_some() {
            return Ok(if is_too_long { Found::TooLong } else { Found::Line });
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    fn all(bytes: &[u8], piece: usize) -> Vec<Option<Vec<u8>>> {
        let mut from = BufReader::with_capacity(piece, bytes);
        let (mut line, mut lines) = (Vec::new(), Vec::new());
        loop {
            match next(&mut from, &mut line).unwrap() {
                Found::Line => lines.push(Some(line.clone())),
                Found::TooLong => lines.push(None),
                Found::End => return lines,
            }
        }
    }

    #[test]
    fn a_line_beyond_the_bound_is_skipped_alone() {
        let fits = vec![b'x'; MAX_LINE_BYTES];
        let mut bytes = [b"a\n".as_slice(), &fits, b"\n", &fits, b"y\nb"].concat();
        assert_eq!(all(&bytes, 4_096), [Some(b"a".to_vec()), Some(fits.clone()), None, Some(b"b".to_vec())]);
        bytes.extend_from_slice(&fits);
        assert_eq!(all(&bytes, 4_096).last(), Some(&None));
    }

    proptest! {
        #[test]
        fn lines_are_those_between_the_line_feeds(bytes in prop::collection::vec(0_u8..14, 0..60), piece in 1_usize..9) {
            let mut expected: Vec<_> = bytes.split(|byte| *byte == b'\n').map(|it| Some(it.to_vec())).collect();
            if expected.last().is_some_and(|it| it.as_ref().is_some_and(Vec::is_empty)) {
                expected.pop();
            }
            prop_assert_eq!(all(&bytes, piece), expected);
        }
    }
}
