//! Where the commands write: files that appear whole or not at all, standard output, and reports.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use tempfile::NamedTempFile;

/// A file that is written, or standard output.
pub struct Target(Option<PathBuf>);

impl Target {
    /// `path`: `-` is standard output. Fails if the file exists.
    pub fn of(path: &Path) -> anyhow::Result<Self> {
        if is_standard(path) {
            return Ok(Self(None));
        }
        if path.try_exists().with_context(|| format!("`{}`", path.display()))? {
            bail!("`{}` exists; remove it, or name another file", path.display());
        }
        Ok(Self(Some(path.to_owned())))
    }

    /// A folder with room for files without names.
    pub fn folder(&self) -> PathBuf {
        let beside = self.0.as_deref().and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
        match (&self.0, beside) {
            (None, _) => tempfile::env::temp_dir(),
            (Some(_), beside) => beside.map_or_else(|| PathBuf::from("."), Path::to_owned),
        }
    }

    /// Writes it: the file has its name when all of it is on the disk.
    pub fn write(self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
        let Some(path) = &self.0 else {
            let mut out = BufWriter::new(io::stdout().lock());
            return write(&mut out).and_then(|()| out.flush()).or_else(ended_pipe).context("standard output");
        };
        let failed = || format!("`{}` cannot be written", path.display());
        let mut file = NamedTempFile::new_in(self.folder()).with_context(failed)?;
        let mut out = BufWriter::new(file.as_file_mut());
        write(&mut out).and_then(|()| out.flush()).with_context(failed)?;
        drop(out);
        file.as_file().sync_all().with_context(failed)?;
        file.persist_noclobber(path).map_err(|error| error.error).with_context(failed)?;
        Ok(())
    }
}

/// Whether `-` was given.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Where a report goes: the file, or standard output, or standard error if something else goes to the output.
pub fn report(path: Option<&Path>, output_is_taken: bool) -> anyhow::Result<Box<dyn Write + Send>> {
    Ok(match path {
        Some(path) => {
            let file = File::create(path).with_context(|| format!("`{}` cannot be written", path.display()))?;
            Box::new(BufWriter::new(file))
        }
        None if output_is_taken => Box::new(io::stderr()),
        None => Box::new(Standard),
    })
}

/// Standard output, whose reader may have had enough.
struct Standard;

impl Write for Standard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stdout().lock().write_all(bytes).or_else(ended_pipe).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().lock().flush().or_else(ended_pipe)
    }
}

fn ended_pipe(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}
