//! Findings about each Redis server for `tidefeed doctor`, on connections of its own, so that one unreachable server
//! hides no other. Sets one key, which expires.

use redis::{ConnectionInfo, InfoDict, ProtocolVersion, RedisError, RedisResult, aio::MultiplexedConnection};

use super::{
    error::store_error,
    opener::{Opened, Opener},
    options::RedisOptions,
};
use crate::store::{StoreError, inspection::Finding};

/// The oldest that knows sharded publish/subscribe.
const OLDEST_MAJOR: u32 = 7;
/// Redis' default for the entries of a compact sorted set.
const LISTPACK_HINT: &str = "zset-max-listpack-entries";

/// What the scripts on inboxes make a node's identity of.
const IDENTITY: &str = "return string.match(redis.call('INFO', 'replication'), '\\nmaster_replid:(%x+)') or false";

/// Findings of every configured server, in the order of the addresses; behind Sentinels, of each and of the master.
pub async fn inspect(options: &RedisOptions) -> Vec<Finding> {
    let opener = match Opener::new(options.clone()) {
        Ok(opener) => opener,
        Err(error) => return vec![Finding::broken("redis", error.to_string(), "correct redis.urls")],
    };
    let mut findings = Vec::new();
    if options.sentinel.is_some() {
        for address in opener.addresses() {
            findings.push(asked(&opener, address).await);
        }
        let met = opener.single(ProtocolVersion::RESP2, &opener.config()).await;
        findings.extend(judged(options, "redis behind Sentinels", met).await);
        return findings;
    }
    for address in opener.addresses() {
        let name = format!("redis {}", address.addr());
        findings.extend(judged(options, &name, opener.at(address.clone(), &opener.config()).await).await);
    }
    findings
}

/// What a Sentinel says.
async fn asked(opener: &Opener, address: &ConnectionInfo) -> Finding {
    let name = format!("sentinel {}", address.addr());
    let Some(sentinel) = &opener.options().sentinel else { return Finding::fine(&name, "is not used") };
    match opener.master(sentinel, address).await {
        Ok(master) => Finding::fine(&name, format!("the master of {:?} is {}", sentinel.master, master.addr())),
        Err(error) => Finding::doubtful(
            &name,
            store_error(error).with_causes(),
            "check that it runs, redis.urls, redis.sentinel_master, and its password: the others are asked meanwhile",
        ),
    }
}

async fn judged(options: &RedisOptions, name: &str, met: RedisResult<Opened>) -> Vec<Finding> {
    let unreachable = |error: RedisError| {
        vec![Finding::broken(
            name,
            store_error(error).with_causes(),
            "check that it runs, its address in redis.urls, and its password",
        )]
    };
    match met {
        Ok(Opened { mut connection, .. }) => match redis::cmd("INFO").query_async(&mut connection).await {
            Ok(info) => judge(options, name, connection, &info).await,
            Err(error) => unreachable(error),
        },
        Err(error) => unreachable(error),
    }
}

async fn judge(options: &RedisOptions, name: &str, mut link: MultiplexedConnection, info: &InfoDict) -> Vec<Finding> {
    let mut findings = vec![version(name, info), form(name, options.cluster, info), eviction(name, info)];
    let mut probe = redis::cmd("SET");
    probe.arg(format!("{}probe", options.prefix)).arg("").arg("PX").arg(1_000);
    findings.push(writes(name, probe.query_async(&mut link).await));
    findings.push(identity(name, redis::cmd("EVAL").arg(IDENTITY).arg(0).query_async(&mut link).await));
    findings.push(listpack(name, options.outbox_capacity, setting(&mut link, LISTPACK_HINT).await.ok()));
    if options.cluster {
        let state: RedisResult<String> = redis::cmd("CLUSTER").arg("INFO").query_async(&mut link).await;
        findings.push(cluster_state(name, state.ok().as_deref()));
    }
    findings
}

async fn setting(link: &mut MultiplexedConnection, name: &str) -> RedisResult<usize> {
    let (_, value): (String, usize) = redis::cmd("CONFIG").arg("GET").arg(name).query_async(link).await?;
    Ok(value)
}

/// Whether a key could be set. A refusal because the key belongs to another master of a cluster counts as success.
fn writes(name: &str, probe: RedisResult<()>) -> Finding {
    match probe.map_err(store_error) {
        Err(error @ StoreError::TakesNoWrites(_)) => Finding::broken(
            name,
            error.with_causes(),
            "raise maxmemory or set an eviction policy; if a dump has failed, make room on its disk; pages are right \
             meanwhile, live updates and deliveries are late",
        ),
        Err(error @ StoreError::Refused(_)) => Finding::broken(
            name,
            error.with_causes(),
            "give the user of redis.urls the rights that docs/operations.md lists",
        ),
        _ => Finding::fine(name, "accepts writes"),
    }
}

/// Inboxes in Redis rest on it that a script sees which server it runs on.
fn identity(name: &str, answer: RedisResult<Option<String>>) -> Finding {
    match answer {
        Ok(Some(_)) => Finding::fine(name, "scripts can read its identity"),
        Ok(None) => Finding::doubtful(
            name,
            "scripts cannot read its identity",
            "keep inbox.store = \"sql\": inboxes in Redis need a server that allows `INFO replication` in scripts",
        ),
        Err(error) => Finding::doubtful(
            name,
            format!("scripts cannot read its identity: {error}"),
            "keep inbox.store = \"sql\", or allow the user EVAL and INFO",
        ),
    }
}

fn version(name: &str, info: &InfoDict) -> Finding {
    let version: String = info.get("redis_version").unwrap_or_default();
    let valkey: Option<String> = info.get("valkey_version");
    let seen = valkey.map_or_else(|| format!("Redis {version}"), |valkey| format!("Valkey {valkey}"));
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(major) if major >= OLDEST_MAJOR => Finding::fine(name, seen),
        _ => Finding::broken(name, seen, "Redis 7 or Valkey is needed for sharded announcements: upgrade it"),
    }
}

fn form(name: &str, expected: bool, info: &InfoDict) -> Finding {
    let is_cluster = info.get("cluster_enabled").is_some_and(|enabled: u8| enabled == 1);
    match (expected, is_cluster) {
        (true, false) => {
            Finding::broken(name, "is not part of a cluster, but redis.cluster is true", "set redis.cluster = false")
        }
        (false, true) => {
            Finding::broken(name, "is part of a cluster, but redis.cluster is false", "set redis.cluster = true")
        }
        (true, true) => Finding::fine(name, "part of a cluster, as configured"),
        (false, false) => Finding::fine(name, "a server of its own, as configured"),
    }
}

/// Streams and cached outboxes may be lost, but a stream that is evicted takes its consumer group along.
fn eviction(name: &str, info: &InfoDict) -> Finding {
    let policy: String = info.get("maxmemory_policy").unwrap_or_default();
    let limit: u64 = info.get("maxmemory").unwrap_or_default();
    let remedy =
        "set maxmemory-policy to volatile-lru: allkeys policies may evict the queue's streams, which delays deliveries";
    if limit > 0 && policy.starts_with("allkeys") {
        Finding::doubtful(name, format!("may evict any key ({policy})"), remedy)
    } else {
        Finding::fine(name, format!("memory limit {} MiB, {policy}", limit >> 20))
    }
}

fn listpack(name: &str, capacity: usize, entries: Option<usize>) -> Finding {
    match entries {
        None => Finding::doubtful(
            name,
            format!("{LISTPACK_HINT} cannot be read"),
            "allow the user CONFIG GET, or check that the setting is at least outbox_cache.capacity",
        ),
        Some(entries) if entries < capacity => {
            let seen = format!("{LISTPACK_HINT} is {entries}, outbox_cache.capacity is {capacity}");
            Finding::doubtful(
                name,
                seen,
                "set zset-max-listpack-entries to 512 on the server, and outbox_cache.capacity no higher: cached outboxes then take 4 to 7 times less memory",
            )
        }
        Some(entries) => Finding::fine(name, format!("{LISTPACK_HINT} {entries}")),
    }
}

fn cluster_state(name: &str, answer: Option<&str>) -> Finding {
    let state = answer.and_then(|answer| answer.lines().find_map(|line| line.strip_prefix("cluster_state:")));
    match state.map(str::trim) {
        Some("ok") => Finding::fine(name, "cluster state ok"),
        other => Finding::broken(
            name,
            format!("cluster state {}", other.unwrap_or("unknown")),
            "run `redis-cli --cluster check` on it, and repair what that names",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::inspection::Verdict;

    #[test]
    fn small_outboxes_are_recommended_to_be_kept_small() {
        assert_eq!(listpack("r", 500, Some(128)).verdict, Verdict::Doubtful);
        assert_eq!(listpack("r", 500, Some(512)).verdict, Verdict::Fine);
        assert_eq!(listpack("r", 500, None).verdict, Verdict::Doubtful);
    }

    #[test]
    fn a_cluster_that_is_down_is_broken() {
        assert_eq!(cluster_state("r", Some("cluster_state:ok\r\ncluster_slots_ok:16384\r\n")).verdict, Verdict::Fine);
        assert_eq!(cluster_state("r", Some("cluster_state:fail\r\n")).verdict, Verdict::Broken);
        assert_eq!(cluster_state("r", None).verdict, Verdict::Broken);
    }

    #[test]
    fn a_server_whose_scripts_cannot_identify_it_is_doubtful() {
        assert_eq!(identity("r", Ok(Some("a1".to_owned()))).verdict, Verdict::Fine);
        assert_eq!(identity("r", Ok(None)).verdict, Verdict::Doubtful);
    }

    #[tokio::test]
    async fn a_server_that_is_away_is_a_finding() {
        let options = RedisOptions { urls: vec!["redis://127.0.0.1:1".to_owned()], ..RedisOptions::default() };
        let findings = inspect(&options).await;
        assert!(
            findings.len() == 1 && findings[0].verdict == Verdict::Broken && findings[0].remedy.contains("redis.urls")
        );
    }
}
