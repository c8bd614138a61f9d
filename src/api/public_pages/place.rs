//! The paths of the app, which web-demo/src/routing.ts knows, too.
//!
//! Handles follow an @, so that no handle is ever the first segment of a path of the server's own.

use percent_encoding::percent_decode_str;

use crate::{
    api::graphql::ids,
    domain::{ContentId, Handle},
};

/// The parts of a profile that have paths.
const PROFILE_PARTS: &[&str] = &["posts", "replies", "reposts", "media", "likes", "followers", "following"];

/// A path of the app, that of somebody or something that may not exist included.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The timeline, or the welcome of who is not signed in.
    Home,
    /// A page that only its reader sees, with its title.
    Private(&'static str),
    /// A user. `part`: one of their lists.
    Profile { handle: Handle, part: Option<&'static str> },
    /// A content. `likes`: who likes it.
    Post { id: ContentId, likes: bool },
}

impl Place {
    /// The page at `path`, with or without a slash at its end.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let decoded = percent_decode_str(path).decode_utf8().ok()?;
        let segments: Vec<&str> = decoded.trim_start_matches('/').trim_end_matches('/').split('/').collect();
        match *segments.as_slice() {
            [""] => Some(Self::Home),
            ["posts" | "replies" | "reposts"] => Some(Self::Private("Timeline")),
            ["bookmarks"] => Some(Self::Private("Bookmarks")),
            ["settings"] => Some(Self::Private("Settings")),
            ["explore"] => Some(Self::Private("Explore")),
            ["muted" | "hidden" | "blocked"] => Some(Self::Private("Muted and blocked")),
            ["search", _] => Some(Self::Private("Search")),
            ["post", id] => Some(Self::Post { id: content(id)?, likes: false }),
            ["post", id, "likes"] => Some(Self::Post { id: content(id)?, likes: true }),
            [user] => Some(Self::Profile { handle: handle(user)?, part: None }),
            [user, part] => {
                let part = PROFILE_PARTS.iter().find(|known| **known == part)?;
                Some(Self::Profile { handle: handle(user)?, part: Some(part) })
            }
            _ => None,
        }
    }

    /// The path by which the page should be known. `post`: the id of the content that it shows, once that is known.
    pub(super) fn canonical(&self, post: Option<&str>) -> Option<String> {
        match self {
            Self::Home => Some("/".to_owned()),
            Self::Private(_) => None,
            Self::Profile { handle, part: None } => Some(format!("/@{}", handle.as_str())),
            Self::Profile { handle, part: Some(part) } => Some(format!("/@{}/{part}", handle.as_str())),
            Self::Post { id, likes } => {
                let shown = post.map_or_else(|| ids::of_content(*id).0, str::to_owned);
                Some(if *likes { format!("/post/{shown}/likes") } else { format!("/post/{shown}") })
            }
        }
    }
}

fn handle(segment: &str) -> Option<Handle> {
    segment.strip_prefix('@').and_then(|handle| Handle::try_new(handle).ok())
}

fn content(segment: &str) -> Option<ContentId> {
    ids::parse_content(segment).ok()
}

/// The way from `path` to the root of the service: relative, so that it is right below any prefix that a proxy strips.
pub(super) fn root_of(path: &str) -> String {
    match path.matches('/').count() {
        0 | 1 => "./".to_owned(),
        depth => "../".repeat(depth - 1),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::expect_used, reason = "a test that cannot go on should stop")]
    use super::*;

    #[test]
    fn paths_lead_to_their_pages_and_have_one_form() {
        let id = ids::of_content(ContentId::try_new(i64::MAX).expect("an id")).0;
        for (path, canonical) in [
            ("/".to_owned(), Some("/".to_owned())),
            ("/@Ann".to_owned(), Some("/@ann".to_owned())),
            ("/%40ann/".to_owned(), Some("/@ann".to_owned())),
            ("/@ann/followers".to_owned(), Some("/@ann/followers".to_owned())),
            (format!("/post/{id}"), Some(format!("/post/{id}"))),
            (format!("/post/{id}/likes/"), Some(format!("/post/{id}/likes"))),
            ("/settings".to_owned(), None),
            ("/search/low%20tide".to_owned(), None),
        ] {
            let place = Place::parse(&path);
            assert_eq!(place.map(|place| place.canonical(None)), Some(canonical), "{path}");
        }
    }

    #[test]
    fn other_paths_lead_nowhere() {
        for path in ["/ann", "/@", "/@a b", "/@ann/nothing", "/post/7", "/post", "/@ann/posts/x", "/search", "/%ff"] {
            assert_eq!(Place::parse(path), None, "{path}");
        }
    }

    #[test]
    fn the_root_is_as_far_as_the_path_is_deep() {
        for (path, root) in [("/", "./"), ("/@ann", "./"), ("/post/x", "../"), ("/post/x/likes", "../../")] {
            assert_eq!(root_of(path), root, "{path}");
        }
    }
}
