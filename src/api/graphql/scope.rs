//! The scope of one operation: its viewer and its loaders. The transport attaches it; every resolver starts from it.

use std::sync::{Arc, OnceLock};

use async_graphql::{Context, Request};
use graphql_transport::{memory::AnswerBudget, metered::named, written::SharedDocument};

use super::{
    errors::{ApiError, Failure},
    hydration::Hydration,
    services::Services,
    viewer_dependence::ViewerDependence,
};
use crate::accounts::{Caller, Viewer};

/// How a resolver of a nullable field ends: so that a failure nulls that field and no more (a `Result<Option<T>>`
/// would null its parent).
pub type Answer<T> = Option<Result<T, ApiError>>;

/// Attached by the transport to every request, see [`attach`].
struct Scope {
    viewer_dependence: ViewerDependence,
    /// The text of a document that may hold a subscription and has not come through the transport.
    document: Option<Arc<str>>,
    hydration: OnceLock<Arc<Hydration>>,
}

/// `request` with what the resolvers look for.
#[must_use]
pub fn attach(request: Request, viewer: Option<Viewer>) -> Request {
    let document = request.query.contains("subscription").then(|| request.query.as_str().into());
    let (viewer_dependence, hydration) = (ViewerDependence::of(viewer), OnceLock::new());
    request.data(Scope { viewer_dependence, document, hydration })
}

/// What is loaded for this operation, shared by all of its query fields.
pub fn hydration(ctx: &Context<'_>) -> Result<Arc<Hydration>, Failure> {
    let scope = scope(ctx)?;
    if let Some(made) = scope.hydration.get() {
        return Ok(Arc::clone(made));
    }
    let fresh = fresh_hydration(ctx)?;
    Ok(Arc::clone(scope.hydration.get_or_init(|| fresh)))
}

/// A hydration that has loaded nothing yet: what a mutation has changed is read anew.
pub fn fresh_hydration(ctx: &Context<'_>) -> Result<Arc<Hydration>, Failure> {
    hydration_with(ctx, scope(ctx)?.viewer_dependence.clone())
}

/// As [`fresh_hydration`], seen by `viewer`: whoever has signed in just now.
pub fn hydration_for(ctx: &Context<'_>, viewer: Option<Viewer>) -> Result<Arc<Hydration>, Failure> {
    hydration_with(ctx, scope(ctx)?.viewer_dependence.other(viewer))
}

fn hydration_with(ctx: &Context<'_>, viewer_dependence: ViewerDependence) -> Result<Arc<Hydration>, Failure> {
    let services = ctx.data::<Arc<Services>>().map_err(|_| Failure::NoScope)?;
    let budget = ctx.data_opt::<AnswerBudget>().cloned();
    Ok(Arc::new(Hydration::new(Arc::clone(services), viewer_dependence, budget)))
}

/// Failures of one operation that are logged: a document with thousands of fields must not write thousands of lines.
const LOGGED: usize = 10;

/// Ends a resolver through the one error mapping.
pub async fn answer<T>(ctx: &Context<'_>, work: impl Future<Output = Result<Option<T>, Failure>> + Send) -> Answer<T> {
    let into_api_error = |failure: Failure| match ctx.query_env.errors.lock() {
        Ok(before) if before.len() >= LOGGED => failure.shown(),
        _ => failure.into_api_error(),
    };
    named(ctx).await;
    work.await.map_err(into_api_error).transpose()
}

/// From where the request comes; unknown if the transport did not say.
pub fn caller(ctx: &Context<'_>) -> Caller {
    ctx.data::<Caller>().ok().cloned().unwrap_or_default()
}

/// The text of the document, if it holds a subscription and the transport gave it.
pub fn document(ctx: &Context<'_>) -> Option<Arc<str>> {
    let shared = ctx.data_opt::<SharedDocument>().map(|document| Arc::clone(&document.0));
    shared.or_else(|| ctx.data::<Scope>().ok()?.document.clone())
}

fn scope<'a>(ctx: &Context<'a>) -> Result<&'a Scope, Failure> {
    ctx.data::<Scope>().map_err(|_| Failure::NoScope)
}
