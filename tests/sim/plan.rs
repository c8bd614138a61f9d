//! Draws a world from its seed: size, parameters, fault rates. Worlds are tiny, so that rare events of a large one are
//! common.

use std::time::Duration;

use tidefeed::{
    app::Settings,
    domain::{
        delivery::{DeliveryPolicy, EdgeRule},
        timeline::tier::InboxTiers,
    },
    live::LiveSettings,
    publish::FirstServed,
};

use crate::{
    fault_injector::Rates,
    inbox_stores::Kind,
    replicas::{Naming, ReplicaOptions},
    rng::SimRng,
};

/// See the module.
#[derive(Debug, Clone)]
pub struct Plan {
    pub users: i64,
    pub nodes: usize,
    /// Client operations until the world comes to rest.
    pub operations: usize,
    /// Operations and workers' steps under way at most.
    pub crowd: usize,
    /// Of the steps begun, how many in a million are workers'.
    pub work: u32,
    /// Shares of publish, remove, follow, unfollow, page, walk, keeping somebody out, and many following or
    /// unfollowing at once.
    pub shares: [u64; 8],
    /// The share of reactions and changes of profiles beside `shares`. With any, clients read cards.
    pub cards: u64,
    /// Whether files are imported.
    pub has_imports: bool,
    /// Of the publishes, how many in a million are reposts, and how many replies.
    pub references: [u32; 2],
    /// A star, and how many in a million publishes, follows and unfollows concern it.
    pub star: (usize, u32),
    /// Largest page.
    pub page: i64,
    pub settings: Settings,
    /// Entries of a cached outbox; 0 for no cache.
    pub cache: usize,
    pub one_writer: bool,
    pub ranges_at_once: usize,
    /// How far nodes' clocks may be wrong, in ms.
    pub skew: i64,
    /// How far time leaps at most, in ms.
    pub leap: i64,
    pub rates: Rates,
    pub watchers: Watchers,
    /// Rows that inboxes outside SQL keep, if there are any.
    pub outside: Option<(Kind, u32)>,
    /// Read replicas of the SQL store, if there are any.
    pub replicas: Option<ReplicaOptions>,
    /// Of the workers' steps, how many in a million are audits, and how many mend an inbox that needs none.
    pub audits: [u32; 2],
}

/// Who watches live.
#[derive(Debug, Clone, Copy, Default)]
pub struct Watchers {
    pub devices: usize,
    /// Largest page that a device begins with.
    pub page: i64,
    /// How many in a million events are the last of their connection, received or not.
    pub hang_up: u32,
    /// Whether some loss may leave no trace, so that only a look now and then finds it.
    pub check: bool,
}

/// Of tokio's time, which stands still until [`crate::world::World::let_checks_come`].
pub const CHECK_EVERY: Duration = Duration::from_mins(5);

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const DAY: i64 = 24 * 60 * MINUTE;

/// The first world with cards: those before it, many of which docs/broken-rules.md keeps, stay what they were.
pub const FIRST_WITH_CARDS: u64 = 10_000;
/// Makes of a world's seed that of what is drawn for inboxes outside SQL.
const OUTSIDE: u64 = 0x006f_7574_7369_6465;
/// The same of replicas.
const REPLICAS: u64 = 0x7265_706c_6963_6173;

fn edge_rule(rng: &mut SimRng) -> EdgeRule {
    match rng.below(4) {
        0 => EdgeRule::Threshold {
            push_threshold: rng.below(5),
            active_days: u32::try_from(rng.within(0, 2)).unwrap_or(1),
        },
        1 => EdgeRule::Rates { push_cost: 1, pull_cost: rng.pick(&[1, 10, 1_000]) },
        _ => EdgeRule::Random { seed: rng.next() },
    }
}

impl Plan {
    /// Draws a plan; `operations` client operations long.
    pub fn draw(rng: &mut SimRng, operations: usize) -> Self {
        let small = |rng: &mut SimRng, from, to| u32::try_from(rng.within(from, to)).unwrap_or(1);
        let size = |rng: &mut SimRng, from, to| usize::try_from(rng.within(from, to)).unwrap_or(1);
        let keep = small(rng, 1, 8);
        let policy = DeliveryPolicy { rule: edge_rule(rng), dormant_days: small(rng, 0, 3) };
        let tiers = InboxTiers {
            keep,
            step: small(rng, 1, 6),
            deep_keep: keep + small(rng, 0, 8),
            longest_ms: rng.pick(&[1_000, 10 * MINUTE, DAY]),
        };
        let any = Self {
            users: rng.pick(&[2, 2, 3, 3, 4, 6]),
            nodes: size(rng, 1, 3),
            operations,
            crowd: size(rng, 2, 14),
            work: rng.pick(&[200_000, 400_000, 600_000, 700_000]),
            shares: [
                3 + rng.below(6),
                rng.below(4),
                2 + rng.below(5),
                1 + rng.below(5),
                2 + rng.below(6),
                rng.below(2),
                rng.below(3),
                rng.below(3),
            ],
            cards: 0,
            has_imports: false,
            references: rng.pick(&[[0, 0], [100_000, 100_000], [600_000, 50_000]]),
            star: (rng.index(6), rng.pick(&[0, 400_000, 800_000])),
            page: rng.within(1, 4),
            settings: Settings {
                policy,
                subtask_size: small(rng, 1, 3),
                batch_size: small(rng, 1, 3),
                batches_at_once: 1,
                lease_ms: rng.pick(&[50, 1_000, 30_000]),
                failing_after: 3,
                tiers,
                first: FirstServed { most: 2, beyond_transactions: 1, within_ms: 20 * MINUTE },
                seen_every_ms: 10 * MINUTE,
                service_log_ms: 90 * DAY,
                live: LiveSettings::default(),
            },
            cache: if rng.chance(200_000) { 0 } else { size(rng, 1, 6) },
            one_writer: rng.chance(200_000),
            ranges_at_once: size(rng, 1, 3),
            skew: rng.pick(&[0, 50, 5 * SECOND, 10 * MINUTE, DAY]),
            leap: rng.pick(&[20 * SECOND, 20 * MINUTE, 40 * MINUTE, 2 * DAY]),
            rates: fault_rates(rng),
            watchers: Watchers::default(),
            outside: None,
            replicas: None,
            audits: [0, 0],
        };
        any.of_some_kind(rng)
    }

    /// Half of the worlds are of kinds in which rare interleavings are common.
    fn of_some_kind(self, rng: &mut SimRng) -> Self {
        match rng.below(6) {
            0 => self.of_many_ranges(rng),
            1 => self.of_fickle_edges(rng),
            2 => self.of_lapses(rng),
            _ => self.with_onlookers(rng),
        }
    }

    /// In every other world somebody watches, in some there are audits.
    fn with_onlookers(mut self, rng: &mut SimRng) -> Self {
        self.audits = rng.pick(&[[0, 0], [0, 0], [100_000, 20_000], [50_000, 100_000]]);
        let devices = if rng.chance(500_000) { 1 + rng.index(4) } else { 0 };
        if devices > 0 && rng.chance(500_000) {
            // Who dies between a commit and its announcement takes that along: not here.
            (self.rates.crash, self.rates.cancel, self.rates.answer_lost) = (0, 0, 0);
            (self.shares[6], self.references) = (4, [400_000, 50_000]);
        }
        let check = self.rates.crash > 0 || self.rates.cancel > 0 || self.rates.answer_lost > 0;
        let hang_up = rng.pick(&[0, 5_000, 100_000]);
        self.watchers = Watchers { devices, page: rng.within(1, 12), hang_up, check };
        self.settings.live = LiveSettings {
            buffer: rng.pick(&[1, 2, 4, 64]),
            catch_up: rng.pick(&[1, 4, 20, 200]),
            catch_ups: 1 + rng.index(3),
            check_every: if check { CHECK_EVERY } else { Duration::ZERO },
            ..LiveSettings::default()
        };
        self
    }

    /// One author whose followers come and go in crowds while deliveries to them are cut into ranges by several
    /// dispatchers at once.
    fn of_many_ranges(mut self, rng: &mut SimRng) -> Self {
        self.users = 6;
        self.star = (2 + rng.index(2), 900_000);
        self.shares = [6, 0, 2, 1, 3, 0, 0, 4];
        self.work = 600_000;
        self.crowd = self.crowd.max(8);
        self.settings.policy.rule = EdgeRule::Threshold { push_threshold: 100, active_days: 0 };
        self.settings.subtask_size = 1;
        (self.ranges_at_once, self.one_writer) = (2, false);
        self.rates.held = rng.pick(&[100_000, 300_000]);
        self.rates.message = [50_000, 500_000, 100_000];
        self.rates.answer_lost = 300_000;
        self
    }

    /// Readers who are off and back again all the time: nodes disagree about the day.
    fn of_lapses(mut self, rng: &mut SimRng) -> Self {
        self.users = rng.pick(&[2, 3]);
        self.nodes = 3;
        self.shares = [6, 1, 2, 1, 6, 0, 0, 0];
        self.work = 600_000;
        self.crowd = self.crowd.max(6);
        self.settings.policy =
            DeliveryPolicy { rule: EdgeRule::Threshold { push_threshold: 100, active_days: 0 }, dormant_days: 1 };
        self.one_writer = false;
        self.skew = 2 * DAY;
        self.rates.clock_jumps = 3_000;
        self.rates.held = rng.pick(&[100_000, 300_000]);
        self
    }

    /// Readers who stay, so that nodes remember their authors, while authors are followed, left, muted, hidden, blocked
    /// and reposted: one seed in eight, so that the other worlds stay what they were.
    pub fn of_remembered_readers(mut self, seed: u64) -> Self {
        if seed % 8 != 6 {
            return self;
        }
        self.users = 3;
        self.nodes = 2;
        self.shares = [5, 1, 3, 2, 9, 1, 5, 0];
        self.references = [500_000, 0];
        self.work = 600_000;
        self.settings.policy =
            DeliveryPolicy { rule: EdgeRule::Threshold { push_threshold: 100, active_days: 0 }, dormant_days: 30 };
        self.settings.tiers.keep = self.settings.tiers.keep.max(5);
        (self.leap, self.skew) = (20 * SECOND, 0);
        (self.rates.crash, self.rates.queue_wiped, self.rates.clock_jumps) = (0, 0, 0);
        self.rates.message = [0, 0, 0];
        self
    }

    /// One author who publishes while edges to them are filled, pushed along and pulled again.
    fn of_fickle_edges(mut self, rng: &mut SimRng) -> Self {
        self.users = rng.pick(&[2, 3, 4]);
        self.star = (rng.index(4), 900_000);
        self.shares = [8, 1, 3, 3, 4, 0, 0, 1];
        self.work = 600_000;
        self.crowd = self.crowd.max(6);
        self.settings.policy.rule = EdgeRule::Random { seed: rng.next() };
        self.one_writer = false;
        self.rates.held = rng.pick(&[100_000, 300_000]);
        self
    }
}

impl Plan {
    /// Every other world from [`FIRST_WITH_CARDS`] on has cards, one in four a store that loses commits. Devices would
    /// have to learn by looking that what they hold was lost: nobody watches there.
    pub fn with_cards(mut self, seed: u64) -> Self {
        if has_cards(seed) {
            self.cards = 4;
        }
        if loses_commits(seed) {
            self.rates.commits_lost = 1_000;
            self.watchers = Watchers::default();
        }
        self
    }

    /// One world in eight from [`FIRST_WITH_CARDS`] on has people whose accounts are deleted while others follow them.
    pub fn with_leavers(mut self, seed: u64) -> Self {
        if has_leavers(seed) {
            // Follows that stay open for longer than an account is looked after, by nodes that agree on the time.
            (self.rates.held, self.rates.leap, self.leap) = (300_000, 15_000, 20 * MINUTE);
            (self.rates.clock_jumps, self.skew, self.one_writer, self.work) = (0, 0, false, 600_000);
        }
        self
    }

    /// One world in eight from [`FIRST_WITH_CARDS`] on has imports, and later worlds with inboxes outside SQL, too.
    pub fn with_imports(mut self, seed: u64) -> Self {
        self.has_imports = has_imports(seed);
        self
    }

    /// Two worlds in eight have inboxes outside SQL, whose readers come, stay and leave.
    pub fn with_outside_inboxes(mut self, seed: u64) -> Self {
        let Some(kind) = store_of(seed) else { return self };
        let mut rng = SimRng::of(seed ^ OUTSIDE);
        self.outside = u32::try_from(rng.within(2, 6)).ok().map(|keep| (kind, keep));
        self.users = rng.pick(&[2, 3, 3]);
        self.nodes = 2;
        self.watchers = Watchers::default();
        self.shares = [6, 1, 3, 2, 9, 1, rng.below(2), 0];
        self.cards = 2;
        self.work = 600_000;
        self.rates.inboxes_happen = rng.pick(&[0, 1_000, 3_000, 10_000]);
        self.rates.inboxes_away = rng.pick(&[0, 5_000, 30_000]);
        self.rates.commits_lost = rng.pick(&[0, 500, 2_000]);
        self.settings.seen_every_ms = 1;
        self.settings.policy = DeliveryPolicy {
            rule: rng.pick(&[EdgeRule::Threshold { push_threshold: 100, active_days: 0 }, EdgeRule::Random { seed }]),
            dormant_days: 30,
        };
        self
    }
}

impl Plan {
    /// One world in four from [`FIRST_WITH_REPLICAS`] on has read replicas, of all other kinds of worlds. Where nobody
    /// watches, the SQL store fails over and loses commits.
    pub fn with_replicas(mut self, seed: u64) -> Self {
        if !has_replicas(seed) {
            return self;
        }
        let mut rng = SimRng::of(seed ^ REPLICAS);
        let naming = rng.pick(&[Naming::Sets, Naming::Numbers]);
        self.replicas = Some(ReplicaOptions { count: 1 + rng.index(2), naming, patience: rng.pick(&[10, 100, 300]) });
        self.rates.replication_held = rng.pick(&[0, 10_000, 30_000, 100_000]);
        self.rates.replica_built = 3_000;
        if seed.is_multiple_of(2) {
            self.watchers = Watchers::default();
            self.rates.commits_lost = rng.pick(&[500, 2_000, 5_000]);
        }
        self
    }
}

/// The first world with replicas: those before it, many of which docs/broken-rules.md keeps, stay what they were.
pub const FIRST_WITH_REPLICAS: u64 = 80_000;

/// Whether the world has replicas.
pub const fn has_replicas(seed: u64) -> bool {
    seed >= FIRST_WITH_REPLICAS && (seed / 8).is_multiple_of(4)
}

/// The store of inboxes outside SQL, if the world has one.
pub const fn store_of(seed: u64) -> Option<Kind> {
    match seed % 8 {
        _ if seed < FIRST_WITH_CARDS => None,
        2 => Some(Kind::Redis),
        4 => Some(Kind::Cassandra),
        _ => None,
    }
}

/// The first world with inboxes outside SQL in which files are imported: those before it stay what they were.
const FIRST_WITH_IMPORTS_OUTSIDE: u64 = 30_000;

/// Whether files are imported in the world.
pub const fn has_imports(seed: u64) -> bool {
    match seed % 8 {
        1 => seed >= FIRST_WITH_CARDS,
        2 | 4 => seed >= FIRST_WITH_IMPORTS_OUTSIDE,
        _ => false,
    }
}

/// Further people in worlds in which accounts are deleted. They do nothing but are followed, and leave.
pub const LEAVERS: i64 = 6;

/// Whether accounts are deleted in the world.
pub const fn has_leavers(seed: u64) -> bool {
    seed >= FIRST_WITH_CARDS && seed % 8 == 5
}

/// Whether clients of the world read cards.
pub const fn has_cards(seed: u64) -> bool {
    seed >= FIRST_WITH_CARDS && seed.is_multiple_of(2)
}

/// Whether the world's store may lose commits.
pub const fn loses_commits(seed: u64) -> bool {
    seed >= FIRST_WITH_CARDS && seed % 4 == 2
}

/// How often the store undoes a transaction by itself, in a million statements: of three seeds in sixteen, so that the
/// other worlds stay what they were.
pub const fn rolled_back(seed: u64) -> u32 {
    match seed % 16 {
        4 => 500,
        9 => 5_000,
        13 => 30_000,
        _ => 0,
    }
}

/// How often groups are heard late, and how often a subscription breaks, in a million; and the groups, many or few. Of
/// every fourth seed among those of which docs/broken-rules.md keeps none.
pub const fn interest(seed: u64) -> ([u32; 2], u32) {
    match seed % 8 {
        _ if seed < FIRST_WITH_CARDS => ([0, 0], 0),
        3 => ([500_000, 0], 100),
        7 => ([600_000, 1_000], 2),
        _ => ([0, 0], 0),
    }
}

/// Each kind of fault is absent, rare or common.
fn fault_rates(rng: &mut SimRng) -> Rates {
    let switch = rng.pick(&[100_000, 400_000, 700_000, 950_000]);
    let by_rank = rng.pick(&[0, 500_000, 900_000, 970_000]);
    let new_rank = rng.pick(&[0, 20_000, 100_000]);
    let stall = rng.pick(&[0, 5_000, 50_000, 200_000]);
    let held = rng.pick(&[0, 10_000, 50_000, 100_000]);
    let leap = rng.pick(&[1_000, 4_000, 15_000]);
    let mut rate = |rare: u32, common: u32| {
        let drawn = rng.pick(&[0, 0, rare, common]);
        u32::try_from(rng.below(u64::from(drawn) + 1)).unwrap_or(0)
    };
    Rates {
        stall,
        held,
        crash: rate(200, 3_000),
        cancel: rate(300, 6_000),
        statement_lost: rate(1_000, 20_000),
        rolled_back: 0,
        commits_lost: 0,
        answer_lost: rate(2_000, 60_000),
        contended: rate(2_000, 30_000),
        message: [rate(20_000, 500_000), rate(20_000, 300_000), rate(20_000, 300_000)],
        queue_wiped: rate(100, 2_000),
        queue_away: rate(2_000, 50_000),
        cache_write: [rate(20_000, 400_000), rate(20_000, 300_000), rate(20_000, 400_000)],
        cache_away: rate(5_000, 100_000),
        cache_wiped: rate(300, 6_000),
        announcement: [rate(20_000, 300_000), rate(20_000, 300_000), rate(20_000, 300_000)],
        interest: [0, 0],
        groups: 0,
        inboxes_happen: 0,
        inboxes_away: 0,
        replication_held: 0,
        replica_built: 0,
        clock_jumps: rate(200, 3_000),
        leap,
        switch,
        by_rank,
        new_rank,
    }
}
