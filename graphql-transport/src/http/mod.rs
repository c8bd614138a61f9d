//! Speaks GraphQL over HTTP, WebSocket and server-sent events.
//!
//! It decides all that a client can get wrong before a resolver runs. The schema, the meaning of tokens and the type
//! of a viewer are parameters.

mod accept;
mod address;
mod around;
mod codes;
mod connections;
mod document;
mod documents;
mod drive;
mod engine;
mod entropy;
mod handler;
mod limits;
mod manifest;
mod mask;
mod origin;
mod outcome;
mod params;
mod places;
mod rate;
mod request_id;
mod router;
mod sse;
mod state;
#[cfg(test)]
mod tests;
mod tokenless;
mod trusted;
mod viewer;
mod ws;

pub use self::{
    around::surrounded,
    connections::{ConnectionLimits, Routes, serve},
    entropy::Entropy,
    limits::{HttpSettings, PersistedSettings, RequestLimits, SocketLimits, StreamLimits},
    manifest::{Manifest, ManifestError},
    origin::Origins,
    rate::{Bucket, RateLimits},
    request_id::RequestId,
    router::{Transport, router},
    viewer::{Attach, Authenticate, AuthenticateError, Client, Scope, Viewer},
};
