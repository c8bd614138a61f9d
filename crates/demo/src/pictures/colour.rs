//! Converts colours from OKLCH (perceived lightness, chroma and hue) to the notation that every SVG viewer reads.

/// `lightness`: 0 to 1. `chroma`: 0 to about 0.3. `hue`: degrees. Colours outside of sRGB are clipped.
pub fn oklch(lightness: f64, chroma: f64, hue: u16) -> String {
    let (sin, cos) = f64::from(hue % 360).to_radians().sin_cos();
    let (a, b) = (chroma * cos, chroma * sin);
    // Björn Ottosson's OKLab, as CSS Color 4 has it.
    let cube = |root: f64| root * root * root;
    let long = cube(lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b);
    let medium = cube(lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b);
    let short = cube(lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b);
    let [red, green, blue] = [
        4.076_741_662_1 * long - 3.307_711_591_3 * medium + 0.230_969_929_2 * short,
        -1.268_438_004_6 * long + 2.609_757_401_1 * medium - 0.341_319_396_5 * short,
        -0.004_196_086_3 * long - 0.703_418_614_7 * medium + 1.707_614_701_0 * short,
    ]
    .map(percent);
    format!("rgb({red},{green},{blue})")
}

/// A channel of sRGB. Whole percents are the same on every machine, whatever the last bit of its arithmetic is.
fn percent(linear: f64) -> String {
    let linear = linear.clamp(0.0, 1.0);
    let shown = if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
    format!("{:.0}%", 100.0 * shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_those_that_browsers_show() {
        assert_eq!(oklch(1.0, 0.0, 0), "rgb(100%,100%,100%)");
        assert_eq!(oklch(0.0, 0.0, 0), "rgb(0%,0%,0%)");
        // #ff0000 is oklch(0.628 0.258 29.2): the whole degree below it has a trace of blue.
        assert_eq!(oklch(0.628, 0.258, 29), "rgb(100%,0%,1%)");
    }
}
