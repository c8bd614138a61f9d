//! A text that is never shown.

use std::fmt;

/// A secret; `Debug` and `Display` hide it.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// Takes the text as it is.
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// The text: for use, never for showing.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is none.
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
