//! A drawn face for each name: skin, hair, eyes, clothes and what goes with them, so that people are told apart.

use std::fmt::Write as _;

use super::{choices::Choices, colour::oklch};

/// Lightness, chroma and hue.
type Colour = (f64, f64, u16);

const SKINS: [Colour; 7] = [
    (0.89, 0.04, 65),
    (0.84, 0.055, 62),
    (0.77, 0.07, 62),
    (0.69, 0.08, 58),
    (0.59, 0.08, 53),
    (0.49, 0.07, 48),
    (0.4, 0.055, 45),
];
const HAIRS: [Colour; 8] = [
    (0.2, 0.02, 60),
    (0.26, 0.03, 270),
    (0.33, 0.05, 50),
    (0.44, 0.07, 55),
    (0.56, 0.13, 45),
    (0.66, 0.1, 75),
    (0.8, 0.09, 92),
    (0.76, 0.01, 250),
];
/// Styles of hair, each as what lies behind the head and what lies on it. None goes with some given names alone, nor do
/// beards.
const STYLES: [(&str, &str); 8] = [
    ("", r#"<path d="M18 28C16 12 26 8 32 8S48 12 46 28C44 22 42 19 38 18 31 20 24 19 21 19 19 22 19 25 18 28Z"/>"#),
    (
        "",
        r#"<path d="M18 30C14 10 28 7 36 8 46 8 49 18 46 30 45 24 44 21 42 18 34 20 28 19 25 15 22 19 19 23 18 30Z"/>"#,
    ),
    (
        r#"<path d="M15 50C13 26 16 8 32 8S51 26 49 50Z"/>"#,
        r#"<path d="M18 32C17 17 24 11 32 11S47 17 46 32C44 24 40 20 33 16 26 20 20 24 18 32Z"/>"#,
    ),
    (
        r#"<circle cx="32" cy="7" r="6"/>"#,
        r#"<path d="M18 28C17 14 25 10 32 10S47 14 46 28C43 20 38 17 32 17S21 20 18 28Z"/>"#,
    ),
    (
        r#"<g><circle cx="19" cy="20" r="7"/><circle cx="45" cy="20" r="7"/><circle cx="18" cy="29" r="5"/><circle cx="46" cy="29" r="5"/></g>"#,
        r#"<g><circle cx="23" cy="14" r="6"/><circle cx="32" cy="12" r="7"/><circle cx="41" cy="14" r="6"/></g>"#,
    ),
    (
        r#"<path d="M16 40C14 22 18 9 32 9S50 22 48 40Z"/>"#,
        r#"<path d="M18 27C18 14 25 11 32 11S46 14 46 27C40 24 38 23 32 23S24 24 18 27Z"/>"#,
    ),
    (
        r#"<path d="M44 14C56 12 56 34 52 46 50 40 48 34 45 30Z"/>"#,
        r#"<path d="M18 29C16 13 25 9 32 9S48 13 46 29C44 21 40 17 31 16 25 18 20 22 18 29Z"/>"#,
    ),
    ("", r#"<path d="M19 22L20 12 25 14 27 7 32 12 37 6 40 13 45 11 45 22C42 18 37 17 32 17S22 18 19 22Z"/>"#),
];
const MOUTHS: [&str; 5] =
    ["M27 37q5 4 10 0", "M27 37q5 6 10 0Z", "M28 38q4 2 8 0", "M28 37.5q4 1.5 8 0", "M27 37q6 3 9 -1"];

/// The portrait for that name: 64 units square, made to be cropped to a circle.
pub fn draw(name: &str) -> String {
    let choices = Choices::of_name(name);
    let of = |what: &str, limit| usize::from(choices.small(what, limit));
    let colour = |(lightness, chroma, hue): Colour| oklch(lightness, chroma, hue);
    let tone = SKINS[of("skin", 7)];
    let (skin, shade) = (colour(tone), colour((tone.0 - 0.09, tone.1 + 0.01, tone.2)));
    let hair = HAIRS[of("hair", 8)];
    // Hair is seen against the skin; fair hair goes with fair skin.
    let is_odd = (hair.0 - tone.0).abs() < 0.12 || (tone.0 < 0.6 && hair.1 > 0.05);
    let hair = colour(if is_odd { HAIRS[0] } else { hair });
    let lips = oklch(tone.0 * 0.5, 0.1, 25);
    let (behind, on) = STYLES[of("style", 8)];
    let clothes = oklch(0.45 + 0.07 * f64::from(choices.small("shade", 5)), 0.1, choices.small("clothes", 360));
    let ground = oklch(0.87, 0.065, choices.small("ground", 360));
    let wide = 13 + of("wide", 3);
    let mut svg = r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" width="256" height="256">"#.to_owned();
    let _ = write!(
        svg,
        r#"<rect width="64" height="64" fill="{ground}"/><g fill="{hair}">{behind}</g><path fill="{clothes}" d="M8 64C9 52 20 49 32 49S55 52 56 64Z"/>"#
    );
    collar(&mut svg, of("collar", 3), &shade);
    let _ = write!(
        svg,
        r#"<g fill="{skin}"><circle cx="{}" cy="29" r="3"/><circle cx="{}" cy="29" r="3"/><ellipse cx="32" cy="28" rx="{wide}" ry="16"/></g>"#,
        33 - wide,
        31 + wide
    );
    face(&mut svg, &choices, (&shade, &lips));
    let _ = write!(svg, r#"<g fill="{hair}">{on}</g>"#);
    extras(&mut svg, &choices);
    svg.push_str("</svg>");
    svg
}

/// Neck, and what is seen of a collar.
fn collar(svg: &mut String, kind: usize, shade: &str) {
    let _ = write!(svg, r#"<path fill="{shade}" d="M26 40h12v9q-6 6-12 0Z"/>"#);
    svg.push_str(match kind {
        0 => "",
        1 => r##"<path fill="#fff" fill-opacity=".85" d="M24 49l8 8 8-8-3-2-5 5-5-5Z"/>"##,
        _ => r##"<path fill="#000" fill-opacity=".18" d="M23 50q9 8 18 0l2 1q-11 10-22 0Z"/>"##,
    });
}

/// Brows, eyes, nose, mouth, and sometimes cheeks.
fn face(svg: &mut String, choices: &Choices, (shade, lips): (&str, &str)) {
    let (apart, size) = (5 + choices.small("apart", 3), 15 + choices.small("eyes", 7));
    let (left, right) = (32 - apart, 32 + apart);
    let brow = choices.small("brow", 3);
    let _ = write!(
        svg,
        r##"<g fill="#23201f"><circle cx="{left}" cy="28" r="{0}.{1}"/><circle cx="{right}" cy="28" r="{0}.{1}"/></g><path fill="none" stroke="#2a2423" stroke-width="1.3" stroke-linecap="round" d="M{2} {3}q3 -{brow} 6 0M{4} {3}q3 -{brow} 6 0"/>"##,
        size / 10,
        size % 10,
        left - 3,
        24 - choices.small("brows", 2),
        right - 3,
    );
    let mouth = MOUTHS[usize::from(choices.small("mouth", 5))];
    let inside = if mouth.ends_with('Z') { "#fff" } else { "none" };
    let _ = write!(
        svg,
        r#"<path fill="none" stroke="{shade}" stroke-width="1.6" stroke-linecap="round" d="M32 29q-2 4 1 4"/><path fill="{inside}" stroke="{lips}" stroke-width="1.5" stroke-linecap="round" d="{mouth}"/>"#
    );
    if choices.small("cheeks", 3) == 0 {
        svg.push_str(
            r##"<g fill="#e0574f" fill-opacity=".25"><circle cx="23" cy="34" r="3"/><circle cx="41" cy="34" r="3"/></g>"##,
        );
    }
}

/// Glasses, earrings or a hat, for some.
fn extras(svg: &mut String, choices: &Choices) {
    let hue = choices.small("extra hue", 360);
    match choices.small("extra", 12) {
        0 | 1 => svg.push_str(
            r##"<g fill="#fff" fill-opacity=".2" stroke="#2b2b33" stroke-width="1.3"><circle cx="26" cy="28" r="5"/><circle cx="38" cy="28" r="5"/><path fill="none" d="M31 28h2M21 28l-3-1M43 28l3-1"/></g>"##,
        ),
        2 => svg.push_str(
            r##"<g fill="#fff" fill-opacity=".2" stroke="#2b2b33" stroke-width="1.4"><rect x="20" y="24" width="10" height="8" rx="2"/><rect x="34" y="24" width="10" height="8" rx="2"/><path d="M30 27h4"/></g>"##,
        ),
        3 | 4 => {
            let _ = write!(
                svg,
                r#"<g fill="{}"><circle cx="18" cy="34" r="1.6"/><circle cx="46" cy="34" r="1.6"/></g>"#,
                oklch(0.8, 0.13, hue)
            );
        }
        5 => {
            let _ = write!(
                svg,
                r#"<path fill="{}" d="M17 20C17 8 24 4 32 4S47 8 47 20Z"/><rect fill="{}" x="15" y="17" width="34" height="6" rx="3"/>"#,
                oklch(0.55, 0.12, hue),
                oklch(0.46, 0.12, hue)
            );
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    /// Browsers keep pictures for ever, so they must not change.
    #[test]
    fn a_name_always_has_the_same_portrait() {
        assert_eq!(
            ["U_AAAAAAAAAAE", "7"].map(|name| xxh3_64(draw(name).as_bytes())),
            [13_323_364_138_614_470_243, 1_924_888_564_283_782_791]
        );
    }

    #[test]
    fn portraits_differ_and_are_small_and_whole() {
        let drawn: HashSet<String> = (0..2_000).map(|number| draw(&number.to_string())).collect();
        assert_eq!(drawn.len(), 2_000);
        for svg in drawn {
            assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>") && svg.len() < 3_000, "{}", svg.len());
            assert!(!svg.contains("script") && !svg.contains("--"), "{svg}");
        }
    }
}
