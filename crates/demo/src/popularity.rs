//! How popular and how busy each seeded user is: two heavy-tailed distributions.
//!
//! Popularity falls with rank r as 1 / (r + flattening): Zipf's law with its head rounded off, so that the most
//! followed author has a large share of all users but not all of them.

use rand::{Rng, RngExt};

use crate::numbers::{fraction, whole};

/// A drawing of ranks, the popular ones more often.
#[derive(Debug, Clone, Copy)]
pub struct Popularity {
    users: u64,
    flattening: f64,
}

impl Popularity {
    /// Among ranks 0 to `users` - 1; `users` is at least 1.
    pub fn among(users: u64) -> Self {
        Self { users: users.max(1), flattening: 3.0 + fraction(users) / 5000.0 }
    }

    /// A rank; closed form of the inverse distribution, so that no table is needed.
    pub fn sample(&self, rng: &mut impl Rng) -> u64 {
        let reach = fraction(self.users) / self.flattening + 1.0;
        let rank = self.flattening * (reach.powf(rng.random::<f64>()) - 1.0);
        whole(rank).min(self.users - 1)
    }

    /// The share of all draws that fall on `rank`, about.
    pub fn share(&self, rank: u64) -> f64 {
        let reach = fraction(self.users) / self.flattening + 1.0;
        1.0 / (reach.ln() * (fraction(rank) + 0.5 + self.flattening))
    }
}

/// A number around `mean`, skewed: most are below, few far above; `spread` 0.5 is mild, 1 is wild.
pub fn skewed(mean: f64, spread: f64, rng: &mut impl Rng) -> f64 {
    // Twelve uniform numbers make a bell of variance 1; its exponential, recentred, has the mean asked for.
    let bell: f64 = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    mean * (spread * bell - spread * spread / 2.0).exp()
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn shares_add_up_and_agree_with_draws() {
        let popularity = Popularity::among(1000);
        let total: f64 = (0..1000).map(|rank| popularity.share(rank)).sum();
        assert!((0.97..1.03).contains(&total), "{total}");
        let mut rng = StdRng::seed_from_u64(1);
        let firsts: u32 = (0..100_000).map(|_| u32::from(popularity.sample(&mut rng) == 0)).sum();
        let expected = popularity.share(0) * 100_000.0;
        assert!((f64::from(firsts) - expected).abs() < expected / 10.0, "{firsts} {expected}");
    }

    #[test]
    fn a_world_of_one_draws_its_only_rank() {
        let mut rng = StdRng::seed_from_u64(1);
        assert!((0..100).all(|_| Popularity::among(1).sample(&mut rng) == 0));
    }

    #[test]
    fn skewed_numbers_keep_their_mean() {
        let mut rng = StdRng::seed_from_u64(1);
        let drawn: Vec<f64> = (0..50_000).map(|_| skewed(20.0, 0.9, &mut rng)).collect();
        let mean = drawn.iter().sum::<f64>() / 50_000.0;
        assert!((19.0..21.0).contains(&mean), "{mean}");
        assert!(drawn.iter().filter(|n| **n < 20.0).count() > 30_000);
    }
}
