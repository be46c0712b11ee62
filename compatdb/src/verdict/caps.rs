//! What lowers a profile: the client's rules, `--profile`, the canary, the fleet's policy. Each can only
//! lower, value by value, and what lowered is told.

use super::case::Case;
use super::decide::Finding;
use super::{Cap, Reason, Remedy};
use crate::Profile;
use crate::client::ClientMatch;

/// How to say a version that is not known.
fn say_version(found: &ClientMatch) -> String {
    let id = &found.client.id;
    match &found.version {
        None => format!("Its version is not known; say it with --client {id}@VERSION."),
        Some(version) => format!(
            "Its version \"{}\" cannot be read; say another with --client {id}@VERSION.",
            version.escape_default()
        ),
    }
}

pub(super) fn client_blocked(case: &Case<'_>) -> Option<Finding> {
    let mut clients = case.request.clients.iter();
    let (found, rule) = clients.find_map(|found| {
        let rule = found.client.matched(found.version.as_deref()).blocked?;
        Some((found, rule))
    })?;
    let title = &found.client.title;
    let mut remedies = vec![Remedy::text(format!(
        "Start it without metalshim: {title} then sees what the device says."
    ))];
    if !rule.versions.is_empty() {
        remedies.push(Remedy::command(
            "If that is not its version, say the right one.",
            format!(
                "metalshim run --client {}@VERSION -- PROGRAM",
                found.client.id
            ),
        ));
    }
    Some(Finding {
        reason: Reason::ClientBlocked,
        says: format!("{title} must see the stock answers: {}", rule.says),
        remedies,
    })
}

/// The effective profile under `ceiling`, and what lowered it.
pub(super) fn effective(
    case: &Case<'_>,
    ceiling: Profile,
    unverified: bool,
) -> (Profile, Vec<Cap>) {
    let mut caps = Vec::new();
    let host_family = host_family(case);
    for found in &case.request.clients {
        let matched = found.client.matched(found.version.as_deref());
        for cap in &matched.caps {
            let title = &found.client.title;
            let mut says = format!("{title}: {}", cap.says);
            let told_how = cap.says.contains("--client ");
            let version_unknown = matched.version.is_none() && cap.unknown_version;
            if version_unknown && !told_how {
                says = format!("{says} {}", say_version(found));
            }
            let by = match (cap.host_family, host_family) {
                (Some(_), Some(_)) => "host-family",
                _ => "client",
            };
            caps.push(Cap {
                by,
                profile: cap.lower(ceiling, host_family),
                says,
                version_unknown,
            });
        }
    }
    match case.request.profile {
        Some(profile) => caps.push(Cap {
            by: "flag",
            profile,
            says: format!("--profile {profile} was asked for."),
            version_unknown: false,
        }),
        None if unverified => caps.push(Cap {
            by: "unverified",
            profile: Profile::CAUTIOUS,
            says: format!(
                "Nobody has verified this pair: {} is told unless --profile says more, and never more than {}.",
                Profile::CAUTIOUS,
                Profile::HIGHEST
            ),
            version_unknown: false,
        }),
        None => {}
    }
    if let Some(profile) = case.request.at_most {
        caps.push(Cap {
            by: "setting",
            profile,
            says: format!("The settings say at most {profile}."),
            version_unknown: false,
        });
    }
    if let Some(profile) = case.facts.local.canary_profile {
        caps.push(Cap {
            by: "canary",
            profile,
            says: format!("On this boot the canary's kernels were right up to {profile} only."),
            version_unknown: false,
        });
    }
    if let Some(profile) = case.policy.max_profile {
        caps.push(Cap {
            by: "policy",
            profile,
            says: format!("The fleet's policy allows at most {profile}."),
            version_unknown: false,
        });
    }
    for cap in &mut caps {
        cap.profile = cap.profile.min(ceiling);
    }
    // A cap that takes nothing from the record is not worth a word.
    caps.retain(|cap| cap.profile != ceiling);
    let effective = caps.iter().fold(ceiling, |p, cap| p.min(cap.profile));
    (effective, caps)
}

/// The host GPU's real family, if it is one.
fn host_family(case: &Case<'_>) -> Option<u16> {
    let family = case.facts.host.as_ref()?.apple_family?;
    (family >= *Profile::FAMILIES.start()).then_some(family)
}
