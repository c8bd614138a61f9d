//! A Cassandra that asks who its clients are: what Tidefeed's user needs, and how a wrong password is reported.

use anyhow::{Context as _, Result, ensure};
use scylla::client::{session::Session, session_builder::SessionBuilder};
use tidefeed::{
    domain::{
        UserId,
        timeline::outside::{Bucket, NodeId},
    },
    store::{
        InboxStore as _,
        cassandra::{Cassandra, CassandraInboxes, CassandraOptions},
    },
};

use crate::{binary::process::until, servers::CassandraCluster};

/// A session of the first user, whom the node creates a moment after its start.
async fn first_user(options: &CassandraOptions) -> Result<Session> {
    let mut session = None;
    until("the first user may log in", async || {
        let builder = SessionBuilder::new().known_nodes(&options.contact_points).user("cassandra", "cassandra");
        session = builder.build().await.ok();
        Ok(session.is_some())
    })
    .await?;
    session.ok_or_else(|| anyhow::anyhow!("nobody is logged in"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_on_an_existing_keyspace_suffice_in_cassandra() -> Result<()> {
    let cluster = CassandraCluster::with_users().await?;
    let options = CassandraOptions { user: "feeder".to_owned(), ..cluster.fresh_keyspace(1) };
    let options = CassandraOptions { password: "secret".to_owned(), ..options };
    let keyspace = &options.keyspace;
    let first = first_user(&options).await?;
    for statement in [
        format!(
            "CREATE KEYSPACE {keyspace} WITH replication = \
             {{'class': 'NetworkTopologyStrategy', 'replication_factor': 1}}"
        ),
        "CREATE ROLE feeder WITH PASSWORD = 'secret' AND LOGIN = true".to_owned(),
        format!("GRANT CREATE ON KEYSPACE {keyspace} TO feeder"),
        format!("GRANT SELECT ON KEYSPACE {keyspace} TO feeder"),
        format!("GRANT MODIFY ON KEYSPACE {keyspace} TO feeder"),
    ] {
        first.query_unpaged(statement, ()).await?;
    }
    let wrong = CassandraOptions { password: "wrong".to_owned(), ..options.clone() };
    let refused = Cassandra::new(wrong).connect().await;
    let refused = refused.err().map(|error| error.with_causes()).unwrap_or_default();
    ensure!(refused.starts_with("Cassandra cannot be reached") && refused.contains("incorrect"), "{refused}");
    let store = CassandraInboxes::new(Cassandra::new(options), NodeId::of([7; 20]));
    store.connect().await?;
    store.identify(Bucket::of(UserId::try_new(1)?)).await.context("it may not write")?;
    Ok(())
}
