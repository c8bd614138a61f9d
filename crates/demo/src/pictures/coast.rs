//! A coast for each name, as an avatar and as a profile banner. Both share sky, light and water.

use std::fmt::Write as _;

use super::{choices::Choices, colour::oklch};

/// Hues of sky and light that go together.
const SKIES: [(u16, u16); 12] = [
    (205, 45),
    (28, 12),
    (265, 70),
    (160, 50),
    (335, 40),
    (190, 330),
    (48, 20),
    (225, 90),
    (300, 55),
    (175, 25),
    (15, 60),
    (245, 340),
];
/// One coast in this many is drawn at night.
const NIGHTS: u16 = 4;

/// What avatar and banner share.
struct Coast {
    choices: Choices,
    sky: u16,
    light: u16,
    water: u16,
    is_night: bool,
}

/// Position and size of the sun or the moon.
type Disc = (u16, u16, u16);

impl Coast {
    fn of(name: &str) -> Self {
        let choices = Choices::of_name(name);
        let (sky, light) = SKIES[usize::from(choices.small("sky", 12))];
        let water = (sky + 150 + choices.small("water", 80)) % 360;
        let is_night = choices.small("night", NIGHTS) == 0;
        Self { choices, sky, light, water, is_night }
    }

    /// A gradient from the height of the sky down to the horizon, where its light is.
    fn sky(&self, svg: &mut String, (width, height): (u16, u16)) {
        let (top, horizon) = if self.is_night {
            (oklch(0.27, 0.07, self.sky), oklch(0.5, 0.08, self.sky))
        } else {
            (oklch(0.76, 0.1, self.sky), oklch(0.92, 0.07, self.light))
        };
        let _ = write!(
            svg,
            r#"<defs><linearGradient id="s" x2="0" y2=".8"><stop stop-color="{top}"/><stop offset="1" stop-color="{horizon}"/></linearGradient></defs><rect width="{width}" height="{height}" fill="url(#s)"/>"#
        );
    }

    /// The sun in its glow by day; the moon and some stars by night.
    fn disc(&self, svg: &mut String, (x, y, size): Disc) {
        if !self.is_night {
            let light = oklch(0.96, 0.09, self.light);
            let _ = write!(
                svg,
                r#"<g fill="{light}"><circle cx="{x}" cy="{y}" r="{}" opacity=".3"/><circle cx="{x}" cy="{y}" r="{size}"/></g>"#,
                size + size * 2 / 3
            );
            return;
        }
        let (across, up) = (size * 35 / 100, size * 94 / 100);
        let _ = write!(
            svg,
            r#"<path fill="{}" d="M{} {}A{size} {size} 0 1 0 {} {}A{size} {size} 0 0 1 {} {}Z"/>"#,
            oklch(0.95, 0.03, 95),
            x + across,
            y - up,
            x + across,
            y + up,
            x + across,
            y - up
        );
    }

    fn stars(&self, svg: &mut String, count: u16, (width, height): (u16, u16)) {
        for star in 0..if self.is_night { count } else { 0 } {
            let x = self.choices.small(&format!("star across {star}"), width);
            let y = self.choices.small(&format!("star down {star}"), height);
            // Tenths of a pixel of the smallest picture.
            let size = (1 + star % 2) * width / 128;
            let _ =
                write!(svg, r#"<circle cx="{x}" cy="{y}" r=".{}" fill="{}"/>"#, 6 + size % 3, oklch(0.93, 0.03, 95));
        }
    }

    /// The water of that depth: 0 is the farthest, 100 the nearest.
    fn water(&self, depth: u16) -> String {
        let (far, near) = if self.is_night { (0.47, 0.24) } else { (0.71, 0.42) };
        let nearness = f64::from(depth) / 100.0;
        oklch(far + (near - far) * nearness, 0.11, self.water)
    }
}

/// Swell across the picture: its line, its height, the length of a wave and the start of the first one.
fn swell(svg: &mut String, (width, bottom): (u16, u16), line: u16, (high, long, shift): (u16, u16, u16), fill: &str) {
    let _ = write!(svg, r#"<path fill="{fill}" d="M-{shift} {line}q{} -{high} {long} 0"#, long / 2);
    for _ in 0..(width + shift) / long {
        let _ = write!(svg, "t{long} 0");
    }
    let _ = write!(svg, r#"V{bottom}H-{shift}Z"/>"#);
}

/// The avatar for that name: 64 units square, made to be cropped to a circle.
pub fn avatar(name: &str) -> String {
    let coast = Coast::of(name);
    let of = |what: &str, limit| coast.choices.small(what, limit);
    let size = (64, 64);
    let mut svg = r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" width="256" height="256">"#.to_owned();
    coast.sky(&mut svg, size);
    coast.stars(&mut svg, 7, (64, 34));
    coast.disc(&mut svg, (15 + of("sun across", 35), 14 + of("sun down", 15), 6 + of("sun size", 6)));
    let tide = 36 + of("tide", 9);
    for (nth, (below, high)) in [(0, 6), (9, 7), (18, 8)].into_iter().enumerate() {
        let shift = 1 + of(&format!("shift {nth}"), 29);
        let depth = below * 5;
        swell(&mut svg, size, tide + below, (high, 30, shift), &coast.water(depth));
    }
    svg.push_str("</svg>");
    svg
}

/// Pixels of a banner, three times as wide as it is high.
const BANNER: (u16, u16) = (1_200, 400);

/// The banner of that name.
pub fn banner(name: &str) -> String {
    let coast = Coast::of(name);
    let of = |what: &str, limit| coast.choices.small(what, limit);
    let (width, height) = BANNER;
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" preserveAspectRatio="xMidYMid slice">"#
    );
    coast.sky(&mut svg, BANNER);
    coast.stars(&mut svg, 30, (width, 200));
    let disc = (500 + of("sun across", 560), 105 + of("sun down", 55), 38 + of("sun size", 22));
    coast.disc(&mut svg, disc);
    headlands(&mut svg, &coast);
    for nth in 0..5 {
        let (line, high) = (222 + 38 * nth, 10 + 5 * nth);
        let (long, shift) = (150 + of(&format!("long {nth}"), 90), 1 + of(&format!("shift {nth}"), 140));
        swell(&mut svg, BANNER, line, (high, long, shift), &coast.water(nth * 25));
        if nth < 4 {
            glint(&mut svg, &coast, disc, line + 14, nth);
        }
    }
    svg.push_str("</svg>");
    svg
}

/// Two tongues of land at the horizon, the farther one paler.
fn headlands(svg: &mut String, coast: &Coast) {
    let of = |what: &str, limit| coast.choices.small(what, limit);
    let lightness = if coast.is_night { [0.36, 0.29] } else { [0.74, 0.6] };
    let from_left = of("side", 2) == 0;
    for (nth, lightness) in lightness.into_iter().enumerate() {
        let (reach, peak) = (380 + of(&format!("reach {nth}"), 420), 60 + of(&format!("peak {nth}"), 70));
        let fill = oklch(lightness, 0.06, coast.sky);
        let turned =
            if from_left == (nth == 0) { String::new() } else { r#" transform="matrix(-1 0 0 1 1200 0)""#.to_owned() };
        let _ = write!(
            svg,
            r#"<path fill="{fill}"{turned} d="M0 {}C{} {} {} 232 {reach} 236L0 240Z"/>"#,
            232 - peak,
            reach / 4,
            216 - peak,
            reach / 2
        );
    }
}

/// The reflection of the light on the water.
fn glint(svg: &mut String, coast: &Coast, (x, _, size): Disc, y: u16, nth: u16) {
    let wide = size / 2 + coast.choices.small(&format!("glint {nth}"), size);
    let light = oklch(0.95, 0.07, if coast.is_night { 95 } else { coast.light });
    let left = x - wide / 2 + coast.choices.small(&format!("drift {nth}"), 20);
    let _ = write!(svg, r#"<rect x="{left}" y="{y}" width="{wide}" height="4" rx="2" fill="{light}" opacity=".5"/>"#);
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    /// Browsers keep pictures for ever, so they must not change.
    #[test]
    fn a_name_always_has_the_same_coast() {
        let drawn = ["U_AAAAAAAAAAE", "7"].map(|name| [avatar(name), banner(name)].map(|svg| xxh3_64(svg.as_bytes())));
        assert_eq!(
            drawn,
            [
                [1_578_161_284_157_050_476, 14_551_701_846_320_623_058],
                [14_904_605_567_751_203_788, 1_104_742_368_686_868_728]
            ]
        );
    }

    #[test]
    fn every_name_has_a_face_and_a_banner_of_its_own() {
        let names = || (0..400).map(|number| number.to_string());
        assert_eq!(names().map(|name| avatar(&name)).collect::<HashSet<_>>().len(), 400);
        assert_eq!(names().map(|name| banner(&name)).collect::<HashSet<_>>().len(), 400);
    }

    #[test]
    fn coasts_are_small_and_whole() {
        for svg in (0..400).flat_map(|number| [avatar(&number.to_string()), banner(&number.to_string())]) {
            assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>") && svg.len() < 5_000, "{}", svg.len());
            assert!(!svg.contains("script") && !svg.contains("--"), "{svg}");
        }
    }
}
