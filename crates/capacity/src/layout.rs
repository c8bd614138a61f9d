//! Ways to deploy, what each needs, and which is the first that is enough.

use crate::{
    measured::{Cost, Engine, Measured, Operations},
    product::{DAYS_A_YEAR, INBOXES, OutOfRange, Product, Rates, TableSize, table_sizes},
};

const US_A_SECOND: f64 = 1e6;
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
/// Copies that Cassandra keeps of a row (`cassandra.replication`).
const COPIES: f64 = 3.0;
/// Memory of a Cassandra server with the heap that its makers advise.
const CASSANDRA_GIB: f64 = 16.0;
/// Days of which nearly all reads are.
const HOT_DAYS: f64 = 30.0;
/// Replicas beyond which a primary has too many to feed.
const MOST_REPLICAS: u32 = 15;

/// The largest server that one can or wants to have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Server {
    /// Cores.
    pub cores: f64,
    /// Memory.
    pub memory_gib: f64,
    /// Disk.
    pub disk_gib: f64,
    /// The share of its cores that may be busy at the busiest time.
    pub busy: f64,
}

impl Default for Server {
    fn default() -> Self {
        Self { cores: 32.0, memory_gib: 256.0, disk_gib: 8_000.0, busy: 0.5 }
    }
}

impl Server {
    /// Checks each value.
    ///
    /// # Errors
    ///
    /// A size that is not positive, or a share outside 0 to 1.
    pub fn checked(self) -> Result<Self, OutOfRange> {
        let sizes =
            [("--server-cores", self.cores), ("--server-memory", self.memory_gib), ("--server-disk", self.disk_gib)];
        for (what, size) in sizes {
            if !(1.0..=1e9).contains(&size) {
                return Err(OutOfRange { what, range: "from 1 to 1,000,000,000" });
            }
        }
        if !(0.01..=1.0).contains(&self.busy) {
            return Err(OutOfRange { what: "--busy", range: "a share from 0.01 to 1" });
        }
        Ok(self)
    }
}

/// A way to deploy, in the order in which they are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// One process with SQLite.
    Embedded,
    /// One SQL server and Redis.
    OneServer,
    /// The same with inboxes in Redis.
    RedisInboxes,
    /// The same with inboxes in Cassandra.
    CassandraInboxes,
    /// One SQL server with replicas, and Redis.
    Replicas,
    /// The same with inboxes in Cassandra.
    CassandraAndReplicas,
}

/// All of them.
pub const LAYOUTS: [Layout; 6] = [
    Layout::Embedded,
    Layout::OneServer,
    Layout::RedisInboxes,
    Layout::CassandraInboxes,
    Layout::Replicas,
    Layout::CassandraAndReplicas,
];

impl Layout {
    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Embedded => "one process with SQLite",
            Self::OneServer => "one SQL server and Redis",
            Self::RedisInboxes => "one SQL server, inboxes in Redis",
            Self::CassandraInboxes => "one SQL server and Redis, inboxes in Cassandra",
            Self::Replicas => "one SQL server with replicas, and Redis",
            Self::CassandraAndReplicas => "one SQL server with replicas and Redis, inboxes in Cassandra",
        }
    }
}

/// What one layout needs at the busiest time, when the history is complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Needs {
    /// Which one.
    pub layout: Layout,
    /// Servers of a kind, with what each of them has to do; without spares.
    pub parts: Vec<Part>,
    /// Why it is not enough; empty if it is.
    pub lacks: Vec<String>,
}

/// Servers of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// What they are.
    pub name: &'static str,
    /// How many.
    pub servers: u32,
    /// Cores that are busy, of all of them together.
    pub busy_cores: f64,
    /// Memory of all of them together.
    pub memory_gib: f64,
    /// Disk of all of them together.
    pub disk_gib: f64,
}

/// Prices a month, in any currency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// Of a core.
    pub core: f64,
    /// Of a GiB of memory.
    pub memory_gib: f64,
    /// Of a GiB of disk.
    pub disk_gib: f64,
}

impl Needs {
    /// The price of a month: cores with the share that stays free, memory and disk.
    #[must_use]
    pub fn price(&self, prices: &Prices, server: &Server) -> f64 {
        let of = |part: &Part| {
            part.busy_cores / server.busy * prices.core
                + part.memory_gib * prices.memory_gib
                + part.disk_gib * prices.disk_gib
        };
        self.parts.iter().map(of).sum()
    }

    /// Whether it is enough.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.lacks.is_empty()
    }
}

/// Busy cores of one of the servers for all operations of a second.
fn cores(rates: &Rates, of: &Operations, server: impl Fn(&Cost) -> f64) -> f64 {
    let each = [
        (rates.first_pages, of.first_page),
        (rates.pages, of.page),
        (rates.likes, of.like),
        (rates.follows, of.follow),
        (rates.publishes, of.publish),
        (rates.deliveries, of.delivery),
    ];
    each.iter().map(|(rate, cost)| rate * server(cost)).sum::<f64>() / US_A_SECOND
}

/// What each layout needs, in the order in which they are offered.
#[must_use]
pub fn layouts(product: &Product, measured: &Measured, server: &Server) -> Vec<Needs> {
    let model = Model { product, measured, server, rates: product.rates() };
    LAYOUTS.into_iter().map(|layout| model.needs(layout)).collect()
}

struct Model<'a> {
    product: &'a Product,
    measured: &'a Measured,
    server: &'a Server,
    rates: Rates,
}

impl Model<'_> {
    fn needs(&self, layout: Layout) -> Needs {
        let measured = self.measured;
        let parts = match layout {
            Layout::Embedded => vec![self.embedded()],
            Layout::OneServer => {
                let of = &measured.mariadb.operations;
                vec![self.nodes(of), self.sql(of, true), self.redis(of, 0.0)]
            }
            Layout::RedisInboxes => {
                let outside = &measured.mariadb_redis_inboxes;
                let of = &outside.operations;
                let inboxes = self.inboxes_gib(outside.inbox_bytes);
                vec![self.nodes(of), self.sql(of, false), self.redis(of, inboxes)]
            }
            Layout::CassandraInboxes => {
                let of = &measured.mariadb_cassandra_inboxes.operations;
                vec![self.nodes(of), self.sql(of, false), self.redis(of, 0.0), self.cassandra(of)]
            }
            Layout::Replicas => {
                let of = &measured.mariadb_replica.operations;
                vec![self.nodes(of), self.sql(of, true), self.replicas(of, true), self.redis(of, 0.0)]
            }
            Layout::CassandraAndReplicas => {
                let of = &measured.mariadb_cassandra_replica.operations;
                let (sql, replicas) = (self.sql(of, false), self.replicas(of, false));
                vec![self.nodes(of), sql, replicas, self.redis(of, 0.0), self.cassandra(of)]
            }
        };
        let lacks = parts.iter().flat_map(|part| self.lacks(part)).collect();
        Needs { layout, parts, lacks }
    }

    /// SQLite lies in the process. It has one writer and no second node.
    fn embedded(&self) -> Part {
        let of = &self.measured.sqlite.operations;
        Part {
            name: "tidefeed with SQLite",
            servers: 1,
            busy_cores: cores(&self.rates, of, |cost| cost.node_us) + self.events(),
            memory_gib: self.node_memory(1.0) + self.hot_gib(&self.measured.sqlite, true),
            disk_gib: self.disk_gib(&self.measured.sqlite, true),
        }
    }

    fn nodes(&self, of: &Operations) -> Part {
        let busy_cores = cores(&self.rates, of, |cost| cost.node_us) + self.events();
        let servers = self.servers(busy_cores, self.node_memory(0.0), 0.0);
        let memory_gib = self.node_memory(f64::from(servers));
        Part { name: "tidefeed", servers, busy_cores, memory_gib, disk_gib: 0.0 }
    }

    fn sql(&self, of: &Operations, has_inboxes: bool) -> Part {
        Part {
            name: "SQL primary",
            servers: 1,
            busy_cores: cores(&self.rates, of, |cost| cost.sql_us),
            memory_gib: self.hot_gib(&self.measured.mariadb, has_inboxes),
            disk_gib: self.disk_gib(&self.measured.mariadb, has_inboxes),
        }
    }

    /// Each replica applies all changes, and they share the reads.
    fn replicas(&self, of: &Operations, has_inboxes: bool) -> Part {
        let writes = Rates { first_pages: 0.0, pages: 0.0, ..self.rates };
        let applied = cores(&writes, of, |cost| cost.replica_us);
        let read = cores(&self.rates, of, |cost| cost.replica_us) - applied;
        let room = self.server.cores * self.server.busy - applied;
        let servers = if room > 0.0 { count(read / room).min(MOST_REPLICAS) } else { MOST_REPLICAS };
        let each = f64::from(servers);
        Part {
            name: "SQL replicas",
            servers,
            busy_cores: read + applied * each,
            memory_gib: self.hot_gib(&self.measured.mariadb, has_inboxes) * each,
            disk_gib: self.disk_gib(&self.measured.mariadb, has_inboxes) * each,
        }
    }

    fn redis(&self, of: &Operations, inboxes_gib: f64) -> Part {
        let busy_cores = cores(&self.rates, of, |cost| cost.redis_us);
        // Redis runs commands on one core.
        let servers = count(busy_cores / self.server.busy).max(self.servers(0.0, inboxes_gib, 0.0));
        Part { name: "Redis", servers, busy_cores, memory_gib: inboxes_gib, disk_gib: 0.0 }
    }

    fn cassandra(&self, of: &Operations) -> Part {
        let busy_cores = cores(&self.rates, of, |cost| cost.cassandra_us) * COPIES;
        let disk_gib = self.inboxes_gib(self.measured.mariadb_cassandra_inboxes.inbox_bytes) * COPIES;
        let servers = self.servers(busy_cores, 0.0, disk_gib).max(3);
        Part { name: "Cassandra", servers, busy_cores, memory_gib: CASSANDRA_GIB * f64::from(servers), disk_gib }
    }

    fn events(&self) -> f64 {
        self.rates.events * self.measured.live.event_us / US_A_SECOND
    }

    fn node_memory(&self, nodes: f64) -> f64 {
        (self.product.sockets() * self.measured.live.socket_bytes + nodes * self.measured.live.node_bytes) / GIB
    }

    fn inboxes_gib(&self, bytes: f64) -> f64 {
        let stock = self.product.stock();
        stock.inbox_entries / self.product.keep.max(1.0) * bytes / GIB
    }

    fn disk_gib(&self, engine: &Engine, has_inboxes: bool) -> f64 {
        tables(self.product, engine, has_inboxes).map(|table| table.bytes).sum::<f64>() / GIB
    }

    /// What should lie in the memory of an SQL server: inboxes, and of what grows by the day, the newest month.
    fn hot_gib(&self, engine: &Engine, has_inboxes: bool) -> f64 {
        let days = (self.product.years * DAYS_A_YEAR).max(1.0);
        let recent = (HOT_DAYS / days).min(1.0);
        let hot = tables(self.product, engine, has_inboxes).map(|table| match table.name.as_str() {
            INBOXES => table.bytes,
            _ => table.lasting_bytes + table.daily_bytes() * recent,
        });
        hot.sum::<f64>() / GIB
    }

    fn servers(&self, busy_cores: f64, memory_gib: f64, disk_gib: f64) -> u32 {
        let of = self.server;
        let most = (busy_cores / (of.cores * of.busy)).max(memory_gib / of.memory_gib).max(disk_gib / of.disk_gib);
        count(most)
    }

    fn lacks(&self, part: &Part) -> Vec<String> {
        let (of, each) = (self.server, f64::from(part.servers));
        let amounts = [
            ("busy cores", part.busy_cores / each, of.cores * of.busy),
            ("GiB of memory", part.memory_gib / each, of.memory_gib),
            ("GiB of disk", part.disk_gib / each, of.disk_gib),
        ];
        let beyond = amounts.into_iter().filter(|(_, needed, has)| needed > has);
        beyond
            .map(|(what, needed, has)| format!("{}: {needed:.0} {what} where a server has {has:.0}", part.name))
            .collect()
    }
}

/// The tables that lie there.
fn tables(product: &Product, engine: &Engine, has_inboxes: bool) -> impl Iterator<Item = TableSize> {
    table_sizes(product, engine).into_iter().filter(move |table| has_inboxes || table.name != INBOXES)
}

/// Whole servers, at least one.
fn count(of: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
    let whole = of.ceil().clamp(1.0, 1e6) as u32;
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(product: Product) -> Vec<Needs> {
        Measured::own().map_or_else(|_| Vec::new(), |own| layouts(&product, &own, &Server::default()))
    }

    fn enough(users: f64) -> Option<Layout> {
        let all = needs(Product { users, ..Product::default() });
        all.iter().find(|needs| needs.is_enough()).map(|needs| needs.layout)
    }

    #[test]
    fn a_small_product_needs_one_process() {
        assert_eq!(enough(1_000.0), Some(Layout::Embedded));
    }

    #[test]
    fn a_billion_people_are_too_many_for_one_primary() {
        assert_eq!(enough(1e9), None);
        for needs in needs(Product { users: 1e9, ..Product::default() }) {
            assert!(needs.lacks.iter().any(|lack| lack.contains("SQL")), "{needs:?}");
        }
    }

    #[test]
    fn twice_the_people_need_twice_of_all() {
        let [one, two] = [1e6, 2e6].map(|users| needs(Product { users, ..Product::default() }));
        for (one, two) in one.iter().zip(&two) {
            for (one, two) in one.parts.iter().zip(&two.parts).filter(|(one, two)| one.servers == two.servers) {
                assert!((two.busy_cores / one.busy_cores - 2.0).abs() < 1e-6, "{one:?} {two:?}");
                assert!((two.disk_gib - one.disk_gib * 2.0).abs() < 1e-6, "{one:?} {two:?}");
            }
        }
    }

    #[test]
    fn inboxes_outside_sql_leave_its_disk() {
        let all = needs(Product { users: 1e6, ..Product::default() });
        let disk = |layout: Layout| {
            let of = all.iter().filter(|needs| needs.layout == layout).flat_map(|needs| &needs.parts);
            of.filter(|part| part.name == "SQL primary").map(|part| part.disk_gib).sum::<f64>()
        };
        assert!(disk(Layout::RedisInboxes) > 0.0 && disk(Layout::RedisInboxes) < disk(Layout::OneServer));
        for layout in [Layout::CassandraInboxes, Layout::CassandraAndReplicas] {
            assert!((disk(Layout::RedisInboxes) - disk(layout)).abs() < 1e-9, "{layout:?}");
        }
    }

    #[test]
    fn a_price_counts_free_cores_too() {
        let server = Server { busy: 0.5, ..Server::default() };
        let part = Part { name: "SQL primary", servers: 1, busy_cores: 2.0, memory_gib: 8.0, disk_gib: 100.0 };
        let needs = Needs { layout: Layout::OneServer, parts: vec![part], lacks: Vec::new() };
        let price = needs.price(&Prices { core: 10.0, memory_gib: 2.0, disk_gib: 0.1 }, &server);
        assert!((price - 66.0).abs() < 1e-9, "{price}");
    }

    #[test]
    fn a_policy_that_pushes_to_fewer_writes_fewer_rows() {
        let product = Product { of_stars: 0.5, active: 0.4, lately: 0.1, ..Product::default() };
        let of = product.deliveries();
        assert!(
            (of.threshold / of.to_all - 0.625).abs() < 1e-9,
            "half of the rows, and a quarter of the others: {of:?}"
        );
        let as_often = Product { active: 1.0, visits: 2.0, posts: 1.0, audience: 100.0, follows: 50.0, ..product };
        let of = as_often.deliveries();
        assert!((of.rates / of.to_all - 0.25).abs() < 1e-9, "who comes as often as others post: {of:?}");
        let all_equal = Product { of_stars: 0.0, ..product }.deliveries();
        assert!((all_equal.threshold - all_equal.to_all).abs() < 1e-9);
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        let product = Product::default();
        for (wrong, what) in [
            (Product { active: 1.5, ..product }, "--active"),
            (Product { active: 0.1, lately: 0.2, ..product }, "--lately"),
            (Product { users: 0.0, ..product }, "--users"),
            (Product { users: f64::NAN, ..product }, "--users"),
            (Product { peak: 0.5, ..product }, "--peak"),
            (Product { posts: -1.0, ..product }, "--posts"),
        ] {
            assert_eq!(wrong.checked().map_err(|error| error.what), Err(what));
        }
        assert!(Server { busy: 0.0, ..Server::default() }.checked().is_err());
        assert!(product.checked().is_ok());
    }
}
