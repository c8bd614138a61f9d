//! An error with everything that led to it, in one line for operators.

use std::error::Error;

/// The error's words and those of its causes, separated by colons; a cause that only repeats what was said is left out.
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
