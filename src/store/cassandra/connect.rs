//! Connects when a worker asks for it, so that a node starts while Cassandra is away, and no page waits for a
//! connection.

use std::{sync::Arc, time::Duration};

use scylla::{
    client::{execution_profile::ExecutionProfile, session::Session, session_builder::SessionBuilder},
    policies::{load_balancing::DefaultPolicy, speculative_execution::SimpleSpeculativeExecutionPolicy},
    statement::{Consistency, SerialConsistency},
};
use tokio::sync::OnceCell;

use super::{
    error::{late, no_session, not_connected, not_readable},
    options::CassandraOptions,
    schema,
    statements::Statements,
};
use crate::store::StoreError;

/// How often an idle connection is tried. A node that does not answer that for the time limit of a request has gone
/// silent: its connections are closed.
const KEEPALIVE: Duration = Duration::from_secs(2);
/// Time to connect, and to create tables that are missing.
const CONNECT: Duration = Duration::from_secs(10);

/// A cluster, and a session as soon as there is one. Clones share it.
#[derive(Clone)]
pub struct Cassandra {
    shared: Arc<Shared>,
}

struct Shared {
    options: CassandraOptions,
    connected: OnceCell<Connected>,
}

/// A session and its prepared statements.
pub struct Connected {
    /// To the cluster.
    pub session: Session,
    /// All that the adapter uses.
    pub statements: Statements,
}

impl Cassandra {
    /// Connects later.
    pub fn new(options: CassandraOptions) -> Self {
        Self { shared: Arc::new(Shared { options, connected: OnceCell::new() }) }
    }

    /// Connects and creates missing tables, unless there is a session. Sessions find lost nodes again by themselves.
    pub async fn connect(&self) -> Result<(), StoreError> {
        self.shared.connected.get_or_try_init(|| self.open_in_time()).await.map(drop)
    }

    /// The session. Fails at once if there is none yet.
    pub fn connected(&self) -> Result<&Connected, StoreError> {
        self.shared.connected.get().ok_or_else(not_connected)
    }

    async fn open_in_time(&self) -> Result<Connected, StoreError> {
        let options = &self.shared.options;
        let limit = CONNECT.max(options.timeout);
        let opened = tokio::time::timeout(limit, open(options)).await;
        opened.unwrap_or_else(|_| Err(late(&options.contact_points, limit)))
    }
}

async fn open(options: &CassandraOptions) -> Result<Connected, StoreError> {
    let session = session(options).await?;
    schema::create_missing(&session, options).await?;
    let statements = Statements::prepare(&session, &options.keyspace).await?;
    Ok(Connected { session, statements })
}

/// A session at QUORUM, light-weight transactions at SERIAL. What is idempotent goes to a second node if the first is
/// slow; light-weight transactions never do.
pub(super) async fn session(options: &CassandraOptions) -> Result<Session, StoreError> {
    let mut balancing = DefaultPolicy::builder().token_aware(true);
    if !options.datacenter.is_empty() {
        balancing = balancing.prefer_datacenter(options.datacenter.clone()).permit_dc_failover(true);
    }
    let second_try = SimpleSpeculativeExecutionPolicy { max_retry_count: 1, retry_interval: options.timeout / 4 };
    let profile = ExecutionProfile::builder()
        .consistency(Consistency::Quorum)
        .serial_consistency(Some(SerialConsistency::Serial))
        .request_timeout(Some(options.timeout))
        .speculative_execution_policy(Some(Arc::new(second_try)))
        .load_balancing_policy(balancing.build())
        .build();
    let mut builder = SessionBuilder::new()
        .known_nodes(&options.contact_points)
        .default_execution_profile_handle(profile.into_handle())
        .connection_timeout(options.timeout)
        .keepalive_interval(KEEPALIVE)
        .keepalive_timeout(options.timeout)
        .fetch_schema_metadata(true)
        .keyspaces_to_fetch([options.keyspace.as_str()]);
    if !options.user.is_empty() {
        builder = builder.user(&options.user, &options.password);
    }
    if let Some(files) = &options.certificates {
        let client =
            certificates::client(files.clone()).map_err(|error| not_readable(&options.contact_points, error))?;
        builder = builder.tls_context(Some(Arc::new(client)));
    }
    builder.build().await.map_err(|error| no_session(options, error))
}
