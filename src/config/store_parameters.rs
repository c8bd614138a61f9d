//! What the address of a MySQL or MariaDB may ask for after its `?`. The driver ignores what it does not know, and a
//! misspelt `ssl-mode` would leave a connection unverified.

use url::Url;

/// Spellings of each parameter, the usual one first.
const KNOWN: [&[&str]; 9] = [
    &["ssl-mode", "sslmode"],
    &["ssl-ca", "sslca"],
    &["ssl-cert", "sslcert"],
    &["ssl-key", "sslkey"],
    &["socket"],
    &["charset"],
    &["collation"],
    &["timezone", "time-zone"],
    &["statement-cache-capacity"],
];
const MODES: [&str; 5] = ["DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"];

/// The error says what is expected.
pub fn check(url: &Url) -> Result<(), String> {
    for (key, _) in url.query_pairs() {
        if !KNOWN.iter().any(|spellings| spellings.contains(&key.as_ref())) {
            let known = KNOWN.iter().filter_map(|spellings| spellings.first()).copied().collect::<Vec<_>>();
            return Err(format!("knows no parameter {key:?}: expected any of {}", known.join(", ")));
        }
    }
    let mode = value(url, "ssl-mode").map(|mode| mode.to_ascii_uppercase());
    if mode.as_ref().is_some_and(|mode| !MODES.contains(&mode.as_str())) {
        return Err(format!("expected ssl-mode to be one of {}", MODES.join(", ")));
    }
    let verifies = mode.as_deref().is_some_and(|mode| mode.starts_with("VERIFY_"));
    let has = |name| value(url, name).is_some_and(|path| !path.is_empty());
    if has("ssl-ca") && !verifies {
        return Err("names ssl-ca, which is used with ssl-mode=VERIFY_IDENTITY or VERIFY_CA alone: add one".to_owned());
    }
    if has("ssl-cert") != has("ssl-key") {
        return Err("expected ssl-cert and ssl-key together".to_owned());
    }
    if has("ssl-cert") && !verifies && mode.as_deref() != Some("REQUIRED") {
        return Err("names ssl-cert, which may not be shown to anybody: add ssl-mode=VERIFY_IDENTITY".to_owned());
    }
    Ok(())
}

fn value(url: &Url, name: &str) -> Option<String> {
    let spellings = KNOWN.iter().find(|spellings| spellings.contains(&name))?;
    url.query_pairs().find(|(key, _)| spellings.contains(&key.as_ref())).map(|(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    fn checked(parameters: &str) -> String {
        let url = Url::parse(&format!("mysql://db/feed?{parameters}")).unwrap();
        check(&url).err().unwrap_or_default()
    }

    #[test]
    fn parameters_that_would_leave_a_connection_unverified_are_refused() {
        for (parameters, said) in [
            ("ssl_mode=VERIFY_IDENTITY", "knows no parameter \"ssl_mode\""),
            ("ssl-mode=VERIFY", "one of DISABLED, PREFERRED"),
            ("ssl-ca=/ca.pem", "used with ssl-mode=VERIFY_IDENTITY"),
            ("ssl-mode=REQUIRED&ssl-ca=/ca.pem", "used with ssl-mode=VERIFY_IDENTITY"),
            ("ssl-mode=VERIFY_CA&ssl-cert=/c.pem", "ssl-cert and ssl-key together"),
            ("ssl-cert=/c.pem&ssl-key=/k.pem", "may not be shown"),
        ] {
            assert!(checked(parameters).contains(said), "{parameters}: {}", checked(parameters));
        }
        for fine in [
            "",
            "ssl-mode=disabled",
            "socket=/run/mysqld/mysqld.sock",
            "ssl-mode=VERIFY_IDENTITY&ssl-ca=/ca.pem&ssl-cert=/c.pem&ssl-key=/k.pem",
            "sslmode=verify_ca&sslca=/ca.pem&charset=utf8mb4",
        ] {
            assert_eq!(checked(fine), "", "{fine}");
        }
    }
}
