//! Tries docs/protocol.md#a-worked-example on the merge alone: an inbox and two outboxes, page by page.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use super::{
    merge::{Run, merge},
    page::Direction,
    position::{Entry, Position},
};
use crate::ids::{ContentId, UserId};

fn entry(pair: &serde_json::Value) -> Entry {
    let number = |index: usize| pair[index].as_i64().unwrap();
    let author = UserId::try_new(1).unwrap();
    Entry { publish_time: number(1), content: ContentId::try_new(number(0)).unwrap(), author }
}

fn entries(list: &serde_json::Value) -> Vec<Entry> {
    list.as_array().unwrap().iter().map(entry).collect()
}

#[test]
fn the_worked_example_merges_page_for_page() {
    let example: serde_json::Value =
        serde_json::from_str(include_str!("../../../../tests/fixtures/worked-example.json")).unwrap();
    let sources: Vec<Vec<Entry>> =
        [&example["inbox"], &example["outboxes"]["200"], &example["outboxes"]["211"]].map(entries).into();
    let pages = example["pages"].as_array().unwrap();
    assert_eq!(pages.len(), 6);
    for page in pages {
        let after = if page["after"].is_null() { Position::NEWEST } else { entry(&page["after"]).position() };
        let runs: Vec<Run> = sources
            .iter()
            .map(|source| {
                let rows = source.iter().filter(|it| it.position() < after).take(3).copied().collect();
                Run::from_limited_query(Direction::Older, rows, 3)
            })
            .collect();
        let merged = merge(Direction::Older, &runs, 3);
        assert!(merged.complete);
        assert_eq!(merged.entries, entries(&page["entries"]), "after {}", page["after"]);
    }
}
