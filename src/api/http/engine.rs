//! From a request's parameters to its outcome: gate, attach, execute, mask. The same for every transport.
//!
//! Apart, because HTTP and WebSocket must not differ in what they let through. It refuses to know both.

use std::sync::Arc;

use async_graphql::{Executor, Request, Response, ServerError, parser::types::OperationType};
use futures_util::{Stream, StreamExt as _};

use super::{
    documents::{Documents, Opened},
    mask::{mask, take_request_errors},
    params::Params,
    viewer::{Attach, Scope, Viewer},
};
use crate::api::gate::Refusal;

/// The executor behind its gate.
pub(super) struct Engine<E, V: Viewer> {
    pub(super) schema: E,
    pub(super) documents: Documents,
    pub(super) attach: Arc<dyn Attach<V>>,
}

/// An operation that has passed the gate and can be run.
pub(super) struct Ready {
    pub(super) operation_type: OperationType,
    request: Request,
    opened: Opened,
}

/// What running an operation gave; errors are fit to be shown.
pub(super) enum Ran {
    /// It ran.
    Executed(Response),
    /// Validation, or the subscription's beginning, refused it.
    Refused(Vec<ServerError>),
}

impl<E: Executor, V: Viewer> Engine<E, V> {
    /// Passes `params` through the gate and attaches what belongs to `scope`.
    pub(super) fn prepare(&self, mut params: Params, scope: &Scope<V>) -> Result<Ready, Refusal> {
        let opened = self.documents.open(&params.query)?;
        let admitted = opened.document.admit(params.operation_name.as_deref(), &mut params.variables)?;
        let span = tracing::Span::current();
        span.record("operation", tracing::field::display(admitted.operation_type));
        span.record("name", admitted.operation_name.as_deref());
        let extensions = params.take_extensions();
        let mut request = Request::new(params.query).variables(params.variables);
        request.operation_name = admitted.operation_name;
        request.extensions = extensions;
        request.set_parsed_query(admitted.document);
        Ok(Ready { operation_type: admitted.operation_type, request: self.attach.attach(request, scope), opened })
    }

    /// Runs a query or a mutation.
    pub(super) async fn execute(&self, ready: Ready, scope: &Scope<V>) -> Ran {
        let Ready { request, opened, .. } = ready;
        let query = request.query.clone();
        let mut response = self.schema.execute(request).await;
        if let Some(mut errors) = take_request_errors(&mut response) {
            mask(&mut errors, &scope.request_id);
            return Ran::Refused(errors);
        }
        self.documents.keep(&query, opened);
        mask(&mut response.errors, &scope.request_id);
        Ran::Executed(response)
    }

    /// Runs a subscription: its events, or one refusal and nothing after it.
    pub(super) fn subscribe(&self, ready: Ready, scope: Scope<V>) -> impl Stream<Item = Ran> + use<'_, E, V> {
        let Ready { request, opened, .. } = ready;
        let query = request.query.clone();
        let mut first = Some(opened);
        self.schema.execute_stream(request, None).map(move |mut response| {
            let opened = first.take();
            let refusal = opened.is_some().then(|| take_beginning_errors(&mut response)).flatten();
            if let Some(mut errors) = refusal {
                mask(&mut errors, &scope.request_id);
                return Ran::Refused(errors);
            }
            if let Some(opened) = opened {
                self.documents.keep(&query, opened);
            }
            mask(&mut response.errors, &scope.request_id);
            Ran::Executed(response)
        })
    }
}

/// The errors of a subscription that did not begin: validation's, or those of its root field itself.
fn take_beginning_errors(response: &mut Response) -> Option<Vec<ServerError>> {
    take_request_errors(response).or_else(|| {
        let root_failed = response.data == async_graphql::Value::Null
            && !response.errors.is_empty()
            && response.errors.iter().all(|error| error.path.len() <= 1);
        root_failed.then(|| std::mem::take(&mut response.errors))
    })
}
