//! Bodies that a task writes piece by piece while they are sent.

use axum::body::{Body, Bytes};
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;

/// A piece of a body; `None` marks the end of a whole one.
pub type Piece = Option<String>;

/// The error that ends a body which is not whole, so that no client takes it for a whole one.
#[derive(Debug, thiserror::Error)]
#[error("the answer has broken off")]
struct BrokenOff;

/// The body of what is sent. Without an end it breaks off.
pub fn body_of(sent: mpsc::Receiver<Piece>) -> Body {
    let body = stream::unfold(Some(sent), async |sent: Option<mpsc::Receiver<Piece>>| {
        let mut sent = sent?;
        match sent.recv().await {
            Some(Some(text)) => Some((Ok(Bytes::from(text)), Some(sent))),
            Some(None) => None,
            None => Some((Err(BrokenOff), None)),
        }
    });
    // The compression layer polls once more after the end.
    Body::from_stream(body.fuse())
}
