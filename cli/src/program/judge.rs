//! The decision about one file that is no script: a pure function over its bytes, what the
//! file system says of it, and System Integrity Protection.

use std::path::{Path, PathBuf};

use compatdb::facts::Sip;
use serde::Serialize;

use super::bytes::{Bytes, Damage, take};
use super::code::Code;
use super::signature::Signature;
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

/// A decision being made.
pub(super) struct Judge<'a> {
    facts: &'a FileFacts,
    pub(super) sip: Sip,
    found: Vec<Cause>,
    pub(super) result: Judgement,
}

impl Judge<'_> {
    pub(super) fn add(&mut self, code: Code, says: impl Into<String>) {
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
            elf::Kind::Other => "library",
            _ => "executable",
        };
        if elf.machine == elf::own_machine() {
            self.result.details.runs_as = Some(arch.clone());
        } else {
            self.add(Code::OtherCpu, format!("is for another processor: {arch}"));
        }
        match elf.kind {
            elf::Kind::Dynamic => {}
            elf::Kind::OtherLinker => self.add(
                Code::OtherCLibrary,
                "is linked against another C library than glibc, which the library needs",
            ),
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
