//! The body of an answer that is written while it is sent, a piece at a time.
//!
//! A task writes it, so that a client who has stopped reading keeps no place of a node. A body that breaks off ends
//! with an error: the connection is cut, and no client takes the half for the whole.

use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::{StreamExt as _, stream};
use tokio::{sync::mpsc, time::timeout};
use tokio_util::task::TaskTracker;

use super::file::{File, Piece};
use crate::accounts::export::ExportError;

/// How long a client may take for one piece.
const STALLED_AFTER: Duration = Duration::from_secs(30);
/// How long a file may take: also a client that reads a little now and then keeps no place for ever.
const LONGEST: Duration = Duration::from_mins(30);

/// The file ends before its end.
#[derive(Debug, thiserror::Error)]
#[error("the export broke off")]
struct BrokenOff;

/// Why nothing more is written.
enum Stopped {
    /// What was to be read could not be.
    Failed(ExportError),
    /// The client has gone, or has stopped reading.
    NotRead,
}

/// The file as a body, read by a task of `tasks`.
pub fn written_by(file: File, tasks: &TaskTracker) -> Body {
    // One piece is on its way while the next one is read.
    let (pieces, sent) = mpsc::channel(1);
    tasks.spawn(async move {
        if let Ok(Err(Stopped::Failed(error))) = timeout(LONGEST, write(file, pieces)).await {
            match error {
                ExportError::Store(error) => {
                    tracing::error!(error = &error as &dyn std::error::Error, "An export broke off.");
                }
                ended => tracing::debug!(reason = %ended, "An export was ended."),
            }
        }
    });
    let body = stream::unfold(Some(sent), async |sent: Option<mpsc::Receiver<Piece>>| {
        let mut sent = sent?;
        match sent.recv().await {
            Some(Piece::Text(text)) => Some((Ok(Bytes::from(text)), Some(sent))),
            Some(Piece::End) => None,
            None => Some((Err(BrokenOff), None)),
        }
    });
    // Whoever compresses the body asks once more after its end.
    Body::from_stream(body.fuse())
}

async fn write(mut file: File, pieces: mpsc::Sender<Piece>) -> Result<(), Stopped> {
    loop {
        let piece = file.next().await.map_err(Stopped::Failed)?;
        let is_last = matches!(piece, Piece::End);
        let taken = timeout(STALLED_AFTER, pieces.send(piece)).await;
        if !matches!(taken, Ok(Ok(()))) {
            return Err(Stopped::NotRead);
        }
        if is_last {
            return Ok(());
        }
    }
}
