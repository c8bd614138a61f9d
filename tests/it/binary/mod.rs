//! The binary in a process of its own: run to its end, or as a node that stays. Shared by the tests that start it.

pub mod process;

use std::{path::Path, process::Output};

use anyhow::{Context as _, Result, ensure};
use tokio::{process::Command, time::timeout};

const BINARY: &str = env!("CARGO_BIN_EXE_tidefeed");

/// The binary, in a folder of its own, with no configuration but what is given.
pub struct CommandLine {
    pub folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
    survives_file_limits: bool,
    limit: Option<String>,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl CommandLine {
    /// SQLite in the folder; nothing is there yet.
    pub fn embedded() -> Result<Self> {
        Ok(Self { folder: tempfile::tempdir()?, variables: Vec::new(), survives_file_limits: false, limit: None })
    }

    /// With the database behind `url`.
    pub fn on(url: &str) -> Result<Self> {
        let secret = "a secret of the tests, and of nobody else";
        Ok(Self::embedded()?.with("TIDEFEED__STORE__URL", url).with("TIDEFEED__AUTH__SECRET", secret))
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A file that grows past the process's limit fails to be written, as on a full disk, instead of ending the
    /// process.
    pub fn surviving_file_limits(mut self) -> Self {
        self.survives_file_limits = true;
        self
    }

    /// Within a limit of the operating system's, as an option of `prlimit`.
    pub fn within(mut self, limit: &str) -> Self {
        self.limit = Some(limit.to_owned());
        self
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Ends with this value at the latest.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let words: &[&str] = match &self.limit {
            _ if self.survives_file_limits => &["/bin/sh", "-c", r#"trap "" XFSZ; exec "$0" "$@""#, BINARY],
            Some(limit) => &["prlimit", limit, BINARY],
            None => &[BINARY],
        };
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        command.current_dir(self.path()).args(arguments).kill_on_drop(true);
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub async fn run(&self, arguments: &[&str]) -> Result<Ended> {
        let output = timeout(process::LIMIT, self.command(arguments).output()).await;
        let output = output.with_context(|| format!("{arguments:?} does not end"))?;
        let output = output.context("the binary cannot be started")?;
        Ok(Ended::of(&output))
    }

    /// Fails the test unless the command does what it is asked for.
    pub async fn done(&self, arguments: &[&str]) -> Result<String> {
        let ended = self.run(arguments).await?;
        ensure!(ended.code == Some(0), "{arguments:?}: {ended:?}");
        Ok(ended.out)
    }
}

impl Ended {
    pub fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}
