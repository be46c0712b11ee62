//! The `metalshim` command.
//!
//! **Layout.** [`args`] is the command line and [`commands`] what it does, one command a
//! file. They are handed a [`context::Context`]: [`facts`] (what is known of this machine),
//! [`config`] (configuration and policy), [`state`] (what persists), [`printer`]. Errors are
//! [`error::Error`]s, and [`main`] is the one place that turns them into exit codes.
#![deny(unsafe_code)]

pub mod age;
pub mod args;
pub mod bench;
pub mod canary;
pub mod commands;
pub mod config;
pub mod context;
pub mod database;
pub mod decide;
pub mod detached;
mod doctor;
pub mod drift;
pub mod error;
pub mod facts;
pub mod find;
pub mod helper;
pub mod host;
pub mod install;
pub mod launch;
pub mod launchd;
#[cfg(all(target_os = "macos", not(feature = "simulate")))]
mod mac_device;
pub mod managed;
pub mod printer;
pub mod probe;
pub mod program;
pub mod ready;
pub mod reasons;
pub mod refusal;
pub mod regular;
pub mod shell;
pub mod state;
#[cfg(feature = "self-update")]
mod swap;
pub mod systemd;
pub mod table;
pub mod tickets;
pub mod toml_error;
pub mod unverified;
pub mod update;
pub mod usage;
pub mod variables;
pub mod wish;
pub mod wrappers;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::context::{Context, Tolerant};
use crate::error::{Error, Outcome};
use crate::printer::Printer;
use crate::variables::Variables;

/// The whole command: `arguments` with the program's own name first.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    let variables = Variables::of_this_process();
    if let Some(name) = wrappers::start::invoked(&arguments) {
        return wrappers::start::start(&name, arguments, variables);
    }
    let in_run = usage::names_run(&arguments);
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(e) => return usage::not_a_command(&e, &arguments, &variables),
    };
    let quiet = matches!(&cli.command, Command::Run(args) if args.quiet);
    let context = Context {
        printer: Printer::new(cli.global.json, quiet, &variables),
        variables,
        arguments,
        extra_policy: cli.global.policy,
        tolerant: Tolerant::OfNothing,
    };
    match dispatch(&cli.command, &context) {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            let code = error.exit_code(in_run);
            context.printer.error(&error, code);
            code.into()
        }
    }
}

fn dispatch(command: &Command, context: &Context) -> Result<Outcome, Error> {
    use crate::commands::{
        agent, bench, canary, ci, completions, db, demo, disable, doctor, enable, host, man, probe,
        report, run, service, shellenv, status, tuf_client, update,
    };
    match command {
        Command::Run(args) => run::run(args, context),
        Command::Enable(args) => enable::run(args, context),
        Command::Disable(args) => disable::run(args, context),
        Command::Status(args) => status::run(args, context),
        Command::Shellenv(args) => shellenv::run(args, context),
        Command::Doctor(args) => doctor::run(args, context),
        Command::Probe(args) => probe::run(args, context),
        Command::Canary(args) => canary::run(args, context),
        Command::Db(args) => db::run(args, context),
        Command::Host(args) => host::run(args, context),
        Command::Report(args) => report::run(args, context),
        Command::Bench(args) => bench::run(args, context),
        Command::Agent(args) => agent::run(args, context),
        Command::Ci(args) => ci::run(args, context),
        Command::Completions(args) => completions::run(args, context),
        Command::Man(args) => man::run(args, context),
        Command::Demo(args) => demo::run(args, context),
        Command::Update(args) => update::run(args, context),
        Command::Service(args) => service::run(args, context),
        Command::TufClient(args) => tuf_client::run(args),
        Command::Detached(args) => detached::second(args).map(|()| Outcome::Yes),
        #[cfg(all(target_os = "macos", not(feature = "simulate")))]
        Command::MacProbe => {
            context.printer.out(&crate::mac_device::probe())?;
            Ok(Outcome::Yes)
        }
        #[cfg(all(target_os = "macos", not(feature = "simulate")))]
        Command::MacCanary => crate::mac_device::canary().map(|()| Outcome::Yes),
    }
}

/// What `--version` prints: the database is as much of the version as the program is.
pub(crate) fn version(variables: &Variables) -> String {
    let database = match database::load(variables) {
        Ok(loaded) => loaded.says(),
        Err(e) => e.to_string(),
    };
    format!("metalshim {}\n{database}\n", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_holds_together() {
        Cli::command().debug_assert();
    }
}
