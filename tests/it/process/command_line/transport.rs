//! Tests what an operator is told about certificates and addresses: at the start, by `/readyz` and by `doctor`.

use anyhow::{Result, ensure};

use super::{
    CommandLine,
    process::{Node, until},
};
use crate::servers::{Authority, EmptyDatabase, Kind, Recipe, Server, Validity, connect_redis};

const NAMES: &str = "DNS:localhost,IP:127.0.0.1";

#[tokio::test]
async fn addresses_and_certificates_that_do_not_fit_are_refused() -> Result<()> {
    for (settings, said) in [
        (&[("STORE__URL", "mysql://db/feed?ssl_mode=REQUIRED")][..], "knows no parameter \\\"ssl_mode\\\""),
        (&[("REDIS__TLS_CA", "/ca.pem"), ("REDIS__URL", "redis://r:1/")], "no url begins with rediss://"),
        (&[("REDIS__TLS_KEY", "/k.pem"), ("REDIS__URL", "rediss://r:1/")], "redis.tls_key together"),
        (&[("REDIS__SENTINEL_USER", "ann")], "is set without redis.sentinel_master"),
        (&[("REDIS__SENTINEL_MASTER", "feed")], "expected redis.urls to name Sentinels"),
        (
            &[("REDIS__SENTINEL_MASTER", "feed"), ("REDIS__URLS", "redis://:a@s:1/, redis://:b@t:1/")],
            "expected the same scheme, user, password and database",
        ),
        (&[("REDIS__URL", "redis+unix:///r.sock"), ("REDIS__CLUSTER", "true")], "a socket leads to one server"),
    ] {
        let mut it = CommandLine::embedded()?;
        for (key, value) in settings {
            it = it.with(&format!("TIDEFEED__{key}"), value);
        }
        let refused = it.run(&["doctor"]).await?;
        ensure!(refused.code == Some(2) && refused.err.contains(&said.replace('\\', "")), "{said}: {refused:?}");
    }
    Ok(())
}

mod redis_server {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn certificates_that_end_soon_or_have_ended_are_told_of() -> Result<()> {
        let (authority, folder) = (Authority::new()?, tempfile::tempdir()?);
        let file = |name: &str| folder.path().join(name).display().to_string();
        let show = |validity| -> Result<()> {
            let signed = authority.sign(NAMES, validity)?;
            signed.replace(&folder.path().join("server.pem"), &folder.path().join("server.key"))
        };
        show(Validity::Days(10))?;
        let mut recipe: Recipe = Kind::Redis.recipe();
        recipe.serve = r#"exec "$program" --port "$port" --tls-port $((port + 10000)) --dir "$folder" --bind 127.0.0.1 \
            --save '' --appendonly no $more"#;
        recipe.more = format!(
            "--tls-ca-cert-file {} --tls-cert-file {} --tls-key-file {}",
            authority.file().display(),
            file("server.pem"),
            file("server.key")
        );
        let redis = Server::start_from(Kind::Redis, &recipe).await?;
        let own = authority.sign(NAMES, Validity::Days(20))?;
        let it = CommandLine::embedded()?
            .with("TIDEFEED__LOG__FORMAT", "json")
            .with("TIDEFEED__SERVER__LISTEN", "127.0.0.1:0")
            .with("TIDEFEED__REDIS__URL", &format!("rediss://127.0.0.1:{}/", redis.port() + 10_000))
            .with("TIDEFEED__REDIS__TLS_CA", &authority.file().display().to_string())
            .with("TIDEFEED__REDIS__TLS_CERTIFICATE", &own.certificate.display().to_string())
            .with("TIDEFEED__REDIS__TLS_KEY", &own.key.display().to_string());
        let (_node, peer) = Node::listening(&it, &["serve"], "Serving the API.").await?;
        let doctor = it.done(&["doctor"]).await?;
        let server = format!("warn redis 127.0.0.1:{}: its certificate ends on ", redis.port() + 10_000);
        let client = format!("warn {}: a certificate in it ends on ", own.certificate.display());
        ensure!(doctor.contains(&server) && doctor.contains(&client), "{doctor}");

        show(Validity::Over)?;
        let mut line = connect_redis(&redis.url()).await?;
        redis::cmd("CONFIG").arg("SET").arg("tls-cert-file").arg(file("server.pem")).exec_async(&mut line).await?;
        redis::cmd("CLIENT").arg("KILL").arg("TYPE").arg("normal").exec_async(&mut line).await?;
        until("the reason is told", async || {
            let (status, ready) = peer.get("readyz").await?;
            Ok(status == 200 && ready.contains("ended on 2021-01-01"))
        })
        .await?;
        let doctor = it.run(&["doctor"]).await?;
        ensure!(doctor.code == Some(1) && doctor.out.contains("ended on 2021-01-01"), "{doctor:?}");
        let start = it.run(&["serve"]).await?;
        ensure!(start.code == Some(1) && start.err.contains("ended on 2021-01-01"), "{start:?}");
        Ok(())
    }
}

mod mariadb {
    use super::*;

    #[tokio::test]
    async fn doctor_tells_when_the_certificate_of_a_replica_ends() -> Result<()> {
        let authority = Authority::new()?;
        let shown = authority.sign(NAMES, Validity::Days(10))?;
        let more = format!("--ssl-cert={} --ssl-key={}", shown.certificate.display(), shown.key.display());
        let server = Server::start_from(Kind::MariaDb, &Recipe { more, ..Kind::MariaDb.recipe() }).await?;
        let database = EmptyDatabase::on(&server).await?;
        let verified = format!("{}?ssl-mode=VERIFY_IDENTITY&ssl-ca={}", database.url, authority.file().display());
        let it = CommandLine::on(&database.url)?.with("TIDEFEED__STORE__REPLICAS", &format!("[\"{verified}\"]"));
        let doctor = it.run(&["doctor"]).await?;
        let said = format!("warn replica 127.0.0.1:{}: its certificate ends on ", server.port());
        ensure!(doctor.out.contains(&said), "{doctor:?}");
        Ok(())
    }
}
