//! The command line: reads arguments and configuration, runs one command, and ends with an exit code. Commands hold no
//! business rules.

mod audit;
mod backup;
mod completion;
mod configuration;
mod doctor;
mod health;
mod inbox;
mod issuer;
mod migrate;
mod moving_in;
mod node;
mod plan;
mod print;
mod runtime;
#[cfg(feature = "demo")]
mod seed;
mod service;
#[cfg(not(feature = "demo"))]
mod without_demo;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

use self::completion::Completion;
#[cfg(not(feature = "demo"))]
use self::without_demo as seed;
use crate::{
    api::graphql::schema_sdl,
    config::{Config, ConfigError, Environment, Sources},
    domain::text::sentence,
};

/// Exit code for invalid configuration or arguments, the same as clap's.
const USAGE: u8 = 2;
/// Exit code of an import that has left out some of its records.
const SOME_REFUSED: u8 = 3;
/// Exit code after Ctrl-C, as shells use it.
const INTERRUPTED: u8 = 130;

/// A timeline feed service: a GraphQL API with live updates and exact pages.
#[derive(Debug, Parser)]
#[command(name = "tidefeed", version, about)]
struct Arguments {
    /// Configuration file; by default ./tidefeed.toml if it exists.
    #[arg(long, global = true, value_name = "PATH")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the API, live subscriptions and the page, and run the workers.
    Serve(node::ServeArguments),
    /// Run the workers only: deliveries, follow changes, upkeep.
    Work,
    /// Create the tables, or bring them up to date.
    Migrate(migrate::MigrateArguments),
    /// Fill an empty database with made-up people, posts and follows; `--live`: then serve it, and let them act.
    Seed(seed::SeedArguments),
    /// Print the GraphQL schema.
    Schema,
    /// Print the configuration, and where each value comes from.
    Config(configuration::ConfigArguments),
    /// Compare every timeline with what it should be, report differences and repair them.
    Audit(audit::AuditArguments),
    /// Say whether a restored backup would serve exact pages.
    Backup(backup::BackupArguments),
    /// Show, move or renew the inboxes that lie in Redis or Cassandra.
    Inbox(inbox::InboxArguments),
    /// Give users of a former issuer the ids of the configured one.
    Issuer(issuer::IssuerArguments),
    /// Make, list, rotate and revoke the keys of other services, and show what they did.
    Service(service::ServiceArguments),
    /// Check, sort, make and load the files with which a product moves in.
    Import(moving_in::ImportArguments),
    /// Write all users, contents, follows and reactions into a file that `tidefeed import` reads.
    Export(moving_in::exporting::ExportArguments),
    /// Say what servers so many people need, from measured costs; no server is asked.
    Plan(plan::PlanArguments),
    /// Try every server, look for work that is stuck, and say what to do.
    Doctor,
    /// Ask the node that runs on server.listen whether it is ready.
    Health,
}

/// Runs the command in the process's arguments. Exit codes: 0 done, 1 failed, 2 invalid arguments or configuration,
/// 3 an import has left out records, 130 interrupted.
pub fn run() -> ExitCode {
    answer(Arguments::try_parse())
}

fn answer(arguments: Result<Arguments, clap::Error>) -> ExitCode {
    let arguments = match arguments {
        Ok(arguments) => arguments,
        Err(usage_error) => {
            let code = if usage_error.use_stderr() { USAGE } else { 0 };
            // If standard output or error fails, nothing can be reported.
            let _ = usage_error.print();
            return ExitCode::from(code);
        }
    };
    match begin(arguments) {
        Ok(Completion::Done) => ExitCode::SUCCESS,
        Ok(Completion::ProblemsFound) => ExitCode::FAILURE,
        Ok(Completion::SomeRefused) => ExitCode::from(SOME_REFUSED),
        Ok(Completion::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(error) => {
            print::complaint(format!("error: {}", sentence(&format!("{error:#}"))));
            let is_usage = error.is::<ConfigError>() || error.is::<capacity::OutOfRange>();
            if is_usage { ExitCode::from(USAGE) } else { ExitCode::FAILURE }
        }
    }
}

fn begin(arguments: Arguments) -> anyhow::Result<Completion> {
    let sources = Sources::new(arguments.config, Environment::of_the_process());
    for (given, read) in Config::misspelt_variables(&sources) {
        print::complaint(format!("warning: {given} is not read; the variable of this key is {read}."));
    }
    match arguments.command {
        Command::Schema => {
            print::all(&schema_sdl())?;
            Ok(Completion::Done)
        }
        Command::Config(arguments) => configuration::run(&arguments, &sources),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Import(arguments) => {
            arguments.give_way();
            let runtime = runtime::build()?;
            let ended = runtime.block_on(moving_in::run(arguments, &sources));
            // A thread may still wait for standard input.
            runtime.shutdown_background();
            ended
        }
        command => {
            let mut config = Config::load(&sources)?;
            if let Command::Serve(arguments) = &command {
                arguments.replace(&mut config.server.listen);
            }
            runtime::build()?.block_on(with_stores(command, &config))
        }
    }
}

async fn with_stores(command: Command, config: &Config) -> anyhow::Result<Completion> {
    match command {
        Command::Serve(arguments) => node::serve(&arguments, config, |_, _| ()).await,
        Command::Work => node::work(config).await,
        Command::Migrate(arguments) => migrate::run(&arguments, config).await,
        Command::Seed(arguments) => seed::run(arguments, config).await,
        Command::Audit(arguments) => audit::run(arguments, config).await,
        Command::Backup(arguments) => backup::run(&arguments, config).await,
        Command::Inbox(arguments) => inbox::run(&arguments, config).await,
        Command::Issuer(arguments) => issuer::run(&arguments, config).await,
        Command::Service(arguments) => service::run(arguments, config).await,
        Command::Export(arguments) => moving_in::exporting::run(&arguments, config).await,
        Command::Doctor => doctor::run(config).await,
        Command::Health => health::run(config).await,
        Command::Schema | Command::Config(_) | Command::Plan(_) | Command::Import(_) => Ok(Completion::Done),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn an_unknown_command_ends_with_the_code_for_usage() {
        let code = answer(Arguments::try_parse_from(["tidefeed", "sevre"]));
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::from(USAGE)));
    }
}
