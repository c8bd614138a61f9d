//! The process's limit of open files, connections included.

/// As many files as the process may have open, after it has asked for as many as it may ask for; `None` if there is no
/// bound, or nobody to ask.
#[cfg(unix)]
pub fn at_most() -> Option<usize> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // Some systems name more than they give; then it stays as it is.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
    getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok())
}

/// Nobody to ask.
#[cfg(not(unix))]
pub fn at_most() -> Option<usize> {
    None
}
