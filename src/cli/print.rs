//! Writes a command's standard output. Log lines go to standard error. A closed pipe is not a failure.

use std::io::{self, ErrorKind, Write};

/// Writes `text` and ends the line.
pub fn line(text: impl AsRef<str>) -> io::Result<()> {
    all(&format!("{}\n", text.as_ref()))
}

/// Writes `text` unchanged.
pub fn all(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// Writes a line to standard error and ignores failures.
pub fn complaint(text: impl AsRef<str>) {
    let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
}
