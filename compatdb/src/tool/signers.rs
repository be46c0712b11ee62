//! Who signs: key files, and commands that reach keys elsewhere.
//!
//! **Contract.** Every signature is verified before it is used, whoever made it. A passphrase
//! is asked for once a key, and only for a key that signs.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Failure;
use super::keyfile::{MIN_PASSPHRASE, PublicKey, from_hex, private_path, unlock};

/// Where passphrases come from.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Passphrases {
    /// The passphrase is the first line of this file, like /dev/fd/3; without it, what
    /// COMPATDB_PASSPHRASE says, else it is asked for on the terminal.
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// A pipe is read once.
    #[arg(skip)]
    read: OnceCell<String>,
}

impl Passphrases {
    fn given(&self) -> Result<Option<String>, Failure> {
        if let Some(path) = &self.passphrase_file {
            if let Some(read) = self.read.get() {
                return Ok(Some(read.clone()));
            }
            let text = std::fs::read_to_string(path)
                .map_err(|e| Failure(format!("cannot read {}: {e}", path.display())))?;
            let line = text.lines().next().unwrap_or_default().to_owned();
            return Ok(Some(self.read.get_or_init(|| line).clone()));
        }
        Ok(std::env::var("COMPATDB_PASSPHRASE").ok())
    }

    /// The passphrase of a key that is there.
    fn of(&self, path: &Path) -> Result<String, Failure> {
        match self.given()? {
            Some(given) => Ok(given),
            None => ask(&format!("Passphrase of {}: ", path.display())),
        }
    }

    /// The passphrase of a new key: typed twice, and not short.
    pub(super) fn of_new(&self, path: &Path) -> Result<String, Failure> {
        let phrase = match self.given()? {
            Some(given) => given,
            None => {
                let first = ask(&format!("New passphrase of {}: ", path.display()))?;
                if ask("The same again: ")? != first {
                    return Err(Failure("the two passphrases differ".to_owned()));
                }
                first
            }
        };
        match phrase.chars().count() >= MIN_PASSPHRASE {
            true => Ok(phrase),
            false => Err(Failure(format!(
                "the passphrase is too short: at least {MIN_PASSPHRASE} characters, better six random words"
            ))),
        }
    }
}

fn ask(prompt: &str) -> Result<String, Failure> {
    rpassword::prompt_password(prompt).map_err(|e| {
        Failure(format!(
            "there is no terminal to ask for a passphrase ({e}); use --passphrase-file or COMPATDB_PASSPHRASE"
        ))
    })
}

/// The keys that sign.
#[derive(Debug, Args)]
pub(super) struct SignWith {
    /// Sign with this private key (NAME.key, its NAME.pub beside it); can be repeated.
    #[arg(long = "key", value_name = "FILE")]
    keys: Vec<PathBuf>,
    /// Sign through a command: it gets the bytes on stdin and prints the signature as
    /// hexadecimal digits. COMPATDB_ROLE and COMPATDB_KEYID tell it what it signs.
    #[arg(long = "signer", value_name = "PUB=COMMAND")]
    commands: Vec<String>,
    #[command(flatten)]
    passphrases: Passphrases,
}

/// One key that can sign.
struct Signer {
    key: PublicKey,
    by: By,
}

enum By {
    File(PathBuf, OnceCell<Ed25519KeyPair>),
    Command(String),
}

/// The keys that can sign.
pub(super) struct Signers {
    signers: Vec<Signer>,
    passphrases: Passphrases,
}

/// A signature, as a metadata file holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Given {
    /// The key's id.
    pub(super) keyid: String,
    /// Hexadecimal digits.
    sig: String,
}

impl Given {
    /// Whether it is a signature of `bytes` by `key`, as metadata holds keys.
    pub(super) fn holds(&self, key: &Value, bytes: &[u8]) -> bool {
        let public = key.pointer("/keyval/public").and_then(Value::as_str);
        let public = public.and_then(from_hex);
        let (Some(public), Some(sig)) = (public, from_hex(&self.sig)) else {
            return false;
        };
        UnparsedPublicKey::new(&ED25519, public)
            .verify(bytes, &sig)
            .is_ok()
    }
}

/// A metadata file.
pub(super) fn file(signed: &Value, signatures: &[Given]) -> Result<Vec<u8>, Failure> {
    let file = json!({ "signatures": signatures, "signed": signed });
    let mut text = serde_json::to_string_pretty(&file)?;
    text.push('\n');
    Ok(text.into_bytes())
}

/// Keys of a role, by their ids, and how many of them must sign.
pub(super) type Demand = (Vec<String>, u64);

impl SignWith {
    /// Reads the public keys; the private ones wait until they sign.
    pub(super) fn signers(&self) -> Result<Signers, Failure> {
        let mut signers = Vec::new();
        for path in &self.keys {
            let path = private_path(path);
            signers.push(Signer {
                key: PublicKey::read(&path.with_extension("pub"))?,
                by: By::File(path, OnceCell::new()),
            });
        }
        for command in &self.commands {
            let Some((path, command)) = command.split_once('=') else {
                return Err(Failure(format!(
                    "--signer {command}: it looks like root-1.pub='ssh vault sign'"
                )));
            };
            signers.push(Signer {
                key: PublicKey::read(Path::new(path))?,
                by: By::Command(command.to_owned()),
            });
        }
        for (at, signer) in signers.iter().enumerate() {
            let earlier = signers.iter().take(at);
            // Counted twice, it would meet a threshold alone.
            if earlier
                .into_iter()
                .any(|s: &Signer| s.key.id == signer.key.id)
            {
                return Err(Failure(format!("key {:.16} is named twice", signer.key.id)));
            }
        }
        Ok(Signers {
            signers,
            passphrases: self.passphrases.clone(),
        })
    }
}

impl Signers {
    /// Whether a key of these ids is among them.
    pub(super) fn have(&self, ids: &[String]) -> bool {
        self.signers.iter().any(|s| ids.contains(&s.key.id))
    }

    /// Whether all demands can be met; else, what is missing.
    /// `given` are signatures that are there already.
    pub(super) fn enough(
        &self,
        role: &str,
        demands: &[Demand],
        given: &[Given],
    ) -> Result<(), Failure> {
        for (ids, threshold) in demands {
            let own = self.signers.iter().map(|s| &s.key.id);
            let all: BTreeSet<&String> = own.chain(given.iter().map(|g| &g.keyid)).collect();
            let have = all.into_iter().filter(|id| ids.contains(id)).count() as u64;
            if have < *threshold {
                let ids: Vec<String> = ids.iter().map(|id| format!("{id:.16}")).collect();
                return Err(Failure(format!(
                    "{role} takes {threshold} signatures of the keys {}; --key and --signer name {have}",
                    ids.join(", ")
                )));
            }
        }
        Ok(())
    }

    /// The metadata file of `signed`, with the signatures of every given key that `demands`
    /// or `also` name.
    pub(super) fn sign(
        &self,
        role: &str,
        signed: &Value,
        demands: &[Demand],
        also: &[String],
        given: Vec<Given>,
    ) -> Result<Vec<u8>, Failure> {
        self.enough(role, demands, &given)?;
        let wanted: Vec<String> = demands.iter().flat_map(|(ids, _)| ids.clone()).collect();
        let wanted = [wanted, also.to_vec()].concat();
        let mut signatures = given;
        self.add(role, signed, &wanted, &mut signatures)?;
        file(signed, &signatures)
    }

    /// Adds the signatures of those of these keys that have not signed; how many.
    pub(super) fn add(
        &self,
        role: &str,
        signed: &Value,
        wanted: &[String],
        signatures: &mut Vec<Given>,
    ) -> Result<usize, Failure> {
        let bytes = sigstore_tuf::canonical_json::to_canonical_bytes(signed)?;
        let before = signatures.len();
        for signer in self.signers.iter().filter(|s| wanted.contains(&s.key.id)) {
            let keyid = &signer.key.id;
            let there = signatures.iter().position(|given| given.keyid == *keyid);
            if let Some(there) = there.and_then(|at| signatures.get(at)) {
                if there.holds(&signer.key.value, &bytes) {
                    continue;
                }
                return Err(Failure(format!(
                    "{role}: what is there as the signature of key {keyid:.16} is none; take it out of the file"
                )));
            }
            signatures.push(Given {
                sig: signer.sign(role, &bytes, &self.passphrases)?,
                keyid: keyid.clone(),
            });
        }
        Ok(signatures.len() - before)
    }
}

impl Signer {
    fn sign(&self, role: &str, bytes: &[u8], phrases: &Passphrases) -> Result<String, Failure> {
        let hex = match &self.by {
            By::File(path, unlocked) => {
                let pair = match unlocked.get() {
                    Some(pair) => pair,
                    None => {
                        let pair = unlock(path, &self.key, || phrases.of(path))?;
                        unlocked.get_or_init(|| pair)
                    }
                };
                use std::fmt::Write as _;
                let mut hex = String::new();
                for byte in pair.sign(bytes).as_ref() {
                    let _ = write!(hex, "{byte:02x}");
                }
                hex
            }
            By::Command(command) => run(command, role, &self.key.id, bytes)?,
        };
        let good = from_hex(&hex).is_some_and(|sig| {
            let key = UnparsedPublicKey::new(&ED25519, &self.key.bytes);
            key.verify(bytes, &sig).is_ok()
        });
        match (good, &self.by) {
            (true, _) => Ok(hex),
            (false, By::Command(command)) => Err(Failure(format!(
                "`{command}` did not print a signature of {role} by key {:.16}",
                self.key.id
            ))),
            (false, By::File(path, _)) => Err(Failure(format!(
                "{}: its signature of {role} does not verify",
                path.display()
            ))),
        }
    }
}

/// Runs a signing command by the shell. It may ask its own questions on the terminal.
fn run(command: &str, role: &str, id: &str, bytes: &[u8]) -> Result<String, Failure> {
    let failed = |e: String| Failure(format!("the signer `{command}` failed: {e}"));
    let mut child = Command::new("sh")
        .args(["-c", command])
        .env("COMPATDB_ROLE", role)
        .env("COMPATDB_KEYID", id)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| failed(e.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not read all of it is judged by its signature.
        let _ = stdin.write_all(bytes);
    }
    let out = child
        .wait_with_output()
        .map_err(|e| failed(e.to_string()))?;
    if !out.status.success() {
        return Err(failed(out.status.to_string()));
    }
    Ok(String::from_utf8_lossy(&out.stdout).trim().to_lowercase())
}
