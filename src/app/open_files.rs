//! The limit of open files of the process, which includes connections.

/// Raises the soft limit to the hard limit and returns it; `None` if there is no limit or the system has none to ask
/// for.
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

/// This system has no such limit.
#[cfg(not(unix))]
pub fn at_most() -> Option<usize> {
    None
}
