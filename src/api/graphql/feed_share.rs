//! Shares the work for one new entry among its subscribers: each part is loaded once, and equal selections are
//! rendered once if the result does not depend on the viewer.
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

/// What was loaded of one kind; `None` if that failed, which is told once.
pub(super) type Loaded<K, V> = OnceCell<Option<HashMap<K, V>>>;
/// `None` if it is not the same for all.
pub(super) type Rendered = Arc<OnceCell<Option<Value>>>;

/// Shared by all who are shown the entries of one batch; `feed_parts` loads.
#[derive(Default)]
pub struct FeedShare {
    pub(super) contents: Loaded<ContentId, Arc<Content>>,
    pub(super) counters: Loaded<ContentId, Counters>,
    pub(super) profiles: Loaded<UserId, Arc<Profile>>,
    pub(super) counts: Loaded<UserId, ProfileCounts>,
    rendered: Mutex<HashMap<RenderKey, Rendered>>,
}

/// Equal for equal answers to all who look the same way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RenderKey {
    /// Which entry.
    pub content: ContentId,
    /// Which operation.
    pub shape: Shape,
    /// Which of its fields: line and column.
    pub field: (usize, usize),
    /// Whether the result is JSON already.
    pub is_written: bool,
}

/// What an operation is made by: its document's whole text, since nothing less tells two documents apart, its name, and
/// the variables that matter. Looking it up costs no more for a long document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    hash: u64,
    rest: Arc<str>,
    query: Arc<str>,
}

impl Hash for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// What was loaded of an entry beside its content, for one viewer's hydration.
pub struct SharedEntry {
    /// Its counters.
    pub counters: SharedValue<Counters>,
    /// Its author.
    pub profile: SharedValue<Arc<Profile>>,
    /// Its author's counts.
    pub counts: SharedValue<ProfileCounts>,
}

/// What a load says of one thing.
#[derive(Debug, Clone)]
pub enum SharedValue<T> {
    /// Nothing: nobody asked, or the load failed.
    Unknown,
    /// It is as given; `None` if there is no such thing.
    Known(Option<T>),
}

impl FeedShare {
    /// Where the answer of `key` is kept.
    pub fn rendered(&self, key: RenderKey) -> Rendered {
        let mut rendered = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(rendered.entry(key).or_default())
    }
}

/// What the answers of this subscription are made by: equal shapes, equal answers. `query` is the document's whole
/// text. The variable of `after` does not count unless it is used elsewhere: it says where a client resumes, not what
/// it is shown.
pub fn shape(ctx: &Context<'_>, query: Arc<str>) -> Shape {
    // As it stands in the document, a variable begins with $ and a text with a quotation mark.
    let after = ctx.item.node.get_argument("after").map(|after| after.node.to_string());
    let resumes_at = after.as_deref().and_then(|after| after.strip_prefix('$'));
    let resumes_at = resumes_at.filter(|name| uses(&query, name) <= DEFINED_AND_USED);
    let mut rest = ctx.query_env.operation_name.clone().unwrap_or_default();
    for (name, value) in ctx.query_env.variables.iter().filter(|(name, _)| Some(name.as_str()) != resumes_at) {
        rest = format!("{rest}\n{name}={value}");
    }
    let mut hasher = DefaultHasher::new();
    (&query, &rest).hash(&mut hasher);
    Shape { hash: hasher.finish(), rest: rest.into(), query }
}

/// Its definition, and one use.
const DEFINED_AND_USED: usize = 2;

/// How often `$name` stands in the text.
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
