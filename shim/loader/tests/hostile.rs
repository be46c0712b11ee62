//! Damaged files: never a panic, never a plan that leaves the image.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test"
)]
#![cfg(target_os = "linux")]

mod common;

use std::fs;

use common::{LINKERS, script};
use metalshim_loader::{FixupKind, Plan, Problem};

/// The test library of both linkers, arm64.
fn files() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("folder");
    LINKERS
        .iter()
        .map(|linker| {
            let out = folder.path().join(linker);
            script(
                "shim/loader/tests/fixture/build",
                &["aarch64", linker, out.to_str().expect("text")],
            );
            fs::read(out.join("libfixture.dylib")).expect("built")
        })
        .collect()
}

/// Everything a plan promises, seen from outside.
fn hold(plan: &Plan) {
    let commands = &plan.commands;
    let within = |offset: u64, len: u64, protection: u32| {
        commands.segments.iter().any(|segment| {
            offset >= segment.offset
                && offset + len <= segment.offset + segment.size
                && segment.protection & protection != 0
        })
    };
    for segment in &commands.segments {
        assert!(segment.offset + segment.size <= commands.span);
        assert!(segment.file_size <= segment.size);
    }
    for fixup in &plan.fixups {
        assert!(within(fixup.offset, 8, 2), "{fixup:?}");
        if let FixupKind::Rebase { target, .. } = fixup.kind {
            assert!(target < commands.span, "{fixup:?}");
        }
    }
    for offset in plan
        .initialisers
        .iter()
        .chain(plan.interposes.iter().map(|pair| &pair.replacement))
    {
        assert!(within(*offset, 1, 4), "code at {offset}");
    }
}

fn commands(file: &[u8]) -> Vec<(usize, u32, usize)> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four"));
    let mut at = 32;
    (0..word(16))
        .map(|_| {
            let entry = (at, word(at), word(at + 4) as usize);
            at += entry.2;
            entry
        })
        .collect()
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    for file in files() {
        let whole = Plan::read(&file).expect("whole");
        hold(&whole);
        let last = commands(&file).last().copied().expect("commands");
        let end = last.0 + last.2;
        // Every byte of the load commands (so every boundary too), then in steps.
        for length in (0..=end).chain((end..file.len()).step_by(97)) {
            let cut = Plan::read(&file[..length]);
            assert!(cut.is_err(), "cut to {length} of {} bytes", file.len());
        }
    }
}

#[test]
fn a_load_command_less_than_the_header_says_is_refused() {
    for file in files() {
        for (index, (start, _, _)) in commands(&file).into_iter().enumerate() {
            let mut fewer = file.clone();
            fewer[16..20].copy_from_slice(&(index as u32).to_le_bytes());
            assert!(
                Plan::read(&fewer).is_err(),
                "{index} commands, the size that of all"
            );
            fewer[20..24].copy_from_slice(&((start - 32) as u32).to_le_bytes());
            if let Ok(plan) = Plan::read(&fewer) {
                hold(&plan);
            }
            let mut huge = file.clone();
            for size in [0_u32, 4, 7, u32::MAX, u32::MAX - 3] {
                huge[start + 4..start + 8].copy_from_slice(&size.to_le_bytes());
                assert!(Plan::read(&huge).is_err(), "command {index} of size {size}");
            }
        }
    }
}

#[test]
fn a_changed_byte_never_leaves_the_image() {
    let (mut taken, mut refused) = (0, 0);
    for mut file in files() {
        let last = commands(&file).last().copied().expect("commands");
        let commands_end = last.0 + last.2;
        let whole = Plan::read(&file).expect("whole");
        let places: Vec<usize> = (0..commands_end)
            .chain(
                whole
                    .commands
                    .segments
                    .iter()
                    .filter(|s| s.protection & 4 == 0)
                    .flat_map(|s| {
                        let start = s.file_offset as usize;
                        start..start + (s.file_size as usize).min(2048)
                    }),
            )
            .collect();
        for place in places {
            let before = file[place];
            for value in [0, 0xff, before ^ 1, before ^ 0x80, before.wrapping_add(1)] {
                file[place] = value;
                match Plan::read(&file) {
                    Ok(plan) => {
                        hold(&plan);
                        taken += 1;
                    }
                    Err(problem) => {
                        assert!(!problem.to_string().is_empty());
                        refused += 1;
                    }
                }
            }
            file[place] = before;
        }
    }
    assert!(taken > 0 && refused > 0, "{taken} taken, {refused} refused");
}

#[test]
fn what_is_not_supported_is_named() {
    let files = files();
    let [classic, chained] = files.as_slice() else {
        panic!("two linkers")
    };
    let change = |file: &[u8], at: usize, bytes: &[u8]| {
        let mut file = file.to_vec();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        Plan::read(&file).expect_err("changed").to_string()
    };
    let find = |file: &[u8], id: u32| {
        commands(file)
            .into_iter()
            .find(|command| command.1 == id)
            .expect("command")
            .0
    };
    // The kind byte of the section of this name.
    let kind_of = |file: &[u8], name: &[u8]| {
        let at = file
            .windows(name.len())
            .position(|part| part == name)
            .expect("section");
        at + 64
    };
    let cases = [
        (change(classic, 0, &[0xca, 0xfe, 0xba, 0xbe]), "lipo"),
        (change(classic, 0, &[0xce]), "32-bit"),
        (change(classic, 0, b"\x7fELF"), "not a Mach-O file"),
        (change(classic, 4, &[7, 0, 0, 2]), "processor"),
        (change(classic, 8, &[2, 0, 0, 0x80]), "arm64e"),
        (change(classic, 12, &[2]), "of type 2"),
        (
            change(classic, find(classic, 0x1b), &[0x1a, 0, 0, 0]),
            "LC_ROUTINES",
        ),
        (
            change(classic, find(classic, 0x1b), &[0x77, 0, 0, 0x80]),
            "0x80000077",
        ),
        (
            change(classic, kind_of(classic, b"__interpose\0"), &[0x11]),
            "thread-local",
        ),
        (
            change(classic, kind_of(classic, b"__mod_init_func\0"), &[0x0a]),
            "unload",
        ),
        (
            change(
                classic,
                kind_of(classic, b"__interpose\0") - 64,
                b"__objc_list",
            ),
            "Objective-C metadata",
        ),
        (
            change(classic, find(classic, 0x19) + 60, &[7]),
            "writable and executable",
        ),
    ];
    for (message, wanted) in cases {
        assert!(
            message.contains(wanted),
            "{message:?} does not say {wanted:?}"
        );
    }
    assert!(matches!(Plan::read(&[]), Err(Problem::Damaged(_))));

    // Chained fixups of the kinds that arm64e has: the format is in the chain's start.
    let at = find(chained, 0x8000_0034);
    let word =
        |at: usize| u32::from_le_bytes(chained[at..at + 4].try_into().expect("four")) as usize;
    let data = word(at + 8);
    let starts = data + word(data + 4);
    let segment = (0..word(starts))
        .map(|n| word(starts + 4 + n * 4))
        .find(|&n| n != 0)
        .expect("chains");
    let message = change(chained, starts + segment + 6, &[12, 0]);
    assert!(message.contains("format 12"), "{message}");
}

#[test]
fn both_linkers_give_the_same_plan() {
    let plans: Vec<Plan> = files()
        .iter()
        .map(|file| Plan::read(file).expect("read"))
        .collect();
    let imports = |plan: &Plan| {
        let mut names: Vec<String> = plan
            .fixups
            .iter()
            .filter_map(|fixup| match &fixup.kind {
                FixupKind::Bind { symbol, .. } => Some(symbol.clone()),
                FixupKind::Rebase { .. } => None,
            })
            .filter(|name| name != "dyld_stub_binder")
            .collect();
        names.sort();
        names.dedup();
        names
    };
    assert_eq!(imports(&plans[0]), imports(&plans[1]));
    for plan in &plans {
        assert_eq!(plan.initialisers.len(), 2);
        assert_eq!(plan.interposes.len(), 1);
        assert_eq!(plan.interposes[0].symbol, "_system");
        assert_eq!(plan.commands.install_name, "@rpath/libfixture.dylib");
        assert!(plan.commands.two_level);
    }
}
