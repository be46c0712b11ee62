//! Key files.
//!
//! **Contract.** A key is two files: `NAME.pub`, the public key as metadata holds it, and
//! `NAME.key`, the private one: PKCS#8 in PEM, for its owner only, encrypted with a passphrase
//! (PBES2: scrypt and AES-256-CBC) unless it is an online key. `openssl pkey` reads both
//! forms: no key depends on this program to be used or recovered.
//!
//! CBC does not notice a changed file by itself; here the key that comes out must belong to
//! the public one.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use pkcs8::der::pem::LineEnding;
use pkcs8::pkcs5::{pbes2, scrypt};
use pkcs8::{EncryptedPrivateKeyInfoRef, PrivateKeyInfoRef, SecretDocument};
use serde_json::{Value, json};

use super::Failure;

const ENCRYPTED: &str = "ENCRYPTED PRIVATE KEY";
const PLAIN: &str = "PRIVATE KEY";
/// The shortest passphrase of a new key, in characters.
pub(super) const MIN_PASSPHRASE: usize = 12;

/// A public key, as in a `.pub` file.
#[derive(Clone, Debug)]
pub(super) struct PublicKey {
    /// SHA-256 of its canonical JSON, as metadata names it.
    pub(super) id: String,
    /// `keytype`, `scheme` and `keyval`.
    pub(super) value: Value,
    /// The 32 bytes.
    pub(super) bytes: Vec<u8>,
}

impl PublicKey {
    fn of(bytes: &[u8]) -> Result<Self, Failure> {
        use std::fmt::Write as _;
        let mut hex = String::new();
        for byte in bytes {
            let _ = write!(hex, "{byte:02x}");
        }
        let value = json!({
            "keytype": "ed25519", "scheme": "ed25519", "keyval": { "public": hex },
        });
        let key: sigstore_tuf::Key = serde_json::from_value(value.clone())?;
        Ok(Self {
            id: key.key_id()?,
            value,
            bytes: bytes.to_vec(),
        })
    }

    /// Reads a `.pub` file.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |why: String| {
            let path = path.display();
            Failure(format!(
                "{path}: {why}; a public key is the .pub file that `compatdb keys new` wrote"
            ))
        };
        let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
        let value: Value = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
        let public = value.pointer("/keyval/public").and_then(Value::as_str);
        let bytes = public.and_then(from_hex).filter(|b| b.len() == 32);
        let bytes = bytes.ok_or_else(|| wrong("it has no Ed25519 key".to_owned()))?;
        let key = Self::of(&bytes)?;
        match value.get("keyid").and_then(Value::as_str) == Some(&key.id) {
            true => Ok(key),
            false => Err(wrong("its keyid is not that of its key".to_owned())),
        }
    }
}

/// Bytes from hexadecimal digits.
pub(super) fn from_hex(hex: &str) -> Option<Vec<u8>> {
    if !hex.is_ascii() || !hex.len().is_multiple_of(2) {
        return None;
    }
    (0..hex.len() / 2)
        .map(|i| u8::from_str_radix(hex.get(i * 2..i * 2 + 2)?, 16).ok())
        .collect()
}

/// `NAME.key` of a name, or of itself.
pub(super) fn private_path(name: &Path) -> PathBuf {
    match name.extension() == Some("key".as_ref()) {
        true => name.to_owned(),
        false => {
            let mut name = name.as_os_str().to_owned();
            name.push(".key");
            name.into()
        }
    }
}

/// Makes a key and its two files; with a passphrase, an encrypted one.
pub(super) fn create(name: &Path, passphrase: Option<&str>) -> Result<PublicKey, Failure> {
    let path = private_path(name);
    let pair = Ed25519KeyPair::generate()
        .map_err(|_| Failure("the system gave no random key".to_owned()))?;
    let der: Pkcs8V1Der<'_> = pair
        .as_der()
        .map_err(|_| Failure("the new key cannot be written as PKCS#8".to_owned()))?;
    let text = match passphrase {
        Some(passphrase) => encrypt(der.as_ref(), passphrase)?,
        None => SecretDocument::try_from(der.as_ref())
            .and_then(|d| d.to_pem(PLAIN, LineEnding::LF))
            .map_err(|e| Failure(format!("the new key cannot be written as PEM: {e}")))?
            .to_string(),
    };
    let public = PublicKey::of(pair.public_key().as_ref())?;
    let mut shown = public.value.clone();
    if let Some(map) = shown.as_object_mut() {
        map.insert("keyid".to_owned(), json!(public.id));
    }
    // The private one first: a key without its public file is found by the next try.
    write_new(&path, text.as_bytes(), 0o600)?;
    let mut shown = serde_json::to_string_pretty(&shown)?;
    shown.push('\n');
    write_new(&path.with_extension("pub"), shown.as_bytes(), 0o644)?;
    Ok(public)
}

/// Never over a file that is there.
fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Failure> {
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::Builder::new()
            .permissions(std::fs::Permissions::from_mode(mode))
            .tempfile_in(dir)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist_noclobber(path).map_err(|e| e.error)?;
        std::fs::File::open(dir)?.sync_all()
    };
    write().map_err(|e| {
        let path = path.display();
        Failure(format!(
            "cannot write {path}: {e}; a key is never written over a file"
        ))
    })
}

/// scrypt with N = 2^14, r = 8, p = 5: 16 MiB, five times; the most memory that `openssl pkey`
/// allows without being told otherwise.
fn encrypt(der: &[u8], passphrase: &str) -> Result<String, Failure> {
    let failed = |e: String| Failure(format!("the new key cannot be encrypted: {e}"));
    let (mut salt, mut iv) = ([0u8; 16], [0u8; 16]);
    for bytes in [&mut salt, &mut iv] {
        aws_lc_rs::rand::fill(bytes)
            .map_err(|_| failed("the system gave no random bytes".to_owned()))?;
    }
    let cost = scrypt::Params::new(14, 8, 5).map_err(|e| failed(e.to_string()))?;
    let scheme = pbes2::Parameters::generate_scrypt_aes256cbc(cost, &salt, iv)
        .map_err(|e| failed(e.to_string()))?;
    let encrypted = PrivateKeyInfoRef::try_from(der)
        .map_err(|e| failed(e.to_string()))?
        .encrypt_with_params(scheme, passphrase)
        .map_err(|e| failed(e.to_string()))?;
    let pem = encrypted
        .to_pem(ENCRYPTED, LineEnding::LF)
        .map_err(|e| failed(e.to_string()))?;
    Ok(pem.to_string())
}

/// Reads a private key; asks for the passphrase only if it takes one.
pub(super) fn unlock(
    path: &Path,
    public: &PublicKey,
    passphrase: impl FnOnce() -> Result<String, Failure>,
) -> Result<Ed25519KeyPair, Failure> {
    let wrong = |why: String| Failure(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
    let (label, document) = SecretDocument::from_pem(&text).map_err(|e| wrong(e.to_string()))?;
    let document = match label {
        PLAIN => document,
        ENCRYPTED => EncryptedPrivateKeyInfoRef::try_from(document.as_bytes())
            .map_err(|e| wrong(e.to_string()))?
            .decrypt(passphrase()?)
            .map_err(|_| wrong("this passphrase does not open it".to_owned()))?,
        other => return Err(wrong(format!("it holds \"{other}\", not a private key"))),
    };
    let pair = Ed25519KeyPair::from_pkcs8(document.as_bytes())
        .map_err(|e| wrong(format!("it is not an Ed25519 key: {e}")))?;
    match pair.public_key().as_ref() == public.bytes {
        true => Ok(pair),
        false => Err(wrong(
            "it is not the key of the .pub file beside it".to_owned(),
        )),
    }
}
