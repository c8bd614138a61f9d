//! The trait that the transport requires of an executor.

use std::sync::Arc;

use async_graphql::{Executor, ObjectType, Request, Response, Schema, SubscriptionType};
use futures_util::stream::BoxStream;

use crate::guard::Prepared;

/// An executor that takes prepared operations.
pub trait PreparedExecutor: Executor {
    /// Runs `operation`, a query or a mutation, with the other parts of `request`. By default it copies the operation.
    fn execute_prepared(
        &self,
        operation: Arc<Prepared>,
        mut request: Request,
    ) -> impl Future<Output = Response> + Send {
        request.set_parsed_query(operation.document());
        self.execute(request)
    }

    /// The events of the subscription `operation`; otherwise as [`Self::execute_prepared`].
    fn stream_prepared(&self, operation: Arc<Prepared>, mut request: Request) -> BoxStream<'static, Response> {
        request.set_parsed_query(operation.document());
        self.execute_stream(request, None)
    }
}

impl<Q, M, S> PreparedExecutor for Schema<Q, M, S>
where
    Q: ObjectType + 'static,
    M: ObjectType + 'static,
    S: SubscriptionType + 'static,
{
}
