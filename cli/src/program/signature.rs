//! An embedded code signature: a SuperBlob with one or more CodeDirectories and the
//! entitlements. All its numbers are big-endian. Only what decides is read: the page hashes,
//! by far the most of it, are not.

use serde::Serialize;

use super::bytes::{Bytes, Damage, Window, be32, take, text};
use super::entitlements::{self, Entitlements};

const SUPER_BLOB: u32 = 0xfade_0cc0;
const CODE_DIRECTORY: u32 = 0xfade_0c02;
const ENTITLEMENTS_XML: u32 = 0xfade_7171;
const ENTITLEMENTS_DER: u32 = 0xfade_7172;

/// Slots of the index: the first directory, the two forms of entitlements, and the
/// directories with other hashes.
const SLOT_DIRECTORY: u32 = 0;
const SLOT_XML: u32 = 5;
const SLOT_DER: u32 = 7;
const SLOTS_ALTERNATE: std::ops::Range<u32> = 0x1000..0x1005;

/// Real signatures have up to ten blobs.
const MAX_BLOBS: u32 = 64;

const WHAT: &str = "the code signature";

/// Signed without a certificate.
pub(super) const ADHOC: u32 = 0x2;
/// Environment variables for dyld are dropped.
pub(super) const RESTRICT: u32 = 0x800;
/// Libraries have to be Apple's or of the same team.
pub(super) const LIBRARY_VALIDATION: u32 = 0x2000;
/// Hardened runtime.
pub(super) const RUNTIME: u32 = 0x1_0000;
/// Signed by the linker.
pub(super) const LINKER_SIGNED: u32 = 0x2_0000;

/// What a program's signature says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Signature {
    /// `CodeDirectory.flags`; the union where there are several directories.
    pub flags: u32,
    /// Names of the flags that are set, as `codesign` has them; an unknown one is left out.
    pub flag_names: Vec<&'static str>,
    /// Like `com.example.tool`.
    pub identifier: String,
    /// The ten characters of the developer's team; none in an ad-hoc signature.
    pub team: Option<String>,
    /// The platform identifier; other than 0 for what belongs to macOS itself.
    pub platform: u8,
    /// The entitlements that decide.
    pub entitlements: Entitlements,
    /// In which forms entitlements are there: `xml`, `der`.
    pub entitlement_forms: Vec<&'static str>,
}

/// Reads the signature that takes `size` bytes at `offset` of one image.
pub(super) fn read(image: &dyn Bytes, offset: u64, size: u64) -> Result<Signature, Damage> {
    let all = Window::new(image, offset, size)?;
    let head = take(&all, 0, 12, 12, WHAT)?;
    let (magic, length, count) = (word(&head, 0)?, word(&head, 4)?, word(&head, 8)?);
    let blob = Window::new(&all, 0, length.into()).map_err(|_| Damage::Cut(WHAT))?;
    let mut signature = Signature::default();
    if magic == CODE_DIRECTORY {
        // The oldest form: a directory alone.
        directory(&blob, 0, &mut signature)?;
        return Ok(finish(signature));
    }
    if magic != SUPER_BLOB {
        return Err(Damage::Bad("the code signature: unknown first bytes"));
    }
    if count > MAX_BLOBS {
        return Err(Damage::Bad("the code signature: the number of its blobs"));
    }
    let index = take(&blob, 12, u64::from(count) * 8, 1024, WHAT)?;
    let mut directories = 0;
    let mut found: Vec<(u32, Entitlements)> = Vec::new();
    for entry in index.chunks_exact(8) {
        let (slot, at) = (word(entry, 0)?, u64::from(word(entry, 4)?));
        match slot {
            SLOT_DIRECTORY => directory(&blob, at, &mut signature).map(|()| directories += 1)?,
            slot if SLOTS_ALTERNATE.contains(&slot) => directory(&blob, at, &mut signature)?,
            SLOT_XML | SLOT_DER => found.push((slot, list(&blob, at, slot)?)),
            _ => {}
        }
    }
    if directories != 1 {
        return Err(Damage::Bad("the code signature: not one code directory"));
    }
    found.sort_by_key(|(slot, _)| *slot);
    if found.windows(2).any(|two| two[0].0 == two[1].0) {
        return Err(Damage::Bad("the code signature: entitlements twice"));
    }
    let forms = found
        .iter()
        .map(|(slot, _)| if *slot == SLOT_XML { "xml" } else { "der" });
    signature.entitlement_forms = forms.collect();
    let lists = found.into_iter().map(|(_, list)| list);
    signature.entitlements = lists.reduce(Entitlements::and).unwrap_or_default();
    Ok(finish(signature))
}

fn word(data: &[u8], at: usize) -> Result<u32, Damage> {
    be32(data, at).ok_or(Damage::Cut(WHAT))
}

/// One CodeDirectory. `codesign` writes several with equal flags; the strictest of each
/// counts, since the macOS chooses which it takes.
fn directory(all: &dyn Bytes, at: u64, into: &mut Signature) -> Result<(), Damage> {
    let head = take(all, at, 44, 44, WHAT)?;
    let (magic, length, version) = (word(&head, 0)?, u64::from(word(&head, 4)?), word(&head, 8)?);
    if magic != CODE_DIRECTORY {
        return Err(Damage::Bad(
            "the code signature: no code directory in its slot",
        ));
    }
    let blob = Window::new(all, at, length).map_err(|_| Damage::Cut(WHAT))?;
    into.flags |= word(&head, 12)?;
    into.platform = into.platform.max(head[38]);
    into.identifier = text(&blob, word(&head, 20)?.into(), length, 1024, WHAT)?;
    // The team came with version 2.2 of the format.
    if version >= 0x2_0200 {
        let team = word(&take(&blob, 48, 4, 4, WHAT)?, 0)?;
        if team != 0 {
            into.team = Some(text(&blob, team.into(), length, 256, WHAT)?);
        }
    }
    Ok(())
}

/// One blob of entitlements.
fn list(all: &dyn Bytes, at: u64, slot: u32) -> Result<Entitlements, Damage> {
    let head = take(all, at, 8, 8, WHAT)?;
    let expected = if slot == SLOT_XML {
        ENTITLEMENTS_XML
    } else {
        ENTITLEMENTS_DER
    };
    let size = u64::from(word(&head, 4)?).checked_sub(8);
    let (true, Some(size)) = (word(&head, 0)? == expected, size) else {
        return Err(Damage::Bad(
            "the code signature: no entitlements in their slot",
        ));
    };
    let data = take(
        all,
        at + 8,
        size,
        entitlements::MAX_SIZE,
        "the entitlements",
    )?;
    // An empty list is written as no bytes by some signers.
    let list = match (data.is_empty(), slot) {
        (true, _) => Some(Entitlements::default()),
        (false, SLOT_XML) => entitlements::from_xml(&data),
        (false, _) => entitlements::from_der(&data),
    };
    list.ok_or(Damage::Bad("the entitlements: not a property list"))
}

fn finish(mut signature: Signature) -> Signature {
    const NAMES: [(u32, &str); 11] = [
        (0x1, "host"),
        (ADHOC, "adhoc"),
        (0x4, "get-task-allow"),
        (0x100, "hard"),
        (0x200, "kill"),
        (0x400, "expires"),
        (RESTRICT, "restrict"),
        (0x1000, "enforcement"),
        (LIBRARY_VALIDATION, "library-validation"),
        (RUNTIME, "runtime"),
        (LINKER_SIGNED, "linker-signed"),
    ];
    let set = NAMES.iter().filter(|(bit, _)| signature.flags & bit != 0);
    signature.flag_names = set.map(|(_, name)| *name).collect();
    signature
}
