//! A file that is to be loaded: read once for its digest, then again for its lines.

use std::{
    fs::File,
    io::{self, Seek as _, Write},
    path::PathBuf,
};

use ::import::{
    input::{Input, InputError, Version},
    read::{ReadError, Records},
};

use crate::store::imports::ImportFile;

/// Lines between two looks at what else there is to do.
const STEP: u64 = 4_096;

/// A file whose bytes are known. It is held open, so that nobody puts another one in its place.
pub struct Source {
    /// What it is called, in messages and in the report.
    pub name: String,
    /// Its digest, its length and its lines.
    pub file: ImportFile,
    open: File,
    version: Option<Version>,
}

impl Source {
    /// Reads the whole file. Fails unless it begins with the header. `goes_on` is asked now and then, with the lines
    /// and the bytes that are read, and all bytes; `None`: it said no.
    pub fn measure(
        name: String,
        open: File,
        latest: i64,
        mut goes_on: impl FnMut(u64, (u64, Option<u64>)) -> bool,
    ) -> Result<Option<Self>, ReadError> {
        let input = again(&open)?;
        let version = input.version();
        let mut records = Records::open(input, latest)?;
        let mut line = 0;
        loop {
            line += STEP;
            let has_more = records.skip_through(line)?;
            if !goes_on(line, records.progress()) {
                return Ok(None);
            }
            if !has_more {
                break;
            }
        }
        let lines = records.lines();
        let digest = records.finish()?;
        let file = ImportFile { digest: digest.sha256, bytes: digest.bytes, lines };
        Ok(Some(Self { name, file, open, version }))
    }

    /// The records behind a line.
    pub fn records_after(&self, line: u64, latest: i64) -> Result<Records, ReadError> {
        let input = again(&self.open)?;
        if input.version() != self.version {
            return Err(InputError::Changed.into());
        }
        let mut records = Records::open(input, latest)?;
        if !records.skip_through(line)? {
            return Err(InputError::Changed.into());
        }
        Ok(records)
    }
}

/// The file, from its beginning.
fn again(open: &File) -> Result<Input, InputError> {
    let rewound = || -> io::Result<File> {
        let mut file = open.try_clone()?;
        file.rewind()?;
        Ok(file)
    };
    Input::of_file(rewound().map_err(InputError::Unreadable)?)
}

/// Keeps what can be read once only in a file without a name, among the temporary files.
pub struct Spool(File);

/// What comes cannot be kept.
#[derive(Debug, thiserror::Error)]
#[error("it cannot be kept in `{}`", folder.display())]
pub struct NotKept {
    folder: PathBuf,
    #[source]
    cause: io::Error,
}

impl NotKept {
    /// Because of an error of reading or of writing.
    pub fn because(cause: io::Error) -> Self {
        Self { folder: tempfile::env::temp_dir(), cause }
    }
}

impl Spool {
    /// An empty one.
    pub fn new() -> Result<Self, NotKept> {
        tempfile::tempfile().map(Self).map_err(NotKept::because)
    }

    /// The file.
    pub fn into_file(self) -> File {
        self.0
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
