//! A fragment of a statement: its text, and the values of its `?`.

use std::fmt::Write as _;

use sea_orm::{Value, sqlx};

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

    /// The text with its values written into it, for a server that is sent several statements at once. Texts and bytes
    /// are hexadecimal, so that nothing in them can end them. Fails unless there is a value for each `?`.
    pub(crate) fn literal(&self) -> Result<String, sqlx::Error> {
        let pieces: Vec<&str> = self.text.split('?').collect();
        if pieces.len() != self.values.len() + 1 {
            return Err(sqlx::Error::Encode(format!("{} values for: {}", self.values.len(), self.text).into()));
        }
        let mut text = String::with_capacity(2 * self.text.len());
        for (place, piece) in pieces.into_iter().enumerate() {
            if let Some(value) = place.checked_sub(1).and_then(|before| self.values.get(before)) {
                text.push_str(&literal(value)?);
            }
            text.push_str(piece);
        }
        Ok(text)
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

fn literal(value: &Value) -> Result<String, sqlx::Error> {
    let hexadecimal = |bytes: &[u8]| {
        bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    };
    Ok(match value {
        Value::Int(Some(number)) => number.to_string(),
        Value::BigInt(Some(number)) => number.to_string(),
        Value::String(Some(text)) => format!("_utf8mb4 x'{}'", hexadecimal(text.as_bytes())),
        Value::Bytes(Some(bytes)) => format!("x'{}'", hexadecimal(bytes)),
        Value::Int(None) | Value::BigInt(None) | Value::String(None) | Value::Bytes(None) => "NULL".to_owned(),
        other => return Err(sqlx::Error::Encode(format!("no statement of several takes {other:?}").into())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_so_that_nothing_in_them_ends_them() {
        let values = [Value::from(-7_i64), "'; DROP".into(), Value::String(None)];
        let text = Fragment::with("SET a = ?, b = ?, c = ?", values).literal();
        assert_eq!(text.ok().as_deref(), Some("SET a = -7, b = _utf8mb4 x'273b2044524f50', c = NULL"));
        assert!(Fragment::new("a = ? AND b = ?", [1]).literal().is_err(), "a value is missing");
        assert!(Fragment::new("a = 1", [1]).literal().is_err(), "a value has no place");
    }
}
