//! `metalshim host status`.

use serde::Serialize;

use super::attest;
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::host::ThisHost;
use crate::host::preference;
use crate::printer::{Report, Style};

/// What this host is, what it would attest, and whether it does.
///
/// Exit code 1 where this is itself a virtual machine.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

#[derive(Debug, Serialize)]
struct Status {
    #[serde(flatten)]
    host: ThisHost,
    /// The preference's value before metalshim set it; none where it did not.
    preference_before: Option<preference::Value>,
    metalshim: &'static str,
    /// The `seq` of the database in use.
    seq: Option<u64>,
    /// The folder that a LaunchAgent keeps attested.
    attests: Option<String>,
}

pub(super) fn run(_: &Args, context: &Context) -> Result<Outcome, Error> {
    let host = ThisHost::read()?;
    let kept = match context.state() {
        Ok(state) => preference::kept(&state)?,
        Err(_) => None,
    };
    let status = Status {
        preference_before: kept.map(|kept| kept.before),
        metalshim: env!("CARGO_PKG_VERSION"),
        seq: attest::seq(context),
        attests: attest::agent_folder(context),
        host,
    };
    context.printer.report(&status)?;
    Ok(match status.host.vm {
        true => Outcome::No,
        false => Outcome::Yes,
    })
}

impl Report for Status {
    const SCHEMA: &'static str = "metalshim.host-status/1";

    fn text(&self, style: Style) -> String {
        let host = &self.host;
        let mut lines = Vec::new();
        let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "not known".into());
        lines.push(format!(
            "macOS {} ({}) on {}, {}",
            known(&host.version),
            style.bold(host.build.as_str()),
            known(&host.model),
            known(&host.chip)
        ));
        lines.push(match host.apple_family {
            Some(family) => format!("GPU: Apple family {family}"),
            None => "GPU: its family is not known".to_owned(),
        });
        lines.push(match &self.preference_before {
            Some(before) => format!(
                "preference {}: {}, by metalshim; before that {}",
                preference::KEY,
                host.preference.says(),
                before.says()
            ),
            None => format!("preference {}: {}", preference::KEY, host.preference.says()),
        });
        lines.push(match self.seq {
            Some(seq) => format!("metalshim {}, database seq {seq}", self.metalshim),
            None => format!("metalshim {}, no database", self.metalshim),
        });
        if host.vm {
            lines.push(format!(
                "{} this is itself a virtual machine: type `metalshim host` on the Mac that runs it",
                style.yellow("warning:")
            ));
        } else if let Some(folder) = &self.attests {
            lines.push(format!("attests into {folder}"));
        } else {
            lines.push("attests nowhere: `metalshim host attest DIR`, with DIR a folder that is shared with the guests".to_owned());
        }
        lines.join("\n") + "\n"
    }
}
