//! Any bytes get an answer, and what is changed in a good file cannot turn a no into a yes.

use std::cell::Cell;
use std::io;

use compatdb::facts::Sip;
use metalshim_cli::program::{self, Bytes, Code, FileFacts, System, shebang};
use proptest::prelude::*;

use crate::build::{
    DYLD, Elf, GLIBC, LIBRARIES, MachO, OWN_MACHINE, Sig, X86_64, der, fat, plain, xml,
};
use crate::{codes, judged};

/// Bytes that count how many are read.
struct Counting<'a>(&'a [u8], Cell<u64>);

impl Bytes for Counting<'_> {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.1.set(self.1.get() + into.len() as u64);
        self.0.read_at(offset, into)
    }
}

fn good_files() -> Vec<Vec<u8>> {
    let both = [(DYLD, true), (LIBRARIES, true)];
    let full = Sig {
        xml: Some(xml(&both)),
        der: Some(der(&both)),
        ..Sig::hardened()
    };
    let image = MachO {
        signature: Some(full),
        ..plain()
    };
    let intel = MachO {
        cpu: X86_64,
        subtype: 3,
        ..plain()
    };
    vec![
        plain().build(),
        image.build(),
        fat(&[intel.clone(), image.clone()], false),
        fat(&[image, intel], true),
        Elf {
            kind: 3,
            interpreter: GLIBC,
            pie: true,
            machine: OWN_MACHINE,
            libraries: vec!["libc.so.6"],
        }
        .build(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn changed_files_get_an_answer_and_are_not_read_without_bound(
        which in 0..5_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut file = good_files().swap_remove(which);
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        let facts = FileFacts { path: "/x".into(), mode: 0o755, ..FileFacts::default() };
        let counting = Counting(&file, Cell::new(0));
        let judgement = program::judge(&counting, &facts, Sip::Enabled, System::Linux);
        // Names of libraries may be read again and again, up to 4 KiB each.
        prop_assert!(counting.1.get() < 16 * file.len() as u64 + 4096, "{}", counting.1.get());
        for cause in &judgement.causes {
            prop_assert!(!cause.says.is_empty());
            prop_assert!(Code::ALL.contains(&cause.code) && cause.code != Code::Injectable);
        }
    }

    #[test]
    fn any_bytes_get_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        judged(&bytes);
        for magic in [&b"\x7fELF\x02\x01"[..], b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf", b"\xcf\xfa\xed\xfe"] {
            judged(&[magic, &bytes].concat());
        }
        for system in [System::Mac, System::Linux] {
            if let Ok(found) = shebang::parse(&[b"#!", bytes.as_slice()].concat(), system) {
                prop_assert!(!found.interpreter.is_empty());
            }
        }
        let words = bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
        let _answer = shebang::env(words, &|_| None);
        let _answer = shebang::env(vec![[b"-S", bytes.as_slice()].concat()], &|_| Some(b"v".to_vec()));
        let _answer = (shebang::shell_in_front(&bytes), shebang::wrapped(&bytes));
    }

    #[test]
    fn no_single_bit_of_a_hardened_programs_entitlements_opens_it(
        at in any::<prop::sample::Index>(),
        bit in 0..8_u8,
        form in any::<bool>(),
    ) {
        // The key is a bit away from the real one, or its value is false.
        let entries = [(DYLD, false), (LIBRARIES, false)];
        let sig = match form {
            true => Sig { xml: Some(xml(&entries)), ..Sig::hardened() },
            false => Sig { der: Some(der(&entries)), ..Sig::hardened() },
        };
        let file = MachO { signature: Some(sig), ..plain() }.build();
        // Behind the code directory, which has the flags: the entitlements alone.
        let start = file.len() - if form { xml(&entries).len() } else { der(&entries).len() };
        let mut changed = file.clone();
        changed[start + at.index(file.len() - start)] ^= 1 << bit;
        prop_assert!(!codes(&judged(&changed)).is_empty());
    }
}
