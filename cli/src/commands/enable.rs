//! `metalshim enable`: checks this machine, and records that metalshim is wanted here.
//!
//! **Contract.** Refused, nothing is recorded and nothing is wrapped. It may be repeated: the first time stays, the
//! rest is what was said last. What it writes: `enabled.json`, the facts that it found
//! (`host.json`, `device.json`), and with `--allow-unverified` a grant; `disable` removes
//! those. Allowed, it ends what [`crate::drift`] kept. `run` needs no `enable`.

use std::ffi::OsString;

use compatdb::{OsBuild, Profile, Reason, Verdict};
use jiff::Timestamp;
use serde::Serialize;

use crate::canary::Found;
use crate::commands::canary;
use crate::commands::update::automatic;
use crate::context::Context;
use crate::decide::{Known, Question};
use crate::error::{Error, Outcome};
use crate::facts::host::StoredHost;
use crate::printer::{Report, Style, escaped};
use crate::refusal;
use crate::unverified::{self, By};
use crate::wish::{self, Wish};
use crate::wrappers::{self, Wrapper};
use crate::{drift, facts, install};

/// Checks this machine, and records that metalshim is wanted here, for what starts by itself.
/// `metalshim run` works without it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The host's macOS build, like 25G76, used for 30 days: `sw_vers -buildVersion` on the
    /// host prints it
    #[arg(long, value_name = "BUILD")]
    pub host_build: Option<OsBuild>,
    /// Tell programs no more than this family and these bytes, like 1007/32768
    #[arg(long, value_name = "FAMILY/BYTES")]
    pub profile: Option<Profile>,
    /// Use a pair that nobody has verified, for this guest build, for seven days
    #[arg(long, value_name = "BUILD")]
    pub allow_unverified: Option<OsBuild>,
    /// Do without the canary: then nothing has shown that kernels give right results on this
    /// machine, only that they did where the record is from
    #[arg(long)]
    pub no_canary: bool,
    /// This system is an image that is started on any host: what one boot stored of its host is
    /// nothing to the next, and that the host is not known yet is no refusal
    #[arg(long, conflicts_with = "host_build")]
    pub image: bool,
    /// Do not look for a newer database first
    #[arg(long)]
    pub offline: bool,
    /// Programs that stay enabled: wrapped, so that typing their names starts them as
    /// `metalshim run --or-stock --quiet` would; `metalshim shellenv` says how PATH gets there
    #[arg(value_name = "PROGRAM")]
    pub programs: Vec<OsString>,
}

#[derive(Debug, Serialize)]
struct Enabled {
    enabled: bool,
    /// None where it was refused and nothing was recorded before.
    wish: Option<Wish>,
    verdict: Verdict,
    /// Until when a pair without a record is used.
    unverified_until: Option<Timestamp>,
    /// All wrappers, as they are now.
    wrappers: Vec<Wrapper>,
    /// What the canary found; none where none was run.
    canary: Option<Found>,
    warnings: Vec<String>,
}

/// Runs it.
///
/// # Errors
/// Facts, policy or state cannot be read or written.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    wrappers::check(&args.programs, context)?;
    let state = context.state()?;
    state.ensure()?;
    automatic::before_enable(context, args.offline);
    let before = context.machine(args.host_build.as_ref())?;
    let mut warnings = facts::find_out(&state, &before)?;
    let at_most = args.profile.or(context.config()?.profile);
    let question = || Question {
        // Without a grant of its own it is a wish: the most that programs are told.
        profile: args.allow_unverified.as_ref().and(args.profile),
        at_most,
        allow_unverified: args.allow_unverified.as_ref(),
        program: None,
    };
    let canary = canary::checked(args, question(), context, &state, &mut warnings)?;
    let known = Known::gather(context, args.host_build.as_ref())?.without_drift();
    let decision = known.decide(question())?;
    warnings.extend(known.machine.warnings.iter().cloned());
    let allow = match &decision.verdict {
        Verdict::Allow(allow) => Some(allow),
        // Whoever starts the image knows its host; a refusal for anything else stays one.
        Verdict::Refuse(refusal) if args.image && refusal.reason == Reason::HostUnknown => None,
        Verdict::Refuse(_) => {
            context.printer.report(&Enabled {
                enabled: false,
                wish: state.read_json(wish::FILE)?,
                verdict: decision.verdict,
                unverified_until: None,
                wrappers: wrappers::list(&state, &context.variables),
                canary,
                warnings,
            })?;
            return Ok(Outcome::No);
        }
    };
    let record = allow.and_then(|allow| allow.record.clone());
    // What is enabled starts by itself later: a missing shim is better found now.
    install::shim()?;
    let now = known.machine.now;
    let unverified_until = match (&args.allow_unverified, &record) {
        (Some(build), None) if allow.is_some() => {
            let profile = args.profile.or(unverified::profile(None, at_most));
            Some(unverified::grant(&state, build, profile, now, By::Enable)?.until)
        }
        _ => decision
            .grant
            .as_ref()
            .filter(|_| allow.is_some() && record.is_none())
            .map(|g| g.until),
    };
    let lock = state.lock()?;
    let earlier: Option<Wish> = state.read_json(wish::FILE)?;
    let wish = Wish {
        since: earlier.as_ref().map_or(now, |w| w.since),
        checked: now,
        guest_build: known.machine.facts.guest.build.clone(),
        record,
        profile: args.profile,
        host: match &args.host_build {
            Some(build) => Some(StoredHost {
                build: build.clone(),
                at: now,
            }),
            None => earlier.and_then(|w| w.host).filter(|_| !args.image),
        },
        image: args.image,
    };
    state.write_json(wish::FILE, &wish)?;
    wrappers::make(&state, &args.programs)?;
    drift::end(&state)?;
    drop(lock);
    context.printer.report(&Enabled {
        enabled: true,
        wish: Some(wish),
        verdict: decision.verdict,
        unverified_until,
        wrappers: wrappers::list(&state, &context.variables),
        canary,
        warnings,
    })?;
    Ok(Outcome::Yes)
}

impl Report for Enabled {
    const SCHEMA: &'static str = "metalshim.enable/1";

    fn text(&self, style: Style) -> String {
        let mut lines = Vec::new();
        let mut warnings = self.warnings.clone();
        if let Some(found) = &self.canary {
            let told = canary::lines(found, style).into_iter();
            lines.extend(told.map(|line| format!("canary {line}")));
        }
        match (&self.verdict, &self.wish) {
            (Verdict::Allow(allow), Some(wish)) => {
                let by = wish.record.as_deref().map(|id| format!("record {id}"));
                lines.push(format!(
                    "{} since {}: {} on guest {} ({})",
                    style.green("enabled"),
                    wish.since,
                    style.bold(&allow.profile.to_string()),
                    wish.guest_build,
                    by.unwrap_or_else(|| "no record: unverified".to_owned())
                ));
                let caps = allow.capped_by.iter();
                lines.extend(caps.map(|cap| format!("capped at {}: {}", cap.profile, cap.says)));
                warnings.extend(allow.warnings.iter().cloned());
            }
            (Verdict::Refuse(refused), Some(wish)) if self.enabled => lines.push(format!(
                "{} since {}: an image on guest {}, which is checked again at each start; now it would be refused ({})",
                style.green("enabled"),
                wish.since,
                wish.guest_build,
                refused.reason.code()
            )),
            (Verdict::Refuse(refused), earlier) => {
                lines.push(refusal::text(refused, style));
                if let Some(wish) = earlier {
                    lines.push(format!(
                        "what was enabled at {} stays as it was",
                        wish.checked
                    ));
                }
            }
            (Verdict::Allow(_), None) => {}
        }
        if let Some(until) = self.unverified_until {
            lines.push(format!(
                "nobody has verified this pair: it is used until {until}"
            ));
        }
        lines.extend(self.wrappers.iter().map(|wrapper| wrapper.says(style)));
        lines.extend(
            warnings
                .iter()
                .map(|w| format!("{} {}", style.yellow("warning:"), escaped(w))),
        );
        lines.join("\n") + "\n"
    }
}
