//! The refusals that most users meet first: the host, or the pair, is not known.

use super::case::Case;
use super::decide::Finding;
use super::says::update_database;
use super::{Reason, Remedy};
use crate::Lookup;
use crate::rows::PairBrief;
use crate::{OsBuild, Profile};

/// What prints a system's build.
const SW_VERS: &str = "sw_vers -buildVersion";

/// What `--allow-unverified` still lacks.
pub(super) enum Lacks {
    /// It names another guest build than this one's.
    OtherBuild(OsBuild),
    /// The device has not been asked on this boot.
    StockAnswers,
    /// The canary kernels were not run on this boot, or not with this `--profile`.
    Canary(OsBuild, Option<Profile>),
}

pub(super) fn unknown_lacks(mut unknown: Finding, lacks: Lacks) -> Finding {
    let (says, remedy) = match lacks {
        Lacks::OtherBuild(build) => (
            format!(" --allow-unverified names {build}, which is not this guest's build."),
            None,
        ),
        Lacks::StockAnswers => (
            " --allow-unverified needs this boot's stock answers, which nobody has read yet."
                .to_owned(),
            Some(Remedy::command(
                "Have the device asked first, then try again.",
                "metalshim doctor",
            )),
        ),
        Lacks::Canary(build, profile) => {
            let command = canary(&build);
            unknown
                .remedies
                .retain(|r| r.command.as_ref() != Some(&command));
            let profile = profile
                .map(|p| format!(" --profile {p}"))
                .unwrap_or_default();
            (
                " --allow-unverified needs a canary that passed on this boot, with what the program is to be told."
                    .to_owned(),
                Some(Remedy::command(
                    "Have test kernels run and compared with the CPU, with the overrides in their own process only; then try again.",
                    command + &profile,
                )),
            )
        }
    };
    unknown.says.push_str(&says);
    if let Some(remedy) = remedy {
        unknown.remedies.insert(0, remedy);
    }
    unknown
}

/// The refusal that most users meet first. Where the host is not known, nothing but how to make
/// it known, and how to do without: the rest is told once it is.
pub(super) fn unknown(case: &Case<'_>, lookup: &Lookup) -> Finding {
    let guest = &case.facts.guest;
    let Some(host) = &case.facts.host else {
        let mut remedies = vec![
            Remedy::command(
                "Ask the host for its build: type this on the host, not in this guest.",
                SW_VERS,
            ),
            Remedy::command(
                "Then say it here. (`metalshim enable --host-build BUILD` keeps it for 30 days.)",
                "metalshim run --host-build BUILD -- PROGRAM",
            ),
        ];
        if !try_once(case).is_empty() {
            remedies.push(Remedy::command(
                format!(
                    "Or use {} without a record, for seven days, if test kernels that this runs first give right results.",
                    Profile::CAUTIOUS
                ),
                format!("metalshim enable --allow-unverified {}", guest.build),
            ));
        }
        return Finding {
            reason: Reason::HostUnknown,
            says: format!(
                "A guest cannot see its host's build, and nobody has said it; this guest is {} (macOS {}).{}",
                guest.build,
                guest.version,
                neighbours(case, lookup)
            ),
            remedies,
        };
    };
    let says = match lookup.pairs.first() {
        Some(claimed) => format!(
            "Guest {} on host {} is only claimed to work ({}, evidence level {}); nobody has measured it.",
            guest.build, host.build, claimed.id, claimed.evidence.level
        ),
        None => format!(
            "No record covers guest {} on host {}.",
            guest.build, host.build
        ),
    };
    let mut remedies = vec![update_database(case)];
    if let Some(nearest) = &lookup.nearest {
        remedies.push(Remedy::command(
            format!(
                "Or use the nearest verified pair: guest {} on host {} ({}).",
                nearest.guest_build, nearest.host_build, nearest.id
            ),
            format!("metalshim db show {}", nearest.id),
        ));
    }
    let try_once = try_once(case);
    if !try_once.is_empty() {
        remedies.extend(try_once);
        remedies.push(Remedy::command(
            "Measure: stock and with the overrides in turn, and compare both outputs; llama-bench needs no --time.",
            "metalshim bench --time -- PROGRAM",
        ));
        remedies.push(Remedy::command(
            format!(
                "Report it at {}/issues with the file that this makes: that is how the pair comes to be verified for everybody.",
                env!("CARGO_PKG_REPOSITORY")
            ),
            "metalshim report",
        ));
    }
    Finding {
        reason: Reason::PairUnknown,
        says: says + &neighbours(case, lookup),
        remedies,
    }
}

fn list(pairs: &[PairBrief], name: impl Fn(&PairBrief) -> &OsBuild) -> String {
    let items: Vec<String> = pairs
        .iter()
        .map(|p| format!("{} ({}, {})", name(p), p.status, p.id))
        .collect();
    items.join(", ")
}

fn neighbours(case: &Case<'_>, lookup: &Lookup) -> String {
    let mut says = String::new();
    if lookup.same_guest.is_empty() {
        says.push_str(" No host is known for this guest.");
    } else {
        let hosts = list(&lookup.same_guest, |p| &p.host_build);
        says.push_str(&format!(" Known hosts of this guest: {hosts}."));
    }
    if case.facts.host.is_some() {
        if lookup.same_host.is_empty() {
            says.push_str(" No guest is known for this host.");
        } else {
            let guests = list(&lookup.same_host, |p| &p.guest_build);
            says.push_str(&format!(" Known guests of this host: {guests}."));
        }
    }
    let listed = |nearest: &&PairBrief| !lookup.same_guest.contains(nearest);
    if let Some(nearest) = lookup.nearest.as_ref().filter(listed) {
        says.push_str(&format!(
            " The nearest verified pair is guest {} on host {} ({}).",
            nearest.guest_build, nearest.host_build, nearest.id
        ));
    }
    says
}

fn canary(build: &OsBuild) -> String {
    format!("metalshim canary --allow-unverified {build}")
}

/// How to try an unverified pair once, where the policy lets one.
fn try_once(case: &Case<'_>) -> Vec<Remedy> {
    if case.policy.forbid_unverified || case.policy.min_evidence_level.is_some_and(|l| l > 0) {
        return Vec::new();
    }
    let build = &case.facts.guest.build;
    vec![
        Remedy::command(
            "Or try it without a record. First have test kernels run and compared with the CPU, with the overrides in their own process only.",
            canary(build),
        ),
        Remedy::command(
            format!(
                "If they pass, try the program, with {} (seven days, this guest build only).",
                Profile::CAUTIOUS
            ),
            format!("metalshim run --allow-unverified {build} -- PROGRAM"),
        ),
    ]
}
