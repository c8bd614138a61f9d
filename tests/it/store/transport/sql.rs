//! MySQL and MariaDB over TLS and over their socket.

use anyhow::{Context as _, Result, ensure};
use sea_orm::DatabaseConnection;
use tidefeed::store::sql::SqlStore;

use super::{EXPIRED, Files, NAMES, OTHER_NAME, UNKNOWN, expect_words};
use crate::{
    binary::CommandLine,
    servers::{
        Backend, EmptyDatabase, Kind, Recipe, Server, Validity, connect_sql, execute, numbers, on_each_backend,
        open_store,
    },
};

/// A server that speaks TLS, and its database.
struct World {
    files: Files,
    server: Server,
    kind: Kind,
    root: DatabaseConnection,
    name: String,
}

impl World {
    async fn new(backend: Backend) -> Result<Self> {
        let files = Files::new()?;
        let folder = files.folder();
        let kind = if backend == Backend::Mysql { Kind::Mysql } else { Kind::MariaDb };
        let more =
            format!("--ssl-ca={folder}/authority.pem --ssl-cert={folder}/server.pem --ssl-key={folder}/server.key");
        let server = Server::start_from(kind, &Recipe { more, ..kind.recipe() }).await?;
        let database = EmptyDatabase::on(&server).await?;
        let name = database.url.rsplit('/').next().context("a name")?.to_owned();
        let root = connect_sql(&server.url()).await?;
        Ok(Self { files, server, kind, root, name })
    }

    /// The address of the database, by the host's name or number.
    fn url(&self, account: &str, host: &str, parameters: &str) -> String {
        format!("mysql://{account}@{host}:{}/{}?{parameters}", self.server.port(), self.name)
    }

    fn verifying(&self, host: &str) -> String {
        self.url("root", host, &format!("ssl-mode=VERIFY_IDENTITY&ssl-ca={}/ca.pem", self.files.folder()))
    }

    async fn refusal(&self, url: &str) -> Result<String> {
        let refused = open_store(url).await.err().context("it was taken")?;
        Ok(format!("{refused:#}"))
    }

    /// Ends all other connections.
    async fn end_others(&self) -> Result<()> {
        let others = "SELECT CAST(id AS SIGNED) FROM information_schema.processlist \
                      WHERE id <> CONNECTION_ID() AND command = 'Sleep'";
        for id in numbers(&self.root, others).await? {
            execute(&self.root, &format!("KILL {id}")).await?;
        }
        Ok(())
    }

    async fn reload(&self) -> Result<()> {
        let order = if self.kind == Kind::Mysql { "ALTER INSTANCE RELOAD TLS" } else { "FLUSH SSL" };
        execute(&self.root, order).await
    }
}

on_each_backend! {
    on mariadb, mysql;

    async fn a_wrong_certificate_is_told_in_one_of_three_messages(backend: Backend) -> Result<()> {
        let world = World::new(backend).await?;
        let files = &world.files;
        let store = open_store(&world.verifying("127.0.0.1")).await?;
        store.ping().await?;

        files.server(&files.authority.sign("DNS:localhost", Validity::Days(10))?)?;
        world.reload().await?;
        expect_words(&world.refusal(&world.verifying("127.0.0.1")).await?, OTHER_NAME)?;
        open_store(&world.verifying("localhost")).await?.ping().await?;
        let doctor = CommandLine::on(&world.verifying("localhost"))?.run(&["doctor"]).await?;
        ensure!(doctor.out.contains("warn store localhost") && doctor.out.contains("its certificate ends on"), "{doctor:?}");

        // A MySQL takes no such certificate.
        if backend == Backend::MariaDb {
            files.server(&files.authority.sign(NAMES, Validity::Over)?)?;
            world.reload().await?;
            expect_words(&world.refusal(&world.verifying("127.0.0.1")).await?, EXPIRED)?;
            let doctor = CommandLine::on(&world.verifying("127.0.0.1"))?.run(&["doctor"]).await?;
            expect_words(&doctor.out, EXPIRED)?;
        }

        files.server_of_stranger()?;
        world.reload().await?;
        let message = world.refusal(&world.verifying("127.0.0.1")).await?;
        expect_words(&message, UNKNOWN)?;
        ensure!(message.contains(&files.path("ca.pem").display().to_string()), "{message}");
        // A renewed file, and no new store.
        world.end_others().await?;
        let away = store.ping().await.err().context("the new certificate was taken")?;
        expect_words(&away.with_causes(), UNKNOWN)?;
        files.trusted(&files.stranger.file())?;
        store.ping().await?;
        Ok(())
    }

    async fn an_account_that_asks_for_a_certificate_is_shown_one(backend: Backend) -> Result<()> {
        let world = World::new(backend).await?;
        let folder = world.files.folder();
        execute(&world.root, "CREATE USER certified REQUIRE X509").await?;
        execute(&world.root, &format!("GRANT ALL ON {}.* TO certified", world.name)).await?;
        let verify = format!("ssl-mode=VERIFY_IDENTITY&ssl-ca={folder}/ca.pem");
        let shown = format!("{verify}&ssl-cert={folder}/client.pem&ssl-key={folder}/client.key");
        let store: SqlStore = open_store(&world.url("certified", "127.0.0.1", &shown)).await?;
        store.migrate().await?;
        let refused = world.refusal(&world.url("certified", "127.0.0.1", &verify)).await?;
        ensure!(refused.contains("Access denied"), "{refused}");
        let missing = shown.replace("client.pem", "lost.pem");
        let refused = world.refusal(&world.url("certified", "127.0.0.1", &missing)).await?;
        ensure!(refused.contains("lost.pem cannot be read"), "{refused}");

        let socket = format!("socket={}/m.sock", world.server.folder().display());
        open_store(&world.url("root", "localhost", &socket)).await?.ping().await?;
        Ok(())
    }
}
