//! Sorts byte strings in bounded memory: runs that fit into memory go sorted into unnamed files, which are merged.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::File,
    io::{self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

/// Runs that are merged at once. At most this many files are open for each level of merged runs.
const MERGED_AT_ONCE: usize = 32;
/// Bytes that are buffered of each run while it is merged.
const PIECE: usize = 64 * 1_024;

/// Takes entries in any order and hands them on in the order of their bytes.
pub struct Runs {
    folder: PathBuf,
    run_bytes: usize,
    text: Vec<u8>,
    /// Where each entry of `text` begins.
    begins: Vec<usize>,
    /// Runs by how often they were merged.
    levels: Vec<Vec<File>>,
}

impl Runs {
    /// Puts what does not fit into `run_bytes` of memory into `folder`, in files without names. `entry_bytes`: a run of
    /// shorter entries is full early.
    pub fn new(folder: PathBuf, run_bytes: usize, entry_bytes: usize) -> Self {
        // At once, because a buffer that doubles is there twice while it moves.
        let (text, begins) = (Vec::with_capacity(run_bytes), Vec::with_capacity(run_bytes / entry_bytes + 1));
        Self { folder, run_bytes, text, begins, levels: Vec::new() }
    }

    /// Takes an entry, which is given in parts.
    pub fn push(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        if self.text.len() + bytes > self.run_bytes || self.begins.len() == self.begins.capacity() {
            self.spill()?;
        }
        self.begins.push(self.text.len());
        for part in parts {
            self.text.extend_from_slice(part);
        }
        Ok(())
    }

    /// Hands on all entries.
    pub fn each(mut self, take: &mut impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if self.levels.is_empty() {
            return self.each_in_memory(take);
        }
        self.spill()?;
        self.text = Vec::new();
        merge(self.levels.into_iter().flatten().collect(), take)
    }

    /// Hands on the run in memory, and empties it.
    fn each_in_memory(&mut self, take: &mut impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let ends = self.begins.iter().skip(1).copied().chain([self.text.len()]);
        let text = &self.text;
        let mut entries: Vec<&[u8]> = self.begins.iter().zip(ends).map(|(begin, end)| &text[*begin..end]).collect();
        entries.sort_unstable();
        for entry in entries {
            take(entry)?;
        }
        self.text.clear();
        self.begins.clear();
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.begins.is_empty() {
            return Ok(());
        }
        let mut run = Run::new(&self.folder)?;
        self.each_in_memory(&mut |entry| run.write(entry))?;
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
            merge(std::mem::take(&mut self.levels[level]), &mut |entry| merged.write(entry))?;
            run = merged.end()?;
        }
        Ok(())
    }
}

/// Hands on the entries of sorted runs in their order.
fn merge(runs: Vec<File>, take: &mut impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut runs: Vec<_> = runs.into_iter().map(|file| BufReader::with_capacity(PIECE, file)).collect();
    let mut next = BinaryHeap::with_capacity(runs.len());
    for (index, run) in runs.iter_mut().enumerate() {
        next.extend(read_entry(run, Vec::new())?.map(|entry| Reverse((entry, index))));
    }
    while let Some(Reverse((entry, index))) = next.pop() {
        take(&entry)?;
        next.extend(read_entry(&mut runs[index], entry)?.map(|entry| Reverse((entry, index))));
    }
    Ok(())
}

/// A file of entries, each behind its length, while it is written.
struct Run(BufWriter<File>);

impl Run {
    fn new(folder: &Path) -> io::Result<Self> {
        Ok(Self(BufWriter::with_capacity(PIECE, tempfile::tempfile_in(folder)?)))
    }

    fn write(&mut self, entry: &[u8]) -> io::Result<()> {
        let bytes = u64::try_from(entry.len()).map_err(io::Error::other)?;
        self.0.write_all(&bytes.to_be_bytes())?;
        self.0.write_all(entry)
    }

    fn end(self) -> io::Result<File> {
        let mut file = self.0.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(file)
    }
}

/// Reads the next entry of a run into `entry`; `None` at the run's end.
fn read_entry(run: &mut BufReader<File>, mut entry: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    if run.fill_buf()?.is_empty() {
        return Ok(None);
    }
    let mut bytes = [0; 8];
    run.read_exact(&mut bytes)?;
    entry.resize(usize::try_from(u64::from_be_bytes(bytes)).map_err(io::Error::other)?, 0);
    run.read_exact(&mut entry)?;
    Ok(Some(entry))
}
