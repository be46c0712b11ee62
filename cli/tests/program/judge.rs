//! One file, made by hand, one cause at a time.

use compatdb::facts::Sip;
use metalshim_cli::program::{self, Code, FileFacts, System};

use crate::build::{ARM64, DYLD, Elf, GLIBC, LIBRARIES, MachO, OWN_MACHINE, Sig, X86_64};
use crate::build::{der, fat, plain, tlv, xml};
use crate::{codes, judged, judged_at};

fn signed(sig: Sig) -> Vec<u8> {
    MachO {
        signature: Some(sig),
        ..plain()
    }
    .build()
}

#[test]
fn a_plain_arm64_program_is_injectable() {
    let judgement = judged(&plain().build());
    assert_eq!(codes(&judgement), []);
    assert_eq!(judgement.details.runs_as.as_deref(), Some("arm64"));
    assert_eq!(judgement.libraries, ["/usr/lib/libSystem.B.dylib"]);
    let signature = judgement.details.signature.unwrap();
    assert_eq!(signature.identifier, "org.example.tool");
    assert_eq!(signature.flag_names, ["adhoc", "linker-signed"]);
    assert_eq!(signature.team, None);
}

#[test]
fn a_program_without_a_signature_is_injectable_and_noted() {
    let judgement = judged(
        &MachO {
            signature: None,
            ..plain()
        }
        .build(),
    );
    assert_eq!(codes(&judgement), []);
    assert!(
        judgement.notes[0].contains("not signed"),
        "{:?}",
        judgement.notes
    );
}

#[test]
fn libraries_bundles_and_objects_are_not_executable() {
    for kind in [1, 4, 6, 7, 8, 9, 10, 11, 99] {
        let judgement = judged(&MachO { kind, ..plain() }.build());
        assert_eq!(codes(&judgement), [Code::NotExecutable], "file type {kind}");
    }
}

#[test]
fn architectures() {
    let arm64 = plain;
    let of = |cpu, subtype| MachO {
        cpu,
        subtype,
        ..plain()
    };
    let cases: &[(&[MachO], &[Code], Option<&str>)] = &[
        (&[of(ARM64, 1)], &[], Some("arm64")),
        (&[of(ARM64, 0x8000_0000)], &[], Some("arm64")),
        (&[of(ARM64, 2)], &[Code::Arm64e], Some("arm64e")),
        (&[of(ARM64, 0x8000_0002)], &[Code::Arm64e], Some("arm64e")),
        (
            &[of(ARM64, 3)],
            &[Code::UnknownSubtype],
            Some("arm64 (unknown sub-type 3)"),
        ),
        (&[of(X86_64, 3)], &[Code::X86Only], None),
        (&[of(7, 3)], &[Code::OtherCpu], None),
        (&[of(X86_64, 3), arm64()], &[], Some("arm64")),
        (&[of(X86_64, 3), of(7, 3)], &[Code::X86Only], None),
        (
            &[of(X86_64, 3), of(ARM64, 0x8000_0002)],
            &[Code::Arm64e],
            Some("arm64e"),
        ),
        // An arm64 Mac prefers the arm64e slice.
        (&[arm64(), of(ARM64, 2)], &[Code::Arm64e], Some("arm64e")),
        (&[of(ARM64, 2), arm64()], &[Code::Arm64e], Some("arm64e")),
        (
            &[arm64(), of(ARM64, 13)],
            &[Code::UnknownSubtype],
            Some("arm64 (unknown sub-type 13)"),
        ),
    ];
    for (images, expected, runs_as) in cases {
        for wide in [false, true] {
            let judgement = judged(&fat(images, wide));
            assert_eq!(codes(&judgement), *expected, "{:?}", judgement.details);
            assert_eq!(judgement.details.runs_as.as_deref(), *runs_as);
            assert_eq!(judgement.details.slices.len(), images.len());
            assert_eq!(judgement.notes.is_empty(), !wide, "{:?}", judgement.notes);
        }
        if let [image] = images {
            assert_eq!(codes(&judged(&image.build())), *expected);
        }
    }
}

#[test]
fn signature_flags() {
    let with = |flags| Sig {
        flags,
        ..Sig::default()
    };
    let cases: &[(u32, &[Code])] = &[
        (0, &[]),
        (0x2, &[]),
        (0x2_0002, &[]),
        (0x300, &[]),
        (0x800, &[Code::RestrictFlag]),
        (0x2000, &[Code::LibraryValidation]),
        (0x1_0000, &[Code::Hardened, Code::LibraryValidation]),
        (
            0x1_0800,
            &[Code::RestrictFlag, Code::Hardened, Code::LibraryValidation],
        ),
    ];
    for (flags, expected) in cases {
        assert_eq!(
            codes(&judged(&signed(with(*flags)))),
            *expected,
            "{flags:#x}"
        );
    }
    let judgement = judged(&signed(Sig {
        team: Some("ABCDE12345"),
        ..with(0x1_0000)
    }));
    assert!(
        judgement.causes[0].says.contains("team ABCDE12345"),
        "{:?}",
        judgement.causes
    );
    let second = |flags| {
        signed(Sig {
            alternate: Some(flags),
            ..with(2)
        })
    };
    assert_eq!(codes(&judged(&second(2))), []);
    assert_eq!(codes(&judged(&second(0x800))), [Code::RestrictFlag]);
    let platform = signed(Sig {
        platform: 14,
        ..with(0)
    });
    assert_eq!(codes(&judged(&platform)), [Code::PlatformBinary]);
}

#[test]
fn entitlements_count_only_where_they_are_true_in_every_form() {
    let both = |a, b| [(DYLD, a), (LIBRARIES, b)];
    let hardened = Sig::hardened;
    let lists: &[(bool, bool, &[Code])] = &[
        (true, true, &[]),
        (true, false, &[Code::LibraryValidation]),
        (false, true, &[Code::Hardened]),
        (false, false, &[Code::Hardened, Code::LibraryValidation]),
    ];
    for (a, b, expected) in lists {
        let (xml, der) = (xml(&both(*a, *b)), der(&both(*a, *b)));
        let forms = [
            (Some(xml.clone()), None, vec!["xml"]),
            (None, Some(der.clone()), vec!["der"]),
            (Some(xml), Some(der), vec!["xml", "der"]),
        ];
        for (xml, der, names) in forms {
            let judgement = judged(&signed(Sig {
                xml,
                der,
                ..hardened()
            }));
            assert_eq!(codes(&judgement), *expected);
            let signature = judgement.details.signature.unwrap();
            assert_eq!(signature.entitlement_forms, names);
            assert_eq!(
                signature.entitlements.allow_dyld_environment_variables,
                Some(*a)
            );
            assert_eq!(signature.entitlements.disable_library_validation, Some(*b));
        }
    }
    // The two forms say different things: the lesser holds.
    let sig = Sig {
        xml: Some(xml(&both(true, true))),
        der: Some(der(&both(true, false))),
        ..hardened()
    };
    assert_eq!(codes(&judged(&signed(sig))), [Code::LibraryValidation]);
    // The key alone, and one of the two, are not enough.
    let sig = Sig {
        xml: Some(xml(&[(DYLD, true)])),
        ..hardened()
    };
    assert_eq!(codes(&judged(&signed(sig))), [Code::LibraryValidation]);
}

#[test]
fn entitlements_that_only_look_granted() {
    let list = |body: &str| format!("<plist version=\"1.0\"><dict>{body}</dict></plist>");
    let granted = format!("<key>{DYLD}</key><true/><key>{LIBRARIES}</key><true/>");
    let hardened = |xml: String| {
        judged(&signed(Sig {
            xml: Some(xml),
            ..Sig::hardened()
        }))
    };
    assert_eq!(codes(&hardened(list(&granted))), []);
    // As found in a real program.
    assert_eq!(codes(&hardened(list(&granted) + "\n</xml>")), []);
    assert_eq!(codes(&hardened(list(&granted) + "\0")), []);
    let refused = [Code::Hardened, Code::LibraryValidation];
    for (what, body) in [
        ("in a comment", format!("<!-- {granted} -->")),
        ("nested", format!("<key>other</key><dict>{granted}</dict>")),
        (
            "as text",
            granted.replace("<true/>", "<string>true</string>"),
        ),
        (
            "as a number",
            granted.replace("<true/>", "<integer>1</integer>"),
        ),
    ] {
        assert_eq!(codes(&hardened(list(&body))), refused, "{what}");
    }
    for (what, xml) in [
        (
            "twice",
            list(&format!("{granted}<key>{DYLD}</key><false/>")),
        ),
        ("no list", granted.clone()),
        (
            "no dictionary",
            format!("<plist version=\"1.0\"><array>{granted}</array></plist>"),
        ),
        ("cut", list(&granted)[..150].to_owned()),
        ("deep", format!("<plist>{}", "<array>".repeat(20_000))),
    ] {
        assert_eq!(codes(&hardened(xml)), [Code::Damaged], "{what}");
    }
}

#[test]
fn der_that_is_not_exactly_the_form_is_damage() {
    let entry = |key: &str, value: Vec<u8>| tlv(0x30, &[tlv(0x0c, key.as_bytes()), value].concat());
    let whole =
        |version: u8, list: &[u8]| tlv(0x70, &[tlv(0x02, &[version]), tlv(0xb0, list)].concat());
    let yes = || tlv(0x01, &[0xff]);
    let codes_of = |der: Vec<u8>| {
        codes(&judged(&signed(Sig {
            der: Some(der),
            ..Sig::hardened()
        })))
    };
    let good = [entry(DYLD, yes()), entry(LIBRARIES, yes())].concat();
    assert_eq!(codes_of(whole(1, &good)), []);
    let nested = entry(
        "other",
        tlv(0x30, &[tlv(0x0c, b"a"), tlv(0x02, &[5])].concat()),
    );
    assert_eq!(codes_of(whole(1, &[nested, good.clone()].concat())), []);
    let other = [entry(DYLD, tlv(0x0c, b"true")), entry(LIBRARIES, yes())].concat();
    assert_eq!(codes_of(whole(1, &other)), [Code::Hardened]);
    let mut tail = whole(1, &good);
    tail.push(0);
    let damaged = [
        ("version", whole(2, &good)),
        ("trailing", tail),
        (
            "boolean of two bytes",
            whole(1, &entry(DYLD, tlv(0x01, &[0xff, 0xff]))),
        ),
        ("boolean 1", whole(1, &entry(DYLD, tlv(0x01, &[1])))),
        ("twice", whole(1, &[good.clone(), good].concat())),
        ("long length", {
            let mut der = whole(1, &[]);
            der.splice(1..2, [0x81, der[1]]);
            der
        }),
    ];
    for (what, der) in damaged {
        assert_eq!(codes_of(der), [Code::Damaged], "{what}");
    }
}

#[test]
fn restricted_segment_and_static() {
    let image = MachO {
        restrict_segment: true,
        ..plain()
    };
    assert_eq!(codes(&judged(&image.build())), [Code::RestrictSegment]);
    let image = MachO {
        dynamic: false,
        ..plain()
    };
    assert_eq!(codes(&judged(&image.build())), [Code::Static]);
}

#[test]
fn restricted_paths_follow_the_state_of_system_integrity_protection() {
    let file = plain().build();
    let at = |path, sip| codes(&judged_at(path, 0o755, sip, &file));
    for path in [
        "/bin/sh",
        "/usr/bin/x",
        "/sbin/x",
        "/usr/sbin/x",
        "/usr/libexec/a/b",
        "/System/x",
        "/USR/BIN/x",
    ] {
        assert_eq!(at(path, Sip::Enabled), [Code::RestrictedPath], "{path}");
        assert_eq!(at(path, Sip::Unknown), [Code::RestrictedPath], "{path}");
        assert_eq!(at(path, Sip::Disabled), [], "{path}");
    }
    for path in [
        "/usr/local/bin/x",
        "/opt/homebrew/bin/x",
        "/binary/x",
        "/usr/binx/y",
        "/System/Volumes/Data/Users/me/x",
    ] {
        assert_eq!(at(path, Sip::Enabled), [], "{path}");
    }
    let marked = FileFacts {
        path: "/x".into(),
        mode: 0o755,
        restricted: true,
        ..FileFacts::default()
    };
    let judge = |sip| codes(&program::judge(&file.as_slice(), &marked, sip, System::Mac));
    assert_eq!(judge(Sip::Enabled), [Code::RestrictedPath]);
    assert_eq!(judge(Sip::Disabled), []);
}

#[test]
fn modes_and_quarantine() {
    let file = plain().build();
    let mode = |mode| codes(&judged_at("/x", mode, Sip::Enabled, &file));
    assert_eq!(mode(0o4755), [Code::SetId]);
    assert_eq!(mode(0o2755), [Code::SetId]);
    assert_eq!(mode(0o644), [Code::NoPermission]);
    assert_eq!(mode(0o100), []);
    let quarantine = |value: &str| {
        let facts = FileFacts {
            path: "/x".into(),
            mode: 0o755,
            quarantine: Some(value.into()),
            ..FileFacts::default()
        };
        codes(&program::judge(
            &file.as_slice(),
            &facts,
            Sip::Enabled,
            System::Mac,
        ))
    };
    assert_eq!(quarantine("0083;65a1b2c3;Safari;"), [Code::Quarantined]);
    assert_eq!(quarantine("00c3;65a1b2c3;Safari;"), []);
    assert_eq!(quarantine("rubbish"), [Code::Quarantined]);
}

#[test]
fn elf_programs_are_injectable_where_they_run() {
    let plain = || Elf {
        kind: 3,
        interpreter: GLIBC,
        pie: true,
        machine: OWN_MACHINE,
        libraries: vec!["libggml-metal.so", "libc.so.6"],
    };
    let judge = |elf: &Elf, system, mode| {
        let facts = FileFacts {
            path: "/usr/bin/x".into(),
            mode,
            ..FileFacts::default()
        };
        program::judge(&elf.build().as_slice(), &facts, Sip::Enabled, system)
    };
    let linux = |elf: &Elf| codes(&judge(elf, System::Linux, 0o755));
    assert_eq!(linux(&plain()), []);
    assert_eq!(
        judge(&plain(), System::Linux, 0o755).libraries,
        ["libggml-metal.so", "libc.so.6"]
    );
    assert_eq!(
        linux(&Elf {
            kind: 2,
            pie: false,
            ..plain()
        }),
        []
    );
    assert_eq!(
        linux(&Elf {
            interpreter: None,
            ..plain()
        }),
        [Code::Static]
    );
    assert_eq!(
        linux(&Elf {
            interpreter: None,
            pie: false,
            kind: 2,
            ..plain()
        }),
        [Code::Static]
    );
    let musl = Elf {
        interpreter: Some("/lib/ld-musl-x86_64.so.1"),
        ..plain()
    };
    assert_eq!(linux(&musl), [Code::OtherCLibrary]);
    let library = Elf {
        interpreter: None,
        pie: false,
        ..plain()
    };
    assert_eq!(linux(&library), [Code::NotExecutable]);
    assert_eq!(linux(&Elf { kind: 1, ..plain() }), [Code::NotExecutable]);
    assert_eq!(
        linux(&Elf {
            machine: 243,
            ..plain()
        }),
        [Code::OtherCpu]
    );
    assert_eq!(
        codes(&judge(&plain(), System::Linux, 0o4755)),
        [Code::SetId]
    );
    assert_eq!(
        codes(&judge(&plain(), System::Mac, 0o755)),
        [Code::OtherSystem]
    );
}

#[test]
fn what_is_no_program() {
    let cases: [&[u8]; 7] = [
        b"",
        b"#",
        b"hello, world",
        b"MZ\x90\0",
        b"\0\0\0",
        b"PK\x03\x04",
        b"\xca\xfe\xba\xbe\0\0\0\x41",
    ];
    for bytes in cases {
        assert_eq!(codes(&judged(bytes)), [Code::UnknownFormat], "{bytes:?}");
    }
}

#[test]
fn every_cut_is_an_error() {
    let full = Sig {
        xml: Some(xml(&[(DYLD, true)])),
        der: Some(der(&[(DYLD, true)])),
        ..Sig::hardened()
    };
    let image = MachO {
        signature: Some(full),
        ..plain()
    };
    let elf = Elf {
        kind: 3,
        interpreter: GLIBC,
        pie: true,
        machine: OWN_MACHINE,
        libraries: vec!["libc.so"],
    };
    let files = [
        image.build(),
        MachO {
            signature: None,
            ..plain()
        }
        .build(),
        fat(&[plain(), image.clone()], false),
        fat(&[image.clone(), plain()], true),
        elf.build(),
    ];
    for file in files {
        for end in 0..file.len() {
            let facts = FileFacts {
                path: "/x".into(),
                mode: 0o755,
                ..FileFacts::default()
            };
            let judgement = program::judge(&&file[..end], &facts, Sip::Enabled, System::Linux);
            let found = codes(&judgement);
            assert!(
                found.contains(&Code::Damaged) || found == [Code::UnknownFormat],
                "cut at {end} of {}: {found:?}",
                file.len()
            );
        }
    }
}

#[test]
fn hostile_fat_headers() {
    let intel = MachO {
        cpu: X86_64,
        subtype: 3,
        ..plain()
    };
    let twice = fat(&[plain(), plain()], false);
    assert_eq!(
        codes(&judged(&twice)),
        [Code::Damaged],
        "two of one architecture"
    );
    let file = fat(&[plain(), intel], false);
    let with = |at: usize, value: u32| {
        let mut file = file.clone();
        file[at..at + 4].copy_from_slice(&value.to_be_bytes());
        codes(&judged(&file))
    };
    assert_eq!(codes(&judged(&file)), []);
    assert_eq!(with(4, 0), [Code::Damaged], "no slices");
    assert_eq!(
        with(4, 41),
        [Code::UnknownFormat],
        "41 slices: a Java class"
    );
    assert_eq!(with(4, 40), [Code::Damaged], "40 slices");
    assert_eq!(
        with(8, X86_64),
        [Code::Damaged],
        "another architecture than the slice"
    );
    assert_eq!(
        with(16, 0),
        [Code::Damaged],
        "a slice that is the fat file itself"
    );
    assert_eq!(
        with(16, u32::MAX),
        [Code::Damaged],
        "a slice beyond the end"
    );
    assert_eq!(with(20, 0), [Code::Damaged], "a slice without bytes");
    assert_eq!(
        with(20, u32::MAX),
        [Code::Damaged],
        "a slice longer than the file"
    );
    let mut nested = fat(&[plain()], false);
    let inner = fat(&[plain()], false);
    nested.truncate(64);
    nested[20..24].copy_from_slice(&(inner.len() as u32).to_be_bytes());
    nested.extend(inner);
    assert_eq!(codes(&judged(&nested)), [Code::Damaged], "fat in fat");
}

#[test]
fn every_code_is_documented() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/programs.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(rows, codes);
}
