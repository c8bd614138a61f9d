//! Keeps the body of a request in a file without a name, of a bounded length.

use std::{fs::File, io::Write as _, time::Duration};

use axum::{
    body::{Body, BodyDataStream, Bytes},
    http::StatusCode,
};
use futures_util::StreamExt as _;
use tokio::{task::spawn_blocking, time::timeout};

use crate::{
    api::service_lines::Stopped,
    import::{NotKept, Spool},
};

/// A client that sends nothing for this long keeps others from loading.
const IDLE_AFTER: Duration = Duration::from_secs(30);
/// And so does one that takes longer for a piece.
const PIECE_WITHIN: Duration = Duration::from_mins(2);
/// Bytes that are written at a time.
const PIECE: usize = 1 << 20;

/// Reads the whole body.
pub(super) async fn kept(body: Body, most_bytes: u64) -> Result<File, Stopped> {
    let mut spool = Spool::new().map_err(|error| not_kept(&error))?;
    let (mut parts, mut bytes) = (body.into_data_stream(), 0);
    loop {
        let (pieces, gathered) = timeout(PIECE_WITHIN, next_piece(&mut parts)).await.map_err(|_| slow())??;
        if pieces.is_empty() {
            return Ok(spool.into_file());
        }
        bytes += u64::try_from(gathered).unwrap_or(u64::MAX);
        if bytes > most_bytes {
            return Err(too_long(most_bytes));
        }
        let written = spawn_blocking(move || write(spool, &pieces)).await.map_err(|_| broken_off())?;
        spool = written.map_err(|error| not_kept(&error))?;
    }
}

/// The next parts, which together are a piece, and their bytes; fewer at the end.
async fn next_piece(parts: &mut BodyDataStream) -> Result<(Vec<Bytes>, usize), Stopped> {
    let (mut pieces, mut gathered) = (Vec::new(), 0);
    while gathered < PIECE {
        let part = timeout(IDLE_AFTER, parts.next()).await.map_err(|_| idle())?;
        let Some(part) = part.transpose().map_err(|_| broken_off())? else { break };
        gathered += part.len();
        pieces.push(part);
    }
    Ok((pieces, gathered))
}

fn write(mut spool: Spool, pieces: &[Bytes]) -> Result<Spool, NotKept> {
    pieces.iter().try_for_each(|piece| spool.write_all(piece)).map_err(NotKept::because)?;
    Ok(spool)
}

pub(super) fn too_long(most_bytes: u64) -> Stopped {
    let message = format!(
        "The file has more than {most_bytes} bytes. Pack it with gzip, send it in parts, or load it with \
         `tidefeed import load`."
    );
    Stopped::new(StatusCode::PAYLOAD_TOO_LARGE, "TOO_LONG", message)
}

fn idle() -> Stopped {
    Stopped::new(StatusCode::REQUEST_TIMEOUT, "TIMED_OUT", "Nothing has come for 30 seconds. Send the file again.")
}

fn slow() -> Stopped {
    let message = "Less than a mebibyte has come in two minutes. Pack the file with gzip, or send it from nearer by.";
    Stopped::new(StatusCode::REQUEST_TIMEOUT, "TIMED_OUT", message)
}

fn broken_off() -> Stopped {
    Stopped::malformed("The file has not come to its end. Send it again.")
}

fn not_kept(error: &NotKept) -> Stopped {
    tracing::error!(error = error as &dyn std::error::Error, "A file that is to be loaded cannot be kept.");
    Stopped::failed("There is no room for the file on this node. Send it to another one, or tell the operators.")
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use tokio::time::sleep;

    use super::*;

    /// The code with which a body is refused of which a byte comes each time after so long.
    async fn refusal(pause: Duration) -> Option<&'static str> {
        let bytes = stream::repeat(()).then(move |()| async move {
            sleep(pause).await;
            Ok::<_, Infallible>(Bytes::from_static(b"x"))
        });
        kept(Body::from_stream(bytes), 1 << 30).await.err().map(|stopped| stopped.code())
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_little_or_nothing_is_not_waited_for() {
        let began = tokio::time::Instant::now();
        assert_eq!(refusal(Duration::from_secs(31)).await, Some("TIMED_OUT"));
        assert_eq!(began.elapsed(), IDLE_AFTER);
        let began = tokio::time::Instant::now();
        assert_eq!(refusal(Duration::from_secs(29)).await, Some("TIMED_OUT"));
        assert_eq!(began.elapsed(), PIECE_WITHIN);
    }
}
