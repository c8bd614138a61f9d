//! Writes a page: the app's document with its title, and what previews, search engines and readers without scripts get.

use std::{
    fmt::{self, Display, Formatter, Write as _},
    sync::LazyLock,
};

use super::facts::Facts;
use crate::api::pages;

/// The name of the service in titles and previews.
pub(super) const SITE: &str = "Tidefeed";
const ABOUT: &str =
    "A timeline that is exactly what the people you follow have published: newest first, live, complete.";
/// Characters of a description.
const DESCRIPTION_CHARS: usize = 200;

/// What a page is about.
pub(super) enum Subject<'a> {
    Facts(&'a Facts),
    /// A page of the app with its title; empty for the service itself.
    App(&'a str),
    /// Why there is nothing to see, and what to do.
    Refusal((&'static str, &'static str)),
}

/// What others see of a page before it runs.
pub(super) struct Preview<'a> {
    pub(super) base_url: &'a str,
    pub(super) subject: Subject<'a>,
    /// Its canonical path; `None`: nothing that others could open.
    pub(super) path: Option<String>,
}

/// Text within HTML, also within an attribute in double quotes.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            match char {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// The app's document, before the end of its head, and from there to the end of its body.
static DOCUMENT: LazyLock<(String, String)> = LazyLock::new(|| {
    let document = pages::document();
    let (head, body) = document.split_once("</head>").unwrap_or((&document, ""));
    (head.to_owned(), body.replace("</body>\n</html>", "").trim_end().to_owned())
});

/// The page, which finds everything else from `root` on.
pub(super) fn page(preview: &Preview<'_>, root: &str) -> String {
    let (head, body) = &*DOCUMENT;
    let from_root = |html: &str| html.replace("=\"./", &format!("=\"{root}"));
    let mut html = from_root(head);
    // Writing to a string does not fail.
    let _ = write!(html, "<meta name=\"tidefeed-root\" content=\"{root}\" />");
    let _ = preview.write_head(&mut html);
    html.push_str("</head>");
    html.push_str(&from_root(body));
    let _ = preview.write_body(&mut html, root);
    html.push_str("</body></html>\n");
    html
}

impl Preview<'_> {
    /// Every tag has a mark by which the app takes it away once it shows another page.
    fn write_head(&self, html: &mut String) -> fmt::Result {
        let title = self.title();
        match &self.subject {
            Subject::App("") => write!(html, "<title data-page>{SITE}</title>")?,
            _ => write!(html, "<title data-page>{} · {SITE}</title>", Escaped(&title))?,
        }
        let canonical = self.path.as_ref().filter(|_| !self.is_refusal());
        let Some(path) = canonical else {
            return html.write_str("<meta name=\"robots\" content=\"noindex\" data-page />");
        };
        let url = format!("{}{path}", self.base_url);
        let url = Escaped(&url);
        write!(html, "<link rel=\"canonical\" href=\"{url}\" data-page />")?;
        let description = self.description();
        meta(html, "name", "description", &description)?;
        let (kind, picture) = self.kind_and_picture();
        for (property, content) in [
            ("og:site_name", SITE),
            ("og:type", kind),
            ("og:title", &title),
            ("og:description", &description),
            ("og:url", &format!("{}{path}", self.base_url)),
        ] {
            meta(html, "property", property, content)?;
        }
        let card = if picture.is_some() { "summary_large_image" } else { "summary" };
        for (name, content) in
            [("twitter:card", card), ("twitter:title", &title), ("twitter:description", &description)]
        {
            meta(html, "name", name, content)?;
        }
        let Subject::Facts(facts) = self.subject else { return Ok(()) };
        self.write_details(html, facts, path)
    }

    fn write_details(&self, html: &mut String, facts: &Facts, path: &str) -> fmt::Result {
        if let Some(picture) = facts.picture() {
            meta(html, "property", "og:image", &picture.url)?;
            meta(html, "property", "og:image:alt", &picture.alt)?;
            if let Some((width, height)) = picture.size() {
                meta(html, "property", "og:image:width", &width.to_string())?;
                meta(html, "property", "og:image:height", &height.to_string())?;
            }
            meta(html, "name", "twitter:image", &picture.url)?;
            meta(html, "name", "twitter:image:alt", &picture.alt)?;
        } else if let Some(avatar) = facts.author().and_then(|author| author.avatar_url.as_ref()) {
            meta(html, "property", "og:image", avatar)?;
            meta(html, "name", "twitter:image", avatar)?;
        }
        match facts {
            Facts::Profile(person) => meta(html, "property", "profile:username", &person.handle)?,
            Facts::Post(post) => meta(html, "property", "article:published_time", &post.created_at)?,
        }
        let target: String =
            url::form_urlencoded::byte_serialize(format!("{}{path}", self.base_url).as_bytes()).collect();
        let oembed = format!("{}/oembed?format=json&url={target}", self.base_url);
        let oembed = Escaped(&oembed);
        write!(html, "<link rel=\"alternate\" type=\"application/json+oembed\" href=\"{oembed}\" data-page />")
    }

    /// What readers see whose browser runs no scripts.
    fn write_body(&self, html: &mut String, root: &str) -> fmt::Result {
        let title = match &self.subject {
            Subject::Facts(facts @ Facts::Post(_)) => {
                facts.author().map_or("Post".to_owned(), |author| format!("{} (@{})", author.name, author.handle))
            }
            Subject::App("") => SITE.to_owned(),
            _ => self.title(),
        };
        let text = match &self.subject {
            Subject::Facts(facts) => facts.text(),
            Subject::Refusal((_, remedy)) => remedy,
            Subject::App(_) => ABOUT,
        };
        let (title, text) = (Escaped(&title), Escaped(text));
        write!(html, "<noscript><main><h1>{title}</h1><p style=\"white-space: pre-line\">{text}</p>")?;
        write!(html, "<p><a href=\"{root}\">Go to {SITE}</a></p></main></noscript>")
    }

    fn is_refusal(&self) -> bool {
        matches!(self.subject, Subject::Refusal(_))
    }

    fn title(&self) -> String {
        match &self.subject {
            Subject::Facts(facts) => facts.title(),
            Subject::App("") => SITE.to_owned(),
            Subject::App(title) | Subject::Refusal((title, _)) => (*title).to_owned(),
        }
    }

    fn description(&self) -> String {
        match &self.subject {
            Subject::Facts(facts) if !facts.text().is_empty() => cut(facts.text()),
            Subject::Facts(facts) => format!("{} on {SITE}", facts.title()),
            Subject::App(_) | Subject::Refusal(_) => ABOUT.to_owned(),
        }
    }

    fn kind_and_picture(&self) -> (&'static str, Option<&str>) {
        match &self.subject {
            Subject::Facts(facts) => {
                let kind = if matches!(facts, Facts::Profile(_)) { "profile" } else { "article" };
                (kind, facts.picture().map(|picture| picture.url.as_str()))
            }
            Subject::App(_) | Subject::Refusal(_) => ("website", None),
        }
    }
}

fn meta(html: &mut String, key: &str, name: &str, content: &str) -> fmt::Result {
    write!(html, "<meta {key}=\"{name}\" content=\"{}\" data-page />", Escaped(content))
}

/// `text` in one line, cut with an ellipsis.
fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(DESCRIPTION_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::expect_used, reason = "a test that cannot go on should stop")]
    use super::*;

    fn person(name: &str) -> Facts {
        let json = serde_json::json!({ "handle": "ann", "name": name, "bio": "\"><script>alert(1)</script>" });
        serde_json::from_value(json).map(Facts::Profile).expect("a person")
    }

    #[test]
    fn whatever_people_write_stays_text() {
        let facts = person("</title><b onload='x'>&");
        let preview =
            Preview { base_url: "https://a.example", subject: Subject::Facts(&facts), path: Some("/@ann".to_owned()) };
        let html = page(&preview, "./");
        assert!(!html.contains("<script>") && !html.contains("<b ") && !html.contains("onload='"), "{html}");
        assert!(html.contains("&lt;/title&gt;&lt;b onload=&#39;x&#39;&gt;&amp; (@ann) · Tidefeed</title>"), "{html}");
        assert!(html.contains("content=\"&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;\""), "{html}");
    }

    #[test]
    fn a_deep_page_finds_the_apps_files() {
        let preview = Preview { base_url: "https://a.example", subject: Subject::App("Search"), path: None };
        let html = page(&preview, "../");
        assert!(!html.contains("=\"./") && html.contains("content=\"../\""), "{html}");
        assert!(html.contains("noindex") && !html.contains("canonical"), "{html}");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(cut("a\n b"), "a b");
        assert_eq!(cut(&"ü".repeat(300)).chars().count(), DESCRIPTION_CHARS + 1);
    }
}
