//! Holds the library that ships to Macs to what was promised of it, by reading the file.
//! The reader is the `object` crate, so that a mistake of our own reader is not repeated
//! here; ours is asked only for what it is the loader's business to know.
#![allow(clippy::expect_used, clippy::panic, reason = "a test")]

mod common;
#[path = "common/macho_file.rs"]
mod macho_file;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use common::script;
use macho_file::{LE, commands, header, names, sections};
use metalshim_loader::{FixupKind, Plan};
use object::macho;
use object::read::macho::{LoadCommandVariant, MachHeader, MachOFile64, Section};
use object::{Endianness, Object, ObjectSymbol};

const NO_FLAGS: macho::FileFlags = macho::FileFlags(0);
const INSTALL_NAME: &str = "@rpath/libmetalshim.dylib";
/// Bytes. Four 16 KiB pages (text takes two of them) and the link-edit data.
const SIZE_BUDGET: usize = 66 * 1024;

/// Every function that may be imported. The loader has a rule for each, and each is in
/// macOS 13. Whatever may be missing on some system is looked up when the library runs.
const IMPORTS: &[&str] = &[
    "___error",
    "__exit",
    "_abort",
    "_bzero",
    "_close",
    "_dlsym",
    "_execve",
    "_fstat",
    "_getenv",
    "_geteuid",
    "_getpid",
    "_memcmp",
    "_memcpy",
    "_memmove",
    "_memset",
    "_open",
    "_posix_spawn",
    "_posix_spawnp",
    "_pread",
    "_read",
    "_sched_yield",
    "_strlen",
    "_write",
    "dyld_stub_binder",
];

/// What other images would see. Both are marks that Zig's linker leaves, and no functions.
const EXPORTS: &[&str] = &["___dso_handle", "__mh_dylib_header"];

/// Functions whose calls of other images go through the library.
const INTERPOSED: &[&str] = &["_execve", "_posix_spawn", "_posix_spawnp"];

/// Text that must not be in the file, and why.
const FORBIDDEN: &[(&str, &str)] = &[
    ("panicked", "panic machinery"),
    ("unwrap", "panic machinery"),
    ("out of bounds", "panic machinery"),
    ("out of range", "panic machinery"),
    ("attempt to ", "panic machinery"),
    ("overflow", "panic machinery"),
    (".rs", "a source path, as a panic's location has it"),
    ("rust_", "Rust's runtime"),
    ("5001", "Metal 3 is never claimed"),
    ("5002", "Metal 4 is never claimed"),
    ("Metal3", "Metal 3 is never claimed"),
    ("eatureProfile", "feature profiles are not touched"),
    ("supportsFeatureSet", "feature sets are not touched"),
    (
        "hostSupportsFamily",
        "Apple's own question to the host is never hooked",
    ),
    ("WorkingSet", "memory sizes are not touched"),
    ("architecture", "the architecture is not touched"),
    ("setenv", "the environment is edited in place"),
    ("clock", "timing"),
    ("mach_absolute_time", "timing"),
    ("gettimeofday", "timing"),
    ("sleep", "timing"),
    ("timer", "timing"),
    ("NSLog", "nothing is logged"),
    ("os_log", "nothing is logged"),
    ("syslog", "nothing is logged"),
    ("printf", "nothing is printed"),
    ("Foundation", "no framework is loaded"),
    ("socket", "no network"),
    ("http", "no network"),
    ("/Users/", "a path of the builder"),
    ("/home/", "a path of the builder"),
    ("/root/", "a path of the builder"),
    ("/cargo/", "a path of the builder"),
    (".cargo", "a path of the builder"),
    ("/rustc/", "a path of the builder"),
];

fn built() -> Vec<u8> {
    fs::read(script("shim/macos/build", &[])).expect("built")
}

#[test]
fn a_plain_arm64_dylib_for_macos_13() {
    let file = built();
    let header = header(&file);
    assert_eq!(header.cputype(LE), macho::CPU_TYPE_ARM64);
    assert_eq!(
        header.cpusubtype(LE),
        macho::CPU_SUBTYPE_ARM64_ALL.into(),
        "no arm64e, no capabilities"
    );
    assert_eq!(header.filetype(LE), macho::MH_DYLIB);
    let flags = header.flags(LE);
    assert_ne!(flags & macho::MH_TWOLEVEL, NO_FLAGS, "two-level namespace");
    assert_eq!(
        flags & macho::MH_FORCE_FLAT,
        NO_FLAGS,
        "two-level namespace"
    );
    assert_eq!(flags & macho::MH_ALLOW_STACK_EXECUTION, NO_FLAGS);

    let versions: Vec<(macho::Platform, u32)> = commands(&file)
        .iter()
        .filter_map(|(_, command)| match command {
            LoadCommandVariant::BuildVersion(version, _) => {
                Some((version.platform.get(LE), version.minos.get(LE).0))
            }
            _ => None,
        })
        .collect();
    assert_eq!(versions, [(macho::PLATFORM_MACOS, 13 << 16)]);
    assert_eq!(names(&file, macho::LC_ID_DYLIB), [INSTALL_NAME]);
    assert_eq!(
        names(&file, macho::LC_LOAD_DYLIB),
        ["/usr/lib/libSystem.B.dylib"]
    );
    for (kind, what) in [
        (macho::LC_RPATH, "search paths"),
        (macho::LC_LOAD_WEAK_DYLIB, "weak libraries"),
        (macho::LC_REEXPORT_DYLIB, "re-exported libraries"),
        (macho::LC_DYLD_ENVIRONMENT, "variables for dyld"),
    ] {
        assert!(
            commands(&file).iter().all(|(cmd, _)| *cmd != kind),
            "{what}"
        );
    }
    assert_eq!(
        commands(&file)
            .iter()
            .filter(|(cmd, _)| *cmd == macho::LC_UUID)
            .count(),
        1
    );
    assert!(
        file.len() <= SIZE_BUDGET,
        "{} bytes, more than {SIZE_BUDGET}",
        file.len()
    );
}

/// The names in an export table (a tree whose edges are pieces of names).
fn exported(trie: &[u8]) -> BTreeSet<String> {
    fn number(trie: &[u8], at: &mut usize) -> usize {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let byte = trie[*at];
            *at += 1;
            value |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut found = BTreeSet::new();
    let mut nodes = vec![(0, String::new())];
    while let Some((mut at, name)) = nodes.pop() {
        if trie.is_empty() {
            break;
        }
        let terminal = number(trie, &mut at);
        if terminal != 0 {
            found.insert(name.clone());
        }
        at += terminal;
        let children = trie[at];
        at += 1;
        for _ in 0..children {
            let end = at + trie[at..].iter().position(|&b| b == 0).expect("edge");
            let edge = std::str::from_utf8(&trie[at..end]).expect("text");
            at = end + 1;
            nodes.push((number(trie, &mut at), format!("{name}{edge}")));
        }
    }
    found
}

#[test]
fn imports_exports_and_what_it_redirects() {
    let file = built();
    let read = MachOFile64::<Endianness>::parse(&file[..]).expect("a Mach-O file");
    let named = |undefined: bool| -> BTreeSet<String> {
        read.symbols()
            .filter(|symbol| symbol.is_undefined() == undefined && symbol.is_global())
            .map(|symbol| symbol.name().expect("text").to_owned())
            .collect()
    };
    let imports = named(true);
    let unknown: Vec<_> = imports
        .iter()
        .filter(|name| !IMPORTS.contains(&name.as_str()))
        .collect();
    assert!(
        unknown.is_empty(),
        "imports that are not on the list: {unknown:?}"
    );

    let plan = Plan::read(&file).expect("loadable");
    let bound: BTreeSet<String> = plan
        .fixups
        .iter()
        .filter_map(|fixup| match &fixup.kind {
            FixupKind::Bind { symbol, .. } => Some(symbol.clone()),
            FixupKind::Rebase { .. } => None,
        })
        .collect();
    assert_eq!(bound, imports, "what is bound is what the name table says");

    let mut exports = BTreeSet::new();
    for (_, command) in commands(&file) {
        let place = match command {
            LoadCommandVariant::DyldInfo(info) => {
                (info.export_off.get(LE), info.export_size.get(LE))
            }
            LoadCommandVariant::LinkeditData(data)
                if data.cmd.get(LE) == macho::LC_DYLD_EXPORTS_TRIE =>
            {
                (data.dataoff.get(LE), data.datasize.get(LE))
            }
            _ => continue,
        };
        exports.extend(exported(&file[place.0 as usize..][..place.1 as usize]));
    }
    exports.extend(named(false));
    let unknown: Vec<_> = exports
        .iter()
        .filter(|name| !EXPORTS.contains(&name.as_str()))
        .collect();
    assert!(
        unknown.is_empty(),
        "exports that are not on the list: {unknown:?}"
    );

    assert_eq!(plan.initialisers.len(), 1, "one constructor");
    let redirected: Vec<&str> = plan
        .interposes
        .iter()
        .map(|pair| pair.symbol.as_str())
        .collect();
    assert_eq!(
        redirected.iter().copied().collect::<BTreeSet<_>>(),
        INTERPOSED.iter().copied().collect()
    );
    assert_eq!(redirected.len(), INTERPOSED.len(), "each once");
}

#[test]
fn nothing_is_in_it_that_must_not_be() {
    let file = built();
    let holds = |text: &str| file.windows(text.len()).any(|part| part == text.as_bytes());
    for (text, why) in FORBIDDEN {
        assert!(!holds(text), "{text:?} is in the file: {why}");
    }
    for variable in [
        "HOME",
        "CARGO_HOME",
        "CARGO_MANIFEST_DIR",
        "CARGO_TARGET_DIR",
    ] {
        if let Ok(path) = std::env::var(variable)
            && path.len() > 1
        {
            assert!(!holds(&path), "{path} ({variable}) is in the file");
        }
    }
    assert!(holds("METALSHIM_TICKET"), "the search finds what is there");

    // 5001 and 5002 as numbers: one instruction puts either into a register.
    let mut seen = BTreeSet::new();
    for section in sections(&file) {
        if section.name() == b"__text" {
            let code = section
                .data(LE, &file[..], section.offset.get(LE).into())
                .expect("code");
            for word in code.chunks_exact(4) {
                let word = u32::from_le_bytes(word.try_into().expect("four"));
                // MOVZ of either width, no shift.
                if word & 0x7fe0_0000 == 0x5280_0000 {
                    seen.insert((word >> 5) & 0xffff);
                }
            }
        }
    }
    assert!(seen.contains(&1001), "families are numbers there: {seen:?}");
    assert!(
        !seen.contains(&5001) && !seen.contains(&5002),
        "Metal 3 and 4 are never claimed"
    );
}

#[test]
fn homebrew_can_write_a_longer_name_into_it() {
    let file = built();
    // Zero-filled sections have no place in the file.
    let places = sections(&file)
        .into_iter()
        .map(|section| section.offset.get(LE));
    let first = places
        .filter(|&offset| offset != 0)
        .min()
        .expect("sections");
    let used = 32 + header(&file).sizeofcmds(LE);
    // One path of the longest kind that macOS takes.
    assert!(
        first - used >= 1024,
        "{} bytes of room behind the load commands",
        first - used
    );

    if cfg!(target_os = "macos") {
        return;
    }
    script(".ci/need", &["llvm-install-name-tool-19", "llvm-otool-19"]);
    let folder = tempfile::tempdir().expect("folder");
    let copy = folder.path().join("copy.dylib");
    fs::write(&copy, &file).expect("written");
    let prefix = "/opt/homebrew/a prefix of the longer kind/".repeat(8);
    let name = format!("{prefix}opt/metalshim/libexec/libmetalshim.dylib");
    let tool = Command::new("llvm-install-name-tool-19")
        .arg("-id")
        .arg(&name)
        .arg(&copy)
        .output();
    let tool = tool.expect("llvm-install-name-tool-19");
    assert!(
        tool.status.success(),
        "{}",
        String::from_utf8_lossy(&tool.stderr)
    );
    // The tool itself says nothing when there was no room; only reading the file again does.
    let otool = Command::new("llvm-otool-19")
        .arg("-l")
        .arg(&copy)
        .output()
        .expect("llvm-otool-19");
    assert!(
        otool.status.success(),
        "{}",
        String::from_utf8_lossy(&otool.stderr)
    );
    let changed = fs::read(&copy).expect("changed");
    assert_eq!(names(&changed, macho::LC_ID_DYLIB), [name.as_str()]);
    let plan = Plan::read(&changed).expect("still loadable");
    assert_eq!(plan.commands.install_name, name);
    assert_eq!(plan.fixups, Plan::read(&file).expect("loadable").fixups);
    let text = |file: &[u8]| file[first as usize..0x4000].to_vec();
    assert_eq!(text(&changed), text(&file), "the code is where it was");
}
