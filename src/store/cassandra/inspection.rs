//! Findings about each Cassandra node for `tidefeed doctor`. Writes nothing and creates nothing.

use std::collections::HashMap;

use scylla::{
    client::session::Session,
    cluster::Node,
    policies::load_balancing::{NodeIdentifier, SingleTargetLoadBalancingPolicy},
    statement::Statement,
};

use super::{
    connect::session,
    error::{store_error, unreadable},
    options::CassandraOptions,
    schema,
};
use crate::store::{StoreError, inspection::Finding};

/// Modes in which a write is on disk before it is acknowledged.
const SAFE_SYNC: [&str; 2] = ["batch", "group"];
/// The form of light-weight transactions that orders them even while nodes join, leave or move.
const SAFE_PAXOS: &str = "v2";
/// Copies in a datacenter with which a majority of them survives the loss of one.
const COPIES: usize = 3;

/// Findings about the cluster, its keyspace and each node.
pub async fn inspect(options: &CassandraOptions) -> Vec<Finding> {
    let session = match session(options).await {
        Ok(session) => session,
        Err(error) => {
            let remedy = "check that it runs, cassandra.contact_points, and the user's password. Pages are right meanwhile, read from SQL";
            return vec![Finding::broken("cassandra", error.with_causes(), remedy)];
        }
    };
    let mut findings = vec![tables(&session, options).await, copies(&session, options).await];
    let cluster = session.get_cluster_state();
    for node in cluster.get_nodes_info() {
        let subject = format!("cassandra {}", node.address);
        let sync = setting(&session, node, "commitlog_sync").await;
        let answers = sync.is_ok();
        findings.push(judged_sync(&subject, sync));
        if answers {
            findings.push(judged_paxos(&subject, setting(&session, node, "paxos_variant").await));
        }
    }
    findings
}

async fn tables(session: &Session, options: &CassandraOptions) -> Finding {
    let subject = "cassandra tables";
    match schema::missing(session, &options.keyspace).await {
        Ok(missing) if missing.is_empty() => {
            Finding::fine(subject, format!("all are in keyspace {}", options.keyspace))
        }
        Ok(missing) => Finding::doubtful(
            subject,
            format!("missing in keyspace {}: {}", options.keyspace, missing.join(", ")),
            "the first node that serves with inbox.store = \"cassandra\" creates them",
        ),
        Err(error) => Finding::broken(subject, error.with_causes(), "check the cluster, and the user's rights"),
    }
}

async fn copies(session: &Session, options: &CassandraOptions) -> Finding {
    let subject = "cassandra copies";
    match schema::replication(session, &options.keyspace).await {
        Ok(None) => Finding::fine(
            subject,
            format!("the keyspace will be created with cassandra.replication = {}", options.replication),
        ),
        Ok(Some(replication)) => judged_copies(subject, &replication),
        Err(error) => Finding::broken(subject, error.with_causes(), "check the cluster, and the user's rights"),
    }
}

/// Each datacenter by itself. Every pair of `replication` but the class is a datacenter and its number of copies.
fn judged_copies(subject: &str, replication: &HashMap<String, String>) -> Finding {
    let datacenters = replication.iter().filter(|(datacenter, _)| *datacenter != "class");
    let named = |datacenter: &str| {
        if datacenter == "replication_factor" { "all nodes together".to_owned() } else { datacenter.to_owned() }
    };
    let mut copies: Vec<(String, usize)> =
        datacenters.map(|(datacenter, count)| (named(datacenter), whole_copies(count))).collect();
    copies.sort_unstable();
    let each = |(datacenter, count): &(String, usize)| {
        format!("{count} {} in {datacenter}", if *count == 1 { "copy" } else { "copies" })
    };
    let seen: Vec<String> = copies.iter().map(each).collect();
    let seen = if seen.is_empty() { "no copy".to_owned() } else { seen.join(" and ") };
    let seen = format!("each inbox has {seen}");
    if !copies.is_empty() && copies.iter().all(|(_, count)| *count >= COPIES) {
        return Finding::fine(subject, seen);
    }
    let remedy =
        "keep three in each datacenter, so that one node may be lost: run ALTER KEYSPACE, then `nodetool repair`";
    Finding::doubtful(subject, seen, remedy)
}

/// `3`, or `3/1` if one of three is transient: that one keeps only what the others have not repaired yet.
fn whole_copies(count: &str) -> usize {
    let (all, transient) = count.split_once('/').unwrap_or((count, "0"));
    let number = |text: &str| text.trim().parse::<usize>().unwrap_or_default();
    number(all).saturating_sub(number(transient))
}

/// Whether the node may forget what it has acknowledged.
fn judged_sync(subject: &str, mode: Result<String, StoreError>) -> Finding {
    match mode {
        Ok(mode) if SAFE_SYNC.contains(&mode.as_str()) => Finding::fine(subject, format!("commitlog_sync: {mode}")),
        Ok(mode) => Finding::doubtful(
            subject,
            format!("commitlog_sync: {mode}"),
            "a power cut may lose what was acknowledged: set `commitlog_sync: group` in cassandra.yaml, and run `tidefeed inbox renew` after a power cut of several nodes",
        ),
        Err(error) => Finding::broken(
            subject,
            error.with_causes(),
            "bring it back, or replace it, repair, and run `tidefeed inbox renew`. With two of three copies everything goes on",
        ),
    }
}

/// Whether Cassandra may report to two changes of one header that both were made.
fn judged_paxos(subject: &str, variant: Result<String, StoreError>) -> Finding {
    let remedy = "light-weight transactions are exact while nodes join, leave or move, and take half as long, if `paxos_variant: v2` is set in each node's cassandra.yaml, and repairs run regularly";
    match variant {
        Ok(variant) if variant == SAFE_PAXOS => Finding::fine(subject, format!("paxos_variant: {variant}")),
        Ok(variant) => Finding::doubtful(subject, format!("paxos_variant: {variant}"), remedy),
        Err(error) => Finding::doubtful(subject, format!("paxos_variant: {}", error.with_causes()), remedy),
    }
}

/// What the node itself says of a setting.
async fn setting(session: &Session, node: &Node, name: &str) -> Result<String, StoreError> {
    let mut statement = Statement::new("SELECT value FROM system_views.settings WHERE name = ?");
    let target = NodeIdentifier::HostId(node.host_id);
    statement.set_load_balancing_policy(Some(SingleTargetLoadBalancingPolicy::new(target, None)));
    let found = session.query_unpaged(statement, (name,)).await.map_err(store_error)?;
    let found = found.into_rows_result().map_err(unreadable)?;
    let row = found.maybe_first_row::<(Option<String>,)>().map_err(unreadable)?;
    row.and_then(|(value,)| value).ok_or_else(|| unreadable(format!("no setting {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::inspection::Verdict;

    #[test]
    fn only_a_node_that_writes_before_it_acknowledges_is_fine() {
        for (mode, verdict) in [
            ("batch", Verdict::Fine),
            ("group", Verdict::Fine),
            ("periodic", Verdict::Doubtful),
            ("", Verdict::Doubtful),
        ] {
            let found = judged_sync("cassandra 127.0.0.1", Ok(mode.to_owned()));
            assert_eq!((found.verdict, found.seen), (verdict, format!("commitlog_sync: {mode}")));
        }
        assert_eq!(judged_sync("cassandra 127.0.0.1", Err(unreadable("nothing"))).verdict, Verdict::Broken);
    }

    #[test]
    fn only_the_second_form_of_paxos_is_fine() {
        for (variant, verdict) in [
            (Ok("v2"), Verdict::Fine),
            (Ok("v1"), Verdict::Doubtful),
            (Ok("v2_without_linearizable_reads"), Verdict::Doubtful),
            (Err(unreadable("nothing")), Verdict::Doubtful),
        ] {
            assert_eq!(judged_paxos("cassandra 127.0.0.1", variant.map(str::to_owned)).verdict, verdict);
        }
    }

    #[test]
    fn every_datacenter_needs_three_whole_copies() {
        for (datacenters, seen, verdict) in [
            (vec![("dc1", "3"), ("dc2", "3")], "3 copies in dc1 and 3 copies in dc2", Verdict::Fine),
            (vec![("dc1", "3"), ("dc2", "1")], "3 copies in dc1 and 1 copy in dc2", Verdict::Doubtful),
            (vec![("dc1", "4/1")], "3 copies in dc1", Verdict::Fine),
            (vec![("dc1", "3/1")], "2 copies in dc1", Verdict::Doubtful),
            (vec![("replication_factor", "3")], "3 copies in all nodes together", Verdict::Fine),
            (vec![], "no copy", Verdict::Doubtful),
        ] {
            let mut pairs: HashMap<String, String> =
                datacenters.into_iter().map(|(datacenter, count)| (datacenter.to_owned(), count.to_owned())).collect();
            pairs.insert("class".to_owned(), "NetworkTopologyStrategy".to_owned());
            let found = judged_copies("cassandra copies", &pairs);
            assert_eq!((found.verdict, found.seen), (verdict, format!("each inbox has {seen}")));
        }
    }
}
