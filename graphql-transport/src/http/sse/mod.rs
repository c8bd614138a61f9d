//! GraphQL over server-sent events, for networks that block WebSockets: the graphql-sse protocol, PROTOCOL.md of
//! github.com/enisdenjo/graphql-sse. `single` has its distinct connections mode, `reserved` its single connection
//! mode.

pub(super) mod framing;
mod reserved;
mod single;
mod stream;
pub(super) mod streams;

pub(super) use self::{
    reserved::{cancel, fulfil, join, reserve},
    single::open,
    stream::take_permit,
    streams::token_of,
};
