//! Bounds what this node keeps for watches without a viewer, of each network and of all together.
//!
//! Watches of viewers are bounded by account, and few accounts come from one network. A client without an account can
//! begin any number of watches.

use std::{
    collections::{HashMap, hash_map::Entry},
    net::IpAddr,
};

use crate::live::error::LiveError;

/// Bytes that a watch keeps at most, beside those of each of its ids.
pub const BYTES_OF_WATCH: usize = 10_240;
/// Bytes that a watch keeps at most for one content or user.
pub const BYTES_OF_SHOWN: usize = 512;
/// How many times as many bytes as a network holds are left for others: a tenth of all while it is alone, and less the
/// more others hold. However many take all they can, there is room for one more.
const LEFT: usize = 9;

/// What clients of one network may watch without a viewer, and all of them.
#[derive(Debug, Clone, Copy)]
pub struct AnonymousLimits {
    /// Watches of one network.
    pub watches: usize,
    /// Bytes that all watches keep, by [`BYTES_OF_WATCH`] and [`BYTES_OF_SHOWN`].
    pub bytes: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Held {
    watches: usize,
    bytes: usize,
}

/// What is watched without a viewer. Networks that watch nothing are forgotten.
#[derive(Debug, Default)]
pub struct AnonymousWatches {
    all: Held,
    by_network: HashMap<Option<IpAddr>, Held>,
}

impl AnonymousWatches {
    /// The number of watches.
    pub const fn count(&self) -> usize {
        self.all.watches
    }

    /// Counts a watch of this many contents and users.
    pub fn add(&mut self, network: Option<IpAddr>, shown: usize, limits: AnonymousLimits) -> Result<(), LiveError> {
        let own = self.by_network.get(&network).copied().unwrap_or_default();
        if own.watches >= limits.watches {
            return Err(LiveError::TooManyOfAddress(limits.watches));
        }
        let of_own = own.bytes + bytes_of(shown);
        if self.all.bytes + bytes_of(shown) + LEFT * of_own > limits.bytes {
            return Err(LiveError::NoRoom);
        }
        self.by_network.entry(network).or_default().grow(shown);
        self.all.grow(shown);
        Ok(())
    }

    /// A watch that [`Self::add`] has counted has ended.
    pub fn remove(&mut self, network: Option<IpAddr>, shown: usize) {
        self.all.shrink(shown);
        if let Entry::Occupied(mut own) = self.by_network.entry(network) {
            own.get_mut().shrink(shown);
            if own.get().watches == 0 {
                own.remove();
            }
        }
    }
}

impl Held {
    const fn grow(&mut self, shown: usize) {
        self.watches += 1;
        self.bytes += bytes_of(shown);
    }

    const fn shrink(&mut self, shown: usize) {
        self.watches -= 1;
        self.bytes -= bytes_of(shown);
    }
}

const fn bytes_of(shown: usize) -> usize {
    BYTES_OF_WATCH + shown * BYTES_OF_SHOWN
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;

    const SHOWN: usize = 100;
    const LIMITS: AnonymousLimits = AnonymousLimits { watches: 200, bytes: 1_000 * bytes_of(SHOWN) };

    fn network(number: u8) -> IpAddr {
        [192, 0, 2, number].into()
    }

    /// Watches until it is refused; returns how often.
    fn fill(watches: &mut AnonymousWatches, network: IpAddr) -> usize {
        (0..=LIMITS.watches).take_while(|_| watches.add(Some(network), SHOWN, LIMITS).is_ok()).count()
    }

    #[test]
    fn an_address_may_hold_a_tenth_and_leaves_room_for_one_more() {
        let mut watches = AnonymousWatches::default();
        assert_eq!([1, 1, 2].map(|number| fill(&mut watches, network(number))), [100, 0, 90]);
        assert!(matches!(watches.add(Some(network(1)), SHOWN, LIMITS), Err(LiveError::NoRoom)));
        for number in 3..=22 {
            assert!(fill(&mut watches, network(number)) >= 10, "address {number}");
        }
        assert!(watches.all.bytes < LIMITS.bytes);
        watches.add(None, SHOWN, LIMITS).unwrap();
    }

    #[test]
    fn watches_of_nothing_are_bounded_and_given_back() {
        let mut watches = AnonymousWatches::default();
        let few = AnonymousLimits { watches: 2, ..LIMITS };
        let add = |watches: &mut AnonymousWatches| watches.add(Some(network(1)), 0, few);
        assert!(add(&mut watches).is_ok() && add(&mut watches).is_ok());
        assert!(matches!(add(&mut watches), Err(LiveError::TooManyOfAddress(2))));
        assert_eq!((watches.count(), watches.all.bytes), (2, 2 * BYTES_OF_WATCH));
        watches.remove(Some(network(1)), 0);
        assert!(add(&mut watches).is_ok());
        for _ in 0..2 {
            watches.remove(Some(network(1)), 0);
        }
        assert_eq!(watches.all, Held::default());
        assert!(watches.by_network.is_empty(), "nobody is remembered");
    }
}
