//! Cassandra over TLS. What a node cannot be started with, `openssl s_server` shows.

use anyhow::{Result, ensure};
use certificates::CertificateFiles;
use tidefeed::store::cassandra::{Cassandra, CassandraOptions};

use super::{EXPIRED, Files, NAMES, OTHER_NAME, UNKNOWN, expect_words, shown::Shown};
use crate::servers::{CassandraCluster, Validity};

async fn refusal(options: CassandraOptions) -> String {
    let refused = Cassandra::new(options).connect().await;
    refused.err().map(|error| error.with_causes()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_certificate_of_cassandra_is_told_in_one_of_three_messages() -> Result<()> {
    let files = Files::new()?;
    let cluster = CassandraCluster::over_tls(|address| {
        let signed = files.authority.sign(&format!("IP:{address}"), Validity::Days(90))?;
        let keystore = [std::fs::read(&signed.key)?, std::fs::read(&signed.certificate)?].concat();
        std::fs::write(files.path("keystore.pem"), keystore)?;
        Ok(files.path(""))
    })
    .await?;
    let right = cluster.fresh_keyspace(1);
    let right = CassandraOptions { certificates: Some(files.certificates()), ..right };
    Cassandra::new(right.clone()).connect().await?;

    let anonymous = CertificateFiles { certificate: None, key: None, ..files.certificates() };
    let message = refusal(CassandraOptions { certificates: Some(anonymous), ..right.clone() }).await;
    ensure!(message.contains("wants another certificate from this node"), "{message}");
    let other = CertificateFiles { authority: Some(files.stranger.file()), ..files.certificates() };
    expect_words(&refusal(CassandraOptions { certificates: Some(other), ..right.clone() }).await, UNKNOWN)?;
    let lost = CertificateFiles { key: Some(files.path("lost.key")), ..files.certificates() };
    let message = refusal(CassandraOptions { certificates: Some(lost), ..right.clone() }).await;
    ensure!(message.contains("lost.key cannot be read"), "{message}");

    for (names, validity, words) in
        [("DNS:localhost", Validity::Days(90), OTHER_NAME), (NAMES, Validity::Over, EXPIRED)]
    {
        files.server(&files.authority.sign(names, validity)?)?;
        let shown = Shown::by(&files).await?;
        let contact_points = vec![format!("127.0.0.1:{}", shown.port)];
        expect_words(&refusal(CassandraOptions { contact_points, ..right.clone() }).await, words)?;
    }
    Ok(())
}
