//! Landscapes for the posts of the seeded world: one for each number.

use std::fmt::Write as _;

use super::choices::Choices;

/// Kinds of pictures: number n has kind n modulo this. In order: the sea under a low sun, the moon over the sea, hills
/// in the haze, a sailing boat.
pub const SCENES: u32 = 4;
/// Pixels of every picture.
pub const WIDTH: u16 = 800;
/// Pixels of every picture.
pub const HEIGHT: u16 = 600;

/// The picture of that number, as SVG.
pub fn draw(number: u32) -> String {
    let choices = Choices::of_number(number);
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">"#
    );
    match number % SCENES {
        0 => sea(&mut svg, &choices, false),
        1 => sea(&mut svg, &choices, true),
        2 => hills(&mut svg, &choices),
        _ => {
            sea(&mut svg, &choices, false);
            boat(&mut svg, &choices);
        }
    }
    svg.push_str("</svg>");
    svg
}

/// A sky from `top` down to `bottom`, both as hue, saturation and lightness.
fn sky(svg: &mut String, top: (u64, u64, u64), bottom: (u64, u64, u64)) {
    let colour = |(hue, saturation, lightness): (u64, u64, u64)| format!("hsl({hue} {saturation}% {lightness}%)");
    // Writing to a string cannot fail.
    let _ = write!(
        svg,
        r#"<defs><linearGradient id="s" x1="0" y1="0" x2="0" y2="1"><stop stop-color="{}"/><stop offset="1" stop-color="{}"/></linearGradient></defs><rect width="{WIDTH}" height="{HEIGHT}" fill="url(#s)"/>"#,
        colour(top),
        colour(bottom)
    );
}

/// A ridge across the picture at the height `base`, filled below.
fn ridge(svg: &mut String, choices: &Choices, (name, base, swing): (&str, u64, u64), fill: &str) {
    let of = |what: &str, limit| choices.below(&format!("{name} {what}"), limit);
    let (long, short, from) = (of("long", 200) + 220, of("short", 80) + 90, of("from", 1_000));
    let _ = write!(svg, r#"<path fill="{fill}" d="M0 {HEIGHT}"#);
    for x in (0..=u64::from(WIDTH)).step_by(20) {
        let height = swing * (wave(x + from, long) * 2 + wave(x + 3 * from, short)) / 3_000;
        let _ = write!(svg, "L{x} {}", base.saturating_sub(height));
    }
    let _ = write!(svg, r#"L{WIDTH} {HEIGHT}Z"/>"#);
}

/// One smooth wave in `length`: 0 to 1000. Whole numbers are the same on every machine.
fn wave(at: u64, length: u64) -> u64 {
    let half = 1_000 * (at % length) * 2 / length;
    let up = if half > 1_000 { 2_000 - half } else { half };
    up * up * (3_000 - 2 * up) / 1_000_000
}

fn sea(svg: &mut String, choices: &Choices, is_night: bool) {
    let (hue, water) = (choices.below("hue", 50), 185 + choices.below("water", 40));
    let (x, y, size) = (120 + choices.below("x", 560), 150 + choices.below("y", 110), 36 + choices.below("size", 34));
    if is_night {
        sky(svg, (water + 35, 45, 12), (water + 20, 40, 34));
    } else {
        sky(svg, (water + 10, 60, 62), (18 + hue, 85, 76));
    }
    let light = if is_night { "hsl(48 60% 92%)" } else { "hsl(42 100% 82%)" };
    let _ = write!(svg, r#"<circle cx="{x}" cy="{y}" r="{size}" fill="{light}"/>"#);
    for star in 0..if is_night { 24 } else { 0 } {
        let (across, down) =
            (choices.below(&format!("across {star}"), 800), choices.below(&format!("down {star}"), 300));
        let _ = write!(svg, r#"<circle cx="{across}" cy="{down}" r="{}" fill="{light}"/>"#, 1 + star % 2);
    }
    let land = if is_night { format!("hsl({} 35% 16%)", water + 20) } else { format!("hsl({} 30% 42%)", water + 5) };
    ridge(svg, choices, ("coast", 345, 30 + choices.below("coast", 60)), &land);
    for level in 0..5 {
        let lightness = if is_night { 26 - 3 * level } else { 60 - 8 * level };
        let fill = format!("hsl({} {}% {lightness}%)", water + 2 * level, 50 + 2 * level);
        ridge(svg, choices, (&format!("water {level}"), 345 + 52 * level, 4 + 3 * level), &fill);
    }
    for glint in 0..7 {
        let wide = 16 + choices.below(&format!("glint {glint}"), 60);
        let left = (x + choices.below(&format!("drift {glint}"), 24)).saturating_sub(12 + wide / 2);
        let top = 356 + 30 * glint;
        let _ = write!(
            svg,
            r#"<rect x="{left}" y="{top}" width="{wide}" height="4" rx="2" fill="{light}" opacity=".55"/>"#
        );
    }
}

fn hills(svg: &mut String, choices: &Choices) {
    let (hue, far) = (choices.below("hue", 60), 5 + choices.below("far", 3));
    sky(svg, (190 + hue, 45, 78), (25 + hue / 2, 70, 88));
    let (x, y) = (100 + choices.below("x", 600), 110 + choices.below("y", 120));
    let _ = write!(svg, r##"<circle cx="{x}" cy="{y}" r="44" fill="#fff6dd"/>"##);
    for nth in 0..far {
        let lightness = 74 - nth * 54 / far;
        let fill = format!("hsl({} {}% {lightness}%)", 195 + hue - nth * 8, 22 + nth * 3);
        ridge(svg, choices, (&format!("hill {nth}"), 300 + nth * 300 / far, 170 - nth * 14), &fill);
    }
}

fn boat(svg: &mut String, choices: &Choices) {
    let (x, y) = (180 + choices.below("boat", 440), 400 + choices.below("near", 60));
    let hull = ["#7a2e1f", "#1f3f57", "#f2efe6"][usize::try_from(choices.below("hull", 3)).unwrap_or(0)];
    let _ = write!(
        svg,
        r##"<g transform="translate({x} {y})"><path fill="#fffdf6" d="M4-150L4-14L92-14Z"/><path fill="#f0e3c8" d="M-4-132L-4-14L-62-14Z"/><path fill="{hull}" d="M-78-8H84L60 22H-52Z"/></g>"##
    );
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64_with_seed;

    use super::*;

    /// Browsers keep pictures for ever, so they must not change: a new scene needs new numbers.
    #[test]
    fn a_number_always_has_the_same_picture() {
        let digest = |number| xxh3_64_with_seed(draw(number).as_bytes(), 0);
        assert_eq!(
            [4, 5, 6, 7].map(digest),
            [
                14_054_692_402_693_440_815,
                14_151_186_211_727_024_496,
                16_210_037_710_086_494_269,
                7_814_913_317_649_701_039
            ]
        );
    }

    #[test]
    fn every_number_has_a_picture_of_its_own() {
        let drawn: std::collections::HashSet<String> = (0..400).map(draw).collect();
        assert_eq!(drawn.len(), 400);
        draw(u32::MAX);
    }
}
