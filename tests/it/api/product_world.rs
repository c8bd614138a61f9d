//! A server with a key of the product, and two users.

use anyhow::Result;
use tidefeed::domain::account::service::Scopes;

use super::{
    accounts::client::{Tokens, register, server, service_key},
    server::ApiServer,
};
use crate::{harness::CacheBackend, servers::Backend};

pub struct ProductWorld {
    pub server: ApiServer,
    /// Allows everything.
    pub key: String,
    pub ann: Tokens,
    pub bob: Tokens,
}

impl ProductWorld {
    pub async fn new() -> Result<Self> {
        let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
        let key = service_key(&server, Scopes::all()).await?;
        let (ann, bob) = (register(&server, "ann").await?, register(&server, "bob").await?);
        Ok(Self { server, key, ann, bob })
    }
}
