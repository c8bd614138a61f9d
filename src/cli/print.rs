//! Standard output of commands. Log lines go to standard error; a reader that has gone away is no failure.

use std::io::{self, ErrorKind, Write};

/// Writes `text` and ends the line.
pub fn line(text: impl AsRef<str>) -> io::Result<()> {
    whole(&format!("{}\n", text.as_ref()))
}

/// Writes `text` as it is.
pub fn whole(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// Writes `text` to standard error and ends the line; there is nobody to tell if that fails.
pub fn complaint(text: impl AsRef<str>) {
    let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
}
