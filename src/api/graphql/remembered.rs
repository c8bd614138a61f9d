//! Shows a content from remembered JSON, and remembers the JSON of what is shown for the first time.

use std::{borrow::Cow, sync::Arc};

use async_graphql::{
    ContextSelectionSet, OutputType, Positioned, ServerResult, Value, parser::types::Field, registry::Registry,
};
use graphql_transport::{guard::OperationId, metered, written};

use super::{
    hydration::Hydration,
    remembered_json::{ContentKey, ShownContent},
    scope::failures,
};

/// What a page shows of a content, from memory if the same was shown before. Clients see a `T`.
pub struct Remembered<T> {
    value: T,
    /// What decides the JSON, and the viewer's hydration. `None` if more decides it.
    shown: Option<(ShownContent, Arc<Hydration>)>,
}

impl<T> Remembered<T> {
    /// `value`, whose JSON `shown` decides.
    pub const fn new(value: T, shown: Option<(ShownContent, Arc<Hydration>)>) -> Self {
        Self { value, shown }
    }
}

impl<T: OutputType> OutputType for Remembered<T> {
    fn type_name() -> Cow<'static, str> {
        T::type_name()
    }

    fn qualified_type_name() -> String {
        T::qualified_type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        T::create_type_info(registry)
    }

    async fn resolve(&self, ctx: &ContextSelectionSet<'_>, field: &Positioned<Field>) -> ServerResult<Value> {
        let (Some((shown, hydration)), Some(&operation)) = (&self.shown, ctx.data_opt::<OperationId>()) else {
            return Box::pin(self.value.resolve(ctx, field)).await;
        };
        let key = ContentKey::new(operation, field, shown.clone());
        let memory = &hydration.services().json;
        if let Some(json) = memory.get(&key) {
            return Ok(metered::insert(ctx, json).await);
        }
        let before = failures(ctx);
        let value = Box::pin(self.value.resolve(ctx, field)).await?;
        // A viewer whose sign-in ended meanwhile was shown less than the key says.
        if failures(ctx) == before
            && hydration.viewer().is_ok()
            && let Some(json) = written::json(&value)
        {
            memory.insert(key, json);
        }
        Ok(value)
    }
}
