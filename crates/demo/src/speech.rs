//! Answers that take up what they answer, in the manner of who gives them.

use domain::{Media, MediaKind};
use rand::{
    Rng,
    seq::{IndexedRandom, SliceRandom},
};

use crate::{
    lexicon::Lexicon,
    manners::Manner,
    topics::{Words, is_link, tag},
};

/// Latin letters have the first, Chinese and Japanese the second, and Arabic the third.
const QUESTION_MARKS: [char; 3] = ['?', '？', '؟'];

/// What an answer goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cue {
    /// The slot of fitting lines.
    slot: String,
    /// The slot of lines that are true of any text: `answer` for a question, `reply` for others.
    plain: &'static str,
    /// What the answered text is about; empty if that is unknown.
    it: String,
}

impl Cue {
    /// What an answer in the lexicon's language to this text goes by.
    pub fn of(text: &str, media: &[Media], lexicon: &Lexicon) -> Self {
        let plain = if asks(text) { "answer" } else { "reply" };
        // What follows a question is about the person who asks it.
        let question = text.rfind(QUESTION_MARKS).filter(|_| asks(text)).map(|end| &text[..end]);
        let words = Words::of(question.unwrap_or(text));
        let to = |kind: &str, it: &str| Self { slot: format!("{plain}{kind}"), plain, it: it.to_owned() };
        let without_topic = match () {
            () if media.iter().any(|it| it.kind != MediaKind::Picture) => Some("reply_clip"),
            () if !media.is_empty() => Some("reply_picture"),
            () if words.have_any("how_are_you", lexicon) => Some("reply_hello"),
            () if asks(text) => None,
            () if words.have_any("thanks", lexicon) => Some("reply_thanks"),
            () if text.split_whitespace().any(is_link) => Some("reply_link"),
            () => None,
        };
        let within = |slot| lexicon.lines(slot).iter().find(|line| text.contains(**line));
        if let Some(slot) = without_topic {
            Self { slot: slot.to_owned(), plain: "reply", it: String::new() }
        } else if let Some(thing) = within("thing").filter(|_| !asks(text)) {
            to("_thing", thing.trim_end_matches(','))
        } else if let Some(subject) = words.subject(lexicon) {
            to("_topic", subject)
        } else if let Some(city) = within("city") {
            to("_city", city)
        } else if let Some(tag) = tag(text) {
            to("_topic", tag)
        } else if !asks(text) && words.have_any("hello", lexicon) {
            to("_hello", "")
        } else {
            to("", "")
        }
    }

    /// What somebody of that manner answers, in the lexicon's language: not what was `said` (newest first) or, if
    /// all has been said, what was said longest ago.
    pub fn answer(&self, lexicon: &Lexicon, manner: Manner, said: &[&str], rng: &mut impl Rng) -> String {
        let words = self.words(lexicon, said, rng);
        match lexicon.lines(manner.slot()).choose(rng) {
            Some(frame) => lexicon.text_about(frame, &words, rng),
            None => words,
        }
    }

    /// An answer in no manner: a fitting one or, if each has been said, a plain one.
    fn words(&self, lexicon: &Lexicon, said: &[&str], rng: &mut impl Rng) -> String {
        let mut oldest = (0, String::new());
        for slot in [&self.slot, self.plain] {
            let mut lines = lexicon.lines(slot).to_vec();
            lines.shuffle(rng);
            for line in lines {
                let words = lexicon.text_about(line, &self.it, rng);
                match said.iter().position(|earlier| earlier.contains(&words)) {
                    None => return words,
                    Some(age) if age >= oldest.0 => oldest = (age, words),
                    Some(_) => {}
                }
            }
        }
        oldest.1
    }
}

/// Whether a text asks something of its readers.
pub fn asks(text: &str) -> bool {
    text.split_whitespace().any(|word| !is_link(word) && word.contains(QUESTION_MARKS))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rand::{SeedableRng, rngs::StdRng};

    use super::*;
    use crate::lexicon::Language;

    const LANGUAGES: [Language; 10] = Language::ALL;
    /// A question about the sea and a remark on coffee, each with the words that an answer has to have.
    const SAID: [(&str, &str, &str, &str); 10] = [
        ("Which book about the sea?", "the sea", "My coffee is cold.", "coffee"),
        ("有什么关于大海的书？", "大海", "我的咖啡凉了。", "咖啡"),
        ("Welches Buch über das Meer?", "das Meer", "Mein Kaffee schmeckt kalt.", "Kaffee"),
        ("¿Qué libro sobre el mar?", "el mar", "Mi café está frío.", "el café"),
        ("海の本は何がいいですか？", "海", "コーヒーが冷めました。", "コーヒー"),
        ("أي كتاب عن البحر؟", "البحر", "بردت قهوتي.", "القهوة"),
        ("איזה ספר על הים?", "הים", "הקפה התקרר.", "קפה"),
        ("바다에 대한 책이 있나요?", "바다", "커피가 식었어요.", "커피"),
        ("समुद्र पर कौन-सी किताब?", "समुद्र", "मेरी कॉफ़ी ठंडी हो गई।", "कॉफ़ी"),
        ("Que livro sobre o mar?", "o mar", "Meu café esfriou.", "o café"),
    ];

    /// Answers of everybody to a text.
    fn answers(text: &str, media: &[Media], language: Language) -> Vec<String> {
        let lexicon = Lexicon::of(language);
        let (cue, manners) = (Cue::of(text, media, &lexicon), Manner::ALL.into_iter().cycle());
        let answers = (0..200)
            .zip(manners)
            .map(|(seed, manner)| cue.answer(&lexicon, manner, &[], &mut StdRng::seed_from_u64(seed)));
        answers.collect()
    }

    /// Whether the text has the words, joined with a preposition or not.
    fn mentions(text: &str, words: &str) -> bool {
        let text = text.to_lowercase();
        let joined = [("el ", "del "), ("o ", "do ")].map(|(article, joined)| match words.strip_prefix(article) {
            Some(noun) => format!("{joined}{noun}"),
            None => words.to_lowercase(),
        });
        text.contains(&words.to_lowercase()) || joined.iter().any(|joined| text.contains(joined))
    }

    #[test]
    fn answers_take_up_what_they_answer_in_every_language() {
        for (language, (question, its, remark, of_it)) in LANGUAGES.into_iter().zip(SAID) {
            for (text, topic) in [(question, its), (remark, of_it)] {
                for answer in answers(text, &[], language) {
                    assert!(mentions(&answer, topic), "{text} {answer}");
                }
            }
        }
    }

    #[test]
    fn an_unknown_topic_gets_an_answer_that_names_no_topic() {
        for language in LANGUAGES {
            let lexicon = Lexicon::of(language);
            for (text, slot) in [("Xyzzy 42.", "reply"), ("Xyzzy 42?", "answer")] {
                for answer in answers(text, &[], language) {
                    assert!(lexicon.lines(slot).iter().any(|line| answer.contains(line)), "{text} {answer}");
                }
            }
        }
    }

    #[test]
    fn tags_things_and_cities_are_taken_up() {
        for language in LANGUAGES {
            let lexicon = Lexicon::of(language);
            let (thing, city) = (lexicon.lines("thing")[0], lexicon.lines("city")[0]);
            for (text, named) in [
                ("#xyzzy".to_owned(), "#xyzzy"),
                (format!("{city}?"), city),
                (format!("{city}."), city),
                (format!("{thing}."), thing.trim_end_matches(',')),
            ] {
                for answer in answers(&text, &[], language) {
                    assert!(mentions(&answer, named), "{text} {answer}");
                }
            }
        }
    }

    #[test]
    fn thanks_greetings_links_and_pictures_are_answered_as_such() {
        let medium = |kind| Media { kind, url: String::new(), width: None, height: None, alt: String::new() };
        let (picture, video) = (medium(MediaKind::Picture), medium(MediaKind::Video));
        for language in LANGUAGES {
            let lexicon = Lexicon::of(language);
            let key = |slot: &str| lexicon.lines(slot)[0].replace('_', " ").replace('*', "");
            for (text, media, slot) in [
                (key("thanks"), &[][..], "reply_thanks"),
                (key("hello"), &[][..], "reply_hello"),
                (format!("{}?", key("how_are_you")), &[][..], "reply_hello"),
                ("https://example.org/?a".to_owned(), &[][..], "reply_link"),
                (String::new(), &[picture.clone()][..], "reply_picture"),
                ("?".to_owned(), &[picture.clone(), video.clone()][..], "reply_clip"),
            ] {
                assert_eq!(Cue::of(&text, media, &lexicon).slot, slot, "{language:?}: {text}");
                assert!(lexicon.lines(slot).len() >= 3, "{language:?}: [{slot}]");
            }
        }
    }

    #[test]
    fn each_manner_frames_the_same_words_differently() {
        for language in LANGUAGES {
            let lexicon = Lexicon::of(language);
            let framed = Manner::ALL.map(|manner| lexicon.lines(manner.slot()));
            let distinct: HashSet<_> = framed.iter().copied().flatten().collect();
            assert_eq!(distinct.len(), framed.iter().map(|frames| frames.len()).sum::<usize>(), "{language:?}");
            assert!(framed.iter().all(|frames| !frames.is_empty()), "{language:?}");
            assert!(distinct.iter().all(|frame| frame.matches("{it}").count() == 1), "{language:?}");
        }
    }

    #[test]
    fn nobody_repeats_themselves_until_all_has_been_said() {
        for (seed, language) in (0..40).flat_map(|seed| LANGUAGES.map(|language| (seed, language))) {
            let (lexicon, mut rng) = (Lexicon::of(language), StdRng::seed_from_u64(seed));
            let cue = Cue::of("?", &[], &lexicon);
            let mut said: Vec<String> = Vec::new();
            for _ in lexicon.lines("answer") {
                let earlier: Vec<&str> = said.iter().map(String::as_str).collect();
                let answer = cue.answer(&lexicon, Manner::Brief, &earlier, &mut rng);
                assert!(!said.contains(&answer), "{answer} again");
                said.insert(0, answer);
            }
        }
    }

    #[test]
    fn no_slot_of_an_answer_is_left_unfilled() {
        let lexicons = LANGUAGES.map(Lexicon::of);
        for (seed, lexicon) in (0..100).flat_map(|seed| lexicons.iter().map(move |lexicon| (seed, lexicon))) {
            let mut rng = StdRng::seed_from_u64(seed);
            let text = lexicon.text("post", &mut rng);
            for manner in Manner::ALL {
                let answer = Cue::of(&text, &[], lexicon).answer(lexicon, manner, &[], &mut rng);
                assert!(!answer.contains(['{', '}', '\\']) && !answer.contains("  "), "{text} {answer}");
                assert!(!answer.trim().is_empty() && answer == answer.trim(), "{text} {answer}");
            }
        }
    }
}
