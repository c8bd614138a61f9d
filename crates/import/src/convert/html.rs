//! Turns the HTML of posts into text.
//!
//! Paragraphs and other blocks are set apart by an empty line, `<br>` is a line's end, items of lists begin with "- ",
//! and white space collapses outside of `<pre>`. A link is its text, and its address in brackets where the text is
//! another one; of mentions and hashtags the text suffices. Other tags are dropped, scripts and styles with their text.

/// Elements that stand in lines of their own.
const BLOCKS: &[&str] = &["p", "div", "blockquote", "pre", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "hr"];
/// Elements whose text is not shown.
const UNSEEN: &[&str] = &["script", "style"];

/// The text that a browser would show.
pub fn text(html: &str) -> String {
    let mut text = Text::default();
    let mut rest = html;
    while !rest.is_empty() {
        let begin = rest.find('<').unwrap_or(rest.len());
        text.characters(&rest[..begin]);
        rest = &rest[begin..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
        } else if rest.starts_with('<') {
            let end = end_of_tag(rest);
            text.tag(rest[1..end].trim_end_matches('>'));
            rest = &rest[end..];
        }
    }
    text.written.trim().to_owned()
}

/// The place after the tag that `html` begins with. A `>` within quotes does not end it.
fn end_of_tag(html: &str) -> usize {
    let mut quote = None;
    for (at, c) in html.char_indices() {
        match (quote, c) {
            (None, '>') => return at + 1,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => (),
        }
    }
    html.len()
}

#[derive(Default)]
struct Text {
    written: String,
    /// Line ends that stand before what comes next.
    lines: usize,
    /// Whether a space does.
    has_space: bool,
    preformatted: usize,
    unseen: usize,
    /// Addresses of open links, and where their texts begin.
    links: Vec<(Option<String>, usize)>,
}

impl Text {
    fn characters(&mut self, html: &str) {
        if self.unseen > 0 {
            return;
        }
        for c in decoded(html).chars() {
            if self.preformatted == 0 && c.is_ascii_whitespace() {
                self.has_space = true;
                continue;
            }
            self.set_apart();
            self.written.push(c);
        }
    }

    /// Writes the line ends or the space that are due.
    fn set_apart(&mut self) {
        if !self.written.is_empty() {
            if self.lines > 0 {
                self.written.push_str(if self.lines == 1 { "\n" } else { "\n\n" });
            } else if self.has_space && !self.written.ends_with('\n') {
                self.written.push(' ');
            }
        }
        (self.lines, self.has_space) = (0, false);
    }

    fn tag(&mut self, tag: &str) {
        let (is_end, tag) = tag.strip_prefix('/').map_or((false, tag), |rest| (true, rest));
        let name: String = tag.chars().take_while(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
        let count = |open: usize| if is_end { open.saturating_sub(1) } else { open + 1 };
        if UNSEEN.contains(&name.as_str()) {
            self.unseen = count(self.unseen);
        }
        if BLOCKS.contains(&name.as_str()) {
            self.lines = 2;
        }
        match name.as_str() {
            "pre" => self.preformatted = count(self.preformatted),
            "br" if self.lines > 0 => self.lines = 2,
            "br" => self.lines = 1,
            "li" if !is_end => {
                self.lines = self.lines.max(1);
                self.set_apart();
                self.written.push_str("- ");
            }
            "a" if is_end => self.end_link(),
            "a" => {
                // The text begins after what is due before it.
                let is_named =
                    attribute(tag, "class").is_some_and(|it| it.contains("mention") || it.contains("hashtag"));
                self.links.push((attribute(tag, "href").filter(|_| !is_named), self.written.len()));
            }
            _ => (),
        }
    }

    fn end_link(&mut self) {
        let Some((Some(address), begin)) = self.links.pop() else { return };
        let shown = self.written.get(begin..).unwrap_or_default().trim();
        if !address.starts_with("http") {
            return;
        }
        if shown.is_empty() {
            self.set_apart();
            self.written.push_str(&address);
        } else if !address.trim_end_matches('/').ends_with(shown.trim_end_matches('/')) {
            self.has_space = false;
            self.written.push_str(" (");
            self.written.push_str(&address);
            self.written.push(')');
        }
    }
}

/// The value of an attribute in quotes.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let mut rest = tag;
    loop {
        let at = rest.find('=')?;
        let (before, after) = (rest[..at].trim_end(), rest[at + 1..].trim_start());
        let found = before.rsplit(|c: char| c.is_ascii_whitespace()).next()?.eq_ignore_ascii_case(name);
        let quote = after.chars().next().filter(|c| ['"', '\''].contains(c))?;
        let (value, next) = after[1..].split_once(quote)?;
        if found {
            return Some(decoded(value));
        }
        rest = next;
    }
}

/// `html` with its entities as characters. Unknown ones stay as they are.
fn decoded(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find('&') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.char_indices().take(12).find(|(_, c)| *c == ';').map(|(end, _)| end);
        if let Some((c, end)) = end.and_then(|end| Some((entity(&rest[1..end])?, end))) {
            text.push(c);
            rest = &rest[end + 1..];
        } else {
            text.push('&');
            rest = &rest[1..];
        }
    }
    text.push_str(rest);
    text
}

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let hex = number.strip_prefix(['x', 'X']);
        let code = hex.map_or_else(|| number.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok())?;
        return char::from_u32(code).filter(|c| *c != '\0');
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn posts_of_mastodon_become_what_their_authors_wrote() {
        let link = concat!(
            r#"<p>See <a href="https://docs.example/a/long/path?x=1" rel="nofollow"><span class="invisible">https://</span>"#,
            r#"<span class="ellipsis">docs.example/a/long</span><span class="invisible">/path?x=1</span></a></p>"#
        );
        let mention = concat!(
            r#"<p><span class="h-card"><a href="https://other.example/@bob" class="u-url mention">@<span>bob</span></a></span>"#,
            r#" hello <a href="https://a.example/tags/tide" class="mention hashtag" rel="tag">#<span>tide</span></a></p>"#
        );
        for (html, expected) in [
            ("<p>One<br>two<br />three</p><p>Four</p>", "One\ntwo\nthree\n\nFour"),
            (
                "<p>a &lt;b&gt; &amp; &quot;c&quot; &#39;d&#39; &#x1F600; &unknown; &</p>",
                "a <b> & \"c\" 'd' 😀 &unknown; &",
            ),
            (link, "See https://docs.example/a/long/path?x=1"),
            (mention, "@bob hello #tide"),
            ("<p>a\n  b <b>c</b>d</p>", "a b cd"),
            ("<pre>a\n  b</pre>c", "a\n  b\n\nc"),
            ("<ul><li>one</li><li>two</li></ul>", "- one\n- two"),
            (r#"<p><a href="https://x.example/1">read this</a> now</p>"#, "read this (https://x.example/1) now"),
            (r#"<p><a href="https://x.example/1/">x.example/1</a></p>"#, "x.example/1"),
            (r#"<p><a href="javascript:1">this</a></p>"#, "this"),
            ("<script>alert(1)</script><!-- x > y --><i title=\"a > b\">z</i>", "z"),
            ("<p>a<br><br>b</p>", "a\n\nb"),
            ("plain < text", "plain"),
            ("", ""),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }

    proptest! {
        #[test]
        fn any_html_becomes_a_text(html in "[<>/a pbrli&;#\"'=\u{e9}!-]{0,60}") {
            text(&html);
        }
    }
}
