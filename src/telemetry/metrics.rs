//! Every metric with its unit and meaning in one table, and its form for Prometheus.

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use sql_driver::{
    CONNECTION_WAITS, CONNECTION_WAITS_FAILED, REPLICA_LAG_SECONDS, REPLICA_READS, REPLICA_WAIT_SECONDS,
    REPLICAS_SERVING, ROUND_TRIPS,
};

/// HTTP requests answered, by route and status.
pub const HTTP_REQUESTS: &str = "tidefeed_http_requests_total";
/// Time to answer an HTTP request, by route.
pub const HTTP_SECONDS: &str = "tidefeed_http_request_seconds";
/// Connections open.
pub const CONNECTIONS: &str = "tidefeed_connections";
/// Connections for which there was no room, by reason: full (the node) or address.
pub const CONNECTIONS_REFUSED: &str = "tidefeed_connections_refused_total";
/// Bytes that are held for clients, by what: heads, bodies, documents or answers.
pub const HELD_BYTES: &str = "tidefeed_held_bytes";
/// Requests and events for which there was no room in memory, by what (heads, bodies, documents or answers) and
/// bound: node or client.
pub const HELD_BYTES_REFUSED: &str = "tidefeed_held_bytes_refused_total";
/// Queries and mutations that run, by kind: query, mutation, or either of a service.
pub const OPERATIONS_RUNNING: &str = "tidefeed_operations_running";
/// Queries and mutations that wait to run, by kind.
pub const OPERATIONS_WAITING: &str = "tidefeed_operations_waiting";
/// Queries and mutations refused for load, by kind and reason: full (as many waited as may) or late (waited too long).
pub const OPERATIONS_REFUSED: &str = "tidefeed_operations_refused_total";
/// WebSockets open.
pub const SOCKETS: &str = "tidefeed_websockets";
/// WebSockets ended because of what their clients do, by reason: unread or messages.
pub const SOCKETS_CUT_OFF: &str = "tidefeed_websockets_cut_off_total";
/// Streams of server-sent events open or reserved.
pub const STREAMS: &str = "tidefeed_event_streams";
/// `newFeed` subscriptions open.
pub const SUBSCRIPTIONS: &str = "tidefeed_subscriptions";
/// `shownChanged` subscriptions open.
pub const SHOWN_SUBSCRIPTIONS: &str = "tidefeed_shown_subscriptions";
/// Live events that met a full buffer.
pub const LIVE_EVENTS_MISSED: &str = "tidefeed_live_events_missed_total";
/// Changes sent to live subscribers, by kind.
pub const LIVE_CHANGES: &str = "tidefeed_live_changes_total";
/// Comparisons of a live subscriber's timeline with what its client holds, by outcome.
pub const LIVE_CATCH_UPS: &str = "tidefeed_live_catch_ups_total";
/// New entries shown to live subscribers, by way: rendered for all, for one, or shared.
pub const LIVE_RENDERINGS: &str = "tidefeed_live_renderings_total";
/// Time to read one page of a timeline, without hydration.
pub const PAGE_SECONDS: &str = "tidefeed_timeline_page_seconds";
/// Timeline pages by way: candidates (the inbox, what is in flight, and pulled authors), stretch or definition (both
/// from the outboxes of all followed authors).
pub const PAGES: &str = "tidefeed_timeline_pages_total";
/// Looks at inboxes outside SQL, by outcome: believed, changed, foreign, absent, short or away.
pub const OUTSIDE_READS: &str = "tidefeed_outside_inbox_reads_total";
/// Rows written to inboxes outside SQL by deliveries.
pub const OUTSIDE_ROWS: &str = "tidefeed_outside_inbox_rows_total";
/// Inboxes outside SQL that were built, by outcome: built, or overtaken.
pub const OUTSIDE_BUILDS: &str = "tidefeed_outside_inbox_builds_total";
/// Inboxes outside SQL that this node builds now.
pub const OUTSIDE_BUILDING: &str = "tidefeed_outside_inbox_builds_running";
/// Readers whose inbox changed its tier, from and to: outside, sql or none.
pub const TIER_CHANGES: &str = "tidefeed_inbox_tier_changes_total";
/// Inbox buckets (groups of readers with inboxes outside SQL) that were admitted, given up, or changed by a node that
/// sees another server.
pub const BUCKET_CHANGES: &str = "tidefeed_outside_inbox_buckets_total";
/// Outboxes asked of the cache, by outcome: hit or miss.
pub const OUTBOX_CACHE: &str = "tidefeed_outbox_cache_lookups_total";
/// What clients were refused beyond their bound or the node's, by bound. What other metrics count is not in it.
pub const REFUSED: &str = "tidefeed_refused_total";
/// What pages asked the node's memories for, by what they remember and outcome (docs/memories.md).
pub const REMEMBERED: &str = "tidefeed_remembered_total";
/// Contents published.
pub const PUBLISHED: &str = "tidefeed_contents_published_total";
/// Long contents refused, because too many wait to be indexed for search.
pub const REFUSED_UNINDEXED: &str = "tidefeed_long_publishes_refused_total";
/// Contents that wait to be indexed for search, as the node's indexer saw them last.
pub const UNINDEXED: &str = "tidefeed_unindexed_contents";
/// Messages, announcements and cache updates that could not be sent, by destination.
pub const NOTIFICATIONS_LOST: &str = "tidefeed_notifications_lost_total";
/// Steps of deliveries that failed and will be tried again.
pub const DELIVERY_FAILURES: &str = "tidefeed_delivery_failures_total";
/// Deliveries not finished.
pub const DELIVERIES_UNFINISHED: &str = "tidefeed_deliveries_unfinished";
/// Deliveries that failed `delivery.failing_after` times or more.
pub const DELIVERIES_FAILING: &str = "tidefeed_deliveries_failing";
/// Age of the oldest delivery that is not finished.
pub const OLDEST_DELIVERY_SECONDS: &str = "tidefeed_deliveries_oldest_seconds";
/// Subtasks run to their end.
pub const SUBTASKS: &str = "tidefeed_subtasks_total";
/// Inbox rows written by deliveries.
pub const ROWS_PUSHED: &str = "tidefeed_inbox_rows_pushed_total";
/// Inbox rows deleted by trimming.
pub const ROWS_TRIMMED: &str = "tidefeed_inbox_rows_trimmed_total";
/// How long changes of spread counts wait at most until they are added to their rows.
pub const OLDEST_COUNT_CHANGE_SECONDS: &str = "tidefeed_count_changes_oldest_seconds";
/// Steps of background workers that failed, by worker.
pub const WORKER_FAILURES: &str = "tidefeed_worker_failures_total";
/// Follow edges that are pulled from now on.
pub const EDGES_DEMOTED: &str = "tidefeed_edges_demoted_total";
/// Follow changes brought to inboxes, by outcome.
pub const RELATIONS: &str = "tidefeed_relations_total";
/// Visits of readers dealt with.
pub const READERS_WOKEN: &str = "tidefeed_readers_woken_total";
/// Messages waiting or unacknowledged, by topic.
pub const QUEUE_DEPTH: &str = "tidefeed_queue_messages";
/// Messages that found a topic of this process full, by topic.
pub const QUEUE_DROPPED: &str = "tidefeed_queue_dropped_total";
/// Records announced again by the sweeper, by kind.
pub const SWEPT: &str = "tidefeed_swept_total";
/// Sign-ins by password, by outcome: good, wrong or waiting.
pub const SIGN_INS: &str = "tidefeed_sign_ins_total";
/// Memory filled to hash and check passwords: a hash's memory, once a pass.
pub const PASSWORD_KIBIBYTES: &str = "tidefeed_password_hashing_kibibytes_total";
/// Refresh tokens presented, by outcome: refreshed, repeated, reused or unknown.
pub const REFRESHES: &str = "tidefeed_token_refreshes_total";
/// Sessions ended by somebody, or pushed out by newer ones.
pub const SESSIONS_ENDED: &str = "tidefeed_sessions_ended_total";
/// Operations of services, by service and outcome: ok or refused. The same read counts once a minute.
pub const SERVICE_CALLS: &str = "tidefeed_service_calls_total";
/// Operations of services that the store's log lacks.
pub const SERVICE_CALLS_UNLOGGED: &str = "tidefeed_service_calls_unlogged_total";
/// 1 if the SQL store takes writes as far as is known, 0 if it has no room or is read-only.
pub const STORE_TAKES_WRITES: &str = "tidefeed_store_takes_writes";
/// Requests to a Redis Cluster that wait, because as many are under way as may be.
pub const REDIS_WAITS: &str = "tidefeed_redis_request_waits";
/// Groups of users of whom this node hears, of 16,384.
pub const ANNOUNCEMENT_GROUPS: &str = "tidefeed_announcement_groups";
/// Announcements that this node has heard from Redis.
pub const ANNOUNCEMENTS_RECEIVED: &str = "tidefeed_announcements_received_total";
/// Reads for live subscribers that wait, because `live.catch_ups` of them are under way.
pub const LIVE_READ_WAITS: &str = "tidefeed_live_read_waits";
/// Key sets of the external issuer fetched, by outcome: fetched or failed.
pub const KEY_SETS: &str = "tidefeed_issuer_key_sets_total";

/// Readers whose timelines were audited.
pub const AUDIT_READERS: &str = "tidefeed_audit_readers_total";
/// Pages compared with the oracle.
pub const AUDIT_PAGES: &str = "tidefeed_audit_pages_total";
/// Wrong timelines, by cause. Anything but 0 is a defect.
pub const AUDIT_DIFFERENCES: &str = "tidefeed_audit_differences_total";

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

const TABLE: &[(&str, Kind, Unit, &str)] = &[
    (HTTP_REQUESTS, Kind::Counter, Unit::Count, "HTTP requests answered, by route and status"),
    (HTTP_SECONDS, Kind::Histogram, Unit::Seconds, "Time to answer an HTTP request, by route"),
    (CONNECTIONS, Kind::Gauge, Unit::Count, "Connections open"),
    (
        CONNECTIONS_REFUSED,
        Kind::Counter,
        Unit::Count,
        "Connections for which there was no room, by reason: full (the node) or address",
    ),
    (
        HELD_BYTES,
        Kind::Gauge,
        Unit::Bytes,
        "Bytes held for clients, by what: heads (of requests, on their way), bodies (of requests, and messages of WebSockets, until their operations have ended), documents (requests and operations of running subscriptions) or answers (made or being made, and unsent)",
    ),
    (
        HELD_BYTES_REFUSED,
        Kind::Counter,
        Unit::Count,
        "Requests and events for which there was no room in memory, by what (heads, bodies, documents or answers) and bound: node or client",
    ),
    (
        OPERATIONS_RUNNING,
        Kind::Gauge,
        Unit::Count,
        "Queries and mutations that run, by kind: query, mutation or service",
    ),
    (
        OPERATIONS_WAITING,
        Kind::Gauge,
        Unit::Count,
        "Queries and mutations that wait to run, by kind: query, mutation or service",
    ),
    (
        OPERATIONS_REFUSED,
        Kind::Counter,
        Unit::Count,
        "Queries and mutations refused for load, by kind and reason: full (as many waited as may) or late (waited too long)",
    ),
    (SOCKETS, Kind::Gauge, Unit::Count, "WebSockets open"),
    (
        SOCKETS_CUT_OFF,
        Kind::Counter,
        Unit::Count,
        "WebSockets ended because of their clients, by reason: unread (they do not take what is sent to them) messages (they send too many that cost no points), operations or sockets (more at once than they may have)",
    ),
    (
        REFUSED,
        Kind::Counter,
        Unit::Count,
        "What clients were refused beyond their bound or the node's, by bound: points, sockets, streams, stream_operations, subscriptions, passwords, registrations or exports",
    ),
    (STREAMS, Kind::Gauge, Unit::Count, "Streams of server-sent events open or reserved"),
    (SHOWN_SUBSCRIPTIONS, Kind::Gauge, Unit::Count, "shownChanged subscriptions open"),
    (SUBSCRIPTIONS, Kind::Gauge, Unit::Count, "newFeed subscriptions open"),
    (LIVE_EVENTS_MISSED, Kind::Counter, Unit::Count, "Live events that met a full buffer"),
    (LIVE_CHANGES, Kind::Counter, Unit::Count, "Changes sent to live subscribers, by kind"),
    (
        LIVE_CATCH_UPS,
        Kind::Counter,
        Unit::Count,
        "Comparisons of a live subscriber's timeline with what its client holds, by outcome",
    ),
    (
        LIVE_RENDERINGS,
        Kind::Counter,
        Unit::Count,
        "New entries shown to live subscribers, by way: rendered for all, for one, or shared",
    ),
    (PAGE_SECONDS, Kind::Histogram, Unit::Seconds, "Time to read one page of a timeline, without hydration"),
    (
        PAGES,
        Kind::Counter,
        Unit::Count,
        "Timeline pages by way: candidates (the inbox, what is in flight, and pulled authors), stretch or definition (both from the outboxes of all followed authors)",
    ),
    (
        OUTSIDE_READS,
        Kind::Counter,
        Unit::Count,
        "Looks at inboxes outside SQL by outcome: believed, changed, foreign, absent, short or away",
    ),
    (OUTSIDE_ROWS, Kind::Counter, Unit::Count, "Rows that deliveries wrote to inboxes outside SQL"),
    (OUTSIDE_BUILDS, Kind::Counter, Unit::Count, "Inboxes built outside SQL, by outcome: built or overtaken"),
    (OUTSIDE_BUILDING, Kind::Gauge, Unit::Count, "Inboxes that this node builds outside SQL now"),
    (
        TIER_CHANGES,
        Kind::Counter,
        Unit::Count,
        "Readers whose inbox changed its tier, from and to: outside, sql or none",
    ),
    (
        BUCKET_CHANGES,
        Kind::Counter,
        Unit::Count,
        "Inbox buckets (groups of readers with inboxes outside SQL), by change: admitted, given_up, or contested by a node that sees another server",
    ),
    (OUTBOX_CACHE, Kind::Counter, Unit::Count, "Outboxes asked of the cache, by outcome: hit or miss"),
    (
        REMEMBERED,
        Kind::Counter,
        Unit::Count,
        "What pages asked the node's memories for, by what they remember (reader, content, json) and outcome (hit, miss)",
    ),
    (PUBLISHED, Kind::Counter, Unit::Count, "Contents published"),
    (
        REFUSED_UNINDEXED,
        Kind::Counter,
        Unit::Count,
        "Long contents refused, because too many wait to be indexed for search",
    ),
    (
        UNINDEXED,
        Kind::Gauge,
        Unit::Count,
        "Contents that wait to be indexed for search, as the node's indexer saw them last",
    ),
    (
        NOTIFICATIONS_LOST,
        Kind::Counter,
        Unit::Count,
        "Messages, announcements and cache updates that could not be sent, by destination",
    ),
    (DELIVERY_FAILURES, Kind::Counter, Unit::Count, "Steps of deliveries that failed and will be tried again"),
    (DELIVERIES_UNFINISHED, Kind::Gauge, Unit::Count, "Deliveries not finished"),
    (DELIVERIES_FAILING, Kind::Gauge, Unit::Count, "Deliveries that failed delivery.failing_after times or more"),
    (OLDEST_DELIVERY_SECONDS, Kind::Gauge, Unit::Seconds, "Age of the oldest delivery that is not finished"),
    (SUBTASKS, Kind::Counter, Unit::Count, "Subtasks run to their end"),
    (ROWS_PUSHED, Kind::Counter, Unit::Count, "Inbox rows written by deliveries"),
    (ROWS_TRIMMED, Kind::Counter, Unit::Count, "Inbox rows deleted by trimming"),
    (
        OLDEST_COUNT_CHANGE_SECONDS,
        Kind::Gauge,
        Unit::Seconds,
        "How long changes of spread counts wait at most until they are added to their rows",
    ),
    (WORKER_FAILURES, Kind::Counter, Unit::Count, "Steps of background workers that failed, by worker"),
    (EDGES_DEMOTED, Kind::Counter, Unit::Count, "Follow edges that are pulled from now on"),
    (RELATIONS, Kind::Counter, Unit::Count, "Follow changes brought to inboxes, by outcome"),
    (READERS_WOKEN, Kind::Counter, Unit::Count, "Visits of readers dealt with"),
    (QUEUE_DEPTH, Kind::Gauge, Unit::Count, "Messages waiting or unacknowledged, by topic"),
    (QUEUE_DROPPED, Kind::Counter, Unit::Count, "Messages that found a topic of this process full, by topic"),
    (SIGN_INS, Kind::Counter, Unit::Count, "Sign-ins by password, by outcome: good, wrong or waiting"),
    (
        PASSWORD_KIBIBYTES,
        Kind::Counter,
        Unit::Kibibytes,
        "Memory filled to hash and check passwords: a hash's memory, once a pass",
    ),
    (
        REFRESHES,
        Kind::Counter,
        Unit::Count,
        "Refresh tokens presented, by outcome: refreshed, repeated, reused or unknown",
    ),
    (SESSIONS_ENDED, Kind::Counter, Unit::Count, "Sessions ended by somebody, or pushed out by newer ones"),
    (
        SERVICE_CALLS,
        Kind::Counter,
        Unit::Count,
        "Operations of services, by service and outcome: ok or refused; the same read counts once a minute",
    ),
    (SERVICE_CALLS_UNLOGGED, Kind::Counter, Unit::Count, "Operations of services that the store's log lacks"),
    (KEY_SETS, Kind::Counter, Unit::Count, "Key sets of the external issuer fetched, by outcome: fetched or failed"),
    (CONNECTION_WAITS, Kind::Gauge, Unit::Count, "Statements and transactions that wait for a connection to SQL"),
    (
        CONNECTION_WAITS_FAILED,
        Kind::Counter,
        Unit::Count,
        "Statements and transactions that waited store.acquire_timeout_ms for a connection to SQL, and failed",
    ),
    (
        ROUND_TRIPS,
        Kind::Counter,
        Unit::Count,
        "Requests to MySQL, MariaDB or TiDB, by server: primary or replica; some have several statements. Without those \
         that make a connection or prepare a statement",
    ),
    (
        REPLICA_READS,
        Kind::Counter,
        Unit::Count,
        "Statements that may run on a replica, by outcome: served there; or by the primary, because the replica was late, \
         away or unfit, because none was free (none), or because the primary did not say where it is (unasked)",
    ),
    (
        REPLICA_WAIT_SECONDS,
        Kind::Histogram,
        Unit::Seconds,
        "Time until a replica had what was committed before the read",
    ),
    (
        REPLICA_LAG_SECONDS,
        Kind::Gauge,
        Unit::Seconds,
        "Time that the last read on a replica waited there for what was committed before it, by replica; at most \
         store.replica_wait_ms",
    ),
    (REPLICAS_SERVING, Kind::Gauge, Unit::Count, "Replicas that have served the last read that was tried there"),
    (REDIS_WAITS, Kind::Gauge, Unit::Count, "Requests that wait because many to the Redis Cluster are under way"),
    (
        ANNOUNCEMENT_GROUPS,
        Kind::Gauge,
        Unit::Count,
        "Groups of users, of 16,384, of whom this node hears from Redis, because somebody watches one of them here",
    ),
    (ANNOUNCEMENTS_RECEIVED, Kind::Counter, Unit::Count, "Announcements that this node has heard from Redis"),
    (
        LIVE_READ_WAITS,
        Kind::Gauge,
        Unit::Count,
        "Reads for live subscribers that wait, because live.catch_ups of them are under way",
    ),
    (
        STORE_TAKES_WRITES,
        Kind::Gauge,
        Unit::Count,
        "1 if the SQL store takes writes as far as is known, 0 if it has no room or is read-only",
    ),
    (SWEPT, Kind::Counter, Unit::Count, "Records announced again by the sweeper, by kind"),
    (AUDIT_READERS, Kind::Counter, Unit::Count, "Readers whose timelines were audited"),
    (AUDIT_PAGES, Kind::Counter, Unit::Count, "Pages compared with the oracle"),
    (AUDIT_DIFFERENCES, Kind::Counter, Unit::Count, "Wrong timelines, by cause; anything but 0 is a defect"),
];

/// Bounds of the histogram in seconds: from a cached page to a delivery to millions.
const SECONDS: &[f64] =
    &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 300.0];

/// The recorded metrics, ready to be rendered.
#[derive(Clone)]
pub struct Measurements(PrometheusHandle);

impl std::fmt::Debug for Measurements {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Measurements(..)")
    }
}

impl Measurements {
    /// Everything, in Prometheus' text format.
    pub fn render(&self) -> String {
        self.0.render()
    }

    /// Folds old observations together. Call it regularly: it bounds memory between two scrapes.
    pub fn fold(&self) {
        self.0.run_upkeep();
    }
}

/// The recorder could not be installed.
#[derive(Debug, thiserror::Error)]
#[error("the metrics could not be set up")]
pub struct MetricsError(#[from] BuildError);

/// Starts recording metrics for the whole process. Call it once.
pub fn start() -> Result<Measurements, MetricsError> {
    let handle = builder()?.install_recorder()?;
    describe();
    Ok(Measurements(handle))
}

fn builder() -> Result<PrometheusBuilder, BuildError> {
    PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), SECONDS)
}

fn describe() {
    for (name, kind, unit, meaning) in TABLE {
        match kind {
            Kind::Counter => describe_counter!(*name, *unit, *meaning),
            Kind::Gauge => describe_gauge!(*name, *unit, *meaning),
            Kind::Histogram => describe_histogram!(*name, *unit, *meaning),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    #[test]
    fn names_end_as_prometheus_asks_and_appear_once() {
        let mut names: Vec<_> = TABLE.iter().map(|(name, ..)| *name).collect();
        for (name, kind, unit, meaning) in TABLE {
            assert!(name.starts_with("tidefeed_") && !meaning.is_empty());
            assert_eq!(name.ends_with("_total"), *kind == Kind::Counter, "{name}");
            assert_eq!(name.ends_with("_seconds"), *unit == Unit::Seconds, "{name}");
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TABLE.len());
    }

    #[test]
    fn each_metric_is_printed_with_its_help_text() {
        let recorder = builder().unwrap().build_recorder();
        let handle = recorder.handle();
        metrics::with_local_recorder(&recorder, || {
            describe();
            metrics::counter!(PUBLISHED).increment(3);
            metrics::histogram!(PAGE_SECONDS).record(0.002);
        });
        let text = Measurements(handle).render();
        assert!(text.contains("# HELP tidefeed_contents_published_total Contents published"), "{text}");
        assert!(text.contains("tidefeed_contents_published_total 3"), "{text}");
        assert!(text.contains("tidefeed_timeline_page_seconds_bucket{le=\"0.0025\"} 1"), "{text}");
    }
}
