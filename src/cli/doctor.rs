//! `tidefeed doctor`: tries every server, looks for stuck work, and says what to do next.

use anyhow::Context;

use super::{completion::Completion, print};
use crate::{
    app::{
        AppError, adoption, content_schemas, former_issuer, inspect_certificates, inspect_redis, migration_names,
        open_for_deliveries, open_store, orphans, waiting_visits,
    },
    clock::{Clock, SystemClock},
    config::{Config, InboxPlace, SqlEngine},
    domain::{limits::INBOX_BUCKETS, object::ContentType},
    store::{
        Deliveries, Inspect, OutsideStates, Schema, StoreError,
        deliveries::Delivery,
        inspection::{Finding, Verdict},
    },
};

/// Most failing deliveries to list.
const LISTED: u64 = 20;
/// A clock that differs by more is reported.
const CLOCK_DIFFERENCE_MS: i64 = 1_000;
/// A delivery that has waited longer is reported.
const LONG_WAIT_MS: i64 = 60_000;
/// More visits that wait are reported: a node deals with as many in some ten seconds.
const MANY_VISITS: u64 = 5_000;

/// Exit code 1 if anything is broken.
pub async fn run(config: &Config) -> anyhow::Result<Completion> {
    let mut findings = vec![secret(config), shape(config), schemas(config)];
    findings.extend(config.warnings().into_iter().map(|it| Finding::doubtful(it.subject, it.seen, it.remedy)));
    findings.extend(store(config, &SystemClock).await);
    findings.extend(inspect_redis(config).await.unwrap_or_default());
    findings.extend(waiting_visits(config).await.map(visits));
    #[cfg(feature = "cassandra")]
    findings.extend(crate::app::inspect_cassandra(config).await);
    findings.extend(inspect_certificates(config, SystemClock.now_ms()).await);
    for finding in &findings {
        print::line(line(finding))?;
    }
    let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    let (broken, doubtful) = (count(Verdict::Broken), count(Verdict::Doubtful));
    print::line(format!("{} checks, {doubtful} with warnings, {broken} failed.", findings.len()))
        .context("standard output")?;
    Ok(if broken > 0 { Completion::ProblemsFound } else { Completion::Done })
}

/// `FAIL subject: what was seen -> what to do`.
pub(super) fn line(finding: &Finding) -> String {
    let word = match finding.verdict {
        Verdict::Fine => "ok  ",
        Verdict::Doubtful => "warn",
        Verdict::Broken => "FAIL",
    };
    let next = if finding.remedy.is_empty() { String::new() } else { format!("\n       -> {}", finding.remedy) };
    format!("{word} {}: {}{next}", finding.subject, finding.seen)
}

pub(super) fn secret(config: &Config) -> Finding {
    match (config.auth.secret.is_empty(), config.store.url.sqlite_file()) {
        (false, _) => Finding::fine("secret", "auth.secret is set"),
        (true, Some(file)) => {
            let path = file.with_file_name("secret");
            let state = if path.exists() { "it is kept in" } else { "`tidefeed serve` will make it, in" };
            Finding::fine("secret", format!("{state} {}", path.display()))
        }
        (true, None) => Finding::doubtful(
            "secret",
            "auth.secret is not set: each start makes a new one",
            "set auth.secret; otherwise everybody has to sign in again after a restart",
        ),
    }
}

/// Whether the servers fit each other.
fn shape(config: &Config) -> Finding {
    let redis = !config.redis.urls.is_empty();
    match (config.store.url.engine(), redis) {
        (SqlEngine::Sqlite, false) => {
            Finding::fine("setup", "one node on SQLite; its process does what Redis would do")
        }
        (SqlEngine::Sqlite, true) => Finding::fine("setup", "SQLite with Redis: several processes on one machine"),
        (SqlEngine::MySql, true) => Finding::fine("setup", "a SQL server with Redis: any number of nodes"),
        (SqlEngine::MySql, false) => Finding::doubtful(
            "setup",
            "a SQL server without Redis: live subscriptions miss what other nodes publish",
            "set redis.urls if you run more than one node",
        ),
    }
}

/// Which types of contents have a JSON Schema.
fn schemas(config: &Config) -> Finding {
    let (subject, folder) = ("content schemas", &config.content.schemas);
    let schemas = match content_schemas(config) {
        Ok(schemas) => schemas,
        Err(unusable) => return Finding::broken(subject, unusable.seen(), unusable.remedy()),
    };
    let types: Vec<&str> = schemas.types().map(ContentType::as_str).collect();
    match (folder.as_str(), types.len()) {
        ("", _) => Finding::fine(subject, "content.schemas is not set: contents may have any attributes"),
        (_, 0) => {
            let remedy = "write a file TYPE.json for each type, or leave content.schemas empty";
            Finding::doubtful(subject, format!("`{folder}` has no file that ends in .json"), remedy)
        }
        _ => Finding::fine(subject, format!("these types have one: {}", types.join(", "))),
    }
}

/// What is wrong, without the advice to run this command.
fn reason(error: AppError) -> String {
    match error {
        AppError::Store(error) => error.with_causes(),
        other => format!("{:#}", anyhow::Error::from(other)),
    }
}

async fn store(config: &Config, clock: &dyn Clock) -> Vec<Finding> {
    // Opening it would make it.
    if let Some(file) = config.store.url.sqlite_file().filter(|file| !file.exists()) {
        if let Some(occupied) = file.ancestors().skip(1).find(|folder| folder.is_file()) {
            let seen = format!("{} cannot be made: {} is a file, not a folder", file.display(), occupied.display());
            return vec![Finding::broken("store", seen, "name a file in a folder in store.url")];
        }
        let seen = format!("there is no file {} yet: `tidefeed migrate` and `tidefeed serve` make it", file.display());
        return vec![Finding::fine("store", seen), tables(Ok(migration_names()))];
    }
    let store = match open_store(config).await {
        Ok(store) => store,
        Err(error) => {
            return vec![Finding::broken(
                "store",
                reason(error),
                "check that the server runs, store.url, and the user's password",
            )];
        }
    };
    let mut findings = vec![tables(store.pending().await)];
    let ready = findings.iter().all(|finding| finding.verdict == Verdict::Fine);
    findings.extend(store.inspect().await);
    findings.extend(clocks(&store, clock).await);
    if ready {
        let own = async { open_for_deliveries(config, &store).await?.ping().await.map_err(AppError::Store) };
        findings.push(own_connections(own.await));
        findings.extend(store.inspect_tables().await);
        findings.extend(deliveries(&store, config.delivery.failing_after, clock.now_ms()).await);
        findings.push(inboxes(&store, config.inbox.store).await);
        findings.push(identities(config, former_issuer(config).await));
    }
    findings
}

/// How far the clock of this machine is from the server's. Run on each node, this compares all of them.
async fn clocks(store: &dyn Inspect, clock: &dyn Clock) -> Option<Finding> {
    let before = clock.now_ms();
    let server = match store.server_time_ms().await {
        Ok(server) => server?,
        Err(error) => return Some(unanswered("clock", error)),
    };
    Some(clock_finding(before, server, clock.now_ms()))
}

/// The server read its clock between `before` and `after` of ours.
fn clock_finding(before: i64, server: i64, after: i64) -> Finding {
    let ahead = before.saturating_sub(server).max(0) - server.saturating_sub(after).max(0);
    let way = if ahead > 0 { "ahead of" } else { "behind" };
    let seen = format!("this machine's is {} s {way} the store's", ahead.unsigned_abs().div_ceil(1000));
    if ahead.abs() <= CLOCK_DIFFERENCE_MS {
        return Finding::fine("clock", "this machine's agrees with the store's");
    }
    let remedy = "let all machines take their time from one source (chrony, systemd-timesyncd): contents get their \
                  positions, and tokens their end, by the clock of the node that is asked";
    Finding::doubtful("clock", seen, remedy)
}

/// Whether the deliveries' own connections can be opened.
fn own_connections(opened: Result<(), AppError>) -> Finding {
    let subject = "connections for deliveries";
    match opened {
        Ok(()) => Finding::fine(subject, "they can be opened"),
        Err(error) => Finding::broken(
            subject,
            reason(error),
            "let the server accept store.max_connections connections from each node",
        ),
    }
}

/// `pending`: names of the migrations that have not run.
pub(super) fn tables(pending: Result<Vec<String>, StoreError>) -> Finding {
    match pending {
        Ok(pending) if pending.is_empty() => Finding::fine("tables", "up to date"),
        Ok(pending) => Finding::broken(
            "tables",
            format!("{} migrations have not run: {}", pending.len(), pending.join(", ")),
            "run `tidefeed migrate`",
        ),
        Err(error) => unanswered("tables", error),
    }
}

/// Where readers' inboxes are, and whether this node may deliver to them.
async fn inboxes(states: &dyn OutsideStates, configured: InboxPlace) -> Finding {
    let occupancy = match states.occupancy().await {
        Ok(occupancy) => occupancy,
        Err(error) => return unanswered("inboxes", error),
    };
    let seen = format!(
        "{} readers have their inbox outside SQL; {} of {INBOX_BUCKETS} inbox buckets are admitted there",
        occupancy.readers, occupancy.admitted
    );
    match configured {
        InboxPlace::Sql if occupancy.admitted > 0 || occupancy.readers > 0 => Finding::broken(
            "inboxes",
            format!("{seen}, but inbox.store is \"sql\" here: this node delivers nothing"),
            "set inbox.store as on the other nodes; or stop them and run `tidefeed inbox move`; pages are right meanwhile",
        ),
        InboxPlace::Sql => Finding::fine("inboxes", "all are in SQL"),
        InboxPlace::Redis => Finding::fine("inboxes", seen),
        #[cfg(feature = "cassandra")]
        InboxPlace::Cassandra => Finding::fine("inboxes", seen),
    }
}

/// Whether the users have ids of the configured issuer.
fn identities(config: &Config, former: Result<Option<String>, AppError>) -> Finding {
    let subject = "external ids";
    match former {
        Ok(None) => Finding::fine(subject, "no users of another issuer alone"),
        Ok(Some(former)) => Finding::broken(subject, orphans(config, &former), &adoption(&former)),
        Err(error) => Finding::broken(subject, reason(error), "repair what is said of the store"),
    }
}

/// Whether readers who are back wait for their inboxes.
fn visits(waiting: Result<u64, AppError>) -> Finding {
    let waiting = match waiting {
        Ok(waiting) => waiting,
        Err(error) => return Finding::broken("visits", reason(error), "repair what is said of Redis"),
    };
    let seen = format!("{waiting} readers who are here wait to be noted, and for their inboxes if they were away");
    if waiting > MANY_VISITS {
        let remedy = "wait if many have come back at once; if the number does not fall, check that workers run \
                      (`tidefeed serve` or `tidefeed work`); pages are right meanwhile, and cost more";
        return Finding::doubtful("visits", seen, remedy);
    }
    Finding::fine("visits", seen)
}

/// The backlog, and each delivery that keeps failing.
async fn deliveries(deliveries: &dyn Deliveries, failing_after: u32, now_ms: i64) -> Vec<Finding> {
    let backlog = match deliveries.backlog(i64::MIN, failing_after).await {
        Ok(backlog) => backlog,
        Err(error) => return vec![unanswered("deliveries", error)],
    };
    let waited_ms = backlog.oldest.map_or(0, |oldest| now_ms.saturating_sub(oldest));
    let oldest = backlog.oldest.map(|_| format!(", the oldest has waited for {} s", waited_ms / 1000));
    let seen = format!("{} unfinished, {} failing{}", backlog.unfinished, backlog.failing, oldest.unwrap_or_default());
    let mut findings = Vec::new();
    findings.push(if waited_ms > LONG_WAIT_MS {
        Finding::doubtful("deliveries", seen, "check that workers run (`tidefeed serve` or `tidefeed work`); pages are right meanwhile, because they read \
             the delivery records")
    } else {
        Finding::fine("deliveries", seen)
    });
    match deliveries.failing(failing_after, LISTED).await {
        Ok(failing) => findings.extend(failing.iter().map(failing_delivery)),
        Err(error) => findings.push(unanswered("deliveries", error)),
    }
    findings
}

fn failing_delivery(delivery: &Delivery) -> Finding {
    let seen = format!(
        "content {} of author {} has failed {} times: {}",
        delivery.entry.content, delivery.entry.author, delivery.attempts, delivery.last_error
    );
    Finding::broken(
        "delivery",
        seen,
        "repair what the error names; Tidefeed retries by itself, and readers see the content meanwhile",
    )
}

fn unanswered(subject: &str, error: StoreError) -> Finding {
    let reason = format!("{:#}", anyhow::Error::from(error));
    Finding::broken(
        subject,
        format!("cannot be read: {reason}"),
        "check that the server answers, and that the user may read the table",
    )
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::domain::{ContentId, Entry, UserId};

    #[test]
    fn a_clock_is_compared_with_the_stores() {
        let verdict = |before, server, after| clock_finding(before, server, after).verdict;
        assert_eq!(verdict(10_000, 10_900, 10_001), Verdict::Fine);
        assert_eq!(verdict(10_000, 50_000, 60_000), Verdict::Fine, "a slow answer says nothing");
        let ahead = clock_finding(30_000, 10_000, 30_001);
        assert_eq!(
            (ahead.verdict, ahead.seen.as_str()),
            (Verdict::Doubtful, "this machine's is 20 s ahead of the store's")
        );
        assert!(clock_finding(10_000, 30_001, 10_001).seen.ends_with("20 s behind the store's"));
    }

    #[test]
    fn a_crowd_that_waits_is_doubtful() {
        assert_eq!(visits(Ok(MANY_VISITS)).verdict, Verdict::Fine);
        let crowd = visits(Ok(33_000));
        assert!(crowd.verdict == Verdict::Doubtful && crowd.seen.starts_with("33000 readers"), "{}", crowd.seen);
        assert_eq!(visits(Err(AppError::Store(StoreError::Contended("late".into())))).verdict, Verdict::Broken);
    }

    #[test]
    fn a_failing_delivery_is_listed_with_attempts_error_and_remedy() {
        let entry =
            Entry { publish_time: 1, content: ContentId::try_new(7).unwrap(), author: UserId::try_new(3).unwrap() };
        let delivery = Delivery { entry, removed: false, attempts: 9, last_error: "disk full".to_owned() };
        let text = line(&failing_delivery(&delivery));
        assert!(text.starts_with("FAIL delivery: content 7 of author 3 has failed 9 times: disk full"), "{text}");
        assert!(text.contains("-> repair"), "{text}");
    }
}
