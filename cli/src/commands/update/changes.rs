//! What an update changed for this machine, in a sentence.

use compatdb::{Facts, Reason, Verdict};

/// Compares the verdicts before and after, for a program that no row knows.
pub(super) fn sentence(facts: &Facts, old: &Verdict, new: &Verdict) -> String {
    let guest = &facts.guest.build;
    let pair = match &facts.host {
        Some(host) => format!("your pair (guest {guest} on host {})", host.build),
        None => format!("your guest {guest} (its host is not known)"),
    };
    match (old, new) {
        (Verdict::Refuse(_), Verdict::Allow(allow)) => {
            let record = allow.record.as_deref().unwrap_or("none");
            format!("{pair} is now verified: record {record}, {}", allow.profile)
        }
        (Verdict::Allow(_), Verdict::Refuse(refusal)) => {
            let says = refusal.says.trim_end_matches('.');
            match refusal.reason {
                Reason::PairRevoked => format!("{pair} was revoked: {says}"),
                reason => format!("{pair} is not allowed any more ({reason}): {says}"),
            }
        }
        (Verdict::Allow(old), Verdict::Allow(new)) => {
            let record = new.record.as_deref().unwrap_or("none");
            match (old.profile == new.profile, old.record == new.record) {
                (true, true) => format!(
                    "nothing changed: {pair} is verified, record {record}, {}",
                    new.profile
                ),
                (true, false) => format!(
                    "{pair} stays verified, now by record {record}, {}",
                    new.profile
                ),
                (false, _) => format!(
                    "{pair} stays verified, record {record}, now up to {} (before: {})",
                    new.profile, old.profile
                ),
            }
        }
        (Verdict::Refuse(old), Verdict::Refuse(new)) if old.reason == new.reason => {
            format!("nothing changed: {pair} stays stock ({})", new.reason)
        }
        (Verdict::Refuse(old), Verdict::Refuse(new)) => {
            let says = new.says.trim_end_matches('.');
            format!(
                "{pair} stays stock, now as {} (before: {}): {says}",
                new.reason, old.reason
            )
        }
    }
}
