//! The connection for commands, which is made anew: after it has broken, when another server has become the master, and
//! when the files of certificates have changed.
//!
//! A new one begins with the next command. All commands wait for the same one, and one that gives up does not end it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use certificates::FileTimes;
use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use redis::{
    Cmd, ErrorKind, Pipeline, ProtocolVersion, RedisError, RedisFuture, RedisResult, ServerErrorKind, Value,
    aio::ConnectionLike,
};
use tokio::time::{Instant, sleep};

use super::{open::Open, opener::Opener};

/// How soon a server that cannot be reached is tried again within a command's time.
const RECONNECT_AFTER: Duration = Duration::from_millis(50);
/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A connection to a server or a cluster. Clones share it.
#[derive(Clone)]
pub struct Lasting(Arc<Inner>);

struct Inner {
    opener: Opener,
    current: Mutex<Current>,
}

type Opening = Shared<BoxFuture<'static, RedisResult<Open>>>;

struct Current {
    opening: Opening,
    files: FileTimes,
    looked: Instant,
}

impl Lasting {
    /// Connects.
    pub async fn open(opener: Opener) -> RedisResult<Self> {
        let current = Mutex::new(Current::of(&opener));
        let lasting = Self(Arc::new(Inner { opener, current }));
        lasting.opened(&lasting.current()).await?;
        Ok(lasting)
    }

    /// As [`Open::run_each`].
    pub async fn run_each(&self, commands: Vec<Cmd>) -> RedisResult<Vec<RedisResult<Value>>> {
        let opening = self.current();
        let mut open = self.opened(&opening).await?;
        let done = open.run_each(commands).await;
        self.note(&opening, &open, done.as_ref().err());
        done
    }

    /// Makes a new connection, unless the present one leads there.
    pub fn lead_to(&self, at: &str) {
        let mut current = self.lock();
        if current.opening.peek().is_some_and(|opened| opened.as_ref().is_ok_and(|open| open.at() != Some(at))) {
            *current = Current::of(&self.0.opener);
        }
    }

    fn current(&self) -> Opening {
        let mut current = self.lock();
        if current.looked.elapsed() >= LOOK_EVERY {
            current.looked = Instant::now();
            if current.files != self.0.opener.file_times() {
                *current = Current::of(&self.0.opener);
            }
        }
        current.opening.clone()
    }

    async fn opened(&self, opening: &Opening) -> RedisResult<Open> {
        let opened = opening.clone().await;
        if opened.is_err() {
            self.replace(opening);
        }
        opened
    }

    /// The connection to a cluster mends itself.
    fn note(&self, opening: &Opening, open: &Open, error: Option<&RedisError>) {
        let ended = |error: &RedisError| {
            error.is_unrecoverable_error() || error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly)
        };
        if matches!(open, Open::Single(..)) && error.is_some_and(ended) {
            self.replace(opening);
        }
    }

    /// Unless another command has done so.
    fn replace(&self, opening: &Opening) {
        let mut current = self.lock();
        if current.opening.ptr_eq(opening) {
            *current = Current::of(&self.0.opener);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.0.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Current {
    /// Reads the times before the files, so that a change in between is noticed.
    fn of(opener: &Opener) -> Self {
        let (files, looked) = (opener.file_times(), Instant::now());
        let opener = opener.clone();
        let opening = async move {
            let first_try = open(&opener).await;
            if first_try.is_ok() {
                return first_try;
            }
            sleep(RECONNECT_AFTER).await;
            open(&opener).await
        };
        Self { opening: opening.boxed().shared(), files, looked }
    }
}

async fn open(opener: &Opener) -> RedisResult<Open> {
    if opener.options().cluster {
        return opener.cluster(opener.options().command_timeout(), |it| it).await;
    }
    opener.single(ProtocolVersion::RESP2, &opener.config()).await.map(Open::from)
}

impl ConnectionLike for Lasting {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        async move {
            let opening = self.current();
            let mut open = self.opened(&opening).await?;
            let done = open.req_packed_command(command).await;
            self.note(&opening, &open, done.as_ref().err());
            done
        }
        .boxed()
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        async move {
            let opening = self.current();
            let mut open = self.opened(&opening).await?;
            let done = open.req_packed_commands(pipeline, offset, count).await;
            self.note(&opening, &open, done.as_ref().err());
            done
        }
        .boxed()
    }

    fn get_db(&self) -> i64 {
        self.0.opener.database()
    }
}
