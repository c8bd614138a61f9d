//! Formats an error with its causes in one line for operators.

use std::error::Error;

/// The messages of the error and its causes, separated by colons. Skips a cause that only repeats the message before
/// it.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.ends_with(&words) {
            text = format!("{text}: {words}");
        }
        cause = error.source();
    }
    text
}
