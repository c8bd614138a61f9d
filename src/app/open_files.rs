//! The process's limit on open files, which bounds its connections.

/// Raises the soft limit to the hard limit and returns it; `None` without a limit.
#[cfg(unix)]
pub fn at_most() -> Option<usize> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // Some systems report more than they grant; then the limit stays.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
    getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok())
}

/// This system has no such limit.
#[cfg(not(unix))]
pub fn at_most() -> Option<usize> {
    None
}
