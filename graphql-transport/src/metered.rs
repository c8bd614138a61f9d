//! Fields that count the bytes they add to an answer, and stop the operation when it becomes too large.
//!
//! Resolvers return scalars as [`Metered`]. A field that stops never completes, so nothing else of its operation
//! continues, and [`Bounded`] ends it.

use std::{
    any::TypeId,
    borrow::Cow,
    future::{Future, pending, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use async_graphql::{
    Context, ContextBase, ContextSelectionSet, Data, Executor, OutputType, Positioned, Request, Response, ServerResult,
    Value, parser::types::Field, registry::Registry,
};
use axum::body::Bytes;
use futures_util::{
    Stream, StreamExt as _,
    stream::{self, BoxStream},
};

use crate::{
    execution::PreparedExecutor,
    guard::Prepared,
    memory::{AnswerBudget, Stop},
};

/// JSON besides the name and the value of a field: two quotation marks, a colon, and a comma or a brace.
const PUNCTUATION_BYTES: usize = 4;

/// A scalar that counts its bytes when it is shown. Clients see a `T`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Metered<T>(pub T);

impl<T> From<T> for Metered<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T: OutputType> OutputType for Metered<T> {
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
        let value = self.0.resolve(ctx, field).await?;
        show(ctx, field, least_bytes(&value)).await;
        Ok(value)
    }
}

/// Counts `json` and inserts it into the answer as it is: one whole value of JSON without line breaks, which nobody
/// checks. See [`crate::written`] for where this may be.
pub async fn insert<T>(ctx: &ContextBase<'_, T>, json: Bytes) -> Value {
    count(ctx, json.len()).await;
    Value::Binary(json)
}

/// Counts the name of the field in `ctx`, but not its value.
pub async fn named(ctx: &Context<'_>) {
    show(ctx, ctx.item, 0).await;
}

async fn show<T>(ctx: &ContextBase<'_, T>, field: &Positioned<Field>, bytes: usize) {
    count(ctx, field.node.response_key().node.len() + PUNCTUATION_BYTES + bytes).await;
}

async fn count<T>(ctx: &ContextBase<'_, T>, bytes: usize) {
    let Some(budget) = ctx.data_opt::<AnswerBudget>() else { return };
    if !budget.show(bytes, |error| ctx.set_error_path(error)) {
        pending::<()>().await;
    }
}

/// Lower bound of a scalar's JSON: a text may also need escapes. The JSON of a [`crate::written`] value is known.
fn least_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Enum(name) => name.len() + 2,
        Value::Null => 4,
        Value::Binary(json) => json.len(),
        _ => 1,
    }
}

/// Executes each request within the [`AnswerBudget`] in its data. Without one, answers are not bounded.
#[derive(Debug, Clone)]
pub struct Bounded<E>(pub E);

impl<E: Executor> Executor for Bounded<E> {
    async fn execute(&self, request: Request) -> Response {
        let budget = data_of(&request);
        bounded(budget, Box::pin(self.0.execute(request))).await
    }

    fn execute_stream(&self, request: Request, session: Option<Arc<Data>>) -> BoxStream<'static, Response> {
        let budget = data_of(&request);
        Box::pin(each_bounded(budget, self.0.execute_stream(request, session)))
    }
}

impl<E: PreparedExecutor> PreparedExecutor for Bounded<E> {
    async fn execute_prepared(&self, operation: Arc<Prepared>, request: Request) -> Response {
        let budget = data_of(&request);
        bounded(budget, Box::pin(self.0.execute_prepared(operation, request))).await
    }

    fn stream_prepared(&self, operation: Arc<Prepared>, request: Request) -> BoxStream<'static, Response> {
        let budget = data_of(&request);
        Box::pin(each_bounded(budget, self.0.stream_prepared(operation, request)))
    }
}

/// What was attached to the request, as resolvers find it in their contexts.
pub fn data_of<T: Clone + 'static>(request: &Request) -> Option<T> {
    request.data.get(&TypeId::of::<T>())?.downcast_ref().cloned()
}

/// The response of `work`, or a refusal as soon as it stops.
async fn bounded(budget: Option<AnswerBudget>, work: impl Future<Output = Response>) -> Response {
    let Some(budget) = budget else { return work.await };
    let mut work = pin!(work);
    poll_fn(|cx| {
        let polled = if budget.stopped().is_none() { work.as_mut().poll(cx) } else { Poll::Pending };
        budget.stopped().map_or(polled, |stop| Poll::Ready(refusal(stop)))
    })
    .await
}

/// The refusal in a response. If memory is short, the transport sends its own.
fn refusal(stop: &Stop) -> Response {
    match stop {
        Stop::TooLarge(error) => Response::from_errors(vec![error.clone()]),
        Stop::NoRoom(_) => Response::default(),
    }
}

/// As [`bounded`], for each event of a subscription. A refusal is the last event.
fn each_bounded(
    budget: Option<AnswerBudget>,
    events: impl Stream<Item = Response> + Send + Unpin + 'static,
) -> impl Stream<Item = Response> + Send {
    stream::unfold(Some(events), move |events| {
        let budget = budget.clone();
        async move {
            let mut events = events?;
            let Some(budget) = budget else { return events.next().await.map(|event| (event, Some(events))) };
            budget.begin_again();
            let next = poll_fn(|cx| {
                let polled = events.poll_next_unpin(cx);
                match budget.stopped() {
                    Some(stop) => Poll::Ready(Some((refusal(stop), false))),
                    None => polled.map(|event| event.map(|event| (event, true))),
                }
            });
            next.await.map(|(event, goes_on)| (event, goes_on.then_some(events)))
        }
    })
}
