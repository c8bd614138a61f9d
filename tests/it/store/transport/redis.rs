//! Redis over TLS and over its socket.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use certificates::CertificateFiles;
use tidefeed::store::redis::{Redis, RedisOptions};

use super::{EXPIRED, Files, NAMES, OTHER_NAME, UNKNOWN, expect_words};
use crate::servers::{Kind, Recipe, Server, Validity, connect_redis};

/// The port for TLS of a server on this port; [`Server`] has found it free.
pub(super) const fn tls_port(port: u16) -> u16 {
    port + 10_000
}

fn options(files: &Files, url: String) -> RedisOptions {
    let certificates = files.certificates();
    RedisOptions {
        urls: vec![url],
        certificates,
        command_timeout_ms: 20_000,
        connect_timeout_ms: 20_000,
        ..RedisOptions::default()
    }
}

pub(super) async fn refusal(options: &RedisOptions) -> Result<String> {
    let refused = Redis::connect(options.clone()).await.err().context("it was taken")?;
    Ok(format!("{:#}", anyhow::Error::from(refused)))
}

/// Arguments of a server that shows the files' certificate.
pub(super) fn tls(files: &Files) -> String {
    let folder = files.folder();
    format!(
        "--tls-ca-cert-file {folder}/authority.pem --tls-cert-file {folder}/server.pem --tls-key-file {folder}/server.key"
    )
}

/// A Redis that speaks TLS and asks for certificates.
pub(super) async fn server(files: &Files) -> Result<Server> {
    let mut recipe: Recipe = Kind::Redis.recipe();
    recipe.serve = r#"exec "$program" --port "$port" --tls-port $((port + 10000)) --unixsocket "$folder/r.sock" \
        --dir "$folder" --bind 127.0.0.1 --save '' --appendonly no $more"#;
    recipe.more = tls(files);
    Server::start_from(Kind::Redis, &recipe).await
}

/// Lets the server read its files again, and ends its connections over TLS.
async fn reload(server: &Server, files: &Files) -> Result<()> {
    let mut line = connect_redis(&server.url()).await?;
    let certificate = files.path("server.pem").display().to_string();
    redis::cmd("CONFIG").arg("SET").arg("tls-cert-file").arg(certificate).exec_async(&mut line).await?;
    redis::cmd("CLIENT").arg("KILL").arg("TYPE").arg("normal").exec_async(&mut line).await?;
    Ok(())
}

async fn until_it_answers(redis: &Redis) -> Result<()> {
    let answers = async {
        while redis.ping().await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    Ok(tokio::time::timeout(Duration::from_mins(1), answers).await?)
}

mod redis_server {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_wrong_certificate_of_redis_is_told_in_one_of_three_messages() -> Result<()> {
        let files = Files::new()?;
        let server = server(&files).await?;
        let port = tls_port(server.port());
        let by_number = options(&files, format!("rediss://127.0.0.1:{port}/"));
        let redis = Redis::connect(by_number.clone()).await?;
        redis.probe_writes().await?;

        files.server(&files.authority.sign("DNS:localhost", Validity::Days(90))?)?;
        reload(&server, &files).await?;
        expect_words(&refusal(&by_number).await?, OTHER_NAME)?;
        Redis::connect(options(&files, format!("rediss://localhost:{port}/"))).await?.ping().await?;

        files.server(&files.authority.sign(NAMES, Validity::Over)?)?;
        reload(&server, &files).await?;
        expect_words(&refusal(&by_number).await?, EXPIRED)?;

        files.server_of_stranger()?;
        reload(&server, &files).await?;
        let message = refusal(&by_number).await?;
        expect_words(&message, UNKNOWN)?;
        ensure!(message.contains(&files.path("ca.pem").display().to_string()), "{message}");
        // The first learns that its connection has ended.
        let _ = redis.ping().await;
        let away = redis.ping().await.err().context("the new certificate was taken")?;
        expect_words(&away.with_causes(), UNKNOWN)?;
        files.client(&files.stranger.sign(NAMES, Validity::Days(90))?)?;
        files.trusted(&files.stranger.file())?;
        until_it_answers(&redis).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_renewed_client_certificate_is_shown_without_a_restart() -> Result<()> {
        let files = Files::new()?;
        let server = server(&files).await?;
        let options = options(&files, format!("rediss://127.0.0.1:{}/", tls_port(server.port())));
        let redis = Redis::connect(options.clone()).await?;
        files.client(&files.stranger.sign(NAMES, Validity::Days(90))?)?;
        reload(&server, &files).await?;
        let message = refusal(&options).await?;
        ensure!(message.contains("wants another certificate from this node"), "{message}");
        files.client(&files.authority.sign(NAMES, Validity::Days(90))?)?;
        until_it_answers(&redis).await?;

        let certificates = CertificateFiles { certificate: None, key: None, ..options.certificates.clone() };
        let message = refusal(&RedisOptions { certificates, ..options.clone() }).await?;
        ensure!(message.contains("wants another certificate from this node"), "{message}");

        let socket = format!("redis+unix://{}/r.sock?db=3", server.folder().display());
        let redis = Redis::connect(RedisOptions { urls: vec![socket], ..options }).await?;
        redis.probe_writes().await?;
        let mut line = connect_redis(&format!("{}3", server.url())).await?;
        let keys: u64 = redis::cmd("DBSIZE").query_async(&mut line).await?;
        ensure!(keys == 1, "the probe is not in database 3");
        Ok(())
    }
}
