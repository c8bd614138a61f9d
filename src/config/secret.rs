//! A text that is never printed.

use std::fmt;

/// A secret; `Debug` and `Display` hide it.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// Takes the text as it is.
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself. Never show it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether it is empty.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "(none)" } else { "(hidden)" })
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        let secret = Secret::new("abcdef".to_owned());
        assert_eq!(format!("{secret} {secret:?}"), "(hidden) Secret(hidden)");
    }
}
