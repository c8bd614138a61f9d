//! Opens the files that are to be loaded.

use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
};

use anyhow::Context as _;

use super::{target::is_standard, work::Work};
use crate::import::{NotKept, Source, Spool};

/// Reads a whole file for its digest. What is not a file, such as a pipe, is kept in one without a name. `None`:
/// interrupted.
pub fn measured(path: &Path, work: &mut Work) -> anyhow::Result<Option<Source>> {
    let name = if is_standard(path) { "standard input".to_owned() } else { format!("`{}`", path.display()) };
    let open = opened(path).with_context(|| name.clone())?;
    work.begin_part();
    let latest = work.latest;
    let reached = |lines, progress| work.reached("Read", lines, progress).is_ok();
    Source::measure(name.clone(), open, latest, reached).context(name)
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
    let mut kept = Spool::new()?;
    io::copy(&mut from, &mut kept).and_then(|_| kept.flush()).map_err(NotKept::because)?;
    Ok(kept.into_file())
}
