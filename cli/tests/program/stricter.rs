//! The shim decides by itself which children it passes itself on to, from less: no entitlements,
//! no property lists. Whatever it follows has to be injectable here.

use metalshim_cli::program::Code;

use crate::build::{ARM64, DYLD, LIBRARIES, MachO, Sig, X86_64};
use crate::build::{der, fat, plain, xml};
use crate::{codes, judged, shim};

fn reader(file: &[u8]) -> impl FnMut(u64, &mut [u8]) -> usize {
    move |offset, into| {
        let from = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(file.len());
        let count = into.len().min(file.len() - from);
        into[..count].copy_from_slice(&file[from..from + count]);
        count
    }
}

/// Whether the shim follows this Mach-O program on an arm64 Mac.
fn followed(file: &[u8]) -> bool {
    shim::macho::decide(&mut shim::Window::new(reader(file)), ARM64) == Some(true)
}

fn images() -> Vec<MachO> {
    let mut all = Vec::new();
    for (cpu, subtype) in [
        (ARM64, 0),
        (ARM64, 1),
        (ARM64, 0x8000_0002),
        (ARM64, 2),
        (ARM64, 9),
        (X86_64, 3),
        (7, 3),
    ] {
        for kind in [2, 6, 8] {
            all.push(MachO {
                cpu,
                subtype,
                kind,
                ..plain()
            });
        }
    }
    all.push(MachO {
        restrict_segment: true,
        ..plain()
    });
    all.push(MachO {
        dynamic: false,
        ..plain()
    });
    all.push(MachO {
        signature: None,
        ..plain()
    });
    let platform = Sig {
        platform: 14,
        ..Sig::default()
    };
    all.push(MachO {
        signature: Some(platform),
        ..plain()
    });
    let both = [(DYLD, true), (LIBRARIES, true)];
    for flags in [0, 2, 0x2_0002, 0x200, 0x800, 0x2000, 0x1_0000, 0x1_2800] {
        for entitled in [false, true] {
            for alternate in [None, Some(flags), Some(flags | 0x1_0000)] {
                let sig = Sig {
                    flags,
                    alternate,
                    xml: entitled.then(|| xml(&both)),
                    der: entitled.then(|| der(&both)),
                    ..Sig::default()
                };
                all.push(MachO {
                    signature: Some(sig),
                    ..plain()
                });
            }
        }
    }
    all
}

#[test]
fn whatever_the_shim_follows_is_injectable() {
    let images = images();
    let mut files: Vec<Vec<u8>> = images.iter().map(MachO::build).collect();
    for one in &images {
        files.push(fat(std::slice::from_ref(one), false));
        files.push(fat(std::slice::from_ref(one), true));
        for other in &images {
            files.push(fat(&[one.clone(), other.clone()], false));
        }
    }
    let (mut both, mut here) = (0, 0);
    for file in files {
        let found = codes(&judged(&file));
        // The shim reads no further than it needs; a file that is not whole is the system's
        // to refuse, before any library is looked for.
        if found.contains(&Code::Damaged) {
            continue;
        }
        let followed = followed(&file);
        assert!(!followed || found.is_empty(), "followed, but {found:?}");
        both += usize::from(followed);
        here += usize::from(found.is_empty());
    }
    // Neither is strict by always saying no, and the shim is the stricter one.
    assert!(both > 5 && here > both, "{both} of {here}");
}

#[cfg(not(target_os = "macos"))]
#[test]
fn the_same_for_elf() {
    use compatdb::facts::Sip;
    use metalshim_cli::program::{FileFacts, System, judge};

    use crate::build::{Elf, OWN_MACHINE};

    let facts = FileFacts {
        path: "/x".into(),
        mode: 0o755,
        ..FileFacts::default()
    };
    let mut both = 0;
    for kind in 0..5 {
        for interpreter in [
            None,
            Some("/lib64/ld-linux-x86-64.so.2"),
            Some("/lib/ld-linux-aarch64.so.1"),
            Some("/lib/ld-musl-x86_64.so.1"),
        ] {
            for machine in [OWN_MACHINE, 3, 243] {
                let elf = Elf {
                    kind,
                    interpreter,
                    pie: true,
                    machine,
                    libraries: vec!["libc.so.6"],
                };
                let file = elf.build();
                let found = codes(&judge(
                    &file.as_slice(),
                    &facts,
                    Sip::Enabled,
                    System::Linux,
                ));
                let followed = shim::elf::can_load(reader(&file));
                assert!(!followed || found.is_empty(), "followed, but {found:?}");
                both += usize::from(followed);
            }
        }
    }
    assert!(both > 0);
}
