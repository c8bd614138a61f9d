//! Shares the work for one new entry among its subscribers. Each part is loaded once. Equal selections are rendered
//! once, if the result does not depend on the viewer.
//!
//! A result depends on the viewer if building it read the viewer ([`super::viewer_dependence`]) or partly failed.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, PoisonError},
};

use async_graphql::{Context, Value};
use tokio::sync::OnceCell;

use crate::domain::{Content, ContentId, Counters, Profile, UserId, account::profile::ProfileCounts};

/// The loaded values of one kind; `None` if loading failed, which is logged once.
pub(super) type Loaded<K, V> = OnceCell<Option<HashMap<K, V>>>;
/// The shared result; `None` if it differs between subscribers.
pub(super) type Rendered = Arc<OnceCell<Option<Value>>>;

/// Shared by all subscribers who are shown a batch; `feed_parts` fills it.
#[derive(Default)]
pub struct FeedShare {
    pub(super) contents: Loaded<ContentId, Arc<Content>>,
    pub(super) counters: Loaded<ContentId, Counters>,
    pub(super) profiles: Loaded<UserId, Arc<Profile>>,
    pub(super) counts: Loaded<UserId, ProfileCounts>,
    rendered: Mutex<HashMap<RenderKey, Rendered>>,
}

/// The key of a shared result.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RenderKey {
    /// The entry.
    pub content: ContentId,
    /// The operation.
    pub operation: OperationKey,
    /// The field, by line and column.
    pub field: (usize, usize),
    /// Whether the result is written as JSON.
    pub is_written: bool,
}

/// What determines an operation: the whole text of its document, its name and the relevant variables. Only the whole
/// text distinguishes two documents. Comparing it is cheap even if it is long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationKey(Arc<OperationParts>);

#[derive(Debug, PartialEq, Eq)]
struct OperationParts {
    hash: u64,
    rest: Box<str>,
    query: Arc<str>,
}

impl Hash for OperationKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

/// The loaded values of an entry besides its content, for one viewer's hydration.
pub struct SharedEntry {
    /// Its counters.
    pub counters: SharedValue<Counters>,
    /// Its author.
    pub profile: SharedValue<Arc<Profile>>,
    /// Its author's counts.
    pub counts: SharedValue<ProfileCounts>,
}

/// A shared value.
#[derive(Debug, Clone)]
pub enum SharedValue<T> {
    /// Not loaded, or loading failed.
    Unknown,
    /// Loaded; `None` if it does not exist.
    Known(Option<T>),
}

impl FeedShare {
    /// The place of the shared result of `key`.
    pub fn rendered(&self, key: RenderKey) -> Rendered {
        let mut rendered = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(rendered.entry(key).or_default())
    }
}

/// The key of a subscription: equal keys give equal answers. `query` is the whole document. The variable of
/// `after` is ignored unless it is used elsewhere, because it says where the client resumes and not what it is shown.
pub fn operation_key(ctx: &Context<'_>, query: Arc<str>) -> OperationKey {
    // In the document, a variable begins with $ and a text with a quotation mark.
    let after = ctx.item.node.get_argument("after").map(|after| after.node.to_string());
    let resumes_at = after.as_deref().and_then(|after| after.strip_prefix('$'));
    let resumes_at = resumes_at.filter(|name| is_used_once(&query, name));
    let mut rest = ctx.query_env.operation_name.clone().unwrap_or_default();
    for (name, value) in ctx.query_env.variables.iter().filter(|(name, _)| Some(name.as_str()) != resumes_at) {
        rest = format!("{rest}\n{name}={value}");
    }
    let mut hasher = DefaultHasher::new();
    (&query, &rest).hash(&mut hasher);
    OperationKey(Arc::new(OperationParts { hash: hasher.finish(), rest: rest.into(), query }))
}

/// Whether the document names this variable twice: where it is declared, and where it is used. False if a `$` stands
/// alone, because its name may follow later.
fn is_used_once(query: &str, variable: &str) -> bool {
    let is_no_name = |it: char| !it.is_ascii_alphanumeric() && it != '_';
    let mut names = query.split('$').skip(1).filter_map(|rest| rest.split(is_no_name).next());
    let count = names.clone().filter(|name| *name == variable).count();
    count == 2 && names.all(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_of_after_shows_nothing_unless_it_is_used_elsewhere() {
        let shown = |root: &str, rest: &str| {
            let head = "subscription($after: String, $afterwards: Int)";
            !is_used_once(&format!("{head} {{ newFeed(after: $after{root} }} {rest}"), "after")
        };
        assert!(!shown(") { a(x: $afterwards) }", ""));
        assert!(shown(", x: $after)", ""));
        for nested in ["a(x: $after)", "a { b(x: [{y: $after}]) }", "... @c(x: $after) { a }", "...F @c(x: $after)"] {
            assert!(shown(&format!(") {{ {nested} }}"), ""), "{nested}");
        }
        assert!(shown(") { ...F }", "fragment F on T { a { b(x: $after) } }"));
        for apart in ["a(x: $ after)", "a(x: $,after)", "a(x: $#\nafter)"] {
            assert!(shown(&format!(") {{ {apart} }}"), ""), "{apart}");
        }
    }
}
