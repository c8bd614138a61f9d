//! Computes the expected page of a timeline, folded naively, and reports how another page differs from it.

use std::collections::BTreeSet;

use tidefeed::domain::{Direction, Entry, PageRequest, timeline::folding::Folded};

use crate::oracle::{Item, Version};

/// The page that is due of a timeline: the shortest section from the bound on with as many subjects as entries are
/// wanted, and the newest entry of each.
pub fn due(timeline: &[Item], request: &PageRequest) -> Folded {
    let asked = timeline.iter().filter(|it| request.kinds.contains(it.kind));
    let from = request.bound.unwrap_or(request.direction.start());
    let (mut ahead, behind): (Vec<Item>, Vec<Item>) =
        asked.partition(|it| request.direction.meets_first(from, it.entry.position()));
    let newer = request.direction == Direction::Newer;
    if newer {
        ahead.reverse();
    }
    let mut subjects = BTreeSet::new();
    let wanted = request.size.get();
    let mut section = Vec::new();
    for item in &ahead {
        if subjects.len() < wanted {
            subjects.insert(item.subject);
            section.push(*item);
        }
    }
    let (more, before) = (section.len() < ahead.len(), request.bound.is_some() && !behind.is_empty());
    if newer {
        section.reverse();
    }
    let mut shown = BTreeSet::new();
    let newest = section.iter().filter(|it| shown.insert(it.subject));
    Folded {
        entries: newest.map(|it| it.entry).collect(),
        has_older: if newer { before } else { more },
        has_newer: if newer { more } else { before },
        unfolded: section.iter().map(|it| it.entry).collect(),
    }
}

/// What is wrong with a page that is due at none of these instants, in one word; `None` if nothing is.
pub fn fault(page: &Folded, versions: &[Version], request: &PageRequest) -> Option<&'static str> {
    let due: Vec<Folded> = versions.iter().map(|version| due(version, request)).collect();
    if due.contains(page) {
        return None;
    }
    let met = &page.unfolded;
    let ordered = met.windows(2).all(|pair| pair[0].position() > pair[1].position());
    let asked = |it: &Item, entry: &Entry| it.entry == *entry && request.kinds.contains(it.kind);
    let ever = |entry: &Entry| versions.iter().any(|version| version.iter().any(|it| asked(it, entry)));
    let complete = due.iter().any(|due| due.unfolded.iter().all(|entry| met.contains(entry)));
    Some(match () {
        () if !ordered => "a page is out of order, or shows something twice",
        () if !met.iter().all(ever) => "a page shows what is not in the timeline",
        () if due.iter().any(|due| due.entries == page.entries && due.unfolded == *met) => {
            "a page is wrong about where the timeline ends"
        }
        () if due.iter().any(|due| due.unfolded == *met) => "a page is folded in another way",
        () if page.entries.len() < request.size.get() && !complete => "a page lacks a content and is not full",
        () if !complete => "a page lacks a content",
        () => "a page is of no single instant",
    })
}
