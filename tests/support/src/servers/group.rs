//! A MySQL replication group of two members, of which one takes writes.

use anyhow::Result;
use sea_orm::DatabaseConnection;

use super::{EmptyDatabase, Kind, MigratedDatabase, Recipe, Server, connect_sql, execute, numbers, replicated};
use crate::{binary::process::until, repository};

const OPTIONS: &str = "--log-bin=log --gtid-mode=ON --enforce-gtid-consistency=ON --sync-binlog=0 \
     --plugin-load-add=group_replication.so --group-replication-group-name=d3b07384-d113-4ec6-a5cb-6ff0f8a0b3a1 \
     --loose-group-replication-start-on-boot=OFF --report-host=127.0.0.1";

/// Two members.
pub struct ReplicationGroup {
    /// Takes writes.
    pub primary: Server,
    /// Follows the group.
    pub secondary: Server,
}

impl ReplicationGroup {
    /// Starts both, and makes them a group.
    pub async fn start() -> Result<Self> {
        let member = async |id: u8| {
            let plugins = repository().join("target/mysql/root/usr/lib/mysql/plugin");
            let more = format!("{OPTIONS} --server-id={id} --plugin-dir={}", plugins.display());
            Server::start_from(Kind::Mysql, &Recipe { more, ..Kind::Mysql.recipe() }).await
        };
        let (primary, secondary) = tokio::try_join!(member(1), member(2))?;
        let ports = [primary.port(), secondary.port()];
        let [first, second] = [connect_sql(&primary.url()).await?, connect_sql(&secondary.url()).await?];
        introduce(&first, ports[0], ports).await?;
        introduce(&second, ports[1], ports).await?;
        execute(&first, "SET GLOBAL group_replication_bootstrap_group = ON").await?;
        execute(&first, "START GROUP_REPLICATION").await?;
        execute(&first, "SET GLOBAL group_replication_bootstrap_group = OFF").await?;
        execute(&second, "START GROUP_REPLICATION").await?;
        replicated::admit_reader(Kind::Mysql, &primary).await?;
        let members = "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE member_state = 'ONLINE'";
        let readers = format!("SELECT COUNT(*) FROM mysql.user WHERE user = '{}'", replicated::READER);
        until("the group has both members, and they know the reader", async || {
            Ok(numbers(&second, members).await? == [2] && numbers(&second, &readers).await? == [1])
        })
        .await?;
        first.close().await?;
        second.close().await?;
        Ok(Self { primary, secondary })
    }

    /// A new database with all tables on the primary.
    pub async fn migrated(&self) -> Result<MigratedDatabase> {
        EmptyDatabase::on(&self.primary).await?.migrated().await
    }
}

/// Tells a server where the members' group communication is: 10000 above their ports, which [`Server`] keeps free.
async fn introduce(server: &DatabaseConnection, port: u16, members: [u16; 2]) -> Result<()> {
    let [one, other] = members.map(|port| format!("127.0.0.1:{}", port + 10_000));
    for sql in [
        // The server's own accounts were made on both.
        "RESET BINARY LOGS AND GTIDS".to_owned(),
        "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'root' FOR CHANNEL 'group_replication_recovery'".to_owned(),
        format!("SET GLOBAL group_replication_local_address = '127.0.0.1:{}'", port + 10_000),
        format!("SET GLOBAL group_replication_group_seeds = '{one},{other}'"),
    ] {
        execute(server, &sql).await?;
    }
    Ok(())
}
