//! Signatures that come one after the other, from machines that never meet.
//!
//! **Contract.** `--prepare DIR` of any change writes what the offline roles have to sign, and signs
//! nothing in the repository. `repo sign` adds the signatures of the keys at hand, anywhere, without
//! the repository. `repo complete` takes what enough keys have signed into the repository that it was
//! prepared for, and only if that has not changed since. What a holder signs is what they see: it is
//! shown from the bytes that are signed, never from what somebody wrote beside them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use compatdb::{Database, DenyList};
use serde_json::{Value, json};

use super::draft::{Draft, Given, Presigned};
use super::roles::{DATABASE, MAX_TARGET, REVOCATIONS, Role, keys_of};
use super::{Change, Failure, Output, confirm, declined, json_text, number, text};
use crate::tool::signers::{self, SignWith};

/// The roles whose keys are not at the publishing machine.
const OFFLINE: [Role; 3] = [Role::Root, Role::Targets, Role::Revoker];

/// Arguments of `repo sign`.
#[derive(Debug, Args)]
pub(in crate::tool) struct Sign {
    /// The folder that `--prepare` wrote.
    dir: PathBuf,
    #[command(flatten)]
    sign: SignWith,
    /// Sign without asking.
    #[arg(long)]
    yes: bool,
}

/// Arguments of `repo complete`.
#[derive(Debug, Args)]
pub(in crate::tool) struct Complete {
    #[command(flatten)]
    change: Change,
    /// The folder that `--prepare` wrote, with its signatures.
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
}

/// One file to sign.
struct Part {
    role: Role,
    path: PathBuf,
    signed: Value,
    signatures: Vec<Given>,
}

/// Writes what the offline roles of this change have to sign into `dir`.
pub(super) fn prepare(
    dir: &Path,
    parts: Vec<(Role, String, Vec<u8>)>,
    files: &[(String, Vec<u8>)],
) -> Result<Output, Failure> {
    if !parts.iter().any(|(role, ..)| OFFLINE.contains(role)) {
        return Err(Failure(
            "no offline role has anything to sign in this: leave --prepare out".to_owned(),
        ));
    }
    if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure(format!(
            "{} is not empty: name a new folder",
            dir.display()
        )));
    }
    let mut wrote = Vec::new();
    let metadata = parts.into_iter().map(|(_, name, bytes)| (name, bytes));
    for (name, bytes) in metadata.chain(files.iter().cloned()) {
        let path = dir.join(&name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)
                .map_err(|e| Failure(format!("cannot make {}: {e}", parent.display())))?;
        }
        compatdb::write_file(&path, &bytes)?;
        wrote.push(name);
    }
    let text = format!(
        "Prepared in {0}; nothing is signed in the repository. Each holder: compatdb repo sign {0} --key NAME\n",
        dir.display()
    );
    Ok(Output {
        text,
        json: json_text("repo-prepare", &json!({ "prepared": wrote }))?,
        code: 0,
    })
}

fn parts(dir: &Path) -> Result<Vec<Part>, Failure> {
    let folder = dir.join("metadata");
    let entries = fs::read_dir(&folder)
        .map_err(|e| Failure(format!("cannot read {}: {e}", folder.display())))?;
    let mut parts = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path
            .file_name()
            .and_then(|n| n.to_str())
            .unwrap_or_default();
        let role = OFFLINE.into_iter().find(|role| {
            let number = name.strip_suffix(&format!(".{}.json", role.name()));
            number.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
        });
        let Some(role) = role else {
            return Err(Failure(format!(
                "{}: only root, targets and revoker are signed here",
                path.display()
            )));
        };
        let bytes = super::bounded(&path, role.max_len())?;
        let mut file: Value = serde_json::from_slice(&bytes)
            .map_err(|e| Failure(format!("{}: {e}", path.display())))?;
        let signatures = file.get("signatures").cloned().unwrap_or_default();
        let signatures: Vec<Given> = serde_json::from_value(signatures)
            .map_err(|e| Failure(format!("{}: {e}", path.display())))?;
        let signed = file.get_mut("signed").map(Value::take).unwrap_or_default();
        // The name says which role a key signs for; the content has to agree.
        let kind = match role {
            Role::Revoker => Role::Targets,
            role => role,
        };
        if text(&signed, "_type") != kind.name()
            || path.file_name().and_then(|n| n.to_str())
                != role
                    .file(number(&signed, "version"))
                    .strip_prefix("metadata/")
        {
            return Err(Failure(format!(
                "{} is not what its name says",
                path.display()
            )));
        }
        parts.push(Part {
            role,
            path,
            signed,
            signatures,
        });
    }
    parts.sort_by_key(|part| part.role.name());
    match parts.is_empty() {
        true => Err(Failure(format!("{} has nothing to sign", dir.display()))),
        false => Ok(parts),
    }
}

/// What a holder puts a signature under.
fn shown(part: &Part, dir: &Path) -> Result<String, Failure> {
    let mut out = format!(
        "{} version {}, until {}, {} signature(s) so far\n",
        part.role.name(),
        number(&part.signed, "version"),
        text(&part.signed, "expires"),
        part.signatures.len()
    );
    if part.role == Role::Root {
        for role in OFFLINE.into_iter().chain([Role::Snapshot, Role::Timestamp]) {
            let (ids, threshold) = keys_of(role, &part.signed, &Value::Null);
            if !ids.is_empty() {
                let ids: Vec<String> = ids.iter().map(|id| format!("{id:.16}")).collect();
                let _ = writeln!(out, "  {}: {threshold} of {}", role.name(), ids.join(", "));
            }
        }
        return Ok(out);
    }
    if part.role == Role::Targets {
        let (ids, threshold) = keys_of(Role::Revoker, &Value::Null, &part.signed);
        let ids: Vec<String> = ids.iter().map(|id| format!("{id:.16}")).collect();
        let _ = writeln!(out, "  revoker: {threshold} of {}", ids.join(", "));
    }
    let targets = part.signed.get("targets").and_then(Value::as_object);
    for (name, entry) in targets.into_iter().flatten() {
        let sha256 = entry
            .get("hashes")
            .map(|h| text(h, "sha256"))
            .unwrap_or_default();
        let _ = writeln!(
            out,
            "  {name} {} bytes, SHA-256 {sha256}",
            number(entry, "length")
        );
        let custom = entry.get("custom").unwrap_or(&Value::Null);
        let _ = writeln!(out, "    {custom}");
        let path = dir.join(format!("targets/{sha256}.{name}"));
        // What stays as it was published is not here.
        let Ok(bytes) = super::bounded(&path, MAX_TARGET) else {
            continue;
        };
        if compatdb::sha256_hex(&bytes) != sha256 {
            return Err(Failure(format!(
                "{} is not what would be signed",
                path.display()
            )));
        }
        if name == DATABASE {
            let database = Database::open(&bytes).map_err(|e| Failure(format!("{name}: {e}")))?;
            database
                .quick_check()
                .map_err(|e| Failure(format!("{name}: {e}")))?;
            let meta = database.meta();
            let _ = writeln!(out, "    seq {}, published {}", meta.seq, meta.published_at);
        } else if name == REVOCATIONS {
            let list = DenyList::parse(&bytes).map_err(|e| Failure(format!("{name}: {e}")))?;
            for record in &list.records {
                let _ = writeln!(out, "    denies {}: {}", record.id, record.reason);
            }
            for denied in list.guest_builds.iter().chain(&list.host_builds) {
                let _ = writeln!(out, "    denies {}: {}", denied.build, denied.reason);
            }
        }
    }
    Ok(out)
}

/// `repo sign`.
pub(super) fn sign(args: &Sign) -> Result<Output, Failure> {
    let mut parts = parts(&args.dir)?;
    let signers = args.sign.signers()?;
    let mut plan = String::new();
    for part in &parts {
        plan.push_str(&shown(part, &args.dir)?);
    }
    if !confirm(&plan, args.yes)? {
        return declined("repo-sign");
    }
    let mut report = String::new();
    let mut signed = Vec::new();
    for part in &mut parts {
        let allowed = allowed(part, &args.dir)?;
        let added = signers.add(
            part.role.name(),
            &part.signed,
            &allowed,
            &mut part.signatures,
        )?;
        if added == 0 {
            continue;
        }
        let bytes = signers::file(&part.signed, &part.signatures)?;
        compatdb::write_file(&part.path, &bytes)?;
        let _ = writeln!(
            report,
            "{}: {added} added, {} in all",
            part.path.display(),
            part.signatures.len()
        );
        signed.push(json!({ "role": part.role.name(), "signatures": part.signatures.len() }));
    }
    if signed.is_empty() {
        return Err(Failure(
            "none of these keys has anything to sign here, or all have signed".to_owned(),
        ));
    }
    Ok(Output {
        text: report,
        json: json_text("repo-sign", &json!({ "signed": signed }))?,
        code: 0,
    })
}

/// The ids of the keys whose signature counts for a part, as far as it can be told without the
/// repository: `keys.json` is what the publishing machine expects.
fn allowed(part: &Part, dir: &Path) -> Result<Vec<String>, Failure> {
    let bytes = super::bounded(&dir.join(KEYS), Role::Root.max_len())?;
    let keys: Value = serde_json::from_slice(&bytes)?;
    let ids = keys.get(part.role.name()).cloned().unwrap_or_default();
    Ok(serde_json::from_value(ids)?)
}

/// Which keys are expected to sign what: a help for holders, and nothing that anybody trusts.
pub(super) const KEYS: &str = "keys.json";

/// `repo complete`.
pub(super) fn complete(args: &Complete) -> Result<Output, Failure> {
    let session = args.change.open()?;
    let mut draft = Draft::default();
    let mut plan = String::new();
    for part in parts(&args.from)? {
        plan.push_str(&shown(&part, &args.from)?);
        let slot = match part.role {
            Role::Root => &mut draft.root,
            Role::Targets => &mut draft.targets,
            _ => &mut draft.revoker,
        };
        *slot = Some(part.signed.clone());
        draft.presigned.push(Presigned {
            role: part.role,
            signed: part.signed,
            signatures: part.signatures,
        });
    }
    let folder = args.from.join("targets");
    for entry in fs::read_dir(&folder).into_iter().flatten() {
        let path = entry?.path();
        let name = path
            .file_name()
            .and_then(|n| n.to_str())
            .unwrap_or_default();
        draft.files.push((
            format!("targets/{name}"),
            super::bounded(&path, MAX_TARGET)?,
        ));
    }
    draft.files.sort();
    session.finish("repo-complete", draft, &plan, json!({}))
}
