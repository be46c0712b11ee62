//! Which known faults bear on this guest, with what to do about each.
//!
//! **Honest scope.** Public reports seldom state a guest's build. A fault bears on this guest
//! if it is the reason of a record that hits, or if its record names the guest's macOS
//! version; with a program that is known, only faults seen with it count.

use compatdb::records::{Fault, FaultKind};

use super::finding::Finding;
use super::finding::Severity::{Fine, Note, Unknown, Warning};
use super::seen::Seen;

pub(super) fn faults(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "faults";
    if seen.known.database.is_err() {
        return vec![Finding::new(NAME, Unknown, "There is no database to ask.")];
    }
    let bears = |fault: &&Fault| is_reason(seen, fault) || is_seen_on(seen, fault);
    let findings: Vec<Finding> = seen
        .faults
        .iter()
        .filter(bears)
        .map(|fault| finding(seen, fault))
        .collect();
    if findings.is_empty() {
        let says = "None is known that bears on this guest.";
        return vec![Finding::new(NAME, Fine, says)];
    }
    findings
}

/// A warning where it speaks about this pair, or about the program that was asked about.
fn finding(seen: &Seen, fault: &Fault) -> Finding {
    let severe = !matches!(fault.kind, FaultKind::Missing | FaultKind::Slow);
    let close = is_reason(seen, fault) || !seen.decision.clients.is_empty();
    let severity = if severe && close { Warning } else { Note };
    let hint = if fault.measured {
        ""
    } else {
        " (somebody says so, nobody measured it)"
    };
    let says = format!("{}: {}{hint}.", fault.id, fault.title.trim_end_matches('.'));
    let mut finding = Finding::new("faults", severity, says);
    if !fault.clients.is_empty() {
        finding = finding.affects(fault.clients.join(", "));
    }
    if let Some(advice) = &fault.advice {
        finding = finding.mend(advice.clone());
    }
    finding
        .sources
        .extend(fault.sources.iter().map(ToString::to_string));
    finding
}

fn is_reason(seen: &Seen, fault: &Fault) -> bool {
    let Some(lookup) = &seen.decision.lookup else {
        return false;
    };
    let mut denies = lookup.denies.iter().map(|d| &d.fault);
    let mut pairs = lookup.pairs.iter().filter_map(|p| p.fault.as_ref());
    denies.any(|id| *id == fault.id) || pairs.any(|id| *id == fault.id)
}

fn is_seen_on(seen: &Seen, fault: &Fault) -> bool {
    let version = &seen.known.machine.facts.guest.version;
    let Some(major) = version.split('.').next().and_then(|m| m.parse().ok()) else {
        return false;
    };
    let clients = &seen.decision.clients;
    let with_client = clients.is_empty()
        || fault.clients.is_empty()
        || clients.iter().any(|found| {
            let names = [&found.client.id, &found.client.title];
            fault.clients.iter().any(|seen_with| {
                let seen_with = seen_with.to_lowercase();
                names.iter().any(|n| seen_with.contains(&n.to_lowercase()))
            })
        });
    with_client && names_version(&fault.guests, major)
}

/// Whether text like `13, 14, 15`, `15+`, `<15`, `26.5.2` or `14-era` names a macOS version.
fn names_version(guests: &str, major: u32) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "<>=+.".contains(c);
    guests.split(|c| !is_part(c)).any(|word| {
        let below = word.starts_with('<');
        let bare = word.trim_start_matches(['<', '>', '=']);
        let digits: String = bare.chars().take_while(char::is_ascii_digit).collect();
        let rest = &bare[digits.len()..];
        let Ok(named) = digits.parse::<u32>() else {
            return false;
        };
        if below {
            major < named
        } else if rest.ends_with('+') || word.starts_with('>') {
            major >= named
        } else {
            major == named && (rest.is_empty() || rest.starts_with('.'))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::names_version;

    #[test]
    fn versions_are_read_as_sources_write_them() {
        for (guests, named, others) in [
            ("13, 14, 15", vec![13, 14, 15], vec![12, 26]),
            ("15+", vec![15, 26], vec![14]),
            ("<15", vec![14], vec![15]),
            ("26.5.2", vec![26], vec![5, 2, 25]),
            ("14 (point release not stated)", vec![14], vec![15]),
            ("15, 26, latest", vec![15, 26], vec![14]),
            ("Apple5 guests", vec![], vec![5, 15]),
            ("", vec![], vec![15]),
        ] {
            for major in named {
                assert!(names_version(guests, major), "{guests}: {major}");
            }
            for major in others {
                assert!(!names_version(guests, major), "{guests}: {major}");
            }
        }
    }
}
