//! `compatdb repo revoke`: the deny list. It can only deny, and so can a stolen key of it.

use std::fmt::Write as _;

use clap::Args;
use compatdb::records::Status;
use compatdb::{Database, DeniedBuild, DeniedRecord, DenyList, OsBuild, PairFilter, Shown};
use serde_json::json;

use super::draft::Draft;
use super::init::deny_list_bytes;
use super::publish::put;
use super::roles::{DATABASE, REVOCATIONS};
use super::state::target;
use super::{Change, Failure, Output};

/// Arguments of `repo revoke`.
#[derive(Debug, Args)]
pub(in crate::tool) struct Revoke {
    #[command(flatten)]
    change: Change,
    #[command(flatten)]
    what: What,
    /// Why, in a sentence that users read.
    #[arg(long, value_name = "TEXT", required_unless_present_any = ["lift", "renew"])]
    reason: Option<String>,
}

#[derive(Debug, Args)]
#[group(required = true)]
struct What {
    /// A pair's record, like P0001; can be repeated.
    #[arg(long, value_name = "ID")]
    record: Vec<String>,
    /// A guest build that stays stock, like 25F84; can be repeated.
    #[arg(long, value_name = "BUILD")]
    guest_build: Vec<OsBuild>,
    /// A host build whose guests stay stock; can be repeated.
    #[arg(long, value_name = "BUILD")]
    host_build: Vec<OsBuild>,
    /// Take an entry off the list again: a record's id or a build; can be repeated.
    #[arg(long, value_name = "WHAT")]
    lift: Vec<String>,
    /// Change nothing, and sign the list for another 90 days.
    #[arg(long)]
    renew: bool,
}

pub(super) fn revoke(args: &Revoke) -> Result<Output, Failure> {
    let session = args.change.open()?;
    let mut revoker = session.old.revoker.clone();
    let bytes = target(&session.files, &revoker, REVOCATIONS)?
        .ok_or_else(|| Failure(format!("{REVOCATIONS} is not published")))?;
    let before = DenyList::parse(&bytes)?;
    let database = match target(&session.files, &session.old.targets, DATABASE)? {
        Some(bytes) => Some(Database::open(bytes)?),
        None => None,
    };
    let mut list = before.clone();
    change(&mut list, args, database.as_ref())?;
    let mut draft = Draft::default();
    let mut plan = String::new();
    if list != before {
        list.seq += 1;
        plan = format!("Deny list {} to {}\n", before.seq, list.seq);
        plan.push_str(&effect(&before, &list, database.as_ref())?);
        let custom = json!({ "seq": list.seq, "published_at": session.now.to_string() });
        put(
            REVOCATIONS,
            deny_list_bytes(&list)?,
            &custom,
            &mut revoker,
            &mut draft,
        );
    } else {
        plan.push_str("Nothing changes for users: the deny list is signed again as it is.\n");
    }
    draft.revoker = Some(revoker);
    let more = json!({ "deny_list": list });
    session.finish("repo-revoke", draft, &plan, more)
}

fn change(list: &mut DenyList, args: &Revoke, database: Option<&Database>) -> Result<(), Failure> {
    let reason = args.reason.clone().unwrap_or_default();
    if args.reason.is_some() && reason.trim().is_empty() {
        return Err(Failure("--reason is empty: users read it".to_owned()));
    }
    let what = &args.what;
    for id in &what.record {
        let known = match database {
            Some(database) => matches!(database.show(id)?, Some(Shown::Pair(_))),
            None => false,
        };
        // A slip here would look like a revocation and be none.
        if !known {
            return Err(Failure(format!(
                "{} is not a pair of the published database: it would deny nothing",
                id.escape_default()
            )));
        }
        list.records.retain(|d| d.id != *id);
        list.records.push(DeniedRecord {
            id: id.clone(),
            reason: reason.clone(),
        });
    }
    for (builds, denied) in [
        (&what.guest_build, &mut list.guest_builds),
        (&what.host_build, &mut list.host_builds),
    ] {
        for build in builds {
            denied.retain(|d| d.build != *build);
            denied.push(DeniedBuild {
                build: build.clone(),
                reason: reason.clone(),
            });
        }
        denied.sort_by(|a, b| a.build.cmp(&b.build));
    }
    list.records.sort_by(|a, b| a.id.cmp(&b.id));
    for what in &what.lift {
        let count = |l: &DenyList| l.records.len() + l.guest_builds.len() + l.host_builds.len();
        let before = count(list);
        list.records.retain(|d| d.id != *what);
        list.guest_builds.retain(|d| d.build.as_str() != what);
        list.host_builds.retain(|d| d.build.as_str() != what);
        if count(list) == before {
            let what = what.escape_default();
            return Err(Failure(format!("{what} is not on the deny list")));
        }
    }
    Ok(())
}

/// What users of the published database meet that they did not.
fn effect(
    before: &DenyList,
    after: &DenyList,
    database: Option<&Database>,
) -> Result<String, Failure> {
    let mut text = String::new();
    let filter = PairFilter {
        status: Some(Status::Verified),
        ..PairFilter::default()
    };
    let pairs = match database {
        Some(database) => database.pairs(&filter)?,
        None => Vec::new(),
    };
    let (mut denied, mut lifted) = (String::new(), String::new());
    for pair in pairs {
        let hit = |list: &DenyList| {
            let by_id = list.records.iter().filter(|d| d.id == pair.id);
            let guest = list.guest_builds.iter();
            let guest = guest.filter(|d| d.build == pair.guest.build);
            let host = list.host_builds.iter();
            let host = host.filter(|d| d.build == pair.host.build);
            let by_build = guest.chain(host).map(|d| d.reason.clone());
            by_id.map(|d| d.reason.clone()).chain(by_build).next()
        };
        let of = format!("{} on {} ({})", pair.guest.build, pair.host.build, pair.id);
        match (hit(before), hit(after)) {
            (was, Some(reason)) if was.as_ref() != Some(&reason) => {
                let _ = writeln!(denied, "  {of}: {reason}");
            }
            (Some(_), None) => {
                let _ = writeln!(lifted, "  {of}");
            }
            _ => {}
        }
    }
    for (heading, lines) in [("Revoked", denied), ("Allowed again", lifted)] {
        if !lines.is_empty() {
            let _ = write!(text, "\n{heading}\n{lines}");
        }
    }
    if text.is_empty() {
        text.push_str("\nIt hits no verified pair of the published database.\n");
    }
    Ok(text)
}
