//! Runs a prepared subscription without copying its selections, which equal subscriptions share.

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

/// The events of `operation`. Its root field is in the operation itself, as the guard requires.
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
            let Some(events) = root.create_field_stream(&ctx) else { continue };
            // Boxed: the room for an event would stay reserved between two of them.
            let mut events = events.map(Box::new);
            while let Some(event) = events.next().await {
                yielder.yield_item(event).await;
            }
        }
    })
    .map(|event| *event)
    .boxed()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use async_graphql::{
        EmptyMutation, Error, Object, Request, Schema, SimpleObject, Subscription, ValidationMode, Variables, value,
    };
    use futures_util::stream;
    use tokio::task::yield_now;

    use super::*;
    use crate::{
        execution::{Direct, PreparedExecutor as _},
        guard::{Guard, GuardLimits, Shape},
    };

    struct Query;

    #[Object]
    impl Query {
        async fn hello(&self) -> &'static str {
            "world"
        }
    }

    #[derive(SimpleObject)]
    #[graphql(complex)]
    struct Step {
        number: i32,
    }

    #[async_graphql::ComplexObject]
    impl Step {
        async fn odd(&self) -> Result<i32, Error> {
            yield_now().await;
            if self.number % 2 == 1 { Ok(self.number) } else { Err(Error::new("It is even.")) }
        }

        async fn next(&self, #[graphql(default = 1)] by: i32) -> Self {
            Self { number: self.number + by }
        }
    }

    struct Steps;

    #[Subscription]
    impl Steps {
        async fn steps(&self, to: i32) -> Result<impl Stream<Item = Step>, Error> {
            yield_now().await;
            if to < 0 {
                Err(Error::new("Not below zero."))
            } else {
                Ok(stream::iter((0..to).map(|number| Step { number })))
            }
        }
    }

    #[tokio::test]
    async fn the_library_tells_the_same_events() {
        let stock = Schema::build(Query, EmptyMutation, Steps).validation_mode(ValidationMode::Fast).finish();
        let direct = Direct::build((Query, EmptyMutation, Steps), |builder| builder);
        let guard = Guard::new(GuardLimits::default(), Shape::of_sdl(&stock.sdl()).unwrap());
        for (query, variables) in [
            ("subscription { steps(to: 3) { number } }", value!({})),
            (
                "subscription S($to: Int!) { all: steps(to: $to) { number odd next { __typename number } } }",
                value!({ "to": 2 }),
            ),
            ("subscription($to: Int!) { steps(to: $to) { number } }", value!({ "to": -1 })),
            (
                "subscription($by: Int = 5) { steps(to: 2) { ...f } } fragment f on Step { next(by: $by) { number } }",
                value!({}),
            ),
            ("subscription($no: Boolean!) { steps(to: 1) { number odd @skip(if: $no) } }", value!({ "no": true })),
            ("subscription { steps(to: 0) { number } }", value!({})),
        ] {
            let mut variables = Variables::from_value(variables);
            let admitted = guard.admit(&guard.open(query).unwrap(), None, &mut variables).unwrap();
            let theirs: Vec<Response> =
                stock.execute_stream(Request::new(query).variables(variables.clone())).collect().await;
            let ours: Vec<Response> =
                direct.stream_prepared(admitted.operation, Request::new("").variables(variables)).collect().await;
            assert_eq!(format!("{ours:?}"), format!("{theirs:?}"), "{query}");
        }
    }
}
