//! Prints the values in force as a configuration file, each with its origin.

use std::fmt::Write;

use figment::Figment;

use super::{
    reader::{SECRETS, URL_ALIAS, origin, written},
    reference::entries,
};

/// Sections and keys in the order of the defaults; secrets and passwords hidden.
pub fn show(figment: &Figment) -> String {
    let mut text = String::new();
    let mut section = String::new();
    for entry in entries() {
        if entry.section != section {
            section.clone_from(&entry.section);
            let gap = if text.is_empty() { "" } else { "\n" };
            // Writing to a String cannot fail, here and below.
            let _ = writeln!(text, "{gap}[{section}]");
        }
        let key = format!("{section}.{}", entry.key);
        let alias = key == "redis.urls" && figment.contains(URL_ALIAS);
        let key = if alias { URL_ALIAS.to_owned() } else { key };
        let name = if alias { "url" } else { &entry.key };
        let assignment = format!("{name} = {}", shown(figment, &key));
        let _ = writeln!(text, "{assignment:<43} # {}", origin(figment, &key));
    }
    text
}

fn shown(figment: &Figment, key: &str) -> String {
    let Ok(value) = figment.find_value(key) else { return "\"\"".to_owned() };
    let empty = value.as_str().map_or_else(|| value.as_array().is_some_and(<[_]>::is_empty), str::is_empty);
    if SECRETS.contains(&key) && !empty { "\"(hidden)\"".to_owned() } else { written(&value) }
}
