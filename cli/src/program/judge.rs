//! The decision about one file that is no script: a pure function over its bytes, what the
//! file system says of it, and System Integrity Protection.

use std::path::{Path, PathBuf};

use compatdb::facts::Sip;
use serde::Serialize;

use super::bytes::{Bytes, Damage, take};
use super::code::Code;
use super::signature::{self, Signature};
use super::{System, elf, macho};

/// What the file system says of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// Where it is, with all links followed.
    pub path: PathBuf,
    /// Permission bits, `st_mode & 0o7777`.
    pub mode: u32,
    /// The user it belongs to, `st_uid`.
    pub owner: u32,
    /// `SF_RESTRICTED` is among its flags (`ls -lO` shows `restricted`).
    pub restricted: bool,
    /// The value of `com.apple.quarantine`, if it has one.
    pub quarantine: Option<String>,
    /// It has Linux file capabilities.
    pub capabilities: bool,
}

/// What a program file is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Details {
    /// `mach-o`, `elf`, or `unknown`.
    pub format: &'static str,
    /// Its architectures, in the file's order.
    pub slices: Vec<SliceDetails>,
    /// The name of the slice that an arm64 Mac runs; none if it runs none of them natively.
    pub runs_as: Option<String>,
    /// What its code signature says; none if it is not signed.
    pub signature: Option<Signature>,
}

/// One architecture of a program file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SliceDetails {
    /// Like `arm64`.
    pub arch: String,
    /// `executable`, `library`, `bundle`, `object`, ..
    pub kind: &'static str,
}

/// The decision about one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The causes that apply, in the order of [`Code`]; empty if it can be injected.
    pub causes: Vec<Cause>,
    /// What it is made of, as far as it could be read.
    pub details: Details,
    /// What the user should know all the same.
    pub notes: Vec<String>,
    /// The libraries it links, by the names it has for them.
    pub libraries: Vec<String>,
}

/// One cause, with the values that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Which.
    pub code: Code,
    /// Why, as the end of a sentence that starts with the program's name.
    pub says: String,
}

/// Folders that belong to macOS.
const RESTRICTED: [&str; 6] = [
    "/bin",
    "/usr/bin",
    "/sbin",
    "/usr/sbin",
    "/usr/libexec",
    "/System",
];

/// Whether the file can be injected on `system`, where it would be started as it is. A
/// Mach-O file is judged as an arm64 Mac would, on any system.
pub fn judge(bytes: &dyn Bytes, facts: &FileFacts, sip: Sip, system: System) -> Judgement {
    let mut judge = Judge {
        facts,
        sip,
        found: Vec::new(),
        result: Judgement::empty(),
    };
    if let Err(damage) = judge.look(bytes, system) {
        match damage {
            Damage::Cut(what) => {
                let says = format!("is damaged: the file ends before the end of {what}");
                judge.add(Code::Damaged, says);
            }
            Damage::Bad(what) => judge.add(Code::Damaged, format!("is damaged: {what}")),
            Damage::Io(error) => judge.add(Code::Unreadable, format!("cannot be read: {error}")),
        }
    }
    judge.found.sort_by_key(|cause| cause.code);
    Judgement {
        causes: judge.found,
        ..judge.result
    }
}

impl Judgement {
    fn empty() -> Self {
        let details = Details {
            format: "unknown",
            ..Details::default()
        };
        Self {
            causes: Vec::new(),
            details,
            notes: Vec::new(),
            libraries: Vec::new(),
        }
    }
}

struct Judge<'a> {
    facts: &'a FileFacts,
    sip: Sip,
    found: Vec<Cause>,
    result: Judgement,
}

impl Judge<'_> {
    fn add(&mut self, code: Code, says: impl Into<String>) {
        self.found.push(Cause {
            code,
            says: says.into(),
        });
    }

    fn look(&mut self, bytes: &dyn Bytes, system: System) -> Result<(), Damage> {
        let start = take(bytes, 0, bytes.size().min(8), 8, "the file")?;
        if let Some(magic) = macho::magic(&start) {
            self.result.details.format = "mach-o";
            self.permissions();
            self.quarantine();
            self.restricted_path();
            return self.mach_o(bytes, magic);
        }
        if elf::magic(&start) {
            self.result.details.format = "elf";
            self.permissions();
            if system == System::Mac {
                self.add(
                    Code::OtherSystem,
                    "is an ELF program: it does not run on macOS",
                );
            }
            return self.elf(bytes);
        }
        let says = match start.as_slice() {
            [] => "is empty",
            [b'M', b'Z', ..] => "is a Windows program",
            _ => "is no program: neither Mach-O nor ELF, and no script with a `#!` line",
        };
        self.add(Code::UnknownFormat, says);
        Ok(())
    }

    fn permissions(&mut self) {
        if self.facts.mode & 0o6000 != 0 {
            let owner = self.facts.owner;
            let says = format!(
                "is set-user-id or set-group-id (owner {owner}, mode {:04o}): such programs \
                 start without the variables that load a library",
                self.facts.mode & 0o7777
            );
            self.add(Code::SetId, says);
        } else if self.facts.capabilities {
            self.add(
                Code::SetId,
                "has file capabilities: such programs start without the variables that load \
                 a library",
            );
        }
        if self.facts.mode & 0o111 == 0 {
            let says = format!(
                "may not be executed by anybody (mode {:04o})",
                self.facts.mode
            );
            self.add(Code::NoPermission, says);
        }
    }

    fn quarantine(&mut self) {
        const APPROVED: u32 = 0x40;
        let Some(value) = &self.facts.quarantine else {
            return;
        };
        let flags = value
            .split(';')
            .next()
            .and_then(|hex| u32::from_str_radix(hex, 16).ok());
        if flags.is_none_or(|flags| flags & APPROVED == 0) {
            let says = "was downloaded and has not been approved yet (attribute \
                        com.apple.quarantine): macOS asks before it starts it, or refuses";
            self.add(Code::Quarantined, says);
        }
    }

    fn restricted_path(&mut self) {
        let place = restricted_folder(&self.facts.path);
        let sip = match self.sip {
            Sip::Disabled => return,
            Sip::Enabled => "on",
            Sip::Unknown => "not known to be off",
        };
        let why = match (place, self.facts.restricted) {
            (Some(place), _) => format!("lies in {place}"),
            (None, true) => "is marked as restricted".into(),
            (None, false) => return,
        };
        let says = format!(
            "{why}, and System Integrity Protection is {sip}: macOS starts it without the \
             variables that load a library"
        );
        self.add(Code::RestrictedPath, says);
    }

    fn mach_o(&mut self, bytes: &dyn Bytes, magic: macho::Magic) -> Result<(), Damage> {
        let slices = macho::slices(bytes, magic)?;
        let name = |slice: &macho::Slice| macho::arch_name(slice.cpu, slice.subtype);
        self.result.details.slices = slices
            .iter()
            .map(|slice| SliceDetails {
                arch: name(slice),
                kind: macho::kind_name(slice.kind),
            })
            .collect();
        // Every 64-bit slice is read: a cut one has to be an error whichever runs.
        let mut images = Vec::new();
        for slice in &slices {
            let readable = [macho::ARM64, macho::X86_64].contains(&slice.cpu);
            let image = match (readable, slice.kind) {
                (true, Some(_)) => Some(macho::image(bytes, slice)?),
                _ => None,
            };
            images.push(image);
        }
        let arm64 = |subtypes: &[u32]| {
            let wanted = |slice: &macho::Slice| {
                slice.cpu == macho::ARM64
                    && (subtypes.is_empty() || subtypes.contains(&slice.subtype))
            };
            slices.iter().position(wanted)
        };
        let unknown = slices
            .iter()
            .position(|s| s.cpu == macho::ARM64 && s.subtype > 2);
        // The order in which an arm64 Mac prefers them.
        let taken = unknown.or(arm64(&[2])).or(arm64(&[0, 1]));
        let shown = taken.unwrap_or(0);
        if let Some(image) = images.get_mut(shown).and_then(Option::as_mut) {
            self.result.libraries = std::mem::take(&mut image.libraries);
        }
        self.result.details.runs_as = taken.and_then(|taken| slices.get(taken)).map(name);

        let Some(slice) = slices.get(shown) else {
            return Ok(());
        };
        if slice.kind != Some(macho::EXECUTE) {
            let says = format!(
                "is no program but {}: a program loads it, and that one can be started",
                match macho::kind_name(slice.kind) {
                    kind @ ("executable" | "object" | "archive") => format!("an {kind}"),
                    kind => format!("a {kind}"),
                }
            );
            self.add(Code::NotExecutable, says);
        }
        match (taken, slice.subtype) {
            (Some(_), 0 | 1) => {}
            (Some(_), 2) => self.add(
                Code::Arm64e,
                if slices.len() > 1 && arm64(&[0, 1]).is_some() {
                    "runs as arm64e, the slice that an arm64 Mac prefers, and an arm64e \
                     program ends at once when told to load a plain arm64 library"
                } else {
                    "is arm64e, and an arm64e program ends at once when told to load a plain \
                     arm64 library"
                },
            ),
            (Some(_), other) => self.add(
                Code::UnknownSubtype,
                format!("has a slice of arm64 sub-type {other}, which is not known here"),
            ),
            (None, _) if slices.iter().any(|slice| slice.cpu == macho::X86_64) => self.add(
                Code::X86Only,
                "is for Intel processors only and runs under Rosetta; the library is arm64",
            ),
            (None, _) => {
                let all: Vec<String> = slices.iter().map(name).collect();
                self.add(Code::OtherCpu, format!("is for {} only", all.join(", ")));
            }
        }
        if magic == macho::Magic::Fat64 && slice.kind == Some(macho::EXECUTE) {
            let says = "has a 64-bit fat header, which the macOS kernel is not known to start";
            self.result.notes.push(says.into());
        }
        let signatures = slices.iter().zip(&images).map(|(slice, image)| {
            let Some((at, size)) = image.as_ref().and_then(|image| image.signature) else {
                return Ok(None);
            };
            let window = super::bytes::Window::new(bytes, slice.offset, slice.size)?;
            signature::read(&window, at, size).map(Some)
        });
        let mut signatures = signatures.collect::<Result<Vec<_>, Damage>>()?;
        self.result.details.signature = signatures.get_mut(shown).and_then(Option::take);
        if slice.kind == Some(macho::EXECUTE)
            && let Some(Some(image)) = images.get(shown)
        {
            self.image(image);
        }
        Ok(())
    }

    /// What one executable image says against it.
    fn image(&mut self, image: &macho::Image) {
        if image.restrict_segment {
            self.add(
                Code::RestrictSegment,
                "has a segment __RESTRICT: it starts without the variables that load a library",
            );
        }
        if !image.dynamic {
            self.add(
                Code::Static,
                "names no dynamic linker: nothing in it loads libraries",
            );
        }
        let Some(signature) = self.result.details.signature.clone() else {
            if self.result.details.runs_as.is_some() {
                let says = "is not signed: macOS starts no arm64 program without a signature";
                self.result.notes.push(says.into());
            }
            return;
        };
        let has = |flag: u32| signature.flags & flag != 0;
        let entitlements = signature.entitlements;
        let team = match &signature.team {
            Some(team) => format!(" (team {team})"),
            None => String::new(),
        };
        if signature.platform != 0 && self.sip != Sip::Disabled {
            self.add(
                Code::PlatformBinary,
                "is signed as a part of macOS: it starts without the variables that load a \
                 library",
            );
        }
        if has(signature::RESTRICT) {
            let says = format!(
                "is signed with the flag restrict{team}: it starts without the variables that \
                 load a library"
            );
            self.add(Code::RestrictFlag, says);
        }
        let stated = |value: Option<bool>| match value {
            Some(true) => "true",
            Some(false) => "false",
            None => "absent",
        };
        let allowed = entitlements.allow_dyld_environment_variables;
        if has(signature::RUNTIME) && allowed != Some(true) {
            let says = format!(
                "is hardened{team}, and its entitlement allow-dyld-environment-variables is {}: \
                 it starts without the variables that load a library",
                stated(allowed)
            );
            self.add(Code::Hardened, says);
        }
        // The flag itself counts whatever the entitlements say: whether they lift it is not
        // documented, and a wrong yes ends the program at its start.
        let any = entitlements.disable_library_validation;
        if has(signature::LIBRARY_VALIDATION) || (has(signature::RUNTIME) && any != Some(true)) {
            let says = if has(signature::LIBRARY_VALIDATION) {
                format!(
                    "is signed with the flag library-validation{team}: it loads libraries of \
                     its own team and Apple's only"
                )
            } else {
                format!(
                    "is hardened{team}, and its entitlement disable-library-validation is {}: \
                     it loads libraries of its own team and Apple's only",
                    stated(any)
                )
            };
            self.add(Code::LibraryValidation, says);
        }
    }

    fn elf(&mut self, bytes: &dyn Bytes) -> Result<(), Damage> {
        let Some(elf) = elf::read(bytes)? else {
            self.add(
                Code::OtherCpu,
                "is not for a 64-bit little-endian processor",
            );
            return Ok(());
        };
        let arch = match elf.machine {
            62 => "x86_64".to_owned(),
            183 => "aarch64".to_owned(),
            other => format!("ELF machine {other}"),
        };
        let kind = match elf.kind {
            elf::Kind::Dynamic | elf::Kind::Static => "executable",
            elf::Kind::Other => "library",
        };
        if elf.machine == elf::own_machine() {
            self.result.details.runs_as = Some(arch.clone());
        } else {
            self.add(Code::OtherCpu, format!("is for another processor: {arch}"));
        }
        match elf.kind {
            elf::Kind::Dynamic => {}
            elf::Kind::Static => {
                self.add(
                    Code::Static,
                    "names no dynamic linker: nothing in it loads libraries",
                );
            }
            elf::Kind::Other => self.add(
                Code::NotExecutable,
                "is no program but a library or an object: a program loads it, and that one \
                 can be started",
            ),
        }
        self.result.details.slices.push(SliceDetails { arch, kind });
        self.result.libraries = elf.libraries;
        Ok(())
    }
}

/// The folder of macOS that a path lies in. Names are compared without case, as its file
/// system does.
fn restricted_folder(path: &Path) -> Option<&'static str> {
    let path = path.to_string_lossy().to_ascii_lowercase();
    let under = |folder: &str| {
        let rest = path.strip_prefix(&folder.to_ascii_lowercase());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    // The user's own volume is mounted inside, too.
    if under("/System/Volumes/Data") {
        return None;
    }
    RESTRICTED.into_iter().find(|folder| under(folder))
}
