//! Tests what the SQL adapter promises beyond its ports: it waits for locks and retries, reports lasting conflicts as
//! such, and recovers when its server does.

use std::time::Duration;

use anyhow::{Context as _, Result};
use futures_util::future::join_all;
use sea_orm::{ConnectionTrait as _, Database, DatabaseConnection, DbBackend, Statement, TransactionTrait as _};
use tidefeed::domain::{Direction, EdgeMode, PageRequest, PageSize, Position, Reaction, delivery::subtask::Range};
use tidefeed::store::accounts::Registered;
use tidefeed::store::follows::Followed;
use tidefeed::store::sql::{SqlOptions, SqlStore};
use tidefeed::store::{
    Accounts as _, Contents as _, FollowLists as _, Follows as _, Inboxes as _, Reactions as _, StoreError,
};
use tokio::time::{Instant, sleep, timeout};

use crate::servers::{Backend, EmptyDatabase, Kind, MigratedDatabase, Server, Session, on_each_backend, sessions};
use crate::store::conformance::{NOW, World, account, at_once, content_id, user};

/// The other side of a lock: a direct connection.
struct Rival(DatabaseConnection);

impl Rival {
    async fn on(url: &str) -> Result<Self> {
        Ok(Self(Database::connect(url).await?))
    }

    async fn number(&self, sql: &str) -> Result<i64> {
        let statement = Statement::from_string(self.0.get_database_backend(), sql);
        Ok(self.0.query_one_raw(statement).await?.context("a row")?.try_get_by_index(0)?)
    }

    /// Ends all other connections of clients.
    async fn end_others(&self) -> Result<()> {
        let others = "SELECT CAST(id AS SIGNED) FROM information_schema.processlist \
                      WHERE id <> CONNECTION_ID() AND user = 'root'";
        let statement = Statement::from_string(self.0.get_database_backend(), others);
        for row in self.0.query_all_raw(statement).await? {
            let id: i64 = row.try_get_by_index(0)?;
            // It may have ended meanwhile.
            let _ = self.0.execute_unprepared(&format!("KILL {id}")).await;
        }
        Ok(())
    }

    /// A server's counter.
    async fn status(&self, name: &str) -> Result<i64> {
        let statement =
            Statement::from_string(self.0.get_database_backend(), format!("SHOW GLOBAL STATUS LIKE '{name}'"));
        let row = self.0.query_one_raw(statement).await?.context("a row")?;
        Ok(row.try_get_by_index::<String>(1)?.parse()?)
    }
}

fn options(url: &str, statement_timeout: Duration) -> SqlOptions {
    SqlOptions { url: url.to_owned(), max_connections: 4, acquire_timeout: Duration::from_mins(1), statement_timeout }
}

/// A store with users 1 and 2 whose waits for locks end after a second.
async fn impatient(database: &MigratedDatabase) -> Result<SqlStore> {
    with_two(&options(&database.url, Duration::from_secs(3))).await
}

async fn with_two(options: &SqlOptions) -> Result<SqlStore> {
    let store = SqlStore::connect(options).await?;
    for id in 1..=2 {
        assert_eq!(store.register(account(id, &format!("user_{id}"))).await?, Registered::Created);
    }
    Ok(store)
}

async fn follow(store: &SqlStore) -> Result<Followed, StoreError> {
    store.follow(user(1), user(2), EdgeMode::Fill, 7, NOW).await
}

on_each_backend! {
    async fn a_lock_that_outlasts_one_wait_is_waited_for_again(backend: Backend) -> Result<()> {
        let database = backend.migrated_database().await?;
        let (store, rival) = (impatient(&database).await?, Rival::on(&database.url).await?);
        let lock = rival.0.begin().await?;
        lock.execute_unprepared("UPDATE user_counts SET followers = 5 WHERE user_id = 2").await?;
        let first_try = store.transactions() + 1;
        let held = async {
            while store.transactions() <= first_try {
                sleep(Duration::from_millis(5)).await;
            }
            lock.commit().await.map_err(|error| StoreError::Refused(Box::new(error)))
        };
        let (followed, ()) = tokio::try_join!(follow(&store), held)?;
        assert_eq!(followed, Followed::New);
        assert_eq!(store.counts(&[user(2)]).await?[0].1.followers, 6);
        Ok(())
    }

    async fn a_lasting_lock_is_reported_as_contention_and_changes_nothing(backend: Backend) -> Result<()> {
        let database = backend.migrated_database().await?;
        let (store, rival) = (impatient(&database).await?, Rival::on(&database.url).await?);
        let lock = rival.0.begin().await?;
        lock.execute_unprepared("UPDATE user_counts SET followers = 5 WHERE user_id = 2").await?;
        let refused = timeout(Duration::from_mins(2), follow(&store)).await?;
        assert!(matches!(refused, Err(StoreError::Contended(_))), "{refused:?}");
        lock.rollback().await?;
        assert_eq!(store.followed_by(user(1)).await?, [user(1)]);
        assert_eq!(follow(&store).await?, Followed::New);
        Ok(())
    }

    async fn a_point_read_is_one_statement_for_any_number_of_ids(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        world.publish(5, 1, NOW).await?;
        let (store, ann) = (&world.store, account(1, "user_1").registration.handle);
        let users: Vec<_> = (1..=100).map(user).collect();
        let contents: Vec<_> = (1..=100).map(content_id).collect();
        let bound = Some(Position::bound(NOW, 5));
        let page = PageRequest { direction: Direction::Newer, bound, ..PageRequest::newest(PageSize::default()) };
        let mut sent = store.statements();
        let mut one = |what: &str| {
            let before = std::mem::replace(&mut sent, store.statements());
            assert_eq!(sent - before, 1, "{what}");
        };
        store.profiles(&users).await.map(|_| one("profiles"))?;
        store.counts(&users).await.map(|_| one("counts"))?;
        store.by_handle(&ann).await.map(|_| one("by_handle"))?;
        store.credential(&ann).await.map(|_| one("credential"))?;
        store.by_ids(None, &contents).await.map(|_| one("by_ids"))?;
        store.counters(&contents).await.map(|_| one("counters"))?;
        store.outbox(Some(user(2)), &users[..64], &page).await.map(|_| one("outbox"))?;
        store
            .outbox(Some(user(2)), &users, &PageRequest::newest(PageSize::default()))
            .await
            .map(|_| one("outbox without a bound"))?;
        store.replies(Some(user(2)), &contents[..64], &page).await.map(|_| one("replies"))?;
        store.ancestors(&contents, 50).await.map(|_| one("ancestors"))?;
        store.followers(Some(user(2)), &users[..64], &page).await.map(|_| one("followers"))?;
        store.following(Some(user(2)), &users[..64], &page).await.map(|_| one("following"))?;
        store.likers(Some(user(2)), &contents[..64], &page).await.map(|_| one("likers"))?;
        store.reacted_to(user(2), Reaction::Like, &page).await.map(|_| one("reacted_to"))?;
        store.outbox_heads(&users, 50).await.map(|_| one("outbox_heads"))?;
        store.followed_among(user(1), &users).await.map(|_| one("followed_among"))?;
        store.followed_by(user(1)).await.map(|_| one("followed_by"))?;
        store.pushed_readers(user(1), Range { after: 0, through: 9 }, None).await.map(|_| one("pushed_readers"))?;
        store.pulled_authors(&users).await.map(|_| one("pulled_authors"))?;
        let before = store.statements();
        store.demote(user(1), &users, 1005).await?;
        assert_eq!(store.statements() - before, 2, "demote: the edges, and the versions of their readers' authors");
        Ok(())
    }

    async fn a_publish_costs_the_same_with_and_without_followers(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(20).await?;
        let start = world.store.statements();
        world.publish(5, 1, NOW).await?;
        let alone = world.store.statements() - start;
        for follower in 2..=20 {
            world.store.follow(user(follower), user(1), EdgeMode::Fill, 7, NOW).await?;
        }
        let start = world.store.statements();
        world.publish(6, 1, NOW).await?;
        assert_eq!(world.store.statements() - start, alone);
        Ok(())
    }

    async fn two_processes_share_one_database(backend: Backend) -> Result<()> {
        let database = backend.migrated_database().await?;
        let stores =
            [impatient(&database).await?, SqlStore::connect(&options(&database.url, Duration::from_secs(20))).await?];
        let accounts = (10..40).map(|id| account(id, &format!("user_{id}")));
        let pairs = stores.iter().cycle().zip(accounts);
        let outcomes = at_once(pairs.map(|(store, account)| store.register(account))).await?;
        assert!(outcomes.iter().all(|outcome| *outcome == Registered::Created));
        assert_eq!((stores[0].count().await?, stores[1].count().await?), (32, 32));
        Ok(())
    }
}

mod servers_only {
    use super::*;

    /// Waits until a transaction of this database waits for a lock. Returns its isolation level.
    async fn waiting_isolation(rival: &Rival) -> Result<String> {
        let sql = "SELECT MAX(t.trx_isolation_level) FROM information_schema.innodb_trx t \
             JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id WHERE p.db = DATABASE() AND t.trx_state = 'LOCK WAIT'";
        let deadline = Instant::now() + Duration::from_mins(1);
        loop {
            let statement = Statement::from_string(rival.0.get_database_backend(), sql);
            // MySQL gives no answer while another connection's statement has characters outside the Basic Multilingual
            // Plane.
            if let Ok(Some(row)) = rival.0.query_one_raw(statement).await
                && let Some(isolation) = row.try_get_by_index::<Option<String>>(0)?
            {
                return Ok(isolation);
            }
            anyhow::ensure!(Instant::now() < deadline, "nothing came to wait for the lock");
            // The server renews this table only if nobody has read it for 100 ms.
            sleep(Duration::from_millis(250)).await;
        }
    }

    /// Waits until a session of this database waits for a lock by name.
    async fn until_it_waits_for_the_name(rival: &Rival) -> Result<()> {
        let database = rival.0.query_one_raw(Statement::from_string(DbBackend::MySql, "SELECT DATABASE()")).await?;
        let database: Option<String> = database.context("a row")?.try_get_by_index(0)?;
        let waits = |it: &Session| it.database == database && it.state.as_deref() == Some("User lock");
        let deadline = Instant::now() + Duration::from_mins(1);
        while !sessions(&rival.0).await?.iter().any(waits) {
            anyhow::ensure!(Instant::now() < deadline, "nothing came to wait for the name");
            sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    on_each_backend! {
        on mariadb, mysql;
        async fn the_victim_of_a_deadlock_tries_again(backend: Backend) -> Result<()> {
            let database = backend.migrated_database().await?;
            let (store, rival) = (impatient(&database).await?, Rival::on(&database.url).await?);
            let heavier = rival.0.begin().await?;
            for id in 100..160 {
                heavier.execute_unprepared(&format!("INSERT INTO counters (content_id) VALUES ({id})")).await?;
            }
            heavier.execute_unprepared("UPDATE user_counts SET followers = 5 WHERE user_id = 2").await?;
            let deadlock = async {
                assert_eq!(waiting_isolation(&rival).await?, "READ COMMITTED");
                heavier.execute_unprepared("UPDATE user_counts SET following = 5 WHERE user_id = 1").await?;
                heavier.commit().await?;
                anyhow::Ok(())
            };
            let (followed, deadlock) = tokio::join!(follow(&store), deadlock);
            deadlock.context("the store was to be the victim")?;
            assert_eq!(followed?, Followed::New);
            assert_eq!(rival.number("SELECT following * 10 + 6 FROM user_counts WHERE user_id = 1").await?, 66);
            assert_eq!(rival.number("SELECT followers FROM user_counts WHERE user_id = 2").await?, 6);
            Ok(())
        }

        async fn a_migration_waits_for_another_nodes_longer_than_statements_may_take(backend: Backend) -> Result<()> {
            const STATEMENT: Duration = Duration::from_millis(300);
            let database = backend.empty_database().await?;
            let store = SqlStore::connect(&options(&database.url, STATEMENT)).await?;
            let rival = Rival::on(&database.url).await?;
            let other_node = rival.0.begin().await?;
            let name = "LEFT(CONCAT('tidefeed:', DATABASE()), 64)";
            other_node.execute_unprepared(&format!("DO GET_LOCK({name}, 5)")).await?;
            let held = async {
                until_it_waits_for_the_name(&rival).await?;
                sleep(STATEMENT + Duration::from_millis(50)).await;
                assert_eq!(
                    rival
                        .number("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()")
                        .await?,
                    0
                );
                other_node.execute_unprepared(&format!("DO RELEASE_LOCK({name})")).await?;
                anyhow::Ok(())
            };
            let (migrated, held) = tokio::join!(store.migrate(), held);
            held?;
            migrated?;
            let patient = SqlStore::connect(&options(&database.url, Duration::from_mins(1))).await?;
            assert!(patient.pending_migrations().await?.is_empty());
            Ok(())
        }

        async fn a_read_over_its_time_fails_and_the_store_recovers(backend: Backend) -> Result<()> {
            let database = backend.migrated_database().await?;
            let (store, rival) = (impatient(&database).await?, Rival::on(&database.url).await?);
            let session = rival.0.begin().await?;
            session.execute_unprepared("LOCK TABLES users WRITE").await?;
            let ended = timeout(Duration::from_mins(2), store.count()).await?;
            assert!(matches!(ended, Err(StoreError::Unavailable(_))), "{ended:?}");
            session.execute_unprepared("UNLOCK TABLES").await?;
            session.commit().await?;
            assert_eq!(store.count().await?, 2);
            Ok(())
        }

        async fn a_store_comes_back_with_its_server(backend: Backend) -> Result<()> {
            let server = Server::start(if backend == Backend::Mysql { Kind::Mysql } else { Kind::MariaDb }).await?;
            let database = EmptyDatabase::on(&server).await?.migrated().await?;
            // Debian's MariaDB has no certificate.
            let tls = if backend == Backend::Mysql { "REQUIRED" } else { "DISABLED" };
            let url = format!("{}?ssl-mode={tls}", database.url);
            // A wait for an absent server has the limit of a wait for a connection.
            let options = SqlOptions { acquire_timeout: Duration::from_secs(5), ..options(&url, Duration::from_secs(10)) };
            let store = with_two(&options).await?;
            server.kill().await?;
            for _ in 0..3 {
                let refused = store.count().await;
                assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
            }
            let refused = follow(&store).await;
            assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
            server.restart().await?;
            assert_eq!(store.count().await?, 2);
            assert_eq!(follow(&store).await?, Followed::New);
            Ok(())
        }

        async fn what_is_acknowledged_is_committed_whatever_the_servers_defaults_are(backend: Backend) -> Result<()> {
            let server = Server::start(if backend == Backend::Mysql { Kind::Mysql } else { Kind::MariaDb }).await?;
            let database = EmptyDatabase::on(&server).await?.migrated().await?;
            let rival = Rival::on(&database.url).await?;
            rival.0.execute_unprepared("SET GLOBAL autocommit = 0").await?;
            rival.0.execute_unprepared("SET GLOBAL completion_type = 'CHAIN'").await?;
            let store = impatient(&database).await?;
            assert_eq!(follow(&store).await?, Followed::New);
            store.keep_deep(user(1), NOW + 1).await?;
            assert_eq!(rival.number("SELECT COUNT(*) FROM follows").await?, 3);
            assert_eq!(rival.number("SELECT deep_until FROM inbox_states WHERE user_id = 1").await?, NOW + 1);
            Ok(())
        }

        async fn connections_are_used_again_unasked_also_after_abandoned_work(backend: Backend) -> Result<()> {
            let server = Server::start(if backend == Backend::Mysql { Kind::Mysql } else { Kind::MariaDb }).await?;
            let database = EmptyDatabase::on(&server).await?.migrated().await?;
            let (store, rival) = (impatient(&database).await?, Rival::on(&database.url).await?);
            let lock = rival.0.begin().await?;
            lock.execute_unprepared("UPDATE user_counts SET followers = 5 WHERE user_id = 2").await?;
            for _ in 0..4 {
                assert!(timeout(Duration::from_millis(50), follow(&store)).await.is_err(), "the row is locked");
            }
            lock.rollback().await?;
            assert_eq!(follow(&store).await?, Followed::New);
            while rival.number("SELECT COUNT(*) FROM information_schema.innodb_trx").await? > 0 {
                sleep(Duration::from_millis(150)).await;
            }
            let connections = rival.status("Connections").await?;
            let questions = rival.status("Com_admin_commands").await?;
            for _ in 0..20 {
                assert_eq!(store.count().await?, 2);
                assert_eq!(follow(&store).await?, Followed::Already);
            }
            let new = rival.status("Connections").await? - connections;
            let pings = rival.status("Com_admin_commands").await? - questions;
            assert!(new < 10 && pings < 20, "{new}, {pings}: more than the rival's own and those after a pause");

            // An operator, or a proxy, ends idle connections.
            for _ in 0..3 {
                let all = join_all((0..4).map(|_| store.count())).await;
                assert!(all.iter().all(Result::is_ok), "{all:?}");
                rival.end_others().await?;
                assert_eq!(follow(&store).await?, Followed::Already);
                assert_eq!(store.count().await?, 2);
                let all = join_all((0..4).map(|_| follow(&store))).await;
                assert!(all.iter().all(Result::is_ok), "{all:?}");
                rival.end_others().await?;
                sleep(Duration::from_millis(40)).await;
                store.keep_deep(user(1), NOW + 1).await?;
            }
            Ok(())
        }
    }
}

#[tokio::test]
async fn writers_behind_another_process_do_not_wait_one_after_the_other() -> Result<()> {
    let database = Backend::Sqlite.migrated_database().await?;
    let options =
        SqlOptions { acquire_timeout: Duration::from_mins(5), ..options(&database.url, Duration::from_secs(1)) };
    let (store, rival) = (with_two(&options).await?, Rival::on(&database.url).await?);
    let lock = rival.0.begin().await?;
    lock.execute_unprepared("UPDATE user_counts SET followers = 5 WHERE user_id = 2").await?;
    // One after the other they would take minutes.
    let writers = join_all((0..64).map(|_| follow(&store)));
    let refused = timeout(Duration::from_secs(30), writers).await?;
    assert!(refused.iter().all(|it| it.as_ref().is_err_and(StoreError::is_transient)), "{refused:?}");
    lock.rollback().await?;
    assert_eq!(follow(&store).await?, Followed::New);
    Ok(())
}
