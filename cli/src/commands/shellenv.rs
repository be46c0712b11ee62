//! `metalshim shellenv`: puts the wrappers of `enable PROGRAM` on `PATH`.
//!
//! **Contract.** What is printed may be evaluated again and again, and in a shell inside a
//! shell: the folder ends up first, and is not added where it is first already.

use clap::ValueEnum;

use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::variables;
use crate::wrappers;

/// Print what puts the wrappers of `metalshim enable PROGRAM` first on PATH.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The shell; without it, the login shell decides
    #[arg(value_enum)]
    pub shell: Option<Shell>,
}

/// How it is used, in the help and in docs/enabled.md.
pub const HELP: &str = "\
In the shell's start file, as its last line:
  bash (~/.bash_profile), zsh (~/.zprofile):  eval \"$(metalshim shellenv)\"
  fish (~/.config/fish/config.fish):          metalshim shellenv fish | source

A shell that has already started the program remembers where it was: `hash -r` (zsh: `rehash`).";

/// The shells that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// And sh, dash, ksh.
    Bash,
    /// The shell of macOS.
    Zsh,
    /// Has a language of its own.
    Fish,
}

/// Runs it.
///
/// # Errors
/// There is no state folder, or `PATH` cannot name it.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    let folder = wrappers::folder(&context.state()?);
    let text = folder.to_str().filter(|text| !text.contains([':', '\n']));
    let Some(text) = text else {
        return Err(Error::machine(format!(
            "{} cannot name the folder {}",
            variables::PATH,
            folder.display()
        ))
        .hint(format!(
            "set {} to a folder whose path is UTF-8 text without a colon or a line break",
            variables::STATE_DIR
        )));
    };
    let login = context.variables.shell.as_ref();
    let fish = login.is_some_and(|shell| shell.file_name().is_some_and(|name| name == "fish"));
    let shell = args
        .shell
        .unwrap_or(if fish { Shell::Fish } else { Shell::Bash });
    context.printer.out(&script(shell, text))?;
    Ok(Outcome::Yes)
}

fn script(shell: Shell, folder: &str) -> String {
    match shell {
        Shell::Fish => {
            let quoted = folder.replace('\\', "\\\\").replace('\'', "\\'");
            format!("fish_add_path --path --move --prepend '{quoted}'\n")
        }
        Shell::Bash | Shell::Zsh => {
            let quoted = format!("'{}'", folder.replace('\'', "'\\''"));
            format!(
                "case \"${{PATH}}\" in\n  {quoted}|{quoted}:*) ;;\n  *) export PATH={quoted}\"${{PATH:+:${{PATH}}}}\" ;;\nesac\n"
            )
        }
    }
}
