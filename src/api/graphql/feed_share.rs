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
    pub shape: Shape,
    /// The field, by line and column.
    pub field: (usize, usize),
    /// Whether the result is written as JSON.
    pub is_written: bool,
}

/// What determines an operation: the whole text of its document, its name and the relevant variables. Only the whole
/// text distinguishes two documents. Comparing it is cheap even if it is long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape(Arc<ShapeParts>);

#[derive(Debug, PartialEq, Eq)]
struct ShapeParts {
    hash: u64,
    rest: Box<str>,
    query: Arc<str>,
}

impl Hash for Shape {
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

/// The shape of a subscription: equal shapes give equal answers. `query` is the whole document. The variable of
/// `after` is ignored unless it is used elsewhere, because it says where the client resumes and not what it is shown.
pub fn shape(ctx: &Context<'_>, query: Arc<str>) -> Shape {
    // In the document, a variable begins with $ and a text with a quotation mark.
    let after = ctx.item.node.get_argument("after").map(|after| after.node.to_string());
    let resumes_at = after.as_deref().and_then(|after| after.strip_prefix('$'));
    let resumes_at = resumes_at.filter(|name| uses(&query, name) <= DEFINED_AND_USED);
    let mut rest = ctx.query_env.operation_name.clone().unwrap_or_default();
    for (name, value) in ctx.query_env.variables.iter().filter(|(name, _)| Some(name.as_str()) != resumes_at) {
        rest = format!("{rest}\n{name}={value}");
    }
    let mut hasher = DefaultHasher::new();
    (&query, &rest).hash(&mut hasher);
    Shape(Arc::new(ShapeParts { hash: hasher.finish(), rest: rest.into(), query }))
}

/// A variable's definition and its only use.
const DEFINED_AND_USED: usize = 2;

/// How often `$name` occurs in the text.
fn uses(query: &str, name: &str) -> usize {
    let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    query.split('$').skip(1).filter(|rest| rest.strip_prefix(name).is_some_and(|rest| !goes_on(rest))).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_of_a_variable_are_counted_by_its_whole_name() {
        let query = "subscription($after: String, $afterwards: Int) { newFeed(after: $after) { a(x: $afterwards) } }";
        assert_eq!((uses(query, "after"), uses(query, "afterwards"), uses(query, "a")), (2, 2, 0));
    }
}
