//! `tidefeed plan`: what a deployment for a given number of people needs, from measured costs. It asks no server.

use std::{fmt::Write as _, path::PathBuf};

use anyhow::Context as _;
use capacity::{LAYOUTS, Measured, Needs, Part, Prices, Product, Server, layouts, table_sizes};
use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{completion::Completion, print};

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
/// Accounts of the products that are worked through in docs/scaling.md.
const WORKED: [f64; 3] = [1e5, 1e7, 1e9];
/// Tables that are printed; the others are smaller.
const PRINTED_TABLES: usize = 8;

/// Shares are numbers from 0 to 1, and all other numbers are averages.
#[derive(Debug, Args)]
pub struct PlanArguments {
    /// Accounts.
    #[arg(long, default_value_t = Product::default().users)]
    users: f64,
    /// Share of the accounts that came within `delivery.dormant_days`, so that they have an inbox.
    #[arg(long, default_value_t = Product::default().active)]
    active: f64,
    /// Share of the accounts that came within `delivery.active_days`.
    #[arg(long, default_value_t = Product::default().lately)]
    lately: f64,
    /// Share of the accounts that comes on a day.
    #[arg(long, default_value_t = Product::default().daily)]
    daily: f64,
    /// Whom an account follows.
    #[arg(long, default_value_t = Product::default().follows)]
    follows: f64,
    /// Followers of the author of a post. More than `follows`, because the followed publish more.
    #[arg(long, default_value_t = Product::default().audience)]
    audience: f64,
    /// Share of these followers that follows an author with more than `delivery.push_threshold` of them.
    #[arg(long, default_value_t = Product::default().of_stars)]
    of_stars: f64,
    /// Visits of each who comes on the day, each so long after the last one that no node remembers the reader.
    #[arg(long, default_value_t = Product::default().visits)]
    visits: f64,
    /// Pages that each who comes reads on the day, with the first of each visit.
    #[arg(long, default_value_t = Product::default().pages)]
    pages: f64,
    /// Posts, replies and reposts of each who comes.
    #[arg(long, default_value_t = Product::default().posts)]
    posts: f64,
    /// Likes of each who comes.
    #[arg(long, default_value_t = Product::default().likes)]
    likes: f64,
    /// New follows of each who comes.
    #[arg(long, default_value_t = Product::default().new_follows)]
    new_follows: f64,
    /// Share of who comes on the day that is connected at the busiest time.
    #[arg(long, default_value_t = Product::default().connected)]
    connected: f64,
    /// How much busier the busiest second is than the mean one.
    #[arg(long, default_value_t = Product::default().peak)]
    peak: f64,
    /// Years of history that are kept.
    #[arg(long, default_value_t = Product::default().years)]
    years: f64,
    /// Bytes of a post's text.
    #[arg(long, default_value_t = Product::default().text_bytes)]
    text_bytes: f64,
    /// `inbox.keep`.
    #[arg(long, default_value_t = Product::default().keep)]
    keep: f64,
    /// Cores of the largest server that you can or want to have.
    #[arg(long, default_value_t = Server::default().cores)]
    server_cores: f64,
    /// Its memory in GiB.
    #[arg(long, default_value_t = Server::default().memory_gib)]
    server_memory: f64,
    /// Its disk in GiB.
    #[arg(long, default_value_t = Server::default().disk_gib)]
    server_disk: f64,
    /// Share of its cores that may be busy at the busiest time.
    #[arg(long, default_value_t = Server::default().busy)]
    busy: f64,
    /// A TOML file with your prices of a month: `core`, `memory_gib` and `disk_gib`.
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Print what one of each operation costs, as it was measured, and what the defaults come to for products of three
    /// sizes; nothing else.
    #[arg(long, conflicts_with = "json")]
    costs: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The file of `--prices`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFile {
    core: f64,
    memory_gib: f64,
    disk_gib: f64,
}

impl PlanArguments {
    const fn product(&self) -> Product {
        Product {
            users: self.users,
            active: self.active,
            lately: self.lately,
            daily: self.daily,
            follows: self.follows,
            audience: self.audience,
            of_stars: self.of_stars,
            visits: self.visits,
            pages: self.pages,
            posts: self.posts,
            likes: self.likes,
            new_follows: self.new_follows,
            connected: self.connected,
            peak: self.peak,
            years: self.years,
            text_bytes: self.text_bytes,
            keep: self.keep,
        }
    }

    const fn server(&self) -> Server {
        Server { cores: self.server_cores, memory_gib: self.server_memory, disk_gib: self.server_disk, busy: self.busy }
    }

    fn prices(&self) -> anyhow::Result<Option<Prices>> {
        let Some(path) = &self.prices else { return Ok(None) };
        let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        let PriceFile { core, memory_gib, disk_gib } = toml::from_str(&text)
            .with_context(|| format!("{} must have core, memory_gib and disk_gib, each a number", path.display()))?;
        Ok(Some(Prices { core, memory_gib, disk_gib }))
    }
}

/// What is printed, as text or as JSON.
struct Plan {
    measured: Measured,
    product: Product,
    server: Server,
    prices: Option<Prices>,
    layouts: Vec<Needs>,
}

/// Prints the plan. Exit code 1 if no layout is enough.
pub fn run(arguments: &PlanArguments) -> anyhow::Result<Completion> {
    let measured = Measured::own().context("the measured costs cannot be read")?;
    if arguments.costs {
        print::all(&format!("{}\n{}", costs(&measured)?, worked(&measured)?))?;
        return Ok(Completion::Done);
    }
    let (product, server) = (arguments.product().checked()?, arguments.server().checked()?);
    let layouts = layouts(&product, &measured, &server);
    let plan = Plan { measured, product, server, prices: arguments.prices()?, layouts };
    if arguments.json {
        print::line(serde_json::to_string_pretty(&plan.json())?)?;
    } else {
        print::all(&plan.text()?)?;
    }
    Ok(if plan.enough().is_some() { Completion::Done } else { Completion::ProblemsFound })
}

impl Plan {
    /// The first layout that is enough.
    fn enough(&self) -> Option<&Needs> {
        self.layouts.iter().find(|needs| needs.is_enough())
    }

    fn price(&self, needs: &Needs) -> Option<f64> {
        self.prices.as_ref().map(|prices| needs.price(prices, &self.server))
    }

    fn text(&self) -> Result<String, std::fmt::Error> {
        let mut out = String::new();
        self.write_load(&mut out)?;
        self.write_tables(&mut out)?;
        for needs in &self.layouts {
            self.write_layout(&mut out, needs)?;
        }
        match self.enough() {
            Some(needs) => writeln!(out, "\nThe first that is enough: {}.", needs.layout.name())?,
            None => writeln!(
                out,
                "\nNone is enough. Larger servers (--server-cores, --server-memory, --server-disk), or several services, \
                 each with a part of the people."
            )?,
        }
        let Measured { day, commit, machine, users, .. } = &self.measured;
        writeln!(
            out,
            "Costs of one of each operation were measured on {day} at {commit}: {machine}, a world of {users} users. \
             Spare servers are not counted."
        )?;
        Ok(out)
    }

    fn write_load(&self, out: &mut String) -> std::fmt::Result {
        let (rates, stock) = (self.product.rates(), self.product.stock());
        writeln!(out, "At the busiest time, a second:")?;
        for (what, rate) in [
            ("first pages of a visit", rates.first_pages),
            ("other pages", rates.pages),
            ("posts", rates.publishes),
            ("likes", rates.likes),
            ("follows", rates.follows),
            ("rows into inboxes", rates.deliveries),
            ("events on sockets", rates.events),
        ] {
            writeln!(out, "  {:>14} {what}", number(rate))?;
        }
        writeln!(out, "  {:>14} sockets open", number(self.product.sockets()))?;
        let deliveries = self.product.deliveries();
        writeln!(
            out,
            "Rows into inboxes by delivery.policy: {} if everybody with an inbox is pushed to, {} by \"threshold\" (above), \
             {} by \"rates\".",
            number(deliveries.to_all),
            number(deliveries.threshold),
            number(deliveries.rates)
        )?;
        writeln!(
            out,
            "\nAfter {} years: {} accounts, {} posts, {} follows, {} likes, {} inboxes.",
            self.product.years,
            number(stock.users),
            number(stock.contents),
            number(stock.follows),
            number(stock.likes),
            number(stock.inboxes)
        )
    }

    fn write_tables(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "\n{:<22} {:>18} {:>12}", "MariaDB's tables then", "rows", "GiB")?;
        let tables = table_sizes(&self.product, &self.measured.mariadb);
        for table in tables.iter().take(PRINTED_TABLES) {
            writeln!(out, "  {:<20} {:>18} {:>12}", table.name, number(table.rows), number(table.bytes / GIB))?;
        }
        let others: f64 = tables.iter().skip(PRINTED_TABLES).map(|table| table.bytes).sum();
        if others > 0.0 {
            writeln!(out, "  {:<20} {:>18} {:>12}", "others", "", number(others / GIB))?;
        }
        Ok(())
    }

    fn write_layout(&self, out: &mut String, needs: &Needs) -> std::fmt::Result {
        let verdict = if needs.is_enough() { "enough" } else { "not enough" };
        let price = self.price(needs).map(|price| format!("; {} a month", number(price))).unwrap_or_default();
        writeln!(out, "\n{}: {verdict}{price}", needs.layout.name())?;
        for part in &needs.parts {
            let Part { name, servers, busy_cores, memory_gib, disk_gib } = part;
            write!(
                out,
                "  {servers} x {name}: {} busy cores, {} GiB of memory",
                number(*busy_cores),
                number(*memory_gib)
            )?;
            if *disk_gib > 0.0 {
                write!(out, ", {} GiB of disk", number(*disk_gib))?;
            }
            writeln!(out)?;
        }
        needs.lacks.iter().try_for_each(|lack| writeln!(out, "  ! {lack}"))
    }

    fn json(&self) -> Value {
        let (rates, stock, deliveries) = (self.product.rates(), self.product.stock(), self.product.deliveries());
        let tables = table_sizes(&self.product, &self.measured.mariadb);
        let tables =
            tables.iter().map(|table| json!({ "table": table.name, "rows": table.rows, "bytes": table.bytes }));
        let layouts = self.layouts.iter().map(|needs| {
            let parts = needs.parts.iter().map(|part| {
                json!({
                    "part": part.name, "servers": part.servers, "busyCores": part.busy_cores,
                    "memoryGib": part.memory_gib, "diskGib": part.disk_gib,
                })
            });
            json!({
                "layout": needs.layout.name(), "isEnough": needs.is_enough(), "lacks": needs.lacks,
                "parts": parts.collect::<Vec<_>>(), "pricePerMonth": self.price(needs),
            })
        });
        json!({
            "perSecond": {
                "firstPages": rates.first_pages, "otherPages": rates.pages, "posts": rates.publishes, "likes": rates.likes, "follows": rates.follows,
                "inboxRows": rates.deliveries, "events": rates.events,
            },
            "inboxRowsByPolicy": {
                "toAll": deliveries.to_all, "threshold": deliveries.threshold, "rates": deliveries.rates,
            },
            "sockets": self.product.sockets(),
            "stock": {
                "users": stock.users, "posts": stock.contents, "follows": stock.follows, "likes": stock.likes,
                "inboxes": stock.inboxes, "inboxEntries": stock.inbox_entries,
            },
            "tables": tables.collect::<Vec<_>>(),
            "layouts": layouts.collect::<Vec<_>>(),
            "enough": self.enough().map(|needs| needs.layout.name()),
            "measured": { "day": self.measured.day, "commit": self.measured.commit, "machine": self.measured.machine },
        })
    }
}

/// The measured costs as the tables of docs/scaling.md.
fn costs(measured: &Measured) -> Result<String, std::fmt::Error> {
    let mut out = String::from(
        "| stores | operation | node, us | SQL, us | Redis, us | Cassandra, us | replica, us | statements | trips |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for (stores, operations) in measured.all_operations() {
        for (operation, cost) in operations.named() {
            writeln!(
                out,
                "| {stores} | {operation} | {} | {} | {} | {} | {} | {} | {} |",
                number(cost.node_us),
                number(cost.sql_us),
                number(cost.redis_us),
                number(cost.cassandra_us),
                number(cost.replica_us),
                number(cost.statements),
                number(cost.trips)
            )?;
        }
    }
    out.push_str(
        "\n| table | bytes of a row: SQLite | MariaDB | rows of an account | of a post | of a follow | of a like |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for (name, table) in &measured.mariadb.tables {
        let sqlite = measured.sqlite.tables.get(name).map_or_else(String::new, |table| number(table.bytes_of_row));
        let rows = table.rows;
        let [user, publish, follow, like] = [rows.user, rows.publish, rows.follow, rows.like].map(number);
        writeln!(
            out,
            "| `{name}` | {sqlite} | {} | {user} | {publish} | {follow} | {like} |",
            number(table.bytes_of_row)
        )?;
    }
    Ok(out)
}

/// What the defaults come to, as a table of docs/scaling.md.
fn worked(measured: &Measured) -> Result<String, std::fmt::Error> {
    let products = WORKED.map(|users| Product { users, ..Product::default() });
    let mut out = String::from("| accounts |");
    for product in &products {
        write!(out, " {} |", number(product.users))?;
    }
    out.push_str("\n|---|---|---|---|\n");
    let gib = |product: &Product| table_sizes(product, &measured.mariadb).iter().map(|it| it.bytes).sum::<f64>() / GIB;
    let figures = products.map(|product| {
        let (rates, deliveries) = (product.rates(), product.deliveries());
        [
            ("pages in the busiest second", rates.first_pages + rates.pages),
            ("posts", rates.publishes),
            ("rows into inboxes", rates.deliveries),
            ("the same, if everybody with an inbox is pushed to", deliveries.to_all),
            ("the same, by \"rates\"", deliveries.rates),
            ("events on sockets", rates.events),
            ("sockets open", product.sockets()),
            ("posts after three years", product.stock().contents),
            ("GiB in MariaDB then, with inboxes", gib(&product)),
        ]
    });
    let [small, large, huge] = figures;
    for (((what, small), (_, large)), (_, huge)) in small.into_iter().zip(large).zip(huge) {
        writeln!(out, "| {what} | {} | {} | {} |", number(small), number(large), number(huge))?;
    }
    let layouts = products.map(|product| layouts(&product, measured, &Server::default()));
    for (at, layout) in LAYOUTS.into_iter().enumerate() {
        write!(out, "| {} |", layout.name())?;
        for needs in layouts.iter().filter_map(|of| of.get(at)) {
            write!(out, " {} |", in_short(needs))?;
        }
        out.push('\n');
    }
    Ok(out)
}

/// The servers, or what they lack.
fn in_short(needs: &Needs) -> String {
    if !needs.is_enough() {
        return needs.lacks.join("; ");
    }
    let part = |part: &Part| format!("{} x {} ({} busy cores)", part.servers, part.name, number(part.busy_cores));
    needs.parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// Three digits that matter, with commas; whole above a hundred.
fn number(value: f64) -> String {
    let decimals = if value == 0.0 || value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    let text = format!("{value:.decimals$}");
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(whole, rest)| (whole, Some(rest)));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    fraction.map_or_else(|| grouped.clone(), |fraction| format!("{grouped}.{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_or_commas() {
        let shown = [0.0, 0.004, 0.5, 12.345, 123.4, 1_234.5, 1e9].map(number);
        assert_eq!(shown, ["0", "0.00", "0.50", "12.3", "123", "1,234", "1,000,000,000"]);
    }

    #[test]
    fn the_documentation_has_what_is_printed() -> anyhow::Result<()> {
        let measured = Measured::own()?;
        let document = include_str!("../../docs/scaling.md");
        for printed in [costs(&measured)?, worked(&measured)?] {
            assert!(
                document.contains(&printed),
                "docs/scaling.md does not have what `tidefeed plan --costs` prints:\n{printed}"
            );
        }
        Ok(())
    }
}
