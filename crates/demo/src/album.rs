//! Pictures and clips of contents, as links to what a node with the demo draws or keeps.

use domain::{
    Media, MediaKind,
    content::{Draft, InvalidDraft},
};
use rand::{Rng, RngExt};

use crate::{lexicon::Lexicon, pictures};

const PICTURED_IN_A_HUNDRED: u32 = 8;

/// Where pictures and clips are.
#[derive(Debug, Clone, Default)]
pub struct Album {
    /// With `{n}` for a number; `None`: contents have no pictures.
    pub pictures: Option<String>,
    /// With `{n}` for the name of a clip; `None`: contents have no clips.
    pub clips: Option<String>,
}

impl Album {
    /// What somebody who writes in this language might publish, sometimes with pictures.
    pub fn post(&self, lexicon: &Lexicon, rng: &mut impl Rng) -> Result<Draft, InvalidDraft> {
        let pictured = rng.random_range(0..100) < PICTURED_IN_A_HUNDRED;
        let media = if pictured { self.media(lexicon, rng) } else { Vec::new() };
        let text = lexicon.text(if media.is_empty() { "post" } else { "picture" }, rng);
        Draft::try_new(&text, media, None)
    }

    /// Mostly one picture, or a grid of up to four; rarely the clip.
    fn media(&self, lexicon: &Lexicon, rng: &mut impl Rng) -> Vec<Media> {
        let count = match rng.random_range(0..100) {
            0..50 => 1,
            50..68 => 2,
            68..80 => 3,
            80..93 => 4,
            _ => return self.clip(lexicon).into_iter().collect(),
        };
        (0..count).filter_map(|_| self.picture(lexicon, rng)).collect()
    }

    /// A picture with words for its scene: `[alt]` has a line for each.
    fn picture(&self, lexicon: &Lexicon, rng: &mut impl Rng) -> Option<Media> {
        let (nth, scene) = (rng.random_range(1..250_000), rng.random_range(0..pictures::SCENES));
        let alt = usize::try_from(scene).ok().and_then(|scene| lexicon.lines("alt").get(scene))?;
        let number = (nth * pictures::SCENES + scene).to_string();
        let url = self.pictures.as_ref()?.replace("{n}", &number);
        Some(medium(MediaKind::Picture, url, (pictures::WIDTH, pictures::HEIGHT), alt))
    }

    /// The clip with words for it.
    pub fn clip(&self, lexicon: &Lexicon) -> Option<Media> {
        let alt = lexicon.lines("clip").first()?;
        let url = self.clips.as_ref()?.replace("{n}", pictures::CLIP);
        Some(medium(MediaKind::Video, url, pictures::CLIP_SIZE, alt))
    }
}

fn medium(kind: MediaKind, url: String, (width, height): (u16, u16), alt: &str) -> Media {
    Media { kind, url, width: Some(width.into()), height: Some(height.into()), alt: alt.to_owned() }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use std::collections::HashSet;

    use domain::limits::MAX_MEDIA;
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;
    use crate::lexicon::Language;

    #[test]
    fn posts_have_grids_of_up_to_four_pictures_or_the_clip() {
        let album =
            Album { pictures: Some("https://a.example/{n}".into()), clips: Some("https://b.example/{n}".into()) };
        let (lexicon, mut rng) = (Lexicon::of(Language::English), StdRng::seed_from_u64(1));
        let posts: Vec<_> = (0..5_000).map(|_| album.post(&lexicon, &mut rng).unwrap().media).collect();
        let pictures = posts.iter().filter(|media| media.iter().all(|it| it.kind == MediaKind::Picture));
        assert_eq!(pictures.map(Vec::len).collect::<HashSet<_>>(), HashSet::from([0, 1, 2, 3, 4]));
        let clips = posts.iter().filter(|media| media.iter().any(|it| it.kind == MediaKind::Video)).count();
        assert!((10..60).contains(&clips), "{clips}");
        assert!(posts.iter().all(|media| media.len() <= MAX_MEDIA));
    }

    #[test]
    fn without_addresses_there_are_only_words() {
        let (lexicon, mut rng) = (Lexicon::of(Language::English), StdRng::seed_from_u64(1));
        assert!((0..500).all(|_| Album::default().post(&lexicon, &mut rng).unwrap().media.is_empty()));
    }
}
