//! A library: a dozen fields and one subscription.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use async_graphql::{Context, Error, Object, Subscription};
use futures_util::{Stream, stream};
use graphql_transport::{execution::Direct, metered::Metered};

use super::Reader;

/// The schema over a shelf.
pub type Library = Direct<Query, Mutation, Subscriptions>;

/// What resolvers have done.
#[derive(Debug, Clone, Default)]
pub struct Shelf {
    /// Books that were put there.
    pub books: Arc<AtomicU32>,
    /// Books that were read.
    pub reads: Arc<AtomicU32>,
}

/// A schema, and what lies behind it.
pub fn library() -> (Library, Shelf) {
    let shelf = Shelf::default();
    let schema = Direct::build((Query, Mutation, Subscriptions), |builder| builder.data(shelf.clone()));
    (schema, shelf)
}

/// Bytes of a book's text.
pub const TEXT_BYTES: usize = 1_000;

pub struct Query;

#[Object]
impl Query {
    async fn hello(&self) -> &'static str {
        "world"
    }

    async fn echo(&self, text: String) -> String {
        text
    }

    async fn reader(&self, ctx: &Context<'_>) -> Option<u64> {
        ctx.data_opt::<Option<Reader>>().cloned().flatten().map(|reader| reader.0)
    }

    async fn book(&self, number: u32) -> Book {
        Book { number }
    }

    async fn books(&self, first: Option<u32>) -> Vec<Book> {
        (1..=first.unwrap_or(20)).map(|number| Book { number }).collect()
    }

    async fn lost(&self) -> Option<Result<Book, Error>> {
        Some(Err(Error::new("shelf 7 at 10.0.0.7 has fallen")))
    }
}

pub struct Book {
    number: u32,
}

#[Object]
impl Book {
    async fn number(&self) -> u32 {
        self.number
    }

    async fn text(&self, ctx: &Context<'_>) -> Metered<String> {
        if let Some(shelf) = ctx.data_opt::<Shelf>() {
            shelf.reads.fetch_add(1, Ordering::Relaxed);
        }
        Metered("x".repeat(TEXT_BYTES))
    }

    async fn next(&self) -> Book {
        Book { number: self.number + 1 }
    }
}

pub struct Mutation;

#[Object]
impl Mutation {
    /// The books that are there then.
    async fn put(&self, ctx: &Context<'_>) -> u32 {
        ctx.data_opt::<Shelf>().map_or(0, |shelf| shelf.books.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

pub struct Subscriptions;

#[Subscription]
impl Subscriptions {
    async fn count(&self, to: i32) -> impl Stream<Item = i32> {
        stream::iter(1..=to)
    }
}
