//! A schema with everything that a transport must handle.
#![expect(clippy::unused_async, reason = "resolvers are async by their trait")]
use std::{
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
    time::Duration,
};

use async_graphql::{
    Context, Error, ErrorExtensions as _, ID, InputValueError, InputValueResult, Object, Scalar, ScalarType,
    SimpleObject, Subscription, Value,
};
use futures_util::{Stream, StreamExt as _, stream};

use tokio::sync::{Semaphore, watch};

use crate::{execution::Direct, http::Permit, payer::Payer};

/// The viewer, and how long the token is valid.
#[derive(Debug, Clone)]
pub struct Person(pub &'static str, pub Option<Duration>);

impl crate::http::Viewer for Person {
    fn payer(&self) -> Payer {
        Payer::Viewer(1)
    }
}

/// Blocks the fields `held` and `hold` until a test releases them, and counts arrivals.
#[derive(Debug, Clone)]
pub struct Barrier(Arc<(Semaphore, watch::Sender<usize>)>);

impl Default for Barrier {
    fn default() -> Self {
        Self(Arc::new((Semaphore::new(0), watch::Sender::new(0))))
    }
}

impl Barrier {
    /// The number of arrivals so far.
    pub fn come(&self) -> usize {
        *self.0.1.borrow()
    }

    /// Waits for the arrival with this number.
    pub async fn wait_for(&self, count: usize) {
        let mut come = self.0.1.subscribe();
        assert!(come.wait_for(|come| *come >= count).await.is_ok());
    }

    /// Releases `count` of them.
    pub fn let_go(&self, count: usize) {
        self.0.0.add_permits(count);
    }

    async fn pass(ctx: &Context<'_>) -> bool {
        let Ok(barrier) = ctx.data::<Self>() else { return false };
        barrier.0.1.send_modify(|come| *come += 1);
        barrier.0.0.acquire().await.is_ok_and(|passed| {
            passed.forget();
            true
        })
    }
}

/// A scalar that refuses every value with the executor's own error. Validation accepts them.
struct Picky;

#[Scalar]
impl ScalarType for Picky {
    fn parse(value: Value) -> InputValueResult<Self> {
        Err(InputValueError::expected_type(value))
    }

    fn to_value(&self) -> Value {
        Value::Null
    }
}

/// The schema that tests build.
pub type TestSchema = Direct<Query, Mutation, Subscriptions>;

/// Validated by the guard only and without extensions, as the service's schema is.
pub fn schema() -> TestSchema {
    Direct::build((Query, Mutation::default(), Subscriptions), |builder| builder)
}

fn refused() -> Error {
    Error::new("Sign in first.").extend_with(|_, extensions| extensions.set("code", "UNAUTHENTICATED"))
}

pub struct Query;

#[Object]
impl Query {
    async fn hello(&self) -> &'static str {
        "world"
    }

    async fn echo(&self, text: String) -> String {
        text
    }

    async fn by_id(&self, id: ID) -> String {
        id.0
    }

    async fn at_most_ten(&self, #[graphql(validator(maximum = 10))] number: i32) -> i32 {
        number
    }

    async fn picked(&self, #[graphql(name = "of")] _of: Picky) -> bool {
        true
    }

    async fn nested(&self) -> Query {
        Query
    }

    /// The viewer's name and the request's id.
    async fn whoami(&self, ctx: &Context<'_>) -> Vec<String> {
        let id = ctx.data_opt::<String>().cloned().unwrap_or_default();
        let person = ctx.data_opt::<Option<Person>>().cloned().flatten();
        vec![person.map_or("nobody", |person| person.0).to_owned(), id]
    }

    async fn secret_failure(&self) -> Option<Result<String, Error>> {
        Some(Err(Error::new("password=hunter2 at 10.0.0.7")))
    }

    async fn required_failure(&self) -> Result<String, Error> {
        Err(Error::new("password=hunter2 at 10.0.0.7"))
    }

    async fn coded_failure(&self) -> Option<Result<String, Error>> {
        Some(Err(refused()))
    }

    async fn panic(&self) -> Option<String> {
        let fields: Option<String> = None;
        fields.or_else(|| std::panic::resume_unwind(Box::new("password=hunter2")))
    }

    /// Waits at the test's barrier.
    async fn held(&self, ctx: &Context<'_>) -> bool {
        Barrier::pass(ctx).await
    }

    async fn slow(&self, ms: u32) -> u32 {
        tokio::time::sleep(Duration::from_millis(u64::from(ms))).await;
        ms
    }
}

#[derive(Default)]
pub struct Mutation(AtomicI32);

#[Object]
impl Mutation {
    async fn bump(&self) -> i32 {
        1
    }

    /// Waits at the test's barrier.
    async fn hold(&self, ctx: &Context<'_>) -> bool {
        Barrier::pass(ctx).await
    }

    /// Waits at the test's barrier without its permit.
    async fn without(&self, ctx: &Context<'_>) -> Result<bool, Error> {
        Ok(ctx.data::<Permit>()?.without(Barrier::pass(ctx)).await)
    }

    async fn leave(&self) -> bool {
        true
    }

    /// The sum of all calls.
    async fn add(&self, by: i32) -> Sum {
        let total = self.0.fetch_add(by, Ordering::Relaxed) + by;
        Sum { total, added: by }
    }
}

#[derive(SimpleObject)]
pub struct Sum {
    total: i32,
    added: i32,
}

pub struct Subscriptions;

#[Subscription]
impl Subscriptions {
    async fn count(&self, to: i32) -> impl Stream<Item = i32> {
        stream::iter(1..=to)
    }

    /// A stream that never yields.
    async fn silence(&self) -> impl Stream<Item = i32> {
        stream::pending()
    }

    /// Yields 64 KiB again and again.
    async fn flood(&self) -> impl Stream<Item = String> {
        stream::repeat_with(|| "x".repeat(64 * 1024)).then(async |text| {
            tokio::task::yield_now().await;
            text
        })
    }

    async fn refused(&self) -> Result<stream::Pending<i32>, Error> {
        Err(refused())
    }

    /// Yields a value, an error and a value.
    async fn stumble(&self) -> impl Stream<Item = Option<Result<i32, Error>>> {
        stream::iter([Some(Ok(1)), Some(Err(Error::new("password=hunter2"))), Some(Ok(3))])
    }

    async fn explode(&self) -> impl Stream<Item = i32> {
        stream::once(async { std::panic::resume_unwind(Box::new("password=hunter2")) })
    }
}
