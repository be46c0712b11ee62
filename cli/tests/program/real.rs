//! Real programs, each kind at least once: `.ci/fetch-program-fixtures` brings them (`make test`
//! calls it). Those that could not be had are skipped, with the reason on stderr.

use std::path::PathBuf;

use compatdb::facts::Sip;
use metalshim_cli::program::{Code, Context, Preflight, System, linked_libraries, preflight};

use crate::{codes, judged};

/// Where a fetched file is; none, and said, if it was not fetched.
fn fetched(name: &str) -> Option<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = root.join(target).join("fixtures/program").join(name);
    if path.is_file() {
        return Some(path);
    }
    eprintln!(
        "skipped: {} was not fetched (.ci/fetch-program-fixtures)",
        path.display()
    );
    None
}

fn ask(path: &std::path::Path, system: System) -> Preflight {
    let context = Context {
        system,
        ..Context::here(Sip::Enabled, &[])
    };
    preflight(path, &[], &context)
}

#[test]
fn programs_of_each_kind() {
    // File, code, the other causes, what runs, flags of the signature, team, forms of entitlements.
    type Case<'a> = (
        &'a str,
        Code,
        &'a [Code],
        Option<&'a str>,
        &'a [&'a str],
        Option<&'a str>,
        &'a [&'a str],
    );
    let linker: &[&str] = &["adhoc", "linker-signed"];
    let cases: &[Case<'_>] = &[
        (
            "node/node",
            Code::Injectable,
            &[],
            Some("arm64"),
            &["runtime"],
            Some("HX7739G8FX"),
            &["xml", "der"],
        ),
        (
            "azmcp/azmcp",
            Code::Injectable,
            &[],
            Some("arm64"),
            &["runtime"],
            Some("UBF8T346G9"),
            &["xml", "der"],
        ),
        (
            "ngrok/ngrok",
            Code::Hardened,
            &[Code::LibraryValidation],
            Some("arm64"),
            &["runtime"],
            Some("TEX8MHRDQ9"),
            &[],
        ),
        (
            "esbuild-arm64/esbuild",
            Code::Injectable,
            &[],
            Some("arm64"),
            linker,
            None,
            &[],
        ),
        (
            "ninja/ninja",
            Code::Injectable,
            &[],
            Some("arm64"),
            linker,
            None,
            &[],
        ),
        (
            "llama/libggml-metal.so",
            Code::NotExecutable,
            &[],
            Some("arm64"),
            linker,
            None,
            &[],
        ),
        (
            "llama/llama-addon.node",
            Code::NotExecutable,
            &[],
            Some("arm64"),
            linker,
            None,
            &[],
        ),
        (
            "llama/libggml-base.dylib",
            Code::NotExecutable,
            &[],
            Some("arm64"),
            linker,
            None,
            &[],
        ),
        (
            "markupsafe/_speedups.cpython-311-darwin.so",
            Code::NotExecutable,
            &[],
            Some("arm64"),
            linker,
            None,
            &[],
        ),
    ];
    for (name, code, also, runs_as, flags, team, forms) in cases {
        let Some(path) = fetched(name) else { continue };
        for system in [System::Mac, System::Linux] {
            let answer = ask(&path, system);
            assert_eq!(
                (answer.code, answer.also.as_slice()),
                (*code, *also),
                "{}",
                answer.says
            );
            let details = answer.details.unwrap();
            assert_eq!(details.runs_as.as_deref(), *runs_as, "{name}");
            let signature = details.signature.unwrap();
            assert_eq!(signature.flag_names, *flags, "{name}");
            assert_eq!(signature.team.as_deref(), *team, "{name}");
            assert_eq!(signature.entitlement_forms, *forms, "{name}");
        }
    }
    if let Some(path) = fetched("esbuild-x64/esbuild") {
        assert_eq!(ask(&path, System::Mac).code, Code::X86Only);
    }
    if let Some(path) = fetched("esbuild-linux/esbuild")
        && cfg!(target_arch = "x86_64")
    {
        assert_eq!(ask(&path, System::Linux).code, Code::Static);
        assert_eq!(ask(&path, System::Mac).code, Code::OtherSystem);
    }
}

#[test]
fn linked_libraries_of_real_files() {
    if let Some(path) = fetched("llama/libggml-metal.so") {
        let libraries = linked_libraries(&path).unwrap();
        assert!(
            libraries.iter().any(|name| name.ends_with("/Metal")),
            "{libraries:?}"
        );
        assert!(
            libraries.contains(&"@rpath/libggml-base.dylib".to_owned()),
            "{libraries:?}"
        );
    }
    let own = linked_libraries(&std::env::current_exe().unwrap()).unwrap();
    assert!(
        own.iter()
            .any(|name| name.contains("libc.") || name.contains("libSystem")),
        "{own:?}"
    );
    assert!(linked_libraries(env!("CARGO_MANIFEST_DIR").as_ref()).is_err());
}

#[test]
fn every_cut_of_a_real_file_is_an_error() {
    for (name, fine) in [
        ("markupsafe/_speedups.cpython-311-darwin.so", 1 << 17),
        ("ninja/ninja", 1 << 13),
        ("llama/libggml-metal.so", 1 << 13),
        ("ngrok/ngrok", 1 << 12),
        ("node/node", 1 << 12),
    ] {
        let Some(path) = fetched(name) else { continue };
        let file = std::fs::read(path).unwrap();
        let length = file.len();
        // Every byte where the headers and the signature's end are, and others in between.
        let coarse = (0..length).step_by(length / 499 + 1);
        let cuts = (0..fine.min(length))
            .chain(coarse)
            .chain(length.saturating_sub(fine)..length);
        for end in cuts {
            let found = codes(&judged(&file[..end]));
            let error = found.contains(&Code::Damaged) || found == [Code::UnknownFormat];
            assert!(error, "{name} cut at {end} of {length}: {found:?}");
        }
    }
}

#[test]
fn this_systems_own_programs() {
    let own = ask(&std::env::current_exe().unwrap(), System::here());
    assert_eq!(own.code, Code::Injectable, "{}", own.says);
    if cfg!(target_os = "linux") {
        assert_eq!(
            ask("/bin/sh".as_ref(), System::Linux).code,
            Code::Injectable
        );
    } else {
        assert_eq!(
            ask("/bin/sh".as_ref(), System::Mac).code,
            Code::RestrictedPath
        );
    }
}
