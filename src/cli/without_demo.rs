//! `tidefeed seed` in a binary without the demo.

use anyhow::bail;
use clap::Args;

use super::completion::Completion;
use crate::config::Config;

/// Whatever `tidefeed seed` takes in a binary with the demo.
#[derive(Debug, Clone, Args)]
pub struct SeedArguments {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<String>,
}

#[expect(clippy::unused_async, reason = "as the command that it stands for")]
pub async fn run(_: SeedArguments, _: &Config) -> anyhow::Result<Completion> {
    bail!(
        "this binary was built without the demo, as those of a release and of the image are. Build one with it: \
         make run, or cargo build --features demo"
    )
}
