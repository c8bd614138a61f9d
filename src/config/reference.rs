//! The defaults with their explanations, as entries and as a page of documentation.

use std::fmt::Write;

use super::DEFAULTS;

/// One key of config/default.toml.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The section it stands in.
    pub section: String,
    /// What the section is about.
    pub about: String,
    /// Its name.
    pub key: String,
    /// Its default, as TOML.
    pub value: String,
    /// What it means; the comment above it.
    pub meaning: String,
}

/// Every key, in the order of the file.
pub fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    let (mut section, mut about) = (String::new(), String::new());
    let mut comment: Vec<&str> = Vec::new();
    for line in DEFAULTS.lines() {
        if let Some(words) = line.strip_prefix('#') {
            comment.push(words.trim());
            continue;
        }
        let meaning = std::mem::take(&mut comment).join(" ");
        if let Some(name) = line.strip_prefix('[') {
            name.trim_end_matches(']').clone_into(&mut section);
            about = meaning;
        } else if let Some((key, value)) = line.split_once(" = ") {
            let (section, about) = (section.clone(), about.clone());
            entries.push(Entry { section, about, key: key.to_owned(), value: value.to_owned(), meaning });
        }
    }
    entries
}

/// Generates docs/configuration.md from the defaults, so that the two cannot differ.
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    let mut section = String::new();
    for entry in entries() {
        if entry.section != section {
            section.clone_from(&entry.section);
            // Writing to a String cannot fail, here and below.
            let _ = writeln!(page, "\n## [{section}]\n{}\n\n| key | default | meaning |\n|---|---|---|", entry.about);
        }
        let meaning = entry.meaning.replace('|', "\\|");
        let _ = writeln!(page, "| `{}` | `{}` | {meaning} |", entry.key, entry.value);
    }
    page
}

const INTRODUCTION: &str = "<!-- Made by `tidefeed config --reference > docs/configuration.md` from config/default.toml; a test compares. -->
# Configuration

Tidefeed runs without any configuration: one node, SQLite in `./data`, on http://127.0.0.1:8080.

A value comes from, the later over the earlier:

1. the defaults below, compiled into the binary (`tidefeed config --defaults` prints them as a commented file to start from);
2. a TOML file: the one that `--config PATH` names, or `./tidefeed.toml` if it exists;
3. the environment: `TIDEFEED__SECTION__KEY`, in capitals, with two underscores between the parts. Lists are written
   `a, b` or `[\"a\", \"b\"]`.

All mistakes are reported at once, with the key, the value, its source and what is expected instead; an unknown key is
a mistake. The command then ends with exit code 2. `tidefeed config` prints what is in force and where each value is from, with secrets hidden;
`tidefeed doctor` tries the servers. Times carry their unit in the key: `_ms`, `_s`, `_minutes`, `_days`.

With MySQL or MariaDB and Redis:

```toml
[store]
url = \"mysql://tidefeed:password@db.example:3306/tidefeed\"

[redis]
urls = [\"redis://redis.example:6379\"]

[auth]
secret = \"...\" # openssl rand -base64 48
```
";
