//! docs/commands.md is made from the program: every command, flag, variable and code.
//!
//! After a change of any of them: `UPDATE_DOCS=1 cargo test -p metalshim --test start reference`.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, Command, CommandFactory};
use compatdb::verdict::Reason;
use metalshim_cli::args::Cli;
use metalshim_cli::program::Code;
use metalshim_cli::variables;

const HEAD: &str = "\
# Commands

Every command, flag, variable and code, made from the program itself: `metalshim --help` and the manual
pages say the same.
";

const CODES: &str = "
## Exit codes

| code | of | means |
|---:|---|---|
| 0 | all | yes |
| 1 | all but `run` | refused, or findings |
| 2 | all but `run` | wrong usage, or could not tell |
| 125 | `run` | refused, or wrong usage |
| 126 | `run` | the program was found and cannot be started |
| 127 | `run` | the program was not found |
| 78 | the program, under `run --require` | it stayed stock inside the process |

`run` becomes the program: any other code of it is the program's own.
";

/// `<` would begin a tag, and `|` a cell.
fn escape(text: &str) -> String {
    text.replace('<', "\\<").replace('|', "\\|")
}

fn sentence(text: &str) -> String {
    escape(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn names(arg: &Arg) -> String {
    let mut names = Vec::new();
    if let Some(short) = arg.get_short() {
        names.push(format!("-{short}"));
    }
    if let Some(long) = arg.get_long() {
        names.push(format!("--{long}"));
    }
    let value = || {
        let values = arg.get_value_names().unwrap_or_default();
        let of: Vec<&str> = values.iter().map(|name| name.as_str()).collect();
        of.join(" ")
    };
    match (names.is_empty(), arg.get_action().takes_values()) {
        (true, _) => value(),
        (false, true) => format!("{} {}", names.join(", "), value()),
        (false, false) => names.join(", "),
    }
}

fn says(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help());
    let mut says = sentence(&help.map(ToString::to_string).unwrap_or_default());
    let ends = |text: &str| text.ends_with(['.', ':', '?']);
    if !says.is_empty() && !ends(&says) {
        says.push('.');
    }
    let values = arg.get_possible_values();
    if arg.get_action().takes_values() && !values.is_empty() {
        let of: Vec<String> = values
            .iter()
            .map(|v| format!("`{}`", v.get_name()))
            .collect();
        write!(says, " One of {}.", of.join(", ")).unwrap();
    }
    let defaults: Vec<_> = arg
        .get_default_values()
        .iter()
        .map(|d| d.to_string_lossy())
        .collect();
    if arg.get_action().takes_values() && !defaults.is_empty() {
        write!(says, " Without it: `{}`.", defaults.join(" ")).unwrap();
    }
    says
}

fn command(command: &Command, depth: usize, to: &mut String) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    writeln!(to, "\n{} {name}\n", "#".repeat(depth.min(4))).unwrap();
    let about = command.get_long_about().or(command.get_about());
    for paragraph in about
        .map(ToString::to_string)
        .unwrap_or_default()
        .split("\n\n")
    {
        writeln!(to, "{}\n", sentence(paragraph)).unwrap();
    }
    let usage = command.clone().render_usage().to_string();
    writeln!(to, "```text\n{}\n```", usage.trim_start_matches("Usage: ")).unwrap();
    let shown = |a: &&Arg| !a.is_hide_set() && !a.is_global_set() && a.get_id() != "help";
    let mut args = command.get_arguments().filter(shown).peekable();
    if args.peek().is_some() {
        writeln!(to, "\n| | |\n|---|---|").unwrap();
    }
    for arg in args {
        writeln!(to, "| `{}` | {} |", names(arg), says(arg)).unwrap();
    }
    if depth > 2
        && let Some(after) = command.get_after_help()
    {
        writeln!(to, "\n```text\n{after}\n```").unwrap();
    }
    for sub in command.get_subcommands() {
        if !sub.is_hide_set() && sub.get_name() != "help" {
            self::command(sub, depth + 1, to);
        }
    }
}

fn reference() -> String {
    let mut text = HEAD.to_owned();
    let mut cli = Cli::command();
    cli.build();
    command(&cli, 2, &mut text);
    writeln!(text, "\nEvery command also takes:\n\n| | |\n|---|---|").unwrap();
    for arg in cli.get_arguments().filter(|a| a.is_global_set()) {
        writeln!(text, "| `{}` | {} |", names(arg), says(arg)).unwrap();
    }
    text.push_str(CODES);
    writeln!(text, "\n## Reasons\n\nWhy the overrides are not used: `verdict.reason` in JSON. The first that applies is told, the others are in `also`.\n\n| code | means |\n|---|---|").unwrap();
    for reason in Reason::ALL {
        writeln!(
            text,
            "| `{}` | {} |",
            reason.code(),
            sentence(reason.means())
        )
        .unwrap();
    }
    writeln!(text, "\n## Programs that cannot load the library\n\n`program.code` in JSON; [programs.md](programs.md) says more of each.\n\n| code | means |\n|---|---|").unwrap();
    for code in Code::ALL {
        writeln!(text, "| `{}` | {} |", code.as_str(), sentence(code.means())).unwrap();
    }
    writeln!(text, "\n## Variables\n\n| | |\n|---|---|").unwrap();
    for variable in variables::ALL {
        // The loader's list has another name on each system.
        let name = match variable.name {
            variables::INSERT_LIBRARIES => {
                "`DYLD_INSERT_LIBRARIES` (on Linux `LD_PRELOAD`)".to_owned()
            }
            name => format!("`{name}`"),
        };
        writeln!(text, "| {name} | {} |", sentence(variable.says)).unwrap();
    }
    text
}

#[test]
fn the_reference_of_commands_is_the_programs_own() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/commands.md");
    let is = reference();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &is).unwrap();
    }
    let was = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = was.lines().zip(is.lines()).find(|(a, b)| a != b);
    assert!(
        was == is,
        "docs/commands.md is not what the program says; first difference: {differs:?}; \
         UPDATE_DOCS=1 cargo test -p metalshim --test start reference"
    );
}
