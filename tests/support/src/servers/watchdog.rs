//! Runs a server under a watchdog process, which ends the server when the test process ends. It uses only a shell and
//! pipes and is independent of the server's protocol.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result, bail};

use super::recipe::Recipe;

/// A `sh` that runs [`watchdog.sh`](./watchdog.sh). The server ends when this value is dropped or this process ends.
pub struct Watchdog {
    line: Arc<Mutex<Line>>,
    folder: PathBuf,
}

struct Line {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Watchdog {
    /// Starts the watchdog in a new folder of its own; the server itself starts with the order `start`.
    pub fn new(recipe: &Recipe, port: u16) -> Result<Self> {
        Self::with(recipe, &[("port", &port.to_string())])
    }

    /// Like [`Watchdog::new`], with further variables for the recipe's texts.
    pub fn with(recipe: &Recipe, variables: &[(&str, &str)]) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("tidefeed-test-").tempdir_in(&recipe.within)?.keep();
        let mut child = Command::new("sh")
            .args(["-c", include_str!("watchdog.sh")])
            .env("folder", &folder)
            .envs(variables.iter().copied())
            .env("program", &recipe.program)
            .env("prepare", recipe.prepare)
            .env("serve", recipe.serve)
            .env("more", &recipe.more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0) // Ctrl-C at a terminal must not reach it before the pipe does
            .spawn()
            .context("`sh` could not be started.")?;
        let orders = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().context("The watchdog has no output.")?);
        Ok(Self { line: Arc::new(Mutex::new(Line { child, orders, answers })), folder })
    }

    /// Gives one order and waits for its answer.
    pub async fn order(&self, order: &'static str) -> Result<String> {
        let line = Arc::clone(&self.line);
        tokio::task::spawn_blocking(move || match line.lock() {
            Ok(mut line) => line.order(order),
            Err(_) => bail!("An earlier order to this server's watchdog broke off."),
        })
        .await?
    }

    /// The server's own folder, removed when the watchdog ends.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The last lines that the server wrote, for an error message.
    pub fn last_words(&self) -> String {
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    }
}

impl Line {
    fn order(&mut self, order: &str) -> Result<String> {
        let orders = self.orders.as_mut().context("The watchdog has been dismissed.")?;
        writeln!(orders, "{order}").context("The watchdog has gone.")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        Ok(answer.trim_end().to_owned())
    }
}

impl Drop for Line {
    /// Closes the pipe and waits, so that server and folder are gone when the handle is.
    fn drop(&mut self) {
        self.orders = None;
        let _ = self.child.wait();
    }
}

/// Whether a process with this id runs. A zombie does not.
pub fn is_running(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| stat.rsplit_once(") ").map(|(_, state)| !state.starts_with(['Z', 'X'])))
        .unwrap_or(false)
}
