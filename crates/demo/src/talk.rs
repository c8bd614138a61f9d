//! Turns some contents of a neighbourhood into replies and reposts of earlier ones, in the order of time, so that
//! threads grow naturally.

use std::collections::{HashMap, HashSet};

use domain::{ContentId, content::Draft};
use rand::{Rng, RngExt};

use crate::{
    calendar::HOUR_MS, lexicon::Language, manners::Manner, numbers::fraction, people::People, seeding::SeedAuthor,
    speech::Cue,
};

const REPLIES_IN_A_HUNDRED: u32 = 24;
const REPOSTS_IN_A_HUNDRED: u32 = 10;
/// Age up to which people reply to contents.
const REACH_MS: i64 = 30 * HOUR_MS;
/// How many of those contents they consider.
const GLANCES: usize = 24;
/// How far up a thread they remember what was said.
const MEMORY: usize = 24;

/// Somebody of a neighbourhood.
#[derive(Debug, Clone)]
pub struct Neighbour {
    pub author: SeedAuthor,
    /// The language in which they write and reply.
    pub language: Language,
    /// Their expected number of followers.
    pub fame: f64,
}

/// A content that others can reply to.
#[derive(Debug)]
struct TalkEntry {
    content: ContentId,
    /// Its author's place among the neighbours.
    by: usize,
    /// Its place among the author's contents.
    nth: usize,
    at: i64,
    /// The entry that it replies to.
    above: Option<usize>,
    /// The entries that reply to it.
    answers: Vec<usize>,
}

/// Turns some contents of the neighbours into replies and reposts.
pub fn talk(people: &mut [Neighbour], words: &People, rng: &mut impl Rng) {
    let mut order: Vec<(i64, ContentId, usize, usize)> = Vec::new();
    for (by, neighbour) in people.iter().enumerate() {
        let contents = neighbour.author.contents.iter().enumerate();
        order.extend(contents.map(|(nth, content)| (content.publish_time, content.id, by, nth)));
    }
    order.sort_unstable();
    let mut talk = Talk::default();
    for (at, content, by, nth) in order {
        let drawn = rng.random_range(0..100);
        let (draft, above) = match drawn {
            0..REPLIES_IN_A_HUNDRED => talk.reply(people, words, (by, at), rng).unzip(),
            REPLIES_IN_A_HUNDRED.. if drawn < REPLIES_IN_A_HUNDRED + REPOSTS_IN_A_HUNDRED => {
                (talk.repost(people, (by, at), rng), None)
            }
            _ => (None, None),
        };
        let is_repost = draft.as_ref().is_some_and(|draft| draft.reference.repost_of().is_some());
        if let Some(draft) = draft {
            people[by].author.contents[nth].draft = draft;
        }
        if !is_repost {
            talk.entries.push(TalkEntry { content, by, nth, at, above, answers: Vec::new() });
        }
    }
}

/// The talk so far.
#[derive(Debug, Default)]
struct Talk {
    /// Oldest first.
    entries: Vec<TalkEntry>,
    /// For each neighbour, the latest reply to them, until they reply to it.
    unanswered: HashMap<usize, usize>,
    /// Pairs of a neighbour and a content that they have reposted.
    reposted: HashSet<(usize, ContentId)>,
}

impl Talk {
    /// A reply by the neighbour, and the entry that it answers. Every other one goes to somebody who has replied to
    /// them.
    fn reply(
        &mut self,
        people: &[Neighbour],
        words: &People,
        (by, at): (usize, i64),
        rng: &mut impl Rng,
    ) -> Option<(Draft, usize)> {
        let back = rng.random_bool(0.5).then(|| self.unanswered.remove(&by)).flatten();
        let to = back.or_else(|| self.glance(people, (by, at), rng))?;
        let (neighbour, answered) = (&people[by], self.draft(people, to));
        let lexicon = words.lexicon(neighbour.language);
        let cue = Cue::of(&answered.text, &answered.media, lexicon);
        let text = cue.answer(lexicon, Manner::of(neighbour.author.id), &self.said(people, to), rng);
        let draft = Draft::try_new(&text, Vec::new(), None).ok()?;
        let reply = self.entries.len();
        let entry = &mut self.entries[to];
        entry.answers.push(reply);
        self.unanswered.insert(entry.by, reply);
        Some((draft.replying_to(entry.content), to))
    }

    /// What was said in reply to the entry and above it, newest first.
    fn said<'a>(&self, people: &'a [Neighbour], to: usize) -> Vec<&'a str> {
        let above = std::iter::successors(Some(to), |nth| self.entries[*nth].above).take(MEMORY);
        let replies = self.entries[to].answers.iter().rev().copied();
        replies.chain(above).map(|nth| self.draft(people, nth).text.as_str()).collect()
    }

    fn draft<'a>(&self, people: &'a [Neighbour], nth: usize) -> &'a Draft {
        let entry = &self.entries[nth];
        &people[entry.by].author.contents[entry.nth].draft
    }

    fn repost(&mut self, people: &[Neighbour], (by, at): (usize, i64), rng: &mut impl Rng) -> Option<Draft> {
        let original = self.entries[self.glance(people, (by, at), rng)?].content;
        self.reposted.insert((by, original)).then(|| Draft::repost(original))
    }

    /// The most noted of a few recent contents, in the reader's language and by somebody else.
    fn glance(&self, people: &[Neighbour], (by, at): (usize, i64), rng: &mut impl Rng) -> Option<usize> {
        let from = self.entries.partition_point(|entry| entry.at < at - REACH_MS);
        let glances = (0..GLANCES).filter_map(|_| {
            let seen = from..self.entries.len();
            (!seen.is_empty()).then(|| rng.random_range(seen))
        });
        let noted = |nth: &usize| {
            let entry = &self.entries[*nth];
            people[entry.by].fame * fraction(entry.answers.len() as u64 + 1)
        };
        let meant =
            |nth: &usize| self.entries[*nth].by != by && people[self.entries[*nth].by].language == people[by].language;
        glances.filter(meant).max_by(|a, b| noted(a).total_cmp(&noted(b)))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use domain::Reference;

    use super::*;
    use crate::{
        seeding::{SeedContent, tally},
        world::{World, tests::world},
    };

    fn contents(world: &World) -> Vec<(usize, SeedContent)> {
        let people = world.neighbourhood(0..world.users()).unwrap();
        people.into_iter().enumerate().flat_map(|(by, it)| it.contents.into_iter().map(move |it| (by, it))).collect()
    }

    #[test]
    fn replies_answer_earlier_contents_of_other_authors() {
        let all = contents(&world(1, 300));
        let of: HashMap<ContentId, (usize, &SeedContent)> = all.iter().map(|(by, it)| (it.id, (*by, it))).collect();
        let mut reposts = HashSet::new();
        for (by, content) in &all {
            let Some(other) = content.draft.reference.content() else { continue };
            let (author, answered) = of[&other];
            assert!(author != *by && answered.publish_time <= content.publish_time);
            assert!(content.publish_time - answered.publish_time < 22 * 24 * HOUR_MS);
            assert!(answered.draft.reference.repost_of().is_none(), "a repost has no answers");
            if let Reference::RepostOf(original) = content.draft.reference {
                assert!(reposts.insert((*by, original)), "reposted twice");
                assert!(content.draft.text.is_empty() && content.draft.media.is_empty());
            }
        }
    }

    #[test]
    fn a_small_world_has_replies_threads_and_reposts() {
        let all = contents(&world(1, 200));
        let kinds = |of: fn(Reference) -> bool| all.iter().filter(|(_, it)| of(it.draft.reference)).count();
        let (replies, reposts) = (kinds(|it| it.reply_to().is_some()), kinds(|it| it.repost_of().is_some()));
        assert!((all.len() / 6..all.len() / 3).contains(&replies), "{replies} replies of {}", all.len());
        assert!((all.len() / 20..all.len() / 8).contains(&reposts), "{reposts} reposts of {}", all.len());
        let above: HashMap<_, _> = all.iter().map(|(_, it)| (it.id, it.draft.reference.reply_to())).collect();
        let depth = |it: &SeedContent| std::iter::successors(above[&it.id], |above_it| above[above_it]).count();
        assert!(all.iter().any(|(_, it)| depth(it) >= 4), "no thread goes deep");
    }

    #[test]
    fn nobody_repeats_themselves_within_a_seeded_thread() {
        let all = contents(&world(1, 300));
        let of: HashMap<ContentId, (usize, &SeedContent)> = all.iter().map(|(by, it)| (it.id, (*by, it))).collect();
        let above = |it: &&SeedContent| Some(of[&it.draft.reference.reply_to()?].1);
        for (by, reply) in all.iter().filter(|(_, it)| it.draft.reference.reply_to().is_some()) {
            let thread = std::iter::successors(above(&reply), above).filter(|it| of[&it.id].0 == *by);
            let said: Vec<_> = thread.map(|it| &it.draft.text).collect();
            assert!(!said.contains(&&reply.draft.text), "{} again, after {said:?}", reply.draft.text);
        }
    }

    #[test]
    fn replies_are_skewed_towards_few_contents() {
        let world = world(1, 200);
        let people = world.neighbourhood(0..200).unwrap();
        let tally = tally(&people).unwrap();
        let mut replies: Vec<i64> = tally.values().map(|(_, counters)| counters.replies).collect();
        replies.sort_unstable();
        assert!(replies[replies.len() / 2] == 0 && replies[replies.len() - 1] >= 4, "{:?}", replies.last());
        assert!(tally.values().any(|(_, counters)| counters.likes > 5 && counters.bookmarks > 1));
    }
}
