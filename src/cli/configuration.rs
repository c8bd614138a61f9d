//! `tidefeed config`: prints the values in force, the defaults, or the reference.

use clap::Args;

use super::{completion::Completion, print};
use crate::{
    app::{AppError, content_schemas},
    config::{Config, DEFAULTS, Sources, reference},
};

#[derive(Debug, Args)]
pub struct ConfigArguments {
    /// Print the defaults instead: a commented file to start from.
    #[arg(long, conflicts_with = "reference")]
    defaults: bool,
    /// Print docs/configuration.md instead.
    #[arg(long)]
    reference: bool,
}

/// Prints the values, invalid ones included, so that their origin is visible. Then lists the problems, or
/// the first file of `content.schemas` that cannot be used.
pub fn run(arguments: &ConfigArguments, sources: &Sources) -> anyhow::Result<Completion> {
    if arguments.defaults {
        print::all(DEFAULTS)?;
    } else if arguments.reference {
        print::all(&reference())?;
    } else {
        print::all(&Config::show(sources))?;
        content_schemas(&Config::load(sources)?).map_err(AppError::from)?;
    }
    Ok(Completion::Done)
}
