//! Speaks GraphQL over HTTP, WebSocket and server-sent events.
//!
//! It rejects every invalid request before a resolver runs. The schema, the meaning of tokens and the type of a viewer
//! are parameters.

mod accept;
mod address;
mod admission;
mod buffers;
mod codes;
mod connections;
mod document;
mod documents;
mod engine;
mod entropy;
mod handler;
mod kept_operations;
mod limits;
mod manifest;
mod mask;
mod middleware;
mod origin;
mod outcome;
mod params;
mod patience;
mod permit;
mod proportion;
mod public_operations;
mod rate;
mod request_id;
mod router;
mod runner;
mod slots;
mod sse;
mod state;
#[cfg(test)]
mod tests;
mod trusted;
mod viewer;
mod ws;

pub use self::{
    buffers::{Buffer, buffers},
    connections::{ConnectionLimits, Routes, read_while_answering, serve},
    entropy::Entropy,
    limits::{
        AdmissionLimit, AdmissionLimits, HttpSettings, PersistedSettings, RequestLimits, SocketLimits, StreamLimits,
    },
    manifest::{Manifest, ManifestError},
    middleware::surrounded,
    origin::Origins,
    permit::Permit,
    rate::{Charges, RateLimits, TokenBucket},
    request_id::RequestId,
    router::{Endpoints, Transport, endpoints, router},
    viewer::{Attach, Authenticate, AuthenticateError, Client, RequestContext, Viewer, viewer_of},
};
