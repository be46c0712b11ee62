//! The table behind "What about my Mac": the verdict for every recorded pair, for every
//! range that denies, and for what is not known.
//!
//! **Contract.** Each answer is what [`decide`] says of a guest and a host of which nothing
//! but the builds is known, under no policy and without a deny list. `verdict.js` only
//! chooses among them; a test holds its choice against [`decide`] over all known builds.

use compatdb::facts::{Facts, Guest, Host, HostSource, Local, Sip};
use compatdb::rows::{BuildRange, Deny};
use compatdb::verdict::{Case, Evidence, Request, Verdict};
use compatdb::{Database, Lookup, OsBuild, PairFilter, Policy, Profile, decide};
use serde::Serialize;

use super::Failure;

/// What stands for a build that is not known until somebody asks. No system has them.
const ANY_GUEST: &str = "98Z98";
const ANY_HOST: &str = "99Z99";

#[derive(Serialize)]
struct Table {
    schema: &'static str,
    seq: u64,
    min_cli: String,
    /// Every known build and its macOS version.
    builds: Vec<(OsBuild, String)>,
    /// Every pair that has a record.
    exact: Vec<Exact>,
    /// Every range that denies, by id.
    denies: Vec<Denied>,
    /// A host, but no record.
    pair_unknown: Answer,
    /// No host.
    host_unknown: Answer,
}

#[derive(Serialize)]
struct Exact {
    guest: OsBuild,
    host: OsBuild,
    answer: Answer,
}

#[derive(Serialize)]
struct Denied {
    id: String,
    guest: Option<BuildRange>,
    host: Option<BuildRange>,
    answer: Answer,
}

/// A verdict, as far as a page shows it. In its texts `{guest}` and `{host}` stand for the
/// builds that were asked for.
#[derive(Debug, PartialEq, Serialize)]
struct Answer {
    decision: &'static str,
    /// The reason code of a refusal.
    reason: Option<&'static str>,
    record: Option<String>,
    level: Option<u8>,
    profile: Option<Profile>,
    says: String,
    /// What to do: a sentence, and a command where there is one.
    remedies: Vec<(String, Option<String>)>,
}

/// The table as a script that needs no server.
pub(super) fn script(database: &Database) -> Result<Vec<u8>, Failure> {
    let table = serde_json::to_string(&table(database)?)?;
    // U+2028 and U+2029 once ended a line of JavaScript; a file of ASCII has neither.
    let mut ascii = String::with_capacity(table.len());
    for c in table.chars() {
        match c {
            c if c.is_ascii() => ascii.push(c),
            c => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    ascii.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    Ok(format!("\"use strict\";\nconst VERDICTS = {ascii};\n").into_bytes())
}

fn table(database: &Database) -> Result<Table, Failure> {
    let mut exact = Vec::new();
    for pair in database.pairs(&PairFilter::default())? {
        let (guest, host) = (pair.guest.build, pair.host.build);
        let known = |e: &Exact| e.guest == guest && e.host == host;
        if exact.iter().any(known) {
            continue;
        }
        let lookup = database.lookup(&guest, Some(&host), None)?;
        let answer = answer(database, &lookup);
        exact.push(Exact {
            guest,
            host,
            answer,
        });
    }
    let mut denies = Vec::new();
    for deny in database.deny_ranges()? {
        let lookup = Lookup {
            denies: vec![deny.clone()],
            ..nothing(
                inside(&deny.guest, ANY_GUEST)?,
                Some(inside(&deny.host, ANY_HOST)?),
            )
        };
        denies.push(Denied {
            answer: answer(database, &lookup),
            id: deny.id,
            guest: deny.guest,
            host: deny.host,
        });
    }
    let builds = database.builds()?;
    Ok(Table {
        schema: "compatdb.site-verdicts/1",
        seq: database.seq(),
        min_cli: database.min_cli().to_string(),
        builds: builds.into_iter().map(|b| (b.build, b.version)).collect(),
        exact,
        denies,
        pair_unknown: unknown(database, Some(any(ANY_HOST)?))?,
        host_unknown: unknown(database, None)?,
    })
}

/// What is said where nothing is known. Which pairs are near, the page lists itself: here,
/// of a lookup that found nothing, it would say that there are none.
fn unknown(database: &Database, host: Option<OsBuild>) -> Result<Answer, Failure> {
    let mut answer = answer(database, &nothing(any(ANY_GUEST)?, host));
    for neighbours in [
        " No host is known for this guest.",
        " No guest is known for this host.",
    ] {
        answer.says = answer.says.replace(neighbours, "");
    }
    Ok(answer)
}

fn any(build: &str) -> Result<OsBuild, Failure> {
    Ok(build.parse()?)
}

/// A build that a range holds; where there is no range, the one that stands for any.
fn inside(range: &Option<BuildRange>, any_build: &str) -> Result<OsBuild, Failure> {
    match range {
        None => any(any_build),
        Some(range) => match &range.from {
            Some(from) => Ok(from.clone()),
            None => any("00A0"),
        },
    }
}

fn nothing(guest: OsBuild, host: Option<OsBuild>) -> Lookup {
    Lookup {
        guest_build: guest,
        host_build: host,
        pairs: Vec::new(),
        denies: Vec::<Deny>::new(),
        revoked: Vec::new(),
        same_guest: Vec::new(),
        same_host: Vec::new(),
        nearest: None,
    }
}

/// The verdict, of a guest of which nothing but the builds is known.
fn answer(database: &Database, lookup: &Lookup) -> Answer {
    let guest = &lookup.guest_build;
    let facts = Facts {
        guest: Guest {
            build: guest.clone(),
            version: "{guest-version}".to_owned(),
            model: String::new(),
            chip: String::new(),
            vm: true,
            sip: Sip::Unknown,
            boot_session: String::new(),
        },
        host: lookup.host_build.as_ref().map(|build| Host {
            build: build.clone(),
            version: None,
            model: None,
            chip: None,
            apple_family: None,
            feature_level_preference: None,
            source: HostSource::Attested,
        }),
        device: None,
        local: Local::default(),
    };
    let meta = database.meta();
    let verdict = decide(&Case {
        facts: &facts,
        database: Evidence::Known { meta, lookup },
        policy: &Policy::default(),
        request: &Request::default(),
        cli: &meta.min_cli,
        shim_abi: u32::MAX,
        now: meta.published_at,
        fresh_until: None,
        unsigned: false,
    });
    let host = lookup.host_build.as_ref().map_or("", OsBuild::as_str);
    let general = |text: String| {
        let text = text.replace(guest.as_str(), "{guest}");
        match host {
            "" => text,
            host => text.replace(host, "{host}"),
        }
    };
    match verdict {
        Verdict::Allow(allow) => Answer {
            decision: "allow",
            reason: None,
            level: allow.evidence_level,
            profile: Some(allow.profile),
            says: format!(
                "Verified, evidence level {}: metalshim tells up to Apple family {} and {} bytes of threadgroup memory.",
                allow.evidence_level.unwrap_or_default(),
                allow.profile.apple_family_max,
                allow.profile.max_threadgroup_memory
            ),
            record: allow.record,
            remedies: vec![
                (
                    "In the guest, say which host it runs on; this is kept for 30 days.".to_owned(),
                    Some("metalshim enable --host-build {host}".to_owned()),
                ),
                (
                    "Then start the program through metalshim.".to_owned(),
                    Some("metalshim run -- PROGRAM".to_owned()),
                ),
            ],
        },
        Verdict::Refuse(refusal) => Answer {
            decision: "refuse",
            reason: Some(refusal.reason.code()),
            record: None,
            level: None,
            profile: None,
            says: general(refusal.says),
            remedies: refusal
                .remedies
                .into_iter()
                .map(|r| (general(r.says), r.command.map(general)))
                .collect(),
        },
    }
}
