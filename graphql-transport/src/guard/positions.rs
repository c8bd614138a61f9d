//! Lines and columns of byte offsets in a document.

use async_graphql::Pos;

/// Finds positions in a text. A position after the last one found takes time linear in the distance.
pub struct Positions<'a> {
    text: &'a str,
    offset: usize,
    at: Pos,
}

impl<'a> Positions<'a> {
    pub fn of(text: &'a str) -> Self {
        Self { text, offset: 0, at: Pos { line: 1, column: 1 } }
    }

    /// Line and column, both from 1, of a byte offset. Columns count characters. Lines end as the language says
    /// (GraphQL, 2.1.2, Line Terminators): with a line feed, a carriage return, or both.
    pub fn at(&mut self, offset: usize) -> Pos {
        if offset < self.offset {
            *self = Self::of(self.text);
        }
        let mut passed = self.text.get(self.offset..offset).unwrap_or_default().chars().peekable();
        while let Some(char) = passed.next() {
            // An offset is that of a token, so none lies between the two.
            if char == '\n' || char == '\r' && passed.peek() != Some(&'\n') {
                self.at = Pos { line: self.at.line + 1, column: 1 };
            } else {
                self.at.column += 1;
            }
        }
        self.offset = offset;
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_and_every_kind_of_line_end() {
        let text = "{ é: a\r\n  b\rc\n\n🦀d }";
        let mut positions = Positions::of(text);
        for (token, line, column) in [("{", 1, 1), ("a", 1, 6), ("b", 2, 3), ("c", 3, 1), ("d", 5, 2), ("a", 1, 6)] {
            let offset = text.find(token).unwrap_or_default();
            assert_eq!(positions.at(offset), Pos { line, column }, "{token}");
        }
    }
}
