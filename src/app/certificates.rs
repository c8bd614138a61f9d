//! When the certificates of connections to stores end, for `tidefeed doctor`: those in files, and those that the
//! servers present.

use std::{path::Path, time::Duration};

use certificates::{CertificateFiles, DAYS_OF_WARNING, Greeting, end_within, presented};
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use url::Url;

use super::{adapters::store_options, redis_options, settings::files_for_cassandra};
use crate::{
    config::{Address, Config, SqlEngine},
    store::{inspection::Finding, sql::SqlOptions},
};

/// How long a server may take to present its certificates.
const LIMIT: Duration = Duration::from_secs(5);

/// Servers that share files of certificates.
struct Servers {
    name: &'static str,
    files: CertificateFiles,
    /// Those whose certificates are verified.
    hosts: Vec<(String, u16)>,
    greeting: Greeting,
}

/// A warning for each certificate that ends soon; nothing if no connection uses any.
pub async fn inspect_certificates(config: &Config, now_ms: i64) -> Vec<Finding> {
    let mut findings = Vec::new();
    let one_each = [store(config), redis(config), cassandra(config)].into_iter().flatten();
    for servers in one_each.chain(replicas(config)) {
        if !servers.files.is_any() && servers.hosts.is_empty() {
            continue;
        }
        for finding in servers.inspect(now_ms).await {
            // Servers may share files.
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    findings
}

impl Servers {
    async fn inspect(&self, now_ms: i64) -> Vec<Finding> {
        let mut warnings = Vec::new();
        let mut unseen = 0_usize;
        for file in [&self.files.authority, &self.files.certificate].into_iter().flatten() {
            warnings.extend(in_file(file, now_ms).await);
        }
        for (host, port) in &self.hosts {
            let asked = presented((host, *port), self.greeting, &self.files);
            let Ok(Ok(shown)) = tokio::time::timeout(LIMIT, asked).await else {
                // Why, is reported where the server is tried.
                unseen += 1;
                continue;
            };
            if let Some(day) = end_within(&shown, now_ms) {
                let seen = format!("its certificate ends on {day}");
                warnings.push(Finding::doubtful(
                    &format!("{} {host}:{port}", self.name),
                    seen,
                    "renew it on the server: from that day on this node refuses it",
                ));
            }
        }
        if warnings.is_empty() && unseen == 0 {
            let seen = format!("none ends within {DAYS_OF_WARNING} days");
            warnings.push(Finding::fine(&format!("certificates of {}", self.name), seen));
        }
        warnings
    }
}

async fn in_file(file: &Path, now_ms: i64) -> Option<Finding> {
    let text = tokio::fs::read(file).await.ok()?;
    let found: Vec<_> = CertificateDer::pem_slice_iter(&text).filter_map(Result::ok).collect();
    let day = end_within(&found, now_ms)?;
    let seen = format!("a certificate in it ends on {day}");
    Some(Finding::doubtful(
        &file.display().to_string(),
        seen,
        "replace the file: nodes use the new one without a restart",
    ))
}

fn store(config: &Config) -> Option<Servers> {
    if config.store.url.engine() == SqlEngine::Sqlite {
        return None;
    }
    Some(of_sql("store", &store_options(config)))
}

/// Each replica's address has files of its own.
fn replicas(config: &Config) -> impl Iterator<Item = Servers> {
    let of_replica = |url: &Address| SqlOptions { url: url.expose().to_owned(), ..store_options(config) };
    config.store.replicas.iter().map(move |url| of_sql("replica", &of_replica(url)))
}

fn of_sql(name: &'static str, options: &SqlOptions) -> Servers {
    let hosts = options.verified_host().into_iter().collect();
    Servers { name, files: options.certificate_files(), hosts, greeting: Greeting::MySql }
}

fn redis(config: &Config) -> Option<Servers> {
    let options = redis_options(config)?;
    let host = |url: &String| {
        let url = Url::parse(url).ok().filter(|url| url.scheme() == "rediss")?;
        Some((url.host_str()?.trim_matches(['[', ']']).to_owned(), url.port().unwrap_or(6379)))
    };
    let hosts = options.urls.iter().filter_map(host).collect();
    Some(Servers { name: "redis", files: options.certificates, hosts, greeting: Greeting::None })
}

fn cassandra(config: &Config) -> Option<Servers> {
    if !config.inbox.store.is_cassandra() {
        return None;
    }
    let files = files_for_cassandra(config)?;
    let host = |point: &String| {
        let (host, port) = point.rsplit_once(':')?;
        Some((host.trim_matches(['[', ']']).to_owned(), port.parse().ok()?))
    };
    let hosts = config.cassandra.contact_points.iter().filter_map(host).collect();
    Some(Servers { name: "cassandra", files, hosts, greeting: Greeting::None })
}
