//! Takes reports in: what they are evidence for, as a proposal that people review.
//!
//! **Contract.** Pure: records, reports and the time in; proposals, and refusals with their
//! reasons, out. A program can hold a report against itself and against the records; whether
//! somebody measured what it says it cannot. So nothing is written, and each proposal names what a
//! reviewer has to look at (docs/evidence.md). A report that contradicts itself, a record or
//! another report is refused; deny beats it; a wider profile is never proposed for a record.

mod check;
mod propose;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;

use crate::records::Records;
use crate::report::{Report, plain};
use crate::{OsBuild, Profile, sha256_hex};

/// A report as it was handed in.
#[derive(Clone, Debug)]
pub struct Given {
    /// Its file's name.
    pub file: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Where it was published, like `issue 12`; none for the project's folder of reports.
    pub issue: Option<String>,
}

/// How it is looked at.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The time.
    pub now: Timestamp,
    /// Reports of a simulated guest count: for trying the whole circle out.
    pub simulated: bool,
    /// The project where reports are published, as `owner/name`.
    pub project: String,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ingested {
    /// Changes of the records, for review.
    pub proposals: Vec<Proposal>,
    /// Reports that do not fit, and why.
    pub refused: Vec<Refused>,
    /// What else a reviewer should know, a sentence each.
    pub notes: Vec<String>,
}

/// A change of one record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proposal {
    /// The record.
    pub id: String,
    /// Its file in the folder of records.
    pub file: String,
    /// The evidence level before; none for a new record.
    pub level_before: Option<u8>,
    /// The evidence level after.
    pub level: u8,
    /// The reports that it rests on.
    pub reports: Vec<String>,
    /// The whole file as it would be.
    pub text: String,
    /// What no program can see, for the review.
    pub review: Vec<String>,
}

/// A report that does not fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refused {
    /// Its file's name.
    pub file: String,
    /// Why, a sentence each.
    pub because: Vec<String>,
}

/// A report that fits, with what follows from it.
#[derive(Clone, Debug)]
pub(crate) struct Fits {
    pub(crate) file: String,
    pub(crate) report: Report,
    pub(crate) host: OsBuild,
    /// The lowest that probe, canary and benchmark were run with: what it is evidence for.
    pub(crate) profile: Profile,
    pub(crate) attested: bool,
    /// SHA-256 of the file.
    pub(crate) sha256: String,
    pub(crate) issue: Option<String>,
}

/// Looks at all reports together. `texts` are the records' files, by their names in the folder.
pub fn ingest(
    records: &Records,
    texts: &BTreeMap<String, String>,
    given: &[Given],
    rules: &Rules,
) -> Ingested {
    let mut done = Ingested::default();
    let mut fitting = Vec::new();
    for given in given {
        let file = plain(&given.file);
        match Report::read(&given.bytes) {
            Err(why) => done.refuse(&file, vec![why]),
            Ok(report) => match check::check(report, records, rules) {
                Err(because) => done.refuse(&file, because),
                Ok((report, host, profile, attested)) => fitting.push(Fits {
                    file,
                    report,
                    host,
                    profile,
                    attested,
                    sha256: sha256_hex(&given.bytes),
                    issue: given.issue.as_deref().map(plain),
                }),
            },
        }
    }
    once_a_machine(&mut fitting, &mut done);
    let mut groups: BTreeMap<(String, String), Vec<Fits>> = BTreeMap::new();
    for fits in fitting {
        let pair = (fits.report.guest.build.to_string(), fits.host.to_string());
        groups.entry(pair).or_default().push(fits);
    }
    let mut taken = BTreeSet::new();
    for (_, group) in groups {
        if !agree(&group, &mut done) {
            continue;
        }
        let mut profiles: BTreeMap<(u16, u32), Vec<Fits>> = BTreeMap::new();
        for fits in group {
            let profile = fits.profile;
            let key = (profile.apple_family_max, profile.max_threadgroup_memory);
            profiles.entry(key).or_default().push(fits);
        }
        // The widest last would need a second record of one pair: the one with most machines
        // is proposed, the others are told.
        let best = profiles.iter().max_by_key(|(key, g)| (g.len(), **key));
        let Some(best) = best.map(|(key, _)| *key) else {
            continue;
        };
        for (key, group) in profiles {
            if key == best {
                propose::propose(records, texts, &group, rules, &mut taken, &mut done);
            } else {
                for fits in group {
                    done.refuse(
                        &fits.file,
                        vec![format!(
                            "it is evidence for {} and other reports of the pair for {}/{}: one record holds one profile",
                            fits.profile, best.0, best.1
                        )],
                    );
                }
            }
        }
    }
    done
}

impl Ingested {
    pub(crate) fn refuse(&mut self, file: &str, because: Vec<String>) {
        self.refused.push(Refused {
            file: file.to_owned(),
            because,
        });
    }
}

/// The day it was made, in UTC.
fn day(report: &Report) -> jiff::civil::Date {
    jiff::tz::Offset::UTC.to_datetime(report.made_at).date()
}

/// The same bytes, the same machine or the same boot count once for one pair and profile; the
/// first stays. The same samples under two machines are nobody's measurement.
fn once_a_machine(fitting: &mut Vec<Fits>, done: &mut Ingested) {
    let mut kept: Vec<Fits> = Vec::new();
    for fits in std::mem::take(fitting) {
        let same_pair = |k: &&Fits| {
            k.report.guest.build == fits.report.guest.build
                && k.host == fits.host
                && k.profile == fits.profile
        };
        let again = kept.iter().find(|k| {
            let (a, b) = (&k.report, &fits.report);
            k.sha256 == fits.sha256
                || (same_pair(k)
                    && a.ci_run == b.ci_run
                    && (a.machine == b.machine || a.boot == b.boot))
        });
        let copied = kept.iter().find(|k| {
            let samples = |f: &Fits| -> Vec<_> {
                let series = f.report.bench.iter().flat_map(|b| &b.series);
                series
                    .map(|s| (s.stock.runs.clone(), s.shimmed.runs.clone()))
                    .collect()
            };
            samples(k) == samples(&fits)
        });
        if let Some(first) = again {
            done.notes.push(format!(
                "{} is of the same machine as {}: counted once",
                fits.file, first.file
            ));
        } else if let Some(first) = copied {
            done.refuse(
                &fits.file,
                vec![format!(
                    "its samples are those of {}, to the last digit",
                    first.file
                )],
            );
        } else {
            kept.push(fits);
        }
    }
    *fitting = kept;
}

/// Two reports of one pair that contradict each other in stock answers keep both out.
fn agree(group: &[Fits], done: &mut Ingested) -> bool {
    let stock = |f: &Fits| {
        let answers = f.report.probe.as_ref().map(|p| &p.stock);
        answers.map(|a| {
            (
                a.class.clone(),
                a.families.clone(),
                a.max_threadgroup_memory,
                a.metal_uuid.clone(),
                a.driver_uuid.clone(),
            )
        })
    };
    let first = group.first().map(stock);
    if group.iter().all(|f| Some(stock(f)) == first) {
        return true;
    }
    let files: Vec<&str> = group.iter().map(|f| f.file.as_str()).collect();
    for fits in group {
        done.refuse(
            &fits.file,
            vec![format!(
                "the stock answers of the pair contradict each other in {}: one host's build is wrong, and none counts",
                files.join(", ")
            )],
        );
    }
    false
}
