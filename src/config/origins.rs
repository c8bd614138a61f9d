//! Reads the origins whose pages may use this server, and the address under which clients know it.

use url::Url;

use super::reader::Reader;

/// The origins of `server.allowed_origins`. One that no browser sends is a problem: nothing would ever match it.
pub fn read(reader: &mut Reader) -> Vec<String> {
    let key = "server.allowed_origins";
    let origins = reader.list(key);
    if let Some(misfit) = origins.iter().find(|origin| !is_origin(origin)) {
        reader.refuse(
            key,
            format!(
                "expected origins as browsers send them, such as https://app.example.org or capacitor://localhost, \
                 without a path and without wildcards, and not {misfit:?}"
            ),
        );
    }
    origins
}

/// `server.public_url`: empty, or an address below which links can be.
pub fn public_url(reader: &mut Reader) -> String {
    let plain = |url: &Url| url.has_host() && url.query().is_none() && url.fragment().is_none();
    let is_http = |text: &str| text.starts_with("https://") || text.starts_with("http://");
    reader.parsed("server.public_url", |text| match Url::parse(text) {
        _ if text.is_empty() => Ok(String::new()),
        Ok(url) if is_http(text) && plain(&url) => Ok(text.to_owned()),
        _ => Err("expected an address such as https://feed.example.org, or nothing".to_owned()),
    })
}

/// Whether a browser can send this in `Origin`. Apps in web views and extensions have schemes of their own, such as
/// `capacitor` and `chrome-extension`. The URL standard calls their origins opaque, but browsers name them.
fn is_origin(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    if text.contains('*') {
        return false;
    }
    if url.origin().is_tuple() {
        return matches!(url.scheme(), "http" | "https") && url.origin().ascii_serialization() == text;
    }
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let named = url.host_str().filter(|host| !host.is_empty() && url.scheme() != "file");
    named.is_some_and(|host| format!("{}://{host}{port}", url.scheme()) == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_of_pages_web_views_and_extensions_are_accepted() {
        for origin in [
            "https://app.example.org",
            "http://localhost:5173",
            "http://[::1]:3000",
            "https://xn--bcher-kva.example",
            "http://tauri.localhost",
            "capacitor://localhost",
            "ionic://localhost",
            "tauri://localhost",
            "app://localhost:8080",
            "chrome-extension://gmbmikajjgmnabiglmofipeabaddhgne",
            "moz-extension://6ac4bb57-7d2a-4a1c-9d52-2f1c7d1ea8a6",
            "safari-web-extension://E4DA3B7F-BBCE-2345-D7E1-0A1B2C3D4E5F",
        ] {
            assert!(is_origin(origin), "{origin}");
        }
    }

    #[test]
    fn what_no_browser_sends_as_an_origin_is_refused() {
        for text in [
            "",
            "*",
            "null",
            "app.example.org",
            "https://*.example.org",
            "capacitor://*",
            "https://app.example.org/",
            "https://app.example.org:443",
            "https://App.example.org",
            "https://bücher.example",
            "https://user@app.example.org",
            "capacitor://localhost/",
            "capacitor://localhost/path",
            "capacitor://user@localhost",
            "capacitor://",
            "capacitor:localhost",
            "file://localhost",
            "wss://app.example.org",
            "data:text/html,x",
        ] {
            assert!(!is_origin(text), "{text}");
        }
    }
}
