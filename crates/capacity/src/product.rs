//! What a product has and does.

use thiserror::Error;

use crate::measured::Engine;

const SECONDS_A_DAY: f64 = 86_400.0;
/// Days of a year.
pub const DAYS_A_YEAR: f64 = 365.0;
/// Entries of an inbox beyond `inbox.keep`, as a share, before it is trimmed.
const TRIM_SLACK: f64 = 0.1;

/// A product: how many people, and what they do. Shares are between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Product {
    /// Accounts.
    pub users: f64,
    /// Of them, the share that has an inbox: seen within `delivery.dormant_days`.
    pub active: f64,
    /// Of them, the share that was seen within `delivery.active_days`.
    pub lately: f64,
    /// Of all accounts, the share that comes on a day.
    pub daily: f64,
    /// Whom a user follows, on average.
    pub follows: f64,
    /// Followers of the author of a post, on average over posts.
    pub audience: f64,
    /// Of these followers, the share that follows an author with more than `delivery.push_threshold` of them.
    pub of_stars: f64,
    /// Of who comes on a day, each day: visits that come so long after the last one that no node remembers the reader.
    pub visits: f64,
    /// Pages read, with the first of each visit.
    pub pages: f64,
    /// Posts, reposts and replies.
    pub posts: f64,
    /// Likes and other reactions.
    pub likes: f64,
    /// New follows.
    pub new_follows: f64,
    /// Of who comes on a day, the share that is connected at the busiest time.
    pub connected: f64,
    /// The busiest second over the mean one.
    pub peak: f64,
    /// Years of history that are kept.
    pub years: f64,
    /// Mean length of a post's text, in bytes.
    pub text_bytes: f64,
    /// `inbox.keep`.
    pub keep: f64,
}

/// A value that makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{what} must be {range}")]
pub struct OutOfRange {
    /// The field.
    pub what: &'static str,
    /// What it may be.
    pub range: &'static str,
}

impl Default for Product {
    fn default() -> Self {
        Self {
            users: 100_000.0,
            active: 0.3,
            lately: 0.2,
            daily: 0.1,
            follows: 50.0,
            audience: 100.0,
            of_stars: 0.3,
            visits: 4.0,
            pages: 20.0,
            posts: 0.5,
            likes: 5.0,
            new_follows: 0.2,
            connected: 0.1,
            peak: 3.0,
            years: 3.0,
            text_bytes: 120.0,
            keep: 300.0,
        }
    }
}

/// Operations a second at the busiest time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// First pages of visits.
    pub first_pages: f64,
    /// Other pages.
    pub pages: f64,
    /// Posts, reposts and replies.
    pub publishes: f64,
    /// Likes.
    pub likes: f64,
    /// New follows.
    pub follows: f64,
    /// Rows that are written into inboxes.
    pub deliveries: f64,
    /// Events on open sockets.
    pub events: f64,
}

/// Rows that are written into inboxes, a second at the busiest time, by what `delivery.policy` makes of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deliveries {
    /// To every follower with an inbox: "threshold" with a `push_threshold` above all authors.
    pub to_all: f64,
    /// "threshold" as it is set.
    pub threshold: f64,
    /// "rates" with equal costs.
    pub rates: f64,
}

/// What has come together when the history is complete.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stock {
    /// Accounts.
    pub users: f64,
    /// Posts, reposts and replies.
    pub contents: f64,
    /// Edges.
    pub follows: f64,
    /// Likes.
    pub likes: f64,
    /// Inboxes of active readers.
    pub inboxes: f64,
    /// Entries of all inboxes together.
    pub inbox_entries: f64,
}

impl Product {
    /// Checks each value.
    ///
    /// # Errors
    ///
    /// A share outside 0 to 1, a negative number, no users, or more of them than ids.
    pub fn checked(self) -> Result<Self, OutOfRange> {
        let shares = [
            ("--active", self.active),
            ("--lately", self.lately),
            ("--daily", self.daily),
            ("--of-stars", self.of_stars),
            ("--connected", self.connected),
        ];
        for (what, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(OutOfRange { what, range: "a share from 0 to 1" });
            }
        }
        let amounts = [
            ("--follows", self.follows),
            ("--audience", self.audience),
            ("--visits", self.visits),
            ("--pages", self.pages),
            ("--posts", self.posts),
            ("--likes", self.likes),
            ("--new-follows", self.new_follows),
            ("--text-bytes", self.text_bytes),
        ];
        for (what, amount) in amounts {
            if !(0.0..=1e6).contains(&amount) {
                return Err(OutOfRange { what, range: "from 0 to 1,000,000" });
            }
        }
        if self.lately > self.active {
            return Err(OutOfRange { what: "--lately", range: "at most --active" });
        }
        if self.visits > self.pages {
            return Err(OutOfRange { what: "--visits", range: "at most --pages" });
        }
        if !(1.0..=1e11).contains(&self.users) {
            return Err(OutOfRange { what: "--users", range: "from 1 to 100,000,000,000" });
        }
        if !(1.0..=1e3).contains(&self.peak) {
            return Err(OutOfRange { what: "--peak", range: "from 1 to 1,000" });
        }
        if !(1.0..=1e5).contains(&self.keep) {
            return Err(OutOfRange { what: "--keep", range: "from 1 to 100,000" });
        }
        if !(0.0..=1e3).contains(&self.years) {
            return Err(OutOfRange { what: "--years", range: "from 0 to 1,000" });
        }
        Ok(self)
    }

    /// Operations a second at the busiest time.
    #[must_use]
    pub fn rates(&self) -> Rates {
        let each = self.visitors();
        let publishes = each * self.posts;
        Rates {
            first_pages: each * self.visits,
            pages: each * (self.pages - self.visits),
            publishes,
            likes: each * self.likes,
            follows: each * self.new_follows,
            deliveries: self.deliveries().threshold,
            events: publishes * self.audience * self.daily * self.connected,
        }
    }

    /// People who come in the busiest second, if each comes once on a day.
    fn visitors(&self) -> f64 {
        self.users * self.daily / SECONDS_A_DAY * self.peak
    }

    /// Rows that are written into inboxes, a second at the busiest time. For "rates" both how often somebody with an
    /// inbox comes and how often the author of an edge posts are taken to be spread exponentially, independent of each
    /// other: with means r and p, the edges with p <= r bring r² / (p + r)² of all rows.
    #[must_use]
    pub fn deliveries(&self) -> Deliveries {
        let to_all = self.visitors() * self.posts * self.audience * self.active;
        let pushed = (1.0 - self.of_stars) + self.of_stars * share(self.lately, self.active);
        let (reads, posts) = (
            share(self.daily * self.visits, self.active),
            share(self.daily * self.posts * self.audience, self.follows),
        );
        Deliveries { to_all, threshold: to_all * pushed, rates: to_all * share(reads, posts + reads).powi(2) }
    }

    /// Sockets that are open at the busiest time.
    #[must_use]
    pub fn sockets(&self) -> f64 {
        self.users * self.daily * self.connected
    }

    /// What there is after `years`.
    #[must_use]
    pub fn stock(&self) -> Stock {
        let days = self.years * DAYS_A_YEAR;
        let each = self.users * self.daily * days;
        let contents = each * self.posts;
        let inboxes = self.users * self.active;
        // An inbox is not longer than what its authors have published.
        let published = share(contents, self.users) * self.follows;
        let entries = published.min(self.keep * (1.0 + TRIM_SLACK / 2.0));
        Stock {
            users: self.users,
            contents,
            follows: self.users * self.follows,
            likes: each * self.likes,
            inboxes,
            inbox_entries: inboxes * entries,
        }
    }
}

/// One over the other, and nothing of nothing.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// A table when the history is complete.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSize {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: f64,
    /// Their bytes, with index entries.
    pub bytes: f64,
    /// Of the bytes, those that belong to users and follows, not to what is published day by day.
    pub lasting_bytes: f64,
}

impl TableSize {
    /// Of the bytes, those that were written day by day.
    #[must_use]
    pub fn daily_bytes(&self) -> f64 {
        self.bytes - self.lasting_bytes
    }
}

/// The table whose rows are bounded for each reader.
pub const INBOXES: &str = "inboxes";
/// The table whose rows grow with the length of texts.
const TERMS: &str = "search_terms";

/// All tables that grow, the largest first.
#[must_use]
pub fn table_sizes(product: &Product, engine: &Engine) -> Vec<TableSize> {
    let stock = product.stock();
    let mut all: Vec<_> = engine
        .tables
        .iter()
        .map(|(name, table)| {
            let per = table.rows;
            let length = if name == TERMS { product.text_bytes / engine.text_bytes.max(1.0) } else { 1.0 };
            let (lasting, daily) = if name == INBOXES {
                (0.0, stock.inbox_entries)
            } else {
                let daily = per.publish * stock.contents * length + per.like * stock.likes;
                (per.user * stock.users + per.follow * stock.follows, daily)
            };
            let rows = lasting + daily;
            let bytes_of = |rows: f64| rows * table.bytes_of_row;
            TableSize { name: name.clone(), rows, bytes: bytes_of(rows), lasting_bytes: bytes_of(lasting) }
        })
        .collect();
    all.sort_by(|one, other| other.bytes.total_cmp(&one.bytes));
    all
}
