//! Draws the frames of the clip, slow waves under a low sun, as raw RGB on standard output. They end as they begin.
//!
//! ```sh
//! cargo run --release -p demo --example clip | ffmpeg -f rawvideo -pix_fmt rgb24 -s 640x400 -r 20 -i - \
//!     -c:v libvpx-vp9 -b:v 0 -crf 42 -cpu-used 5 -g 120 -pix_fmt yuv420p -an crates/demo/src/pictures/tide.webm
//! ffmpeg -i crates/demo/src/pictures/tide.webm -frames:v 1 -q:v 6 crates/demo/src/pictures/tide.jpg
//! ```

use std::{
    f64::consts::TAU,
    io::{self, BufWriter, Write as _},
};

const WIDTH: u16 = 640;
const HEIGHT: u16 = 400;
const FRAMES: u16 = 120;

type Rgb = [f64; 3];

fn main() -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for frame in 0..FRAMES {
        let time = f64::from(frame) / f64::from(FRAMES);
        for y in 0..HEIGHT {
            for x in 0..WIDTH {
                let [red, green, blue] = colour(f64::from(x), f64::from(y), time).map(byte);
                out.write_all(&[red, green, blue])?;
            }
        }
    }
    out.flush()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
fn byte(value: f64) -> u8 {
    value.clamp(0.0, 255.0).round() as u8
}

fn mix(a: Rgb, b: Rgb, share: f64) -> Rgb {
    let share = share.clamp(0.0, 1.0);
    std::array::from_fn(|nth| a[nth] + (b[nth] - a[nth]) * share)
}

/// `time` runs from 0 to 1. Seven swells, the nearest one last, lie before the sky and its sun.
fn colour(x: f64, y: f64, time: f64) -> Rgb {
    let sun = ((x - 400.0).hypot(y - 128.0) - 36.0).max(-1.0);
    let glow = 120.0 / (120.0 + (x - 400.0).hypot(y - 128.0));
    let sky = mix([92.0, 150.0, 190.0], [250.0, 196.0, 150.0], y / 190.0);
    let mut pixel = mix(sky, [255.0, 226.0, 170.0], glow * 0.7);
    pixel = mix([255.0, 244.0, 214.0], pixel, sun.clamp(0.0, 1.0));
    for swell in 0..7 {
        let nth = f64::from(swell);
        let (length, height) = (150.0 + 46.0 * nth, 2.0 + 1.7 * nth);
        // Whole waves and whole turns, so that the last frame leads to the first one.
        let turn = if swell % 2 == 0 { time } else { -time };
        let along = TAU * (x / length + turn + 0.37 * nth);
        let crest =
            176.0 + 5.0 * nth * nth + 4.0 * nth + height * (along.sin() + 0.4 * (2.0 * along - TAU * time).cos());
        let water = mix([122.0, 168.0, 186.0], [16.0, 62.0, 88.0], nth / 6.0);
        let glint = (-((x - 400.0) / (26.0 + 13.0 * nth)).powi(2)).exp() * (0.5 + 0.5 * (3.0 * along).sin()).powi(3);
        let depth = ((y - crest) / (9.0 + 5.0 * nth)).clamp(0.0, 1.0);
        let lit = mix(
            mix(water, [236.0, 214.0, 190.0], 0.34 * (1.0 - depth)),
            [255.0, 236.0, 190.0],
            glint * (1.0 - depth) * 0.8,
        );
        pixel = mix(pixel, lit, y - crest + 0.5);
    }
    pixel
}
