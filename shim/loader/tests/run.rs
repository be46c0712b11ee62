//! The loader at work: a library that tries everything, of both processors, from both
//! linkers, inside a real process.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test"
)]
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use common::{LINKERS, PROCESSORS, runner, script, with_variables};

struct Outcome {
    stdout: String,
    stderr: String,
    code: Option<i32>,
}

fn start(
    arch: &str,
    dylib: &Path,
    program: &Path,
    arguments: &[&str],
    more: &[(&str, &str)],
) -> Option<Outcome> {
    let mut command = runner(arch)?;
    let preload = script("shim/loader/build-preload", &[arch]);
    let dylib = dylib.to_str().expect("text");
    let mut variables = vec![
        ("LD_PRELOAD", preload.as_str()),
        ("METALSHIM_LOADER_DYLIB", dylib),
    ];
    variables.extend(more);
    with_variables(&mut command, arch, &variables);
    let output = command
        .arg(program)
        .args(arguments)
        .output()
        .expect("started");
    Some(Outcome {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code(),
    })
}

#[test]
fn everything_the_loader_does_in_four_forms() {
    for arch in PROCESSORS {
        for linker in LINKERS {
            let folder = tempfile::tempdir().expect("folder");
            let at = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
            script("shim/loader/tests/fixture/build", &[arch, linker, &at("")]);
            symlink(at("made"), at("link")).expect("link");
            let dylib = at("libfixture.dylib");
            let outcome = start(
                arch,
                Path::new(&dylib),
                Path::new(&at("program")),
                &["an argument", &at("libplugin.so")],
                &[("FIXTURE_FILE", &at("made")), ("FIXTURE_LINK", &at("link"))],
            );
            let Some(outcome) = outcome else { continue };
            let user = fs::metadata(at("made")).map(|m| std::os::unix::fs::MetadataExt::uid(&m));
            let wanted = format!(
                "argc=3\nargument=an argument\nsecond=22\nlength=4\nroom=0\nloader=null\npreload=null\n\
                 fstat=0\nsize=5\nmode={}\nuser={}\nlinks=1\nexclusive=-1\nerror=17\nlink=-1\n\
                 evtonly=-1\nerror=22\nno_rule=0\nsame=1\ninterposed_is_real=1\nimages_at_start=1\n\
                 dladdr=1\nimage={dylib}\nmagic={}\n\
                 main\nsystem=exit 3\nexit=3\narrived_with_symbol=0\nplugin=1\narrived_with_symbol=1\n",
                0o100_640,
                user.expect("the library made the file"),
                0xfeed_facf_u32,
            );
            assert_eq!(
                outcome.stdout, wanted,
                "{arch} {linker}: {}",
                outcome.stderr
            );
            assert_eq!(outcome.stderr, "", "{arch} {linker}");
            assert_eq!(outcome.code, Some(0), "{arch} {linker}");
            let mode = fs::metadata(at("made")).expect("made").permissions().mode();
            assert_eq!(
                mode & 0o777,
                0o640,
                "the mode came through the variable arguments"
            );
        }
    }
}

#[test]
fn what_cannot_be_loaded_ends_the_program_before_main() {
    let folder = tempfile::tempdir().expect("folder");
    let at = |name: &str| folder.path().join(name);
    let arch = std::env::consts::ARCH;
    fs::write(at("text"), "no library").expect("written");
    let cases = [
        (at("absent"), "No such file"),
        (at("text"), "not a Mach-O file"),
        ("/bin/sh".into(), "not a Mach-O file"),
    ];
    for (dylib, why) in cases {
        let outcome = start(arch, &dylib, Path::new("echo"), &["main"], &[]).expect("native");
        assert_eq!(outcome.code, Some(126), "{}", dylib.display());
        assert_eq!(outcome.stdout, "");
        assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains(&*dylib.to_string_lossy()),
            "{}",
            outcome.stderr
        );
        assert_eq!(outcome.stderr.lines().count(), 1);
    }
    let outcome = start(arch, Path::new(""), Path::new("echo"), &["main"], &[]).expect("native");
    assert_eq!(
        (outcome.stdout.as_str(), outcome.code),
        ("main\n", Some(0)),
        "no library named"
    );
}
