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
/// Copies with which QUORUM survives the loss of one.
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
        findings.push(commit_log(&session, node).await);
    }
    findings
}

async fn tables(session: &Session, options: &CassandraOptions) -> Finding {
    let subject = "cassandra tables";
    match schema::missing(session, &options.keyspace).await {
        Ok(missing) if missing.is_empty() => Finding::fine(subject, format!("all in keyspace {}", options.keyspace)),
        Ok(missing) => Finding::doubtful(
            subject,
            format!("missing in keyspace {}: {}", options.keyspace, missing.join(", ")),
            "the first node that serves with inbox.store = \"cassandra\" creates them",
        ),
        Err(error) => Finding::broken(subject, error.with_causes(), "check the cluster, and the user's rights"),
    }
}

/// Each value of `replication` but the class is a number of copies, in all or in a datacenter.
async fn copies(session: &Session, options: &CassandraOptions) -> Finding {
    let subject = "cassandra copies";
    let found = replication(session, &options.keyspace).await;
    let remedy = "with three, one node may be lost: ALTER KEYSPACE, then run `nodetool repair`";
    match found {
        Ok(None) => Finding::fine(subject, format!("cassandra.replication is {}", options.replication)),
        Ok(Some(copies)) if copies >= COPIES => Finding::fine(subject, format!("{copies} of each inbox")),
        Ok(Some(copies)) => Finding::doubtful(subject, format!("{copies} of each inbox"), remedy),
        Err(error) => Finding::broken(subject, error.with_causes(), "check the cluster, and the user's rights"),
    }
}

async fn replication(session: &Session, keyspace: &str) -> Result<Option<usize>, StoreError> {
    let asked = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?";
    let found = session.query_unpaged(asked, (keyspace,)).await.map_err(store_error)?;
    let found = found.into_rows_result().map_err(unreadable)?;
    let row = found.maybe_first_row::<(HashMap<String, String>,)>().map_err(unreadable)?;
    Ok(row.map(|(pairs,)| pairs.values().filter_map(|value| value.parse::<usize>().ok()).sum()))
}

async fn commit_log(session: &Session, node: &Node) -> Finding {
    judged(&format!("cassandra {}", node.address), commit_log_sync(session, node).await)
}

/// Whether the node may forget what it has acknowledged.
fn judged(subject: &str, mode: Result<String, StoreError>) -> Finding {
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

async fn commit_log_sync(session: &Session, node: &Node) -> Result<String, StoreError> {
    let mut statement = Statement::new("SELECT value FROM system_views.settings WHERE name = 'commitlog_sync'");
    let target = NodeIdentifier::HostId(node.host_id);
    statement.set_load_balancing_policy(Some(SingleTargetLoadBalancingPolicy::new(target, None)));
    let found = session.query_unpaged(statement, ()).await.map_err(store_error)?;
    let found = found.into_rows_result().map_err(unreadable)?;
    let row = found.maybe_first_row::<(Option<String>,)>().map_err(unreadable)?;
    row.and_then(|(value,)| value).ok_or_else(|| unreadable("no setting commitlog_sync"))
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
            let found = judged("cassandra 127.0.0.1", Ok(mode.to_owned()));
            assert_eq!((found.verdict, found.seen), (verdict, format!("commitlog_sync: {mode}")));
        }
        assert_eq!(judged("cassandra 127.0.0.1", Err(unreadable("nothing"))).verdict, Verdict::Broken);
    }
}
