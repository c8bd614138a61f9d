//! The delivery policy: which edges are pushed. Every answer is exact (docs/coverage.md); the policy decides only what
//! reads cost. It maps facts to a mode; other modules fetch the facts and change the edges.

use super::edge::EdgeMode;
use crate::ids::UserId;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The facts about an author.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthorFacts {
    /// The author.
    pub author: UserId,
    /// Followers, without the author's edge to themselves.
    pub followers: u64,
    /// Smoothed interval between two publishes, in ms; `None` before the second.
    pub publish_every_ms: Option<i64>,
}

/// The facts about a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReaderFacts {
    /// The reader.
    pub reader: UserId,
    /// Time of the last visit, in ms; `None` if there was none.
    pub last_seen: Option<i64>,
    /// Smoothed interval between two visits, in ms; `None` before the second.
    pub read_every_ms: Option<i64>,
}

impl ReaderFacts {
    /// The interval between two visits at `now_ms`. It grows while the reader stays away. `None` if there was no
    /// visit.
    pub fn read_interval(&self, now_ms: i64) -> Option<i64> {
        let away = now_ms.saturating_sub(self.last_seen?).max(0);
        Some(self.read_every_ms.map_or(away, |usual| usual.max(away)))
    }
}

/// The rule by which an edge is pushed or pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgeRule {
    /// The usual rule (docs/delivery.md#who-is-pushed-to). Authors with few followers are pushed to all. Others are
    /// pushed to followers who were here within the last M days.
    Threshold {
        /// Followers up to which an author is pushed to everybody.
        push_threshold: u64,
        /// M: days without a visit after which a follower pulls such an author.
        active_days: u32,
    },
    /// Feeding Frenzy's rule (Silberstein et al., SIGMOD 2010): push an edge if publish rate x `push_cost` <= read
    /// rate x `pull_cost`. Fewer than two observations give the rate 0.
    Rates {
        /// Cost of one inbox row, in any unit.
        push_cost: u32,
        /// Cost of one author's outbox in one visit, in the same unit.
        pull_cost: u32,
    },
    /// Random answers that change at any time. Tests use it to show that no page depends on the rule; no configuration
    /// names it.
    Random {
        /// Seed of one run.
        seed: u64,
    },
}

/// The policy. Any part of it may change at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryPolicy {
    /// The rule for edges.
    pub rule: EdgeRule,
    /// Days without a visit after which all deliveries skip a user.
    pub dormant_days: u32,
}

impl DeliveryPolicy {
    /// The mode that an edge should have: `Push` or `Pull`.
    pub fn edge_mode(&self, author: &AuthorFacts, reader: &ReaderFacts, now_ms: i64) -> EdgeMode {
        let push = match self.rule {
            EdgeRule::Threshold { push_threshold, active_days } => {
                let since = now_ms.saturating_sub(i64::from(active_days) * DAY_MS);
                author.followers <= push_threshold || reader.last_seen.is_some_and(|seen| seen >= since)
            }
            EdgeRule::Rates { push_cost, pull_cost } => {
                match (author.publish_every_ms, reader.read_interval(now_ms)) {
                    (None, _) => true,
                    (Some(_), None) => false,
                    // Multiplied by both intervals, so that whole numbers suffice.
                    (Some(publish), Some(read)) => {
                        i128::from(push_cost) * i128::from(read) <= i128::from(pull_cost) * i128::from(publish)
                    }
                }
            }
            EdgeRule::Random { seed } => random_mode(seed, author.author, reader.reader, now_ms),
        };
        if push { EdgeMode::Push } else { EdgeMode::Pull }
    }

    /// Whether some edges of this author may have to be pulled. If not, no reader's facts are needed.
    pub const fn is_selective(&self, author: &AuthorFacts) -> bool {
        match self.rule {
            EdgeRule::Threshold { push_threshold, .. } => author.followers > push_threshold,
            EdgeRule::Rates { .. } => author.publish_every_ms.is_some(),
            EdgeRule::Random { .. } => true,
        }
    }

    /// Readers seen at this time (ms) or later are pushed to, whatever else is known of them. `None` if the time alone
    /// does not decide. Saves fetching most readers' facts.
    pub const fn pushed_if_seen_since(&self, now_ms: i64) -> Option<i64> {
        match self.rule {
            EdgeRule::Threshold { active_days, .. } => Some(now_ms.saturating_sub(active_days as i64 * DAY_MS)),
            EdgeRule::Rates { .. } | EdgeRule::Random { .. } => None,
        }
    }

    /// The `readers` whose edge to the author should be pulled.
    pub fn to_pull(&self, author: &AuthorFacts, readers: &[ReaderFacts], now_ms: i64) -> Vec<UserId> {
        let pulled = |reader: &&ReaderFacts| self.edge_mode(author, reader, now_ms) == EdgeMode::Pull;
        readers.iter().filter(pulled).map(|it| it.reader).collect()
    }

    /// The `authors` whose edge to the reader should be pushed, at most `limit`.
    pub fn to_push(&self, authors: &[AuthorFacts], reader: &ReaderFacts, now_ms: i64, limit: usize) -> Vec<UserId> {
        let pushed = |author: &&AuthorFacts| self.edge_mode(author, reader, now_ms) == EdgeMode::Push;
        authors.iter().filter(pushed).map(|it| it.author).take(limit).collect()
    }

    /// Deliveries skip users whose last visit was before this time (ms).
    pub const fn dormant_before(&self, now_ms: i64) -> i64 {
        now_ms.saturating_sub(self.dormant_days as i64 * DAY_MS)
    }
}

/// One bit of a hash (splitmix64) of all inputs.
fn random_mode(seed: u64, author: UserId, reader: UserId, now_ms: i64) -> bool {
    let mixed = [author.get(), reader.get(), now_ms].into_iter().fold(seed, |mixed, part| {
        let mixed = (mixed ^ part.cast_unsigned()).wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    });
    mixed & 1 == 0
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_700_000_000_000;
    const MINUTE: i64 = 60_000;
    const THRESHOLD: DeliveryPolicy =
        DeliveryPolicy { rule: EdgeRule::Threshold { push_threshold: 100, active_days: 7 }, dormant_days: 30 };

    fn rates(push_cost: u32, pull_cost: u32) -> DeliveryPolicy {
        DeliveryPolicy { rule: EdgeRule::Rates { push_cost, pull_cost }, dormant_days: 30 }
    }

    fn author(followers: u64, publish_every_ms: Option<i64>) -> AuthorFacts {
        AuthorFacts { author: UserId::try_new(1).unwrap(), followers, publish_every_ms }
    }

    fn reader(last_seen: Option<i64>, read_every_ms: Option<i64>) -> ReaderFacts {
        ReaderFacts { reader: UserId::try_new(2).unwrap(), last_seen, read_every_ms }
    }

    #[test]
    fn up_to_the_threshold_everybody_is_pushed_to() {
        assert_eq!(THRESHOLD.edge_mode(&author(100, Some(1)), &reader(None, None), NOW), EdgeMode::Push);
        assert!(!THRESHOLD.is_selective(&author(100, Some(1))));
    }

    #[test]
    fn above_the_threshold_only_the_recently_seen_are_pushed_to() {
        let star = author(101, None);
        let mode = |seen| THRESHOLD.edge_mode(&star, &reader(seen, None), NOW);
        assert_eq!(mode(Some(NOW - 7 * DAY_MS)), EdgeMode::Push);
        assert_eq!(mode(Some(NOW - 7 * DAY_MS - 1)), EdgeMode::Pull);
        assert_eq!(mode(None), EdgeMode::Pull);
        assert!(THRESHOLD.is_selective(&star));
    }

    #[test]
    fn a_follower_who_reads_more_often_than_the_author_publishes_gets_push() {
        let mode = |publish, read| {
            let reader = reader(Some(NOW), Some(read));
            rates(1, 1).edge_mode(&author(5, Some(publish)), &reader, NOW)
        };
        assert_eq!(mode(10 * MINUTE, MINUTE), EdgeMode::Push);
        assert_eq!(mode(MINUTE, MINUTE), EdgeMode::Push, "at equal cost the page is the cheaper place to save");
        assert_eq!(mode(MINUTE, 10 * MINUTE), EdgeMode::Pull);
    }

    #[test]
    fn costs_shift_where_pushing_begins_to_pay() {
        let (author, reader) = (author(5, Some(MINUTE)), reader(Some(NOW), Some(3 * MINUTE)));
        assert_eq!(rates(1, 3).edge_mode(&author, &reader, NOW), EdgeMode::Push);
        assert_eq!(rates(1, 2).edge_mode(&author, &reader, NOW), EdgeMode::Pull);
    }

    #[test]
    fn a_long_absence_lowers_the_read_rate() {
        let late = reader(Some(NOW - 60 * MINUTE), Some(MINUTE));
        assert_eq!(late.read_interval(NOW), Some(60 * MINUTE));
        assert_eq!(rates(1, 1).edge_mode(&author(5, Some(30 * MINUTE)), &late, NOW), EdgeMode::Pull);
        assert_eq!(late.read_interval(NOW - 120 * MINUTE), Some(MINUTE), "a clock that went back is no absence");
    }

    #[test]
    fn an_unknown_rate_is_none() {
        assert_eq!(rates(9, 1).edge_mode(&author(5, None), &reader(None, None), NOW), EdgeMode::Push, "0 <= 0");
        assert_eq!(rates(1, 9).edge_mode(&author(5, Some(i64::MAX)), &reader(None, None), NOW), EdgeMode::Pull);
        assert!(!rates(1, 1).is_selective(&author(5, None)));
    }

    #[test]
    fn a_random_rule_gives_both_answers_and_changes_its_mind() {
        let random = DeliveryPolicy { rule: EdgeRule::Random { seed: 7 }, dormant_days: 30 };
        let pushed =
            (0..1_000).filter(|ms| random.edge_mode(&author(5, None), &reader(None, None), NOW + ms) == EdgeMode::Push);
        assert!((400..600).contains(&pushed.count()));
    }

    fn rules() -> impl Strategy<Value = EdgeRule> {
        prop_oneof![
            (0..300_u64, 0..60_u32)
                .prop_map(|(push_threshold, active_days)| EdgeRule::Threshold { push_threshold, active_days }),
            (1..1_000_u32, 1..1_000_u32).prop_map(|(push_cost, pull_cost)| EdgeRule::Rates { push_cost, pull_cost }),
            any::<u64>().prop_map(|seed| EdgeRule::Random { seed }),
        ]
    }

    proptest! {
        /// The inequality as the paper has it, in fractions.
        #[test]
        fn an_edge_is_pushed_along_where_that_costs_less(
            costs in (1..1_000_u32, 1..1_000_u32), publish in 1_000..100_000_000_u32, read in 1_000..100_000_000_u32,
        ) {
            let (push, pull) = (f64::from(costs.0) / f64::from(publish), f64::from(costs.1) / f64::from(read));
            prop_assume!((push - pull).abs() > 1e-9 * push.max(pull));
            let (author, reader) = (author(5, Some(publish.into())), reader(Some(NOW), Some(read.into())));
            let mode = rates(costs.0, costs.1).edge_mode(&author, &reader, NOW);
            prop_assert_eq!(mode == EdgeMode::Push, push < pull);
        }

        /// The executor must not demote at once what the reactivator promotes, nor the other way round.
        #[test]
        fn reactivator_and_executor_agree_on_the_same_facts(
            rule in rules(),
            followers in 0..400_u64,
            publish in proptest::option::of(1_000..100_000_000_i64),
            seen in proptest::option::of(NOW - 100 * DAY_MS..NOW + DAY_MS),
            read in proptest::option::of(1_000..100_000_000_i64),
        ) {
            let policy = DeliveryPolicy { rule, dormant_days: 30 };
            let (author, reader) = (author(followers, publish), reader(seen, read));
            let promoted = policy.to_push(&[author], &reader, NOW, 9);
            let is_selective = policy.is_selective(&author);
            let demoted = if is_selective { policy.to_pull(&author, &[reader], NOW) } else { Vec::new() };
            prop_assert_eq!(promoted.len() + demoted.len(), 1);
            let spared = policy.pushed_if_seen_since(NOW).is_some_and(|since| seen.is_some_and(|seen| seen >= since));
            prop_assert!(!spared || demoted.is_empty(), "a reader whose facts need not be fetched is not pulled");
        }
    }
}
