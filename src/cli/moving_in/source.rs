//! The files that are loaded. Each is read twice: for its SHA-256, which is the import's name, and for its lines.

use std::{
    fs::File,
    io::{self, Seek as _, Write as _},
    path::Path,
};

use ::import::{
    input::{Input, InputError, Version},
    read::Records,
};
use anyhow::{Context as _, bail};

use super::{target::is_standard, work::Work};
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
    /// Reads the whole file. Fails unless it begins with the header. What is not a file, such as a pipe, is kept in one
    /// without a name.
    pub fn measure(path: &Path, work: &mut Work) -> anyhow::Result<Self> {
        let name = if is_standard(path) { "standard input".to_owned() } else { format!("`{}`", path.display()) };
        let open = opened(path).with_context(|| name.clone())?;
        let input = again(&open).with_context(|| name.clone())?;
        let version = input.version();
        let mut records = Records::open(input, work.latest).with_context(|| name.clone())?;
        work.begin_part();
        let mut line = 0;
        loop {
            line += STEP;
            let goes_on = records.skip_through(line).with_context(|| name.clone())?;
            work.reached("Read", line, records.progress())?;
            if !goes_on {
                break;
            }
        }
        let lines = records.lines();
        let digest = records.finish().with_context(|| name.clone())?;
        let file = ImportFile { digest: digest.sha256, bytes: digest.bytes, lines };
        Ok(Self { name, file, open, version })
    }

    /// The records behind a line.
    pub fn records_after(&self, line: u64, latest: i64) -> anyhow::Result<Records> {
        let input = again(&self.open)?;
        if input.version() != self.version {
            return Err(InputError::Changed.into());
        }
        let mut records = Records::open(input, latest)?;
        if !records.skip_through(line)? {
            bail!(InputError::Changed);
        }
        Ok(records)
    }
}

/// The file, from its beginning.
fn again(open: &File) -> anyhow::Result<Input> {
    let mut file = open.try_clone()?;
    file.rewind()?;
    Ok(Input::of_file(file)?)
}

fn opened(path: &Path) -> anyhow::Result<File> {
    let mut from: Box<dyn io::Read> = if is_standard(path) {
        Box::new(io::stdin())
    } else {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_file() || metadata.is_dir() {
            return Ok(file);
        }
        Box::new(file)
    };
    let folder = tempfile::env::temp_dir();
    let mut kept = tempfile::tempfile().with_context(|| format!("it cannot be kept in `{}`", folder.display()))?;
    io::copy(&mut from, &mut kept).with_context(|| format!("it cannot be kept in `{}`", folder.display()))?;
    kept.flush()?;
    Ok(kept)
}
