//! What the shim decides, as tables and properties over its own pure code. The library itself
//! cannot hold tests: it has no standard library. The files are compiled into this test instead.
#![allow(dead_code, clippy::unwrap_used)]

#[path = "../../src/answers.rs"]
mod answers;
#[path = "../../src/child/mod.rs"]
mod child;
#[path = "../../src/encoding.rs"]
mod encoding;
#[path = "../../src/insert.rs"]
mod insert;
#[cfg(not(target_os = "macos"))]
#[path = "../../src/child/macho.rs"]
mod macho;
#[path = "../../src/state.rs"]
mod state;
#[path = "../../src/text.rs"]
mod text;
#[path = "../../src/uuid.rs"]
mod uuid;

#[cfg(target_os = "macos")]
use child::macho;
use child::{Program, Window};
use proptest::prelude::*;

const ARM64: u32 = 0x0100_000c;
const X86_64: u32 = 0x0100_0007;

/// A Mach-O program in the making.
#[derive(Clone)]
struct MachO {
    cpu: u32,
    subtype: u32,
    kind: u32,
    dynamic: bool,
    segment: &'static [u8],
    /// Flags of the code directory; none is no signature.
    signature: Option<u32>,
    /// Other than 0: a part of macOS.
    platform: u8,
    /// Load commands without meaning before the others.
    padding: usize,
}

const PLAIN: MachO = MachO {
    cpu: ARM64,
    subtype: 0,
    kind: 2,
    dynamic: true,
    segment: b"__TEXT",
    signature: Some(0x2_0002),
    platform: 0,
    padding: 0,
};

impl MachO {
    fn bytes(&self) -> Vec<u8> {
        let mut commands: Vec<Vec<u8>> = Vec::new();
        let command = |id: u32, body: &[u8]| {
            let mut bytes = id.to_le_bytes().to_vec();
            bytes.extend((body.len() as u32 + 8).to_le_bytes());
            bytes.extend(body);
            bytes
        };
        for _ in 0..self.padding {
            commands.push(command(0x0c, &[0; 56]));
        }
        let mut segment = [0u8; 64];
        segment[..self.segment.len()].copy_from_slice(self.segment);
        commands.push(command(0x19, &segment));
        if self.dynamic {
            commands.push(command(0x0e, b"\x0c\0\0\0/usr/lib/dyld\0\0\0"));
        }
        let count = commands.len() + usize::from(self.signature.is_some());
        let size: usize = commands.iter().map(Vec::len).sum::<usize>()
            + 16 * usize::from(self.signature.is_some());
        let end = 32 + size as u32;
        if self.signature.is_some() {
            commands.push(command(
                0x1d,
                &[end.to_le_bytes(), 72u32.to_le_bytes()].concat(),
            ));
        }
        let words = [
            0xfeed_facf,
            self.cpu,
            self.subtype,
            self.kind,
            count as u32,
            size as u32,
            0,
            0,
        ];
        let mut file: Vec<u8> = words.iter().flat_map(|w: &u32| w.to_le_bytes()).collect();
        file.extend(commands.concat());
        if let Some(flags) = self.signature {
            // A super blob of two: requirements first, then the code directory.
            let words: [u32; 7] = [0xfade_0cc0, 72, 2, 2, 28, 0, 28];
            file.extend(words.iter().flat_map(|w| w.to_be_bytes()));
            // SHA-256, a platform, pages of 4 KB.
            let hashes = 0x2002_000c | u32::from(self.platform) << 8;
            let directory: [u32; 11] =
                [0xfade_0c02, 44, 0x2_0400, flags, 44, 44, 0, 0, 0, hashes, 0];
            file.extend(directory.iter().flat_map(|w| w.to_be_bytes()));
        }
        file
    }
}

fn fat(slices: &[MachO]) -> Vec<u8> {
    let mut file = 0xcafe_babe_u32.to_be_bytes().to_vec();
    file.extend((slices.len() as u32).to_be_bytes());
    let bodies: Vec<Vec<u8>> = slices.iter().map(MachO::bytes).collect();
    let mut offset = 4096u32;
    for (slice, body) in slices.iter().zip(&bodies) {
        for word in [slice.cpu, slice.subtype, offset, body.len() as u32, 12] {
            file.extend(word.to_be_bytes());
        }
        offset += 16_384;
    }
    for (i, body) in bodies.iter().enumerate() {
        file.resize(4096 + i * 16_384, 0);
        file.extend(body);
    }
    file
}

fn reader(file: &[u8]) -> impl FnMut(u64, &mut [u8]) -> usize + '_ {
    |offset, to| {
        let rest = usize::try_from(offset).ok().and_then(|at| file.get(at..));
        let rest = rest.unwrap_or_default();
        let len = rest.len().min(to.len());
        to[..len].copy_from_slice(&rest[..len]);
        len
    }
}

fn followed(file: &[u8]) -> bool {
    macho::decide(&mut Window::new(reader(file)), ARM64) == Some(true)
}

#[test]
fn which_mach_o_programs_can_load_the_library() {
    let with = |change: fn(&mut MachO)| {
        let mut file = PLAIN;
        change(&mut file);
        file.bytes()
    };
    let arm64e = MachO {
        subtype: 0x8000_0002,
        ..PLAIN
    };
    let intel = MachO {
        cpu: X86_64,
        subtype: 3,
        ..PLAIN
    };
    let cases: Vec<(&str, Vec<u8>, bool)> = vec![
        ("plain arm64", PLAIN.bytes(), true),
        ("arm64 v8", with(|f| f.subtype = 1), true),
        ("unsigned", with(|f| f.signature = None), true),
        ("many load commands", with(|f| f.padding = 200), true),
        ("a part of macOS", with(|f| f.platform = 14), false),
        ("arm64e", arm64e.bytes(), false),
        ("arm64e of an older ABI", with(|f| f.subtype = 2), false),
        (
            "a sub-type of tomorrow",
            with(|f| f.subtype = 0x8100_0003),
            false,
        ),
        ("x86_64", intel.bytes(), false),
        ("a library", with(|f| f.kind = 6), false),
        ("a bundle", with(|f| f.kind = 8), false),
        ("static", with(|f| f.dynamic = false), false),
        (
            "restricted segment",
            with(|f| f.segment = b"__RESTRICT"),
            false,
        ),
        (
            "a segment that begins alike",
            with(|f| f.segment = b"__RESTRICTED"),
            true,
        ),
        ("hardened", with(|f| f.signature = Some(0x1_0000)), false),
        ("restricted", with(|f| f.signature = Some(0x800)), false),
        (
            "library validation",
            with(|f| f.signature = Some(0x2000)),
            false,
        ),
        ("fat: arm64", fat(&[PLAIN]), true),
        ("fat: x86_64 and arm64", fat(&[intel.clone(), PLAIN]), true),
        (
            "fat: arm64 and arm64e",
            fat(&[PLAIN, arm64e.clone()]),
            false,
        ),
        ("fat: arm64e and arm64", fat(&[arm64e, PLAIN]), false),
        ("fat: x86_64", fat(&[intel]), false),
        (
            "fat: hardened arm64",
            fat(&[MachO {
                signature: Some(0x1_0000),
                ..PLAIN
            }]),
            false,
        ),
        (
            "a script",
            b"#!/usr/bin/env python3\nprint()\n".to_vec(),
            false,
        ),
        ("empty", vec![], false),
        (
            "an ELF program",
            std::fs::read("/proc/self/exe").unwrap_or_default(),
            false,
        ),
    ];
    for (name, file, expected) in cases {
        assert_eq!(followed(&file), expected, "{name}");
    }
}

#[test]
fn a_program_cut_short_is_not_followed() {
    // Everything is needed, up to the platform: the last 5 bytes behind it are not read.
    let file = PLAIN.bytes();
    assert!(followed(&file));
    for len in 0..file.len() - 5 {
        assert!(!followed(&file[..len]), "{len}");
    }
}

#[test]
fn which_files_may_be_followed_at_all() {
    let program = Program {
        device: 1,
        inode: 2,
        mode: 0o100_755,
        owner: 0,
        restricted: false,
    };
    let mode = |mode| Program { mode, ..program };
    let cases = [
        (program, true),
        (mode(0o100_700), true),
        (mode(0o100_644), false),
        (mode(0o104_755), false),
        (mode(0o102_755), false),
        (mode(0o040_755), false),
        (mode(0o010_755), false),
        (
            Program {
                restricted: true,
                ..program
            },
            false,
        ),
    ];
    for (program, expected) in cases {
        assert_eq!(program.may_be_followed(), expected, "{program:?}");
    }
}

#[test]
fn which_children_are_wanted() {
    let cases: [(&str, &str, bool, bool); 10] = [
        ("none", "ollama", true, false),
        ("all", "ollama", false, true),
        ("self", "ollama", true, true),
        ("self", "ollama", false, false),
        ("ollama", "ollama", false, true),
        ("ollama", "ollama2", false, false),
        ("self,python3", "python3", false, true),
        ("self,python3", "python", true, true),
        ("python3,node", "node", false, true),
        ("python3,node", "", false, false),
    ];
    for (follow, name, same, expected) in cases {
        let wanted = child::is_wanted(follow.as_bytes(), name.as_bytes(), same);
        assert_eq!(wanted, expected, "{follow} {name} {same}");
    }
}

#[test]
fn encodings_are_compared_by_type() {
    let cases: [(&str, &[&[u8]], bool); 16] = [
        ("B24@0:8q16", encoding::SUPPORTS_FAMILY, true),
        ("c24@0:8q16", encoding::SUPPORTS_FAMILY, true),
        ("C24@0:8q16", encoding::SUPPORTS_FAMILY, true),
        ("B32@0:16q24", encoding::SUPPORTS_FAMILY, true),
        ("B20@0:8i16", encoding::SUPPORTS_FAMILY, false),
        ("B24@0:8Q16", encoding::SUPPORTS_FAMILY, false),
        ("B16@0:8", encoding::SUPPORTS_FAMILY, false),
        ("B32@0:8q16q24", encoding::SUPPORTS_FAMILY, false),
        ("v24@0:8q16", encoding::SUPPORTS_FAMILY, false),
        ("", encoding::SUPPORTS_FAMILY, false),
        ("Q16@0:8", encoding::THREADGROUP_MEMORY, true),
        ("I16@0:8", encoding::THREADGROUP_MEMORY, false),
        ("{MTLSize=QQQ}16@0:8", encoding::THREADGROUP_MEMORY, false),
        ("^Q16@0:8", encoding::THREADGROUP_MEMORY, false),
        ("v16@0:8", encoding::INIT, true),
        ("v24@0:8@16", encoding::INIT, false),
    ];
    for (text, expected, matches) in cases {
        assert_eq!(
            encoding::matches(text.as_bytes(), expected),
            matches,
            "{text}"
        );
    }
}

#[test]
fn the_library_is_taken_out_of_a_list_and_nothing_else() {
    let cases = [
        ("/x/lib.so", ""),
        ("lib.so", ""),
        ("/a:/x/lib.so", "/a"),
        ("/x/lib.so:/b", "/b"),
        ("/a:/x/lib.so:/b", "/a:/b"),
        ("/a:/b", "/a:/b"),
        ("/lib.so:/lib.so", ""),
        ("/lib.so:/a:/y/lib.so:/b /c:/d", "/a:/b /c:/d"),
        ("/a::/lib.so:", "/a::"),
        (":/lib.so", ""),
        ("/mylib.so:/lib.so.1", "/mylib.so:/lib.so.1"),
        ("", ""),
    ];
    for (before, after) in cases {
        let mut list = before.as_bytes().to_vec();
        let separators: &[u8] = if before.contains(' ') { b": " } else { b":" };
        let len = insert::take_out(&mut list, separators, b"lib.so");
        assert_eq!(std::str::from_utf8(&list[..len]), Ok(after), "{before}");
    }
}

#[test]
fn status_lines_are_one_line_whatever_the_path() {
    use state::{Reason, State};
    let line = |state, reason, path: &[u8]| {
        let line = text::status_line(4711, state, reason, path);
        String::from_utf8_lossy(line.as_bytes()).into_owned()
    };
    assert_eq!(
        line(State::Installed, None, b"/Applications/My App/app"),
        "pid=4711 state=installed reason=- program=/Applications/My App/app\n"
    );
    assert_eq!(
        line(
            State::Refused,
            Some(Reason::OtherShim),
            b"a\nstate=installed"
        ),
        "pid=4711 state=refused reason=other-shim program=a?state=installed\n"
    );
    let long = line(State::Refused, Some(Reason::DriftMetalUuid), &[b'x'; 5000]);
    assert!(
        long.ends_with("x\n") && long.len() < text::LINE,
        "{}",
        long.len()
    );
}

#[test]
fn states_go_one_way() {
    use state::State::{self, Armed, Inert, Installed, Installing, Refused};
    let order = [Inert, Armed, Installing, Installed, Refused];
    for (i, from) in order.into_iter().enumerate() {
        assert_eq!(State::from_u8(from as u8), from);
        for (j, to) in order.into_iter().enumerate() {
            let expected = j == i + 1 && to != Refused || to == Refused && from != Refused;
            assert_eq!(from.may_become(to), expected, "{from:?} {to:?}");
        }
    }
}

#[test]
fn uuids_as_text_and_among_load_commands() {
    let text = b"4D65746C-0000-4000-8000-00000000000f";
    let bytes = uuid::of_text(text).unwrap();
    assert_eq!(&bytes[..4], b"Metl");
    assert_eq!(bytes[15], 15);
    for bad in [
        &text[..35],
        b"",
        b"4D65746C-0000-4000-8000-00000000000g",
        b"4D65746C-0000-4000-8000-00000000000f0",
    ] {
        assert_eq!(uuid::of_text(bad), None);
    }
    let mut commands = [0x19u32.to_le_bytes(), 16u32.to_le_bytes()].concat();
    commands.extend([0; 8]);
    assert_eq!(uuid::of_commands(&commands), None);
    commands.extend([0x1bu32.to_le_bytes(), 24u32.to_le_bytes()].concat());
    assert_eq!(uuid::of_commands(&commands), None);
    commands.extend(bytes);
    assert_eq!(uuid::of_commands(&commands), Some(bytes));
}

proptest! {
    /// The two answers rise, to the ceiling and no further, and nothing else moves.
    #[test]
    fn only_the_two_answers_and_only_upward(
        stock in 0u8..=1, asked in -10isize..6000, ceiling in 1001u32..=1009,
        memory in 0usize..1 << 20, raised in 0u32..=65_536,
    ) {
        let answer = answers::family(stock, asked, ceiling);
        let within = (1001..=ceiling as isize).contains(&asked);
        prop_assert_eq!(answer, if within { 1 } else { stock });
        prop_assert_eq!(answers::family(stock, asked, 0), stock);
        let answer = answers::memory(memory, raised);
        prop_assert!(answer >= memory && answer <= memory.max(raised as usize));
        prop_assert_eq!(answers::memory(memory, 0), memory);
    }

    /// Whatever a file holds, the decision comes back.
    #[test]
    fn any_file_gets_a_decision(
        at in 0usize..400, bytes in proptest::collection::vec(any::<u8>(), 1..12),
        fat_file in any::<bool>(),
    ) {
        let mut file = if fat_file { fat(&[PLAIN]) } else { PLAIN.bytes() };
        for (slot, byte) in file.iter_mut().skip(at).zip(bytes) {
            *slot = byte;
        }
        let _ = followed(&file);
        let _ = child::format::can_load(reader(&file));
    }

    /// Taking out leaves the other entries, in their order.
    #[test]
    fn other_entries_keep_their_order(names in proptest::collection::vec("[a-c/]{0,3}|/x/lib.so", 1..8)) {
        let mut list = names.join(":").into_bytes();
        let len = insert::take_out(&mut list, b":", b"lib.so");
        let kept: Vec<&str> = names.iter().map(String::as_str).filter(|n| *n != "/x/lib.so").collect();
        let kept = kept.join(":");
        prop_assert_eq!(&list[..len], kept.as_bytes());
    }
}
