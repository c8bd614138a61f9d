//! The file of an export (docs/export.md): members in a fixed order, lists written page by page.

use std::sync::Arc;

use futures_util::{Stream, stream};

use super::rows::{ContentRow, Head, PersonRow, ReactedRow, SessionRow};
use crate::{
    accounts::export::{Export, ExportError, ExportList, Owner, PageStart, Rows},
    store::StoreError,
};

/// The progress of a file.
enum Stage {
    Head(String),
    List(Open),
    Whole,
}

/// The list that is being written.
#[derive(Clone, Copy)]
struct Open {
    /// Its index among all lists.
    nth: usize,
    /// Where its next page begins.
    after: Option<PageStart>,
    /// Whether the file has a row of it already.
    has_rows: bool,
}

impl Open {
    const fn nth(nth: usize) -> Self {
        Self { nth, after: None, has_rows: false }
    }
}

/// A file that is being written.
pub struct File {
    export: Export,
    stage: Stage,
    base_url: Arc<str>,
}

impl File {
    /// Begins with the owner's own data. Links to the service itself begin with `base_url`.
    pub fn of(export: Export, owner: &Owner, base_url: Arc<str>) -> Result<Self, ExportError> {
        let head = Head::of(owner, export.opened_at_ms, &base_url);
        let mut text = serde_json::to_string(&head).map_err(|error| unreadable(&error))?;
        // The head stays open, because the lists are further members.
        text.pop();
        Ok(Self { export, stage: Stage::Head(text), base_url })
    }

    /// The pieces of the file, up to its end. Each page is read only when it is needed.
    pub fn pieces(self) -> impl Stream<Item = Result<String, ExportError>> {
        stream::try_unfold(self, async |mut file| Ok(file.next().await?.map(|piece| (piece, file))))
    }

    /// The next piece; `None` at the end. Only one page is in memory at a time.
    async fn next(&mut self) -> Result<Option<String>, ExportError> {
        match &mut self.stage {
            Stage::Head(text) => {
                let text = std::mem::take(text);
                self.stage = Stage::List(Open::nth(0));
                Ok(Some(text))
            }
            Stage::List(open) => {
                let open = *open;
                let Some(list) = ExportList::ALL.get(open.nth).copied() else {
                    // If the owner has signed out since the last page, the file breaks off.
                    self.export.check_alive().await?;
                    self.stage = Stage::Whole;
                    return Ok(Some(",\n\"complete\":true}\n".to_owned()));
                };
                let (rows, next) = self.export.page(list, open.after).await?;
                let rows = lines(&rows, &self.base_url).map_err(|error| unreadable(&error))?;
                let text = piece(list, &rows, open, next.is_none());
                self.stage = Stage::List(match next {
                    Some(_) => Open { after: next, has_rows: open.has_rows || !rows.is_empty(), ..open },
                    None => Open::nth(open.nth + 1),
                });
                Ok(Some(text))
            }
            Stage::Whole => Ok(None),
        }
    }
}

fn unreadable(error: &serde_json::Error) -> ExportError {
    StoreError::Unreadable(error.to_string()).into()
}

/// A page as text, with the list's name before its first row and its end behind the last.
fn piece(list: ExportList, rows: &[String], open: Open, is_last: bool) -> String {
    let mut text = if open.after.is_none() { format!(",\n\"{}\":[", name(list)) } else { String::new() };
    for (nth, row) in rows.iter().enumerate() {
        text.push_str(if open.has_rows || nth > 0 { ",\n" } else { "\n" });
        text.push_str(row);
    }
    if is_last {
        text.push(']');
    }
    text
}

fn lines(rows: &Rows, base_url: &str) -> serde_json::Result<Vec<String>> {
    match rows {
        Rows::Sessions(sessions) => sessions.iter().map(|it| serde_json::to_string(&SessionRow::of(it))).collect(),
        Rows::Contents(contents) => {
            let row = |(it, counters): &(_, _)| serde_json::to_string(&ContentRow::of(it, *counters, base_url));
            contents.iter().map(row).collect()
        }
        Rows::Reacted(reacted) => reacted.iter().map(|it| serde_json::to_string(&ReactedRow::of(it))).collect(),
        Rows::People(people) => people.iter().map(|it| serde_json::to_string(&PersonRow::of(it))).collect(),
    }
}

/// The lists have the same names as in the API.
const fn name(list: ExportList) -> &'static str {
    match list {
        ExportList::Sessions => "sessions",
        ExportList::Contents => "contents",
        ExportList::Bookmarks => "bookmarks",
        ExportList::Likes => "likes",
        ExportList::Following => "following",
        ExportList::Followers => "followers",
        ExportList::Muted => "mutedUsers",
        ExportList::Blocked => "blockedUsers",
        ExportList::HiddenFrom => "hiddenFollowers",
    }
}
