//! Reads a body line by line. It holds one line and one received piece of the body at a time.

use axum::body::{Body, BodyDataStream, Bytes};
use futures_util::StreamExt as _;

/// Bytes of a line, without its end.
pub(super) const MAX_LINE_BYTES: usize = 64 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The lines of a body.
pub(super) struct Lines {
    body: BodyDataStream,
    piece: Bytes,
    line: Vec<u8>,
    is_too_long: bool,
    number: u64,
}

/// A line that is not empty.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// From 1 on. Empty lines count.
    pub(super) number: u64,
    /// `None`: it is longer than [`MAX_LINE_BYTES`].
    pub(super) text: Option<Vec<u8>>,
}

/// The body has ended too early.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BrokenOff;

impl Lines {
    pub(super) fn of(body: Body) -> Self {
        let (body, piece) = (body.into_data_stream(), Bytes::new());
        Self { body, piece, line: Vec::new(), is_too_long: false, number: 0 }
    }

    /// Lines that were read so far.
    pub(super) const fn read(&self) -> u64 {
        self.number
    }

    /// The next line; `None` at the end of the body. If the caller gives up, nothing is lost.
    pub(super) async fn next(&mut self) -> Result<Option<Found>, BrokenOff> {
        loop {
            let end = self.piece.iter().position(|byte| *byte == b'\n');
            let part = self.piece.split_to(end.unwrap_or(self.piece.len()));
            self.add(&part);
            if end.is_some() {
                self.piece = self.piece.split_off(1);
                if let Some(found) = self.take() {
                    return Ok(Some(found));
                }
                continue;
            }
            match self.body.next().await {
                Some(piece) => self.piece = piece.map_err(|_| BrokenOff)?,
                None if self.line.is_empty() && !self.is_too_long => return Ok(None),
                None => return Ok(self.take()),
            }
        }
    }

    fn add(&mut self, part: &[u8]) {
        self.is_too_long |= self.line.len() + part.len() > MAX_LINE_BYTES;
        if self.is_too_long {
            self.line.clear();
        } else {
            self.line.extend_from_slice(part);
        }
    }

    /// What was added, unless it is an empty line.
    fn take(&mut self) -> Option<Found> {
        self.number += 1;
        let number = self.number;
        if std::mem::take(&mut self.is_too_long) {
            return Some(Found { number, text: None });
        }
        let mut text = std::mem::take(&mut self.line);
        if number == 1 && text.starts_with(BOM) {
            text.drain(..BOM.len());
        }
        (!text.trim_ascii().is_empty()).then_some(Found { number, text: Some(text) })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    async fn read(pieces: Vec<Result<Vec<u8>, std::io::Error>>) -> (Vec<(u64, Option<String>)>, bool) {
        let mut lines = Lines::of(Body::from_stream(stream::iter(pieces)));
        let mut found = Vec::new();
        loop {
            match lines.next().await {
                Ok(Some(Found { number, text })) => {
                    found.push((number, text.map(|it| String::from_utf8_lossy(&it).into_owned())));
                }
                Ok(None) => return (found, true),
                Err(BrokenOff) => return (found, false),
            }
        }
    }

    #[tokio::test]
    async fn lines_are_found_however_the_body_is_cut() {
        let text = "\u{feff}one\r\n\n  \ntwo\nthree";
        let expected = [(1, "one\r"), (4, "two"), (5, "three")].map(|(number, it)| (number, Some(it.to_owned())));
        for size in 1..text.len() {
            let pieces = text.as_bytes().chunks(size).map(|piece| Ok(piece.to_vec())).collect();
            assert_eq!(read(pieces).await, (expected.to_vec(), true), "{size}");
        }
        assert_eq!(read(Vec::new()).await, (Vec::new(), true));
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_dropped_alone() {
        let long = [vec![b'x'; MAX_LINE_BYTES], vec![b'x'; 1], b"\nnext\n".to_vec()];
        let most = [vec![b'x'; MAX_LINE_BYTES], b"\nnext\n".to_vec()];
        let (found, is_whole) = read(long.into_iter().map(Ok).collect()).await;
        assert_eq!((found, is_whole), (vec![(1, None), (2, Some("next".to_owned()))], true));
        let (found, _) = read(most.into_iter().map(Ok).collect()).await;
        assert_eq!(found[0].1.as_ref().map(String::len), Some(MAX_LINE_BYTES));
    }

    #[tokio::test]
    async fn a_line_that_has_broken_off_is_none() {
        let broken = vec![Ok(b"one\ntw".to_vec()), Err(std::io::ErrorKind::UnexpectedEof.into())];
        assert_eq!(read(broken).await, (vec![(1, Some("one".to_owned()))], false));
    }
}
