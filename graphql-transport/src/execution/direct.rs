//! Runs prepared operations on a schema without parsing or copying them.
//!
//! Only this file and `container` use async-graphql's undocumented `QueryEnv`. The version is pinned, and `tests`
//! compares every answer with that of the schema's own executor.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock, PoisonError},
};

use async_graphql::{
    ContainerType, Context, ContextSelectionSet, Data, Executor, ObjectType, OutputType, Positioned, QueryEnv,
    QueryEnvInner, Request, Response, Schema, SchemaBuilder, SchemaEnv, ServerResult, SubscriptionType, Value,
    extensions::Extensions,
    parser::types::{Field, OperationType},
    registry::Registry,
    resolver_utils::{resolve_container, resolve_container_serial},
};
use futures_util::{FutureExt as _, stream::BoxStream};

use super::{
    events::{SubscriptionRoot, events},
    prepared_executor::PreparedExecutor,
};
use crate::guard::Prepared;

/// A root object, shared between the schema and [`Direct`].
#[derive(Debug)]
pub struct Root<T> {
    object: Arc<T>,
    environment: Arc<OnceLock<Environment>>,
}

/// The parts that all queries of a schema share.
struct Environment {
    schema: SchemaEnv,
    extensions: Extensions,
}

impl Environment {
    /// The environment of one request for `operation`. Its selections are kept outside.
    fn of_query(&self, operation: &Prepared, request: Request) -> QueryEnv {
        QueryEnv::new(QueryEnvInner {
            extensions: self.extensions.clone(),
            variables: request.variables,
            operation_name: operation.name().map(ToString::to_string),
            operation: operation.head(),
            fragments: std::collections::HashMap::new(),
            uploads: request.uploads,
            session_data: Arc::new(Data::default()),
            query_data: Arc::new(request.data),
            http_headers: std::sync::Mutex::default(),
            introspection_mode: request.introspection_mode,
            errors: std::sync::Mutex::default(),
        })
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Environment").finish_non_exhaustive()
    }
}

impl<T> Clone for Root<T> {
    fn clone(&self) -> Self {
        Self { object: Arc::clone(&self.object), environment: Arc::clone(&self.environment) }
    }
}

impl<T: ObjectType> OutputType for Root<T> {
    fn type_name() -> Cow<'static, str> {
        T::type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        T::create_type_info(registry)
    }

    async fn resolve(&self, ctx: &ContextSelectionSet<'_>, field: &Positioned<Field>) -> ServerResult<Value> {
        self.object.resolve(ctx, field).await
    }
}

impl<T: ObjectType> ContainerType for Root<T> {
    fn is_empty() -> bool {
        T::is_empty()
    }

    async fn resolve_field(&self, ctx: &Context<'_>) -> ServerResult<Option<Value>> {
        self.environment.get_or_init(|| Environment {
            schema: ctx.schema_env.clone(),
            extensions: ctx.query_env.extensions.clone(),
        });
        self.object.resolve_field(ctx).await
    }
}

impl<T: ObjectType> ObjectType for Root<T> {}

type Builder<Q, M, S> = SchemaBuilder<Root<Q>, Root<M>, SubscriptionRoot<S>>;

/// A schema that runs prepared operations without copying them. Everything else runs as in a [`Schema`]. Cheap to
/// clone. The schema's extensions do not see prepared operations.
pub struct Direct<Q, M, S> {
    schema: Schema<Root<Q>, Root<M>, SubscriptionRoot<S>>,
    query: Root<Q>,
    mutation: Root<M>,
    subscription: SubscriptionRoot<S>,
}

impl<Q, M, S> Clone for Direct<Q, M, S> {
    fn clone(&self) -> Self {
        let Self { schema, query, mutation, subscription } = self;
        Self {
            schema: schema.clone(),
            query: query.clone(),
            mutation: mutation.clone(),
            subscription: subscription.clone(),
        }
    }
}

impl<Q, M, S> std::fmt::Debug for Direct<Q, M, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Direct").finish_non_exhaustive()
    }
}

impl<Q, M, S> Direct<Q, M, S>
where
    Q: ObjectType + 'static,
    M: ObjectType + 'static,
    S: SubscriptionType + 'static,
{
    /// Builds the schema of these roots; `with` adds data and settings. It does not validate, because the guard has.
    pub fn build(
        (query, mutation, subscription): (Q, M, S),
        with: impl FnOnce(Builder<Q, M, S>) -> Builder<Q, M, S>,
    ) -> Self {
        let environment = Arc::default();
        let query = Root { object: Arc::new(query), environment: Arc::clone(&environment) };
        let mutation = Root { object: Arc::new(mutation), environment };
        let subscription = SubscriptionRoot::of(subscription);
        let builder = Schema::build(query.clone(), mutation.clone(), subscription.clone());
        let schema = with(builder.validation_mode(async_graphql::ValidationMode::Fast)).finish();
        // Any field of the root reveals the environment, even an unknown one.
        let _shown = schema.execute(Request::new("{ environment }")).now_or_never();
        Self { schema, query, mutation, subscription }
    }

    /// The schema in the schema definition language.
    pub fn sdl(&self) -> String {
        self.schema.sdl()
    }

    async fn run(&self, environment: &Environment, operation: &Prepared, request: Request) -> Response {
        let query_env = environment.of_query(operation, request);
        let ctx = query_env.create_context(&environment.schema, None, operation.selections(), None);
        let resolved = match operation.operation_type() {
            OperationType::Mutation => resolve_container_serial(&ctx, &*self.mutation.object).await,
            _ => resolve_container(&ctx, &*self.query.object).await,
        };
        let mut response = resolved.map_or_else(|error| Response::from_errors(vec![error]), Response::new);
        let mut errors = query_env.errors.lock().unwrap_or_else(PoisonError::into_inner);
        response.errors.append(&mut errors);
        drop(errors);
        response
    }
}

impl<Q, M, S> PreparedExecutor for Direct<Q, M, S>
where
    Q: ObjectType + 'static,
    M: ObjectType + 'static,
    S: SubscriptionType + 'static,
{
    async fn execute_prepared(&self, operation: Arc<Prepared>, mut request: Request) -> Response {
        match self.query.environment.get() {
            // Introspection is left to the schema itself.
            Some(environment) if operation.is_plain() => {
                self.run(environment, &operation, request.data(operation.id())).await
            }
            _ => {
                request.set_parsed_query(operation.document());
                Box::pin(self.schema.execute(request)).await
            }
        }
    }

    fn stream_prepared(&self, operation: Arc<Prepared>, mut request: Request) -> BoxStream<'static, Response> {
        match self.query.environment.get() {
            Some(environment) if operation.is_plain() => {
                let query_env = environment.of_query(&operation, request);
                events(self.subscription.clone(), (environment.schema.clone(), query_env), operation)
            }
            _ => {
                request.set_parsed_query(operation.document());
                self.schema.execute_stream(request)
            }
        }
    }
}

impl<Q, M, S> Executor for Direct<Q, M, S>
where
    Q: ObjectType + 'static,
    M: ObjectType + 'static,
    S: SubscriptionType + 'static,
{
    async fn execute(&self, request: Request) -> Response {
        self.schema.execute(request).await
    }

    fn execute_stream(&self, request: Request, session: Option<Arc<Data>>) -> BoxStream<'static, Response> {
        Executor::execute_stream(&self.schema, request, session)
    }
}
