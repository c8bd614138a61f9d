//! Writes a response body piece by piece while it is sent.
//!
//! A task writes it, so a client that stops reading does not keep its slot. If an export fails, the body ends with an
//! error and the connection breaks, so no client mistakes a partial file for a whole one.

use std::{pin::pin, time::Duration};

use axum::body::Body;
use futures_util::{Stream, StreamExt as _};
use tokio::{sync::mpsc, time::timeout};
use tokio_util::task::TaskTracker;

use crate::{
    accounts::export::ExportError,
    api::streamed::{Piece, body_of},
};

/// How long a client may take to read one piece.
const STALLED_AFTER: Duration = Duration::from_secs(30);
/// The same while others wait for a slot.
const STALLED_WHILE_OTHERS_WAIT: Duration = Duration::from_secs(3);
/// How long a whole file may take, so that a slow client does not keep its slot for ever.
const LONGEST: Duration = Duration::from_mins(30);

/// Why writing stops.
enum Stopped {
    /// Reading the account failed.
    Failed(ExportError),
    /// The client has left, or stopped reading.
    NotRead,
}

/// A body whose pieces a task in `tasks` reads. A client that reads slowly loses its slot if there are others waiting.
pub fn written_by(
    pieces: impl Stream<Item = Result<String, ExportError>> + Send + 'static,
    are_others_waiting: impl Fn() -> bool + Send + Sync + 'static,
    tasks: &TaskTracker,
) -> Body {
    // One piece is being sent while the next one is read.
    let (sender, sent) = mpsc::channel(1);
    tasks.spawn(async move {
        if let Ok(Err(Stopped::Failed(error))) = timeout(LONGEST, write(pieces, are_others_waiting, sender)).await {
            match error {
                ExportError::Store(error) => {
                    tracing::error!(error = &error as &dyn std::error::Error, "An export failed before its end.");
                }
                ended => tracing::debug!(reason = %ended, "An export was ended."),
            }
        }
    });
    body_of(sent)
}

async fn write(
    pieces: impl Stream<Item = Result<String, ExportError>>,
    are_others_waiting: impl Fn() -> bool,
    sender: mpsc::Sender<Piece>,
) -> Result<(), Stopped> {
    let mut pieces = pin!(pieces);
    loop {
        let piece = pieces.next().await.transpose().map_err(Stopped::Failed)?;
        let is_last = piece.is_none();
        let mut sending = pin!(sender.send(piece));
        let (mut waited, mut sent) = (Duration::ZERO, None);
        while sent.is_none() && waited < STALLED_AFTER {
            sent = timeout(STALLED_WHILE_OTHERS_WAIT, &mut sending).await.ok();
            waited += STALLED_WHILE_OTHERS_WAIT;
            if sent.is_none() && are_others_waiting() {
                break;
            }
        }
        if !matches!(sent, Some(Ok(()))) {
            return Err(Stopped::NotRead);
        }
        if is_last {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use futures_util::stream;
    use tokio::time::{Instant, sleep};

    use super::*;

    fn endless() -> impl Stream<Item = Result<String, ExportError>> {
        stream::repeat_with(|| Ok("a piece".to_owned()))
    }

    #[tokio::test(start_paused = true)]
    async fn an_export_stalled_for_thirty_seconds_ends() {
        let (tasks, began) = (TaskTracker::new(), Instant::now());
        let mut read = written_by(endless(), || false, &tasks).into_data_stream();
        read.next().await.unwrap().unwrap();
        tasks.close();
        tasks.wait().await;
        assert_eq!(began.elapsed(), STALLED_AFTER);
        while let Some(Ok(_)) = read.next().await {}
        assert_eq!(began.elapsed(), STALLED_AFTER, "what was on its way, and then the error");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stalled_export_ends_sooner_while_others_wait() {
        let (tasks, began) = (TaskTracker::new(), Instant::now());
        let unread = written_by(endless(), move || began.elapsed() > STALLED_WHILE_OTHERS_WAIT * 2, &tasks);
        tasks.close();
        tasks.wait().await;
        assert_eq!(began.elapsed(), STALLED_WHILE_OTHERS_WAIT * 3);
        drop(unread);
    }

    #[tokio::test(start_paused = true)]
    async fn an_export_ends_after_half_an_hour() {
        let (tasks, began) = (TaskTracker::new(), Instant::now());
        let mut read = written_by(endless(), || false, &tasks).into_data_stream();
        let end = loop {
            match read.next().await {
                Some(Ok(_)) => sleep(STALLED_AFTER / 2).await,
                end => break end,
            }
        };
        assert!(matches!(end, Some(Err(_))), "the half looked whole");
        assert!((LONGEST..=LONGEST + STALLED_AFTER).contains(&began.elapsed()), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_patient_reader_of_a_slow_store_gets_the_whole_file() {
        let slow = stream::iter(0..20).then(async |nth| {
            sleep(STALLED_AFTER * 2).await;
            Ok(nth.to_string())
        });
        let read: Vec<_> = written_by(slow, || false, &TaskTracker::new()).into_data_stream().collect().await;
        assert_eq!(read.len(), 20);
        assert!(read.iter().all(Result::is_ok));
    }
}
