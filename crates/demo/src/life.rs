//! What the people of a seeded store do while a node runs, one act at a time. An act is decided by what the store holds
//! now, so that nothing has to be remembered over a restart.

use std::{collections::HashSet, time::Duration};

use domain::{Content, ContentId, UserId, content::Draft};
use rand::{RngExt, SeedableRng, rngs::StdRng, seq::IndexedRandom};

use crate::{album::Album, cast::Cast, lexicon::Language, manners::Manner, speech::Cue};

/// Milliseconds between two acts.
const PACE_MS: std::ops::Range<u64> = 5_000..20_000;
/// How many acts in a row are left out, about, while nobody looks.
const UNWATCHED: u32 = 60;
/// Whose contents are looked at before an act.
const GLANCES: usize = 40;
/// A reply is not written faster than that, ms.
const READING_MS: i64 = 3_000;

/// What the store holds, as far as the next act depends on it.
#[derive(Debug, Default)]
pub struct Scene {
    /// Milliseconds UTC.
    pub now_ms: i64,
    /// People who have signed in. Nobody acts for them.
    pub visitors: HashSet<UserId>,
    /// Posts and replies that visitors have published lately, newest first.
    pub remarks: Vec<Remark>,
    /// New followers whom the followed person does not follow: (visitor, person).
    pub followed: Vec<(UserId, UserId)>,
    /// Whom visitors follow.
    pub known: Vec<UserId>,
    /// Posts and replies of those whom [`Life::glance`] named.
    pub seen: Vec<Content>,
    /// Whether somebody is here to see it.
    pub is_watched: bool,
    /// Whether the store has as many contents as it may get: then people answer visitors and nothing else.
    pub is_full: bool,
}

/// Something that a visitor has published.
#[derive(Debug)]
pub struct Remark {
    /// It.
    pub content: Content,
    /// Who published what it replies to.
    pub to: Option<UserId>,
    /// Who has replied.
    pub answered_by: HashSet<UserId>,
}

/// What somebody does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Publishes a post or a repost.
    Publish(UserId, Draft),
    /// Replies to a content, in the words of [`Life::reply`].
    Answer(UserId, Box<Content>),
    /// Likes a content.
    Like(UserId, ContentId),
    /// Follows a user.
    Follow(UserId, UserId),
}

/// The people, and what chance holds for them.
#[derive(Debug)]
pub struct Life {
    cast: Cast,
    album: Album,
    rng: StdRng,
}

impl Life {
    /// The same seed and the same scenes give the same acts.
    pub fn new(cast: Cast, album: Album, seed: u64) -> Self {
        Self { cast, album, rng: StdRng::seed_from_u64(seed) }
    }

    /// Who they are.
    pub const fn cast(&self) -> &Cast {
        &self.cast
    }

    /// How long until the next act: 5 to 20 s.
    pub fn pause(&mut self) -> Duration {
        Duration::from_millis(self.rng.random_range(PACE_MS))
    }

    /// Whose contents the next scene shows.
    pub fn glance(&mut self) -> Vec<UserId> {
        let nobody = HashSet::new();
        let seen: HashSet<_> = (0..GLANCES).filter_map(|_| self.cast.anybody(&nobody, &mut self.rng)).collect();
        let mut seen: Vec<_> = seen.into_iter().collect();
        seen.sort_unstable();
        seen
    }

    /// The next act: visitors are answered first, then new followers are followed back. While nobody looks, there is
    /// one about every quarter of an hour.
    pub fn act(&mut self, scene: &Scene) -> Option<Act> {
        if !scene.is_watched && self.rng.random_range(0..UNWATCHED) > 0 {
            return None;
        }
        let is_waiting = |remark: &&Remark| {
            remark.answered_by.is_empty() && scene.now_ms - remark.content.publish_time >= READING_MS
        };
        // Not always: whom the visitor has blocked cannot answer, and nobody else would do anything meanwhile.
        if let Some(remark) = scene.remarks.iter().find(is_waiting).filter(|_| self.rng.random_bool(0.85)) {
            return self.answer(remark, scene);
        }
        match self.rng.random_range(0..100) {
            0..60 if !scene.followed.is_empty() => {
                scene.followed.choose(&mut self.rng).map(|(visitor, person)| Act::Follow(*person, *visitor))
            }
            0..15 if !scene.remarks.is_empty() => self.react(scene),
            _ if scene.is_full => None,
            0..50 => self.post(scene),
            50..72 => self.join_in(scene, |by, content| Act::Answer(by, Box::new(content.clone()))),
            72..79 => self.join_in(scene, |by, content| Act::Publish(by, Draft::repost(content.id))),
            _ => self.join_in(scene, |by, content| Act::Like(by, content.id)),
        }
    }

    /// What the person replies to a content, in its language: about what it is about, in the person's manner, and if
    /// possible nothing of what was `said` (newest first).
    pub fn reply(&mut self, by: UserId, content: &Content, said: &[&str]) -> Option<Draft> {
        let lexicon = self.cast.people().lexicon(self.language(content));
        let cue = Cue::of(&content.text, &content.media, lexicon);
        let text = cue.answer(lexicon, Manner::of(by), said, &mut self.rng);
        Some(Draft::try_new(&text, Vec::new(), None).ok()?.replying_to(content.id))
    }

    /// The language of a content; if it does not say, its author's.
    fn language(&self, content: &Content) -> Language {
        self.cast.people().language_of(&content.text).unwrap_or_else(|| self.cast.language(content.author))
    }

    /// Whom the visitor replied to or mentioned answers, or else somebody who speaks the language.
    fn answer(&mut self, remark: &Remark, scene: &Scene) -> Option<Act> {
        let text = &remark.content.text;
        let is_free = |person: &UserId| self.cast.has(*person) && !scene.visitors.contains(person);
        let asked = remark.to.filter(is_free).or_else(|| self.cast.mentioned(text).filter(is_free));
        let busy: HashSet<_> = scene.visitors.union(&remark.answered_by).copied().collect();
        let language = self.language(&remark.content);
        let by = asked.or_else(|| self.cast.speaker(language, &busy, &mut self.rng))?;
        Some(Act::Answer(by, Box::new(remark.content.clone())))
    }

    /// Likes what a visitor has published, or answers it, too.
    fn react(&mut self, scene: &Scene) -> Option<Act> {
        let remark = scene.remarks.choose(&mut self.rng)?;
        if remark.to.is_none() && remark.answered_by.len() == 1 && self.rng.random_bool(0.5) {
            return self.answer(remark, scene);
        }
        let by = self.cast.speaker(self.language(&remark.content), &scene.visitors, &mut self.rng)?;
        Some(Act::Like(by, remark.content.id))
    }

    /// Mostly by somebody whom a visitor follows, so that it arrives in a timeline that is looked at.
    fn post(&mut self, scene: &Scene) -> Option<Act> {
        let known: Vec<_> =
            scene.known.iter().filter(|it| self.cast.has(**it) && !scene.visitors.contains(it)).copied().collect();
        let known = known.choose(&mut self.rng).copied().filter(|_| self.rng.random_bool(0.7));
        let by = known.or_else(|| self.cast.anybody(&scene.visitors, &mut self.rng))?;
        let lexicon = self.cast.people().lexicon(self.cast.language(by));
        Some(Act::Publish(by, self.album.post(lexicon, &mut self.rng).ok()?))
    }

    /// Somebody who understands what somebody else has published does `act`.
    fn join_in(&mut self, scene: &Scene, act: impl FnOnce(UserId, &Content) -> Act) -> Option<Act> {
        let content = scene.seen.choose(&mut self.rng)?;
        let busy: HashSet<_> = scene.visitors.iter().copied().chain([content.author]).collect();
        let by = self.cast.speaker(self.language(content), &busy, &mut self.rng)?;
        Some(act(by, content))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use domain::{ContentKind, Reference};

    use super::*;
    use crate::{
        cast::tests::{cast, user},
        lexicon::Language,
    };

    const NOW: i64 = 1_790_000_000_000;
    const VISITOR: u64 = 1_000;

    fn life(seed: u64) -> Life {
        Life::new(cast(60), Album::default(), seed)
    }

    fn content(number: u64, author: u64, text: &str, reference: Reference) -> Content {
        let id = ContentId::try_new(i64::try_from(number).unwrap()).unwrap();
        let (text, publish_time) = (text.to_owned(), NOW - 60_000);
        Content {
            id,
            author: user(author),
            kind: ContentKind::Post,
            reference,
            text,
            media: Vec::new(),
            publish_time,
            object: None,
        }
    }

    fn scene(remarks: &[(&str, Option<u64>)]) -> Scene {
        let remarks = (1..).zip(remarks).map(|(number, (text, to))| Remark {
            content: content(number, VISITOR, text, Reference::Nothing),
            to: to.map(user),
            answered_by: HashSet::new(),
        });
        Scene {
            now_ms: NOW,
            visitors: HashSet::from([user(VISITOR), user(7)]),
            remarks: remarks.collect(),
            seen: (100..130).map(|number| content(number, number - 99, "Anything?", Reference::Nothing)).collect(),
            known: vec![user(2), user(7)],
            is_watched: true,
            ..Scene::default()
        }
    }

    /// The replies to a content of a visitor within that many acts.
    fn answers(life: &mut Life, scene: &Scene, acts: usize) -> Vec<(UserId, Draft)> {
        let of_visitors: HashSet<_> = scene.remarks.iter().map(|remark| remark.content.id).collect();
        let answers = (0..acts).filter_map(|_| match life.act(scene) {
            Some(Act::Answer(by, to)) if of_visitors.contains(&to.id) => Some((by, life.reply(by, &to, &[])?)),
            _ => None,
        });
        answers.collect()
    }

    #[test]
    fn a_visitor_is_answered_within_three_acts_in_their_language() {
        for seed in 0..50 {
            let (mut life, scene) = (life(seed), scene(&[("Wie war das Wochenende? Ich bin neu hier.", None)]));
            let (by, draft) = answers(&mut life, &scene, 3).first().cloned().unwrap();
            assert_eq!(life.cast().language(by), Language::German, "{draft:?}");
            assert!(draft.text.contains("Wochenende"), "{draft:?}");
        }
    }

    #[test]
    fn whom_a_visitor_asks_answers_unless_a_visitor_plays_them() {
        let handle = Cast::handles()[4].clone();
        for (remark, by) in [((&*format!("@{handle} hello"), None), 5), (("Hello", Some(9)), 9)] {
            assert_eq!(answers(&mut life(1), &scene(&[remark]), 9).first().map(|(by, _)| *by), Some(user(by)));
        }
        assert!(answers(&mut life(1), &scene(&[("Hello", Some(7))]), 99).iter().all(|(by, _)| *by != user(7)));
    }

    #[test]
    fn whom_a_visitor_asks_answers_in_the_language_of_the_question() {
        let questions =
            [("Welches Buch über das Meer?", "Meer"), ("¿Qué libro sobre el mar?", "mar"), ("海の本は？", "海")];
        for (text, known) in questions {
            for person in (1..40).filter(|person| *person != 7) {
                let (_, draft) = answers(&mut life(person), &scene(&[(text, Some(person))]), 9).remove(0);
                assert!(draft.text.contains(known), "{draft:?}");
            }
        }
    }

    #[test]
    fn what_was_written_this_moment_or_answered_waits() {
        let fresh = Scene { now_ms: NOW - 59_000, ..scene(&[("Hello", None)]) };
        assert!(answers(&mut life(1), &fresh, 20).is_empty());
        let mut answered = scene(&[("Hello", Some(9))]);
        answered.remarks[0].answered_by.insert(user(9));
        assert!(answers(&mut life(1), &answered, 200).is_empty(), "a conversation waits for the visitor");
    }

    #[test]
    fn new_followers_are_followed_back_soon() {
        let scene = Scene { followed: vec![(user(VISITOR), user(3))], ..scene(&[]) };
        let mut life = life(1);
        assert!((0..10).any(|_| life.act(&scene) == Some(Act::Follow(user(3), user(VISITOR)))));
    }

    #[test]
    fn people_do_all_sorts_of_things_and_nobody_acts_for_visitors() {
        let (mut life, scene) = (life(1), scene(&[]));
        let acts: Vec<_> = (0..1_000).filter_map(|_| life.act(&scene)).collect();
        let by = |act: &Act| match act {
            Act::Publish(by, _) | Act::Answer(by, _) | Act::Like(by, _) | Act::Follow(by, _) => *by,
        };
        assert!(acts.iter().all(|act| !scene.visitors.contains(&by(act))));
        let kinds = |of: fn(Reference) -> bool| {
            acts.iter().filter(|act| matches!(act, Act::Publish(_, draft) if of(draft.reference))).count()
        };
        let likes = acts.iter().filter(|act| matches!(act, Act::Like(..))).count();
        let replies = acts.iter().filter(|act| matches!(act, Act::Answer(..))).count();
        let (posts, reposts) = (kinds(|it| it.content().is_none()), kinds(|it| it.repost_of().is_some()));
        assert!(
            posts > replies && replies > reposts && reposts > 30 && likes > 100,
            "{posts} {replies} {reposts} {likes}"
        );
        let of_known = acts.iter().filter(|act| by(act) == user(2)).count();
        assert!(of_known > acts.len() / 5, "{of_known}: whom visitors follow post more");
    }

    #[test]
    fn in_a_full_store_only_visitors_are_answered() {
        let quiet = Scene { is_full: true, ..scene(&[]) };
        let mut life = life(1);
        assert!((0..500).all(|_| life.act(&quiet).is_none()));
        assert!(!answers(&mut life, &Scene { is_full: true, ..scene(&[("Hello", None)]) }, 9).is_empty());
    }

    #[test]
    fn people_are_slow_while_nobody_looks() {
        let (mut life, scene) = (life(1), Scene { is_watched: false, ..scene(&[]) });
        let acts = (0..6_000).filter(|_| life.act(&scene).is_some()).count();
        assert!((50..150).contains(&acts), "{acts}");
    }

    #[test]
    fn the_same_seed_leads_the_same_life_at_the_promised_pace() {
        let scene = scene(&[("Hello", None)]);
        let lived = |seed| {
            let mut life = life(seed);
            (0..100).map(|_| (life.glance(), life.act(&scene), life.pause())).collect::<Vec<_>>()
        };
        assert_eq!(lived(3), lived(3));
        assert_ne!(lived(3), lived(4));
        assert!(lived(3).iter().all(|(_, _, pause)| (5_000..20_000).contains(&pause.as_millis())));
    }
}
