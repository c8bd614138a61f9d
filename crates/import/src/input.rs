//! A file while it is read: unpacked if it is gzip, counted, hashed, and checked to be the same at its end.

use std::{
    fmt::Write as _,
    fs::{File, Metadata},
    io::{self, BufRead, BufReader, Chain, Cursor, Read},
    path::Path,
    time::SystemTime,
};

use flate2::bufread::MultiGzDecoder;
use sha2::{Digest as _, Sha256};

/// Bytes that are read at a time.
const PIECE: usize = 64 * 1_024;
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// An open file, or a stream.
pub struct Input {
    text: Text,
    file: Option<(File, Version)>,
}

/// A file that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// The SHA-256 of the file as it lies there, packed if it is: 64 digits in lower case.
    pub sha256: String,
    /// Its length.
    pub bytes: u64,
}

/// Why a file cannot be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The system says so.
    #[error("the file cannot be read")]
    Unreadable(#[source] io::Error),
    /// It is gzip, and ends too early or was damaged.
    #[error("the file is packed with gzip, and cut off or damaged")]
    Damaged(#[source] io::Error),
    /// It is not what it was when it was opened.
    #[error("the file has changed while it was read: write it to its end first, then read it again")]
    Changed,
}

/// What tells that a file has been written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Version {
    fn of(metadata: &Metadata) -> Self {
        Self { bytes: metadata.len(), modified: metadata.modified().ok() }
    }
}

type Raw = Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>;

enum Text {
    Plain(BufReader<Counted>),
    Gzip(Box<BufReader<MultiGzDecoder<BufReader<Counted>>>>),
}

impl Input {
    /// Opens a file. One that is not regular, such as a pipe, cannot be checked for changes.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        Self::of_file(File::open(path).map_err(InputError::Unreadable)?)
    }

    /// As [`Input::open`], from where the file stands.
    pub fn of_file(file: File) -> Result<Self, InputError> {
        let opened = || -> io::Result<_> {
            let metadata = file.metadata()?;
            if metadata.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            Ok((file.try_clone()?, metadata))
        };
        let (raw, metadata) = opened().map_err(InputError::Unreadable)?;
        let version = metadata.is_file().then(|| (file, Version::of(&metadata)));
        Ok(Self { file: version, ..Self::of(raw)? })
    }

    /// The file as it was when it was opened; `None` if that cannot be told.
    pub fn version(&self) -> Option<Version> {
        self.file.as_ref().map(|(_, version)| *version)
    }

    /// Fails if the file is not as it was when it was opened.
    pub fn expect_unchanged(&self) -> Result<(), InputError> {
        let Some((file, version)) = &self.file else { return Ok(()) };
        let metadata = file.metadata().map_err(InputError::Unreadable)?;
        if Version::of(&metadata) == *version { Ok(()) } else { Err(InputError::Changed) }
    }

    /// A stream, such as standard input. Waits for its first bytes.
    pub fn of(stream: impl Read + Send + 'static) -> Result<Self, InputError> {
        let mut stream: Box<dyn Read + Send> = Box::new(stream);
        let mut first = Vec::with_capacity(GZIP.len());
        let sign = u64::try_from(GZIP.len()).unwrap_or_default();
        Read::by_ref(&mut stream).take(sign).read_to_end(&mut first).map_err(InputError::Unreadable)?;
        let is_gzip = first == GZIP;
        let raw = Cursor::new(first).chain(stream);
        let counted = BufReader::with_capacity(PIECE, Counted { raw, sha256: Sha256::new(), bytes: 0 });
        let text = if is_gzip {
            Text::Gzip(Box::new(BufReader::with_capacity(PIECE, MultiGzDecoder::new(counted))))
        } else {
            Text::Plain(counted)
        };
        Ok(Self { text, file: None })
    }

    /// Bytes of the file that were read, and its length if that is known. Both are of what lies there, packed or not.
    pub fn progress(&self) -> (u64, Option<u64>) {
        (self.counted().bytes, self.file.as_ref().map(|(_, version)| version.bytes))
    }

    /// An error of reading this.
    pub fn fault(&self, error: io::Error) -> InputError {
        let is_damaged = matches!(self.text, Text::Gzip(_))
            && matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
            );
        if is_damaged { InputError::Damaged(error) } else { InputError::Unreadable(error) }
    }

    /// Reads what is left, and checks that the file is still the one that was opened.
    pub fn finish(mut self) -> Result<Digest, InputError> {
        if let Err(error) = io::copy(&mut self, &mut io::sink()) {
            return Err(self.fault(error));
        }
        self.expect_unchanged()?;
        let counted = self.counted();
        if self.version().is_some_and(|version| version.bytes != counted.bytes) {
            return Err(InputError::Changed);
        }
        let sha256 = hex(&counted.sha256.clone().finalize());
        Ok(Digest { sha256, bytes: counted.bytes })
    }

    fn counted(&self) -> &Counted {
        match &self.text {
            Text::Plain(text) => text.get_ref(),
            Text::Gzip(text) => text.get_ref().get_ref().get_ref(),
        }
    }
}

impl Read for Input {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match &mut self.text {
            Text::Plain(text) => text.read(to),
            Text::Gzip(text) => text.read(to),
        }
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match &mut self.text {
            Text::Plain(text) => text.fill_buf(),
            Text::Gzip(text) => text.fill_buf(),
        }
    }

    fn consume(&mut self, amount: usize) {
        match &mut self.text {
            Text::Plain(text) => text.consume(amount),
            Text::Gzip(text) => text.consume(amount),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // A string takes everything.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Counts and hashes what is read.
struct Counted {
    raw: Raw,
    sha256: Sha256,
    bytes: u64,
}

impl Read for Counted {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.raw.read(to)?;
        self.sha256.update(&to[..read]);
        self.bytes += u64::try_from(read).unwrap_or_default();
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn packed(text: &str) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(text.as_bytes()).unwrap();
        gzip.finish().unwrap()
    }

    fn read(bytes: Vec<u8>) -> (Result<String, InputError>, Result<Digest, InputError>) {
        let mut input = Input::of(Cursor::new(bytes)).unwrap();
        let mut text = String::new();
        let read = input.read_to_string(&mut text).map(|_| text).map_err(|error| input.fault(error));
        (read, input.finish())
    }

    #[test]
    fn gzip_is_unpacked_member_by_member_and_hashed_as_it_lies() {
        let bytes = [packed("one\n"), packed("two\n")].concat();
        let (text, digest) = read(bytes.clone());
        assert_eq!(text.unwrap(), "one\ntwo\n");
        let digest = digest.unwrap();
        assert_eq!(digest.bytes, u64::try_from(bytes.len()).unwrap());
        assert_eq!(digest.sha256, read([bytes, Vec::new()].concat()).1.unwrap().sha256);
        let (text, digest) = read(b"abc".to_vec());
        assert_eq!(text.unwrap(), "abc");
        assert_eq!(digest.unwrap().sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn gzip_that_is_cut_off_or_damaged_is_an_error() {
        let mut bytes = packed(&"some text\n".repeat(1_000));
        let cut = bytes[..bytes.len() - 9].to_vec();
        assert!(matches!(read(cut).0, Err(InputError::Damaged(_))));
        bytes[30] ^= 0xff;
        assert!(matches!(read(bytes).0, Err(InputError::Damaged(_))));
        assert!(read(vec![0x1f]).0.is_ok(), "no gzip yet");
    }

    #[test]
    fn the_rest_is_hashed_although_nobody_reads_it() {
        let input = Input::of(Cursor::new(b"abc".to_vec())).unwrap();
        assert_eq!(input.finish().unwrap().bytes, 3);
    }
}
