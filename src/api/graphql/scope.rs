//! The scope of one operation: its viewer and its loaders. The transport attaches it; every resolver starts from it.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock, PoisonError},
};

use async_graphql::{Context, ContextSelectionSet, Request};
use graphql_transport::{http::Permit, memory::AnswerBudget, metered::named, written::SharedDocument};

use super::{
    errors::{ApiError, Failure},
    hydration::Hydration,
    services::Services,
    viewer_dependence::ViewerDependence,
};
use crate::accounts::{Caller, Viewer};

/// The result of a resolver of a nullable field. A failure nulls only that field; a `Result<Option<T>>` would null its
/// parent.
pub type Answer<T> = Option<Result<T, ApiError>>;

/// What [`attach`] adds to every request.
struct OperationScope {
    viewer_dependence: ViewerDependence,
    /// The text of a document with a subscription that did not come through the transport.
    document: Option<Arc<str>>,
    hydration: OnceLock<Arc<Hydration>>,
}

/// `request` with its scope.
#[must_use]
pub fn attach(request: Request, viewer: Option<Viewer>) -> Request {
    let document = request.query.contains("subscription").then(|| request.query.as_str().into());
    let (viewer_dependence, hydration) = (ViewerDependence::of(viewer), OnceLock::new());
    request.data(OperationScope { viewer_dependence, document, hydration })
}

/// The hydration of this operation, shared by all query fields.
pub fn hydration(ctx: &Context<'_>) -> Result<Arc<Hydration>, Failure> {
    let scope = scope(ctx)?;
    if let Some(made) = scope.hydration.get() {
        return Ok(Arc::clone(made));
    }
    let fresh = fresh_hydration(ctx)?;
    Ok(Arc::clone(scope.hydration.get_or_init(|| fresh)))
}

/// A hydration without loaded data, because a mutation has changed the data.
pub fn fresh_hydration(ctx: &Context<'_>) -> Result<Arc<Hydration>, Failure> {
    hydration_with(ctx, scope(ctx)?.viewer_dependence.clone())
}

/// As [`fresh_hydration`], for `viewer`, who has just signed in.
pub fn hydration_for(ctx: &Context<'_>, viewer: Option<Viewer>) -> Result<Arc<Hydration>, Failure> {
    hydration_with(ctx, scope(ctx)?.viewer_dependence.other(viewer))
}

fn hydration_with(ctx: &Context<'_>, viewer_dependence: ViewerDependence) -> Result<Arc<Hydration>, Failure> {
    let services = ctx.data::<Arc<Services>>().map_err(|_| Failure::NoScope)?;
    let budget = ctx.data_opt::<AnswerBudget>().cloned();
    Ok(Arc::new(Hydration::new(Arc::clone(services), viewer_dependence, budget)))
}

/// Data of a request to a server that does not describe its schema: errors name no part that the client has not named.
pub struct Undescribed;

/// Failures that one operation logs at most. A document may have thousands of failing fields.
const LOGGED: usize = 10;

/// Ends a resolver through the one error mapping. `work` lies on the heap: each of the layers around a resolver is as
/// large as what it holds, and some are moved.
pub fn answer<'a, T: Send + 'a>(
    ctx: &'a Context<'_>,
    work: impl Future<Output = Result<Option<T>, Failure>> + Send + 'a,
) -> impl Future<Output = Answer<T>> + Send + 'a {
    let work: Pin<Box<dyn Future<Output = _> + Send + 'a>> = Box::pin(work);
    async move {
        let into_api_error = |failure: Failure| match ctx.query_env.errors.lock() {
            Ok(before) if before.len() >= LOGGED => failure.shown(),
            _ => failure.into_api_error(),
        };
        named(ctx).await;
        work.await.map_err(into_api_error).map_err(|error| without_names(ctx, error)).transpose()
    }
}

/// `error` with an ellipsis for each argument that it names and the field was not given, if the schema is not
/// described.
fn without_names(ctx: &Context<'_>, error: ApiError) -> ApiError {
    if ctx.data_opt::<Undescribed>().is_none() {
        return error;
    }
    let arguments = &ctx.item.node.arguments;
    let is_given = |name: &str| arguments.iter().any(|(given, _)| name.split('.').next() == Some(given.node.as_str()));
    let shown = |(index, part)| if index % 2 == 0 || is_given(part) { part } else { "…" };
    let message = error.message.split('`').enumerate().map(shown).collect::<Vec<_>>().join("`");
    ApiError { message, ..error }
}

/// Failures among the fields of this answer so far.
pub fn failures(ctx: &ContextSelectionSet<'_>) -> usize {
    ctx.query_env.errors.lock().unwrap_or_else(PoisonError::into_inner).len()
}

/// Runs `work` without the operation's permit: it waits for something else, and bounds itself.
pub async fn without_permit<T>(ctx: &Context<'_>, work: impl Future<Output = T> + Send) -> T {
    match ctx.data_opt::<Permit>() {
        Some(permit) => permit.without(work).await,
        None => work.await,
    }
}

/// The origin of the request; unknown if the transport did not give it.
pub fn caller(ctx: &Context<'_>) -> Caller {
    ctx.data::<Caller>().ok().cloned().unwrap_or_default()
}

/// The text of the document, if it has a subscription and the transport gave it.
pub fn document(ctx: &Context<'_>) -> Option<Arc<str>> {
    let shared = ctx.data_opt::<SharedDocument>().map(|document| Arc::clone(&document.0));
    shared.or_else(|| ctx.data::<OperationScope>().ok()?.document.clone())
}

fn scope<'a>(ctx: &Context<'a>) -> Result<&'a OperationScope, Failure> {
    ctx.data::<OperationScope>().map_err(|_| Failure::NoScope)
}
