//! The configuration as an operator meets it.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::path::PathBuf;

use super::*;

fn environment(variables: &[(&str, &str)]) -> Environment {
    Environment::of(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

fn load(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    Config::load(&Sources::new(None, environment(variables)))
}

fn problems(variables: &[(&str, &str)]) -> Vec<String> {
    load(variables).unwrap_err().problems.iter().map(ToString::to_string).collect()
}

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.toml");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

#[test]
fn the_defaults_are_a_valid_configuration() {
    let config = Config::defaults().unwrap();
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.delivery.lease_ms.as_i64(), 20_000);
    assert!(config.redis.urls.is_empty() && config.auth.secret.is_empty());
}

#[test]
fn inboxes_and_cached_outboxes_keep_300_entries_by_default() {
    let config = Config::defaults().unwrap();
    assert_eq!((config.inbox.keep, config.outbox_cache.capacity), (300, 300));
}

#[test]
fn every_default_has_a_meaning_and_is_documented() {
    let entries = reference::entries();
    assert!(entries.len() > 50);
    assert_eq!(entries.len(), reader::keys(&sources::defaults()).len());
    for entry in &entries {
        assert!(entry.meaning.len() > 10 && !entry.about.is_empty(), "{}.{} lacks a comment", entry.section, entry.key);
    }
    let page = include_str!("../../docs/configuration.md");
    assert!(page == reference(), "run: tidefeed config --reference > docs/configuration.md");
}

#[test]
fn the_environment_goes_over_the_file_and_the_file_over_the_defaults() {
    let (_folder, path) = file("[delivery]\nexecutors = 7\nactive_days = 3\n");
    let sources = Sources::new(Some(path), environment(&[("TIDEFEED__DELIVERY__EXECUTORS", "9")]));
    let config = Config::load(&sources).unwrap();
    assert_eq!((config.delivery.executors, config.delivery.active_days, config.delivery.dispatchers), (9, 3, 1));
    let shown = Config::show(&sources);
    let origin = |key: &str| shown.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    assert!(origin("executors = 9").ends_with("# environment TIDEFEED__DELIVERY__EXECUTORS"));
    assert!(origin("active_days = 3").ends_with("t.toml"));
    assert!(origin("dispatchers = 1").ends_with("# default"));
}

#[test]
fn all_problems_are_reported_at_once_with_key_value_and_remedy() {
    let (_folder, path) = file("[delivery]\nbach_size = 5\nexecutors = \"many\"\n[log]\nformat = \"xml\"\n");
    let sources = Sources::new(
        Some(path),
        environment(&[("TIDEFEED__STORE__URL", "oracle"), ("TIDEFEED__SERVER__LISTEN", "80")]),
    );
    let problems = Config::load(&sources).unwrap_err().to_string();
    assert!(problems.starts_with("the configuration has 5 problems:"), "{problems}");
    assert!(problems.contains("did you mean delivery.batch_size?"), "{problems}");
    for part in [
        "executors = \"many\"",
        "whole number from 1 to 1024",
        "format = \"xml\"",
        "store.url = \"oracle\" (environment TIDEFEED__STORE__URL)",
        "server.listen = \"80\"",
    ] {
        assert!(problems.contains(part), "{part} is not in: {problems}");
    }
}

#[test]
fn settings_that_do_not_fit_together_are_refused() {
    let problems = problems(&[
        ("TIDEFEED__DELIVERY__BATCH_SIZE", "2000"),
        ("TIDEFEED__DELIVERY__ACTIVE_DAYS", "40"),
        ("TIDEFEED__DELIVERY__LEASE_MS", "1000"),
        ("TIDEFEED__REDIS__CLUSTER", "true"),
        ("TIDEFEED__AUTH__SECRET", "too short"),
    ]);
    assert_eq!(problems.len(), 5, "{problems:?}");
    assert!(!problems.join("").contains("too short"), "a secret is shown: {problems:?}");
}

#[test]
fn only_this_machine_may_hand_out_keys_without_tls() {
    let refused = |url| {
        let issuer = [("TIDEFEED__ISSUER__URL", "https://issuer.example"), ("TIDEFEED__ISSUER__AUDIENCE", "feed")];
        load(&[issuer[0], issuer[1], ("TIDEFEED__ISSUER__JWKS_URL", url)]).is_err()
    };
    for taken in ["https://issuer.example/jwks", "http://127.0.0.1:9/jwks", "http://localhost", "http://[::1]/"] {
        assert!(!refused(taken), "{taken}");
    }
    for url in ["http://127.0.0.1:x@evil.example/jwks", "http://localhost.evil.example", "http://a@127.0.0.1", "jwks"] {
        assert!(refused(url), "{url}");
    }
}

#[test]
fn mysql_asks_for_a_secret_and_says_how_to_make_one() {
    let problems = problems(&[("TIDEFEED__STORE__URL", "mysql://u:pw@h/d")]);
    assert!(problems.len() == 1 && problems[0].contains("openssl rand -base64 48"), "{problems:?}");
}

#[test]
fn replicas_are_for_servers_alone_and_their_passwords_stay_hidden() {
    let replicas = ("TIDEFEED__STORE__REPLICAS", "mysql://r:hush@a/d, mysql://r:hush@b/d");
    let of_file = problems(&[replicas]);
    assert!(of_file.len() == 1 && of_file[0].contains("a SQLite file has no replicas"), "{of_file:?}");
    assert!(!of_file[0].contains("hush"), "{of_file:?}");
    let server = ("TIDEFEED__STORE__URL", "mysql://u:pw@h/d");
    let secret = ("TIDEFEED__AUTH__SECRET", "0123456789abcdef0123456789abcdef");
    assert_eq!(load(&[server, secret, replicas]).map(|config| config.store.replicas.len()).ok(), Some(2));
    assert_eq!(problems(&[server, secret, ("TIDEFEED__STORE__REPLICAS", "sqlite://a")]).len(), 1);
}

#[test]
fn a_malformed_section_or_file_is_reported() {
    let problems = problems(&[("TIDEFEED__DELIVERY", "fast")]);
    assert!(problems[0].contains("is a section: write [delivery]"), "{problems:?}");
    let (_folder, path) = file("[delivery\n");
    let error = Config::load(&Sources::new(Some(path), Environment::default())).unwrap_err();
    assert!(error.problems[0].expected.starts_with("is not TOML"), "{error}");
    let missing = Config::load(&Sources::new(Some("none.toml".into()), Environment::default())).unwrap_err();
    assert!(missing.to_string().contains("none.toml: cannot be read"), "{missing}");
}

#[test]
fn a_text_of_digits_stays_a_text_and_lists_have_two_forms() {
    let digits = "01234567890123456789012345678901";
    assert_eq!(load(&[("TIDEFEED__AUTH__SECRET", digits)]).unwrap().auth.secret.expose(), digits);
    for (key, text, count) in [
        ("TIDEFEED__REDIS__URL", "redis://a:1", 1),
        ("TIDEFEED__REDIS__URLS", "redis://a:1", 1),
        ("TIDEFEED__REDIS__URLS", "redis://a:1, redis://b:2", 2),
        ("TIDEFEED__REDIS__URLS", "[\"redis://a:1\", \"redis://b:2\"]", 2),
    ] {
        let cluster = if count > 1 { "true" } else { "false" };
        let config = load(&[(key, text), ("TIDEFEED__REDIS__CLUSTER", cluster)]).unwrap();
        assert_eq!(config.redis.urls.len(), count, "{text}");
    }
}

#[test]
fn the_printed_configuration_hides_secrets() {
    let sources = Sources::new(
        None,
        environment(&[
            ("TIDEFEED__STORE__URL", "mysql://u:hidden1@h/d"),
            ("TIDEFEED__REDIS__URL", "redis://:hidden2@h:1"),
            ("TIDEFEED__AUTH__SECRET", "hidden3hidden3hidden3hidden3hidden3"),
        ]),
    );
    let shown = Config::show(&sources);
    let debugged = format!("{:?}", Config::load(&sources).unwrap());
    for secret in ["hidden1", "hidden2", "hidden3"] {
        assert!(!shown.contains(secret) && !debugged.contains(secret), "{secret} is shown");
    }
    assert!(shown.contains("mysql://u:***@h/d") && shown.contains("secret = \"(hidden)\""), "{shown}");
}

#[test]
fn origins_of_apps_in_web_views_are_accepted_and_wildcards_are_not() {
    let of =
        |origins| load(&[("TIDEFEED__SERVER__ALLOWED_ORIGINS", origins)]).map(|config| config.server.allowed_origins);
    let apps = r#"["capacitor://localhost", "tauri://localhost", "https://app.example.org"]"#;
    assert_eq!(of("capacitor://localhost").unwrap(), ["capacitor://localhost"]);
    assert_eq!(of(apps).unwrap().len(), 3);
    let problem = of("https://*.example.org").unwrap_err().to_string();
    assert!(problem.contains("without wildcards, and not \"https://*.example.org\""), "{problem}");
}

#[test]
fn a_node_on_every_address_is_reached_on_the_loopback() {
    for (listen, reached) in [
        ("127.0.0.1:8080", "127.0.0.1:8080"),
        ("0.0.0.0:9000", "127.0.0.1:9000"),
        ("[::]:80", "[::1]:80"),
        ("192.0.2.7:8080", "192.0.2.7:8080"),
        ("[2001:db8::7]:8080", "[2001:db8::7]:8080"),
    ] {
        let server = load(&[("TIDEFEED__SERVER__LISTEN", listen)]).unwrap().server;
        assert_eq!(server.reachable().to_string(), reached);
        assert_eq!(server.base_url(), format!("http://{reached}"));
    }
}

#[test]
fn a_public_address_may_have_a_path_and_nothing_more() {
    let base = |url| load(&[("TIDEFEED__SERVER__PUBLIC_URL", url)]).map(|config| config.server.base_url());
    assert_eq!(base("https://example.org/feed/").unwrap(), "https://example.org/feed");
    for url in ["example.org", "wss://example.org", "https://", "https://example.org/?a=b", "https://example.org/#a"] {
        assert!(base(url).is_err(), "{url}");
    }
}
