//! Shares the work for one new entry among its subscribers: each part is loaded once, and equal selections are
//! rendered once if the result does not depend on the viewer.
//!
//! A result depends on the viewer if building it read the viewer ([`super::viewer_dependence`]) or partly failed.

use std::{
    collections::HashMap,
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
    pub shape: Arc<str>,
    /// Which of its fields: line and column.
    pub field: (usize, usize),
}

/// What was loaded of an entry, for one viewer's hydration.
pub struct SharedEntry {
    /// The content itself.
    pub content: SharedValue<Arc<Content>>,
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
/// text: nothing less tells two documents apart. The variable of `after` does not count unless it is used elsewhere:
/// it says where a client resumes, not what it is shown.
pub fn shape(ctx: &Context<'_>, query: &str) -> Arc<str> {
    // As it stands in the document, a variable begins with $ and a text with a quotation mark.
    let after = ctx.item.node.get_argument("after").map(|after| after.node.to_string());
    let resumes_at = after.as_deref().and_then(|after| after.strip_prefix('$'));
    let resumes_at = resumes_at.filter(|name| uses(query, name) <= DEFINED_AND_USED);
    let name = ctx.query_env.operation_name.as_deref().unwrap_or_default();
    let mut shape = format!("{} {query}\n{name}", query.len());
    for (name, value) in ctx.query_env.variables.iter().filter(|(name, _)| Some(name.as_str()) != resumes_at) {
        shape = format!("{shape}\n{name}={value}");
    }
    Arc::from(shape)
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
