//! `compatdb keys`: makes the keys that sign. docs/keys.md tells where they are kept.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use super::keyfile::{create, private_path};
use super::signers::Passphrases;
use super::{Failure, Output, json as json_text};

/// What is done with keys.
#[derive(Debug, Subcommand)]
pub(super) enum Keys {
    /// Make a key: NAME.key, encrypted with a passphrase, and NAME.pub.
    New(New),
}

/// Arguments of `keys new`.
#[derive(Debug, Args)]
pub(super) struct New {
    /// Where, without the extension; never inside a git checkout.
    name: PathBuf,
    /// Without a passphrase, for a machine that signs by itself (snapshot and timestamp).
    #[arg(long)]
    online: bool,
    #[command(flatten)]
    passphrases: Passphrases,
}

pub(super) fn run(command: &Keys) -> Result<Output, Failure> {
    let Keys::New(args) = command;
    let path = private_path(&args.name);
    if let Some(checkout) = checkout(&path)? {
        return Err(Failure(format!(
            "{} is inside the git checkout {}: a private key is kept out of every tree",
            path.display(),
            checkout.display()
        )));
    }
    for taken in [path.clone(), path.with_extension("pub")] {
        if taken.exists() {
            return Err(Failure(format!(
                "{} is there already; a key is never written over a file",
                taken.display()
            )));
        }
    }
    let passphrase = match args.online {
        true => None,
        false => Some(args.passphrases.of_new(&path)?),
    };
    let key = create(&path, passphrase.as_deref())?;
    let public = path.with_extension("pub");
    Ok(Output {
        text: format!(
            "{}: private, {}; keep it, and a copy elsewhere\n{}: public, key {}\n",
            path.display(),
            if args.online {
                "not encrypted"
            } else {
                "encrypted"
            },
            public.display(),
            key.id
        ),
        json: json_text(
            "keys-new",
            &json!({ "keyid": key.id, "private": path, "public": public, "encrypted": !args.online }),
        )?,
        code: 0,
    })
}

/// The git checkout that a file would lie in.
fn checkout(path: &Path) -> Result<Option<PathBuf>, Failure> {
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let dir = dir
        .canonicalize()
        .map_err(|e| Failure(format!("cannot use the folder {}: {e}", dir.display())))?;
    let mut above = dir.ancestors();
    Ok(above.find(|d| d.join(".git").exists()).map(Path::to_owned))
}
