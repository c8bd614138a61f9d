//! Runs the binary in a separate process: a command to its end, or a node that keeps running.

pub mod lines;
pub mod process;

use std::{
    path::{Path, PathBuf},
    process::Output,
    sync::LazyLock,
};

use anyhow::{Context as _, Result, ensure};
use tokio::{process::Command, time::timeout};

/// The binary of the build that this test binary belongs to: `target/*/tidefeed`, beside `deps`, where tests lie.
static BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
    let test = std::env::current_exe().unwrap_or_default();
    test.ancestors().nth(2).unwrap_or(&test).join("tidefeed").with_extension(std::env::consts::EXE_EXTENSION)
});

/// The binary in its own folder, with only the configuration that the test gives.
pub struct CommandLine {
    /// Its working folder, removed when this value is dropped.
    pub folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
    survives_file_limits: bool,
    limit: Option<String>,
    /// Another binary than the one that is tested.
    pub binary: Option<PathBuf>,
}

/// The result of a command.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl CommandLine {
    /// Uses a new SQLite file in the folder, without tables.
    pub fn embedded() -> Result<Self> {
        let (folder, variables) = (tempfile::tempdir()?, Vec::new());
        Ok(Self { folder, variables, survives_file_limits: false, limit: None, binary: None })
    }

    /// Uses the database at `url`.
    pub fn on(url: &str) -> Result<Self> {
        let secret = "a secret of the tests, and of nobody else";
        Ok(Self::embedded()?.with("TIDEFEED__STORE__URL", url).with("TIDEFEED__AUTH__SECRET", secret))
    }

    /// Sets a variable in its environment, which is otherwise empty.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The value of a variable in its environment.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.variables.iter().rfind(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Makes a write past the process's file size limit fail, as on a full disk, instead of ending the process.
    #[must_use]
    pub fn surviving_file_limits(mut self) -> Self {
        self.survives_file_limits = true;
        self
    }

    /// Sets a limit of the operating system, as an option of `prlimit`.
    #[must_use]
    pub fn within(mut self, limit: &str) -> Self {
        self.limit = Some(limit.to_owned());
        self
    }

    /// The folder that it runs in.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The command with these arguments, not started yet. Its process is killed when it is dropped.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let binary = self.binary.as_ref().unwrap_or(&BINARY).display().to_string();
        let words: &[&str] = match &self.limit {
            _ if self.survives_file_limits => &["/bin/sh", "-c", r#"trap "" XFSZ; exec "$0" "$@""#, &binary],
            Some(limit) => &["prlimit", limit, &binary],
            None => &[&binary],
        };
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        command.current_dir(self.path()).args(arguments).kill_on_drop(true);
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a command until it ends, with success or failure.
    pub async fn run(&self, arguments: &[&str]) -> Result<Ended> {
        let output = timeout(process::LIMIT, self.command(arguments).output()).await;
        let output = output.with_context(|| format!("{arguments:?} does not end."))?;
        let output = output.context("The binary cannot be started.")?;
        Ok(Ended::of(&output))
    }

    /// Runs a command; fails unless it exits with 0.
    pub async fn done(&self, arguments: &[&str]) -> Result<String> {
        let ended = self.run(arguments).await?;
        ensure!(ended.code == Some(0), "{arguments:?}: {ended:?}");
        Ok(ended.out)
    }
}

impl Ended {
    /// The output of an ended process.
    pub fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}
