//! Any bytes as a program, a first line, and arguments of `env`: an answer, never a crash.
#![no_main]

use compatdb::facts::Sip;
use libfuzzer_sys::fuzz_target;
use metalshim_cli::program::{FileFacts, System, judge, shebang};

fuzz_target!(|data: &[u8]| {
    let facts = FileFacts { path: "/x".into(), mode: 0o755, ..FileFacts::default() };
    for system in [System::Mac, System::Linux] {
        let judgement = judge(&data, &facts, Sip::Enabled, system);
        if judgement.causes.is_empty() {
            assert!(judgement.details.runs_as.is_some());
        }
        if let Ok(line) = shebang::parse(data, system) {
            let _call = shebang::env(line.arguments, &|_| None);
        }
    }
    let _call = shebang::env(vec![[b"-S", data].concat()], &|_| Some(b"v".to_vec()));
    let _paths = (shebang::shell_in_front(data), shebang::wrapped(data));
});
