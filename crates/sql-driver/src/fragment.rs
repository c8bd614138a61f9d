//! A fragment of a statement: its text, and the values of its `?`.

use sea_orm::Value;

/// Text, and a value for each `?` in it.
#[derive(Clone, Debug, Default)]
pub struct Fragment {
    /// SQL.
    pub text: String,
    /// In the order of the text's `?`.
    pub values: Vec<Value>,
}

impl Fragment {
    /// Text with its numbers.
    pub fn new<const N: usize>(text: impl Into<String>, numbers: [i64; N]) -> Self {
        Self::with(text, numbers.map(Value::from))
    }

    /// Appends text with its numbers.
    #[must_use]
    pub fn add<const N: usize>(self, text: &str, numbers: [i64; N]) -> Self {
        self.then(Self::new(text, numbers))
    }

    /// Text with its values.
    pub fn with(text: impl Into<String>, values: impl IntoIterator<Item = Value>) -> Self {
        Self { text: text.into(), values: values.into_iter().collect() }
    }

    /// Appends text with its values.
    #[must_use]
    pub fn add_with(self, text: &str, values: impl IntoIterator<Item = Value>) -> Self {
        self.then(Self::with(text, values))
    }

    /// Appends another fragment.
    #[must_use]
    pub fn then(mut self, other: Self) -> Self {
        self.text.push_str(&other.text);
        self.values.extend(other.values);
        self
    }

    /// The piece as a table in brackets, under a name of its own.
    #[must_use]
    pub fn into_table(self, name: &str) -> Self {
        Self { text: format!("({}) {name}", self.text), values: self.values }
    }

    /// What a keyset window gives.
    pub fn keyset((text, values): (String, Vec<Value>)) -> Self {
        Self { text, values }
    }

    /// The text with its values filled in, for EXPLAIN: numbers, and texts without a question mark.
    pub fn spelled_out(&self) -> String {
        let mut values = self.values.iter();
        let mut text = String::with_capacity(self.text.len());
        for piece in self.text.split_inclusive('?') {
            match (piece.strip_suffix('?'), values.next()) {
                (Some(before), Some(value)) => {
                    text.push_str(before);
                    text.push_str(&value.to_string());
                }
                _ => text.push_str(piece),
            }
        }
        text
    }
}
