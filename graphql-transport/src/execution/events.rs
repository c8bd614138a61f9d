//! Runs a prepared subscription as it is: what it selects is shared with all who asked the same.

use std::{borrow::Cow, pin::Pin, sync::Arc};

use async_graphql::{
    Context, QueryEnv, Response, SchemaEnv, SubscriptionType, parser::types::Selection, registry::Registry,
};
use futures_util::{Stream, StreamExt as _, stream::BoxStream};

use crate::guard::Prepared;

/// The root of subscriptions, shared between the schema and [`super::Direct`].
#[derive(Debug)]
pub struct SubscriptionRoot<S>(Arc<S>);

impl<S> SubscriptionRoot<S> {
    pub(super) fn of(root: S) -> Self {
        Self(Arc::new(root))
    }
}

impl<S> Clone for SubscriptionRoot<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: SubscriptionType> SubscriptionType for SubscriptionRoot<S> {
    fn type_name() -> Cow<'static, str> {
        S::type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        S::create_type_info(registry)
    }

    fn is_empty() -> bool {
        S::is_empty()
    }

    fn create_field_stream<'a>(
        &'a self,
        ctx: &'a Context<'_>,
    ) -> Option<Pin<Box<dyn Stream<Item = Response> + Send + 'a>>> {
        self.0.create_field_stream(ctx)
    }
}

/// The events of `operation`, whose root field stands in the operation itself, as the guard wants it.
pub(super) fn events<S: SubscriptionType + 'static>(
    root: SubscriptionRoot<S>,
    (schema, query_env): (SchemaEnv, QueryEnv),
    operation: Arc<Prepared>,
) -> BoxStream<'static, Response> {
    asynk_strim::stream_fn(|mut yielder| async move {
        let ctx = query_env.create_context(&schema, None, operation.selections(), None);
        for selection in &ctx.item.node.items {
            let Selection::Field(field) = &selection.node else { continue };
            let ctx = ctx.with_field(field);
            let Some(mut events) = root.create_field_stream(&ctx) else { continue };
            while let Some(event) = events.next().await {
                yielder.yield_item(event).await;
            }
        }
    })
    .boxed()
}
