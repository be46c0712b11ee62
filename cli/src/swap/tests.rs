//! An update that is stopped before any one of its steps: the command that is there finds the
//! library that it came with, each time, and the next run mends everything.
//!
//! The commands are scripts that look for their library where the real one does, and print what
//! they found. Real ones are in `tests/update/self_update.rs`.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::update::release::TARGET;

fn script(version: &str) -> String {
    format!(
        "#!/bin/sh\nhere=$(dirname \"$0\")/../libexec\n\
         library=$here/metalshim/{version}/{SHIM}\n\
         test -f \"$library\" || library=$here/{SHIM}\n\
         case $1 in\n\
         --version) echo 'metalshim {version}' ;;\n\
         doctor) test -f \"$library\" ;;\n\
         pair) printf '{version} '; cat \"$library\" ;;\n\
         esac\n"
    )
}

/// A release archive with these two files.
fn archive(version: &str, command: &str, library: &[u8]) -> Vec<u8> {
    let top = format!("metalshim-{version}-{}", TARGET.unwrap());
    let packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(packed);
    let mut add = |name: &str, bytes: &[u8], mode: u32| {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(mode);
        tar.append_data(&mut header, format!("{top}/{name}"), bytes)
            .unwrap();
    };
    add("README.md", b"read me", 0o644);
    add("bin/metalshim", command.as_bytes(), 0o755);
    add(&format!("libexec/{SHIM}"), library, 0o644);
    tar.into_inner().unwrap().finish().unwrap()
}

/// Version 1.0.0, installed by hand.
fn installed() -> tempfile::TempDir {
    let prefix = tempfile::tempdir().unwrap();
    let at = |name: &str| prefix.path().join(name);
    std::fs::create_dir_all(at("bin")).unwrap();
    std::fs::create_dir_all(at("libexec")).unwrap();
    std::fs::write(at("libexec").join(SHIM), "library 1").unwrap();
    std::fs::write(at("bin/metalshim"), script("1.0.0")).unwrap();
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(at("bin/metalshim"), executable).unwrap();
    prefix
}

fn at(prefix: &Path, files: Files) -> Installation {
    Installation::of(prefix.join("bin/metalshim"), files).unwrap()
}

/// What the command that is there says, and the library that it finds.
fn pair(prefix: &Path) -> String {
    let output = Command::new(prefix.join("bin/metalshim"))
        .arg("pair")
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

const OLD: &str = "1.0.0 library 1";
const NEW: &str = "2.0.0 library 2";

fn two() -> (Vec<u8>, Version) {
    let new = Version::new(2, 0, 0);
    (archive("2.0.0", &script("2.0.0"), b"library 2"), new)
}

/// A disk on which everything ends at the step `fatal`; how many steps were asked about.
fn dying(fatal: usize) -> (Files, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let files = Files::with(move |_, _| {
        let step = count.fetch_add(1, Ordering::SeqCst);
        match step >= fatal {
            true => Err(io::Error::other("the process was killed")),
            false => Ok(()),
        }
    });
    (files, asked)
}

/// Lets `work` die before each of its steps on a prefix that `prepared` makes, and tries to
/// finish it afterwards.
fn at_each_step(
    prepared: impl Fn() -> tempfile::TempDir,
    work: impl Fn(&Installation) -> Result<(), Error>,
    (before, after): (&str, &str),
) {
    let prefix = prepared();
    let (files, asked) = dying(usize::MAX);
    work(&at(prefix.path(), files)).unwrap();
    assert_eq!(pair(prefix.path()), after);
    let steps = asked.load(Ordering::SeqCst);
    assert!(steps > 8, "{steps}");
    let mut seen = Vec::new();
    for fatal in 0..steps {
        let prefix = prepared();
        let _ = work(&at(prefix.path(), dying(fatal).0));
        let there = pair(prefix.path());
        assert!(there == before || there == after, "step {fatal}: {there}");
        if there == before {
            work(&at(prefix.path(), Files::real())).unwrap();
        }
        assert_eq!(pair(prefix.path()), after, "step {fatal}, and again");
        seen.push(there);
    }
    // The old one up to the rename, the new one after it, and nothing else.
    assert!(
        seen.windows(2)
            .all(|two| two[0] == two[1] || two[1] == after),
        "{seen:?}"
    );
    assert!(seen.contains(&before.to_owned()) && seen.contains(&after.to_owned()));
}

#[test]
fn an_update_that_is_killed_leaves_a_pair_that_fits() {
    let (archive, new) = two();
    at_each_step(
        installed,
        |installation| installation.install(&archive, &new),
        (OLD, NEW),
    );
}

fn updated() -> tempfile::TempDir {
    let prefix = installed();
    let (archive, new) = two();
    at(prefix.path(), Files::real())
        .install(&archive, &new)
        .unwrap();
    prefix
}

#[test]
fn an_undo_that_is_killed_leaves_a_pair_that_fits() {
    at_each_step(
        updated,
        |installation| {
            let (from, to) = installation.undo()?;
            assert_eq!((from, to), (Version::new(2, 0, 0), Version::new(1, 0, 0)));
            Ok(())
        },
        (NEW, OLD),
    );
}

#[test]
fn undone_twice_is_the_new_one_again() {
    let prefix = updated();
    let installation = at(prefix.path(), Files::real());
    assert_eq!(installation.undone().unwrap(), None);
    installation.undo().unwrap();
    assert_eq!(installation.undone().unwrap(), Some(Version::new(2, 0, 0)));
    installation.undo().unwrap();
    assert_eq!(installation.undone().unwrap(), None);
    assert_eq!(pair(prefix.path()), NEW);
}

#[test]
fn the_command_is_a_new_file_and_no_more_than_two_versions_are_kept() {
    let prefix = updated();
    let inode = || {
        std::fs::metadata(prefix.path().join("bin/metalshim"))
            .unwrap()
            .ino()
    };
    let before = inode();
    let third = archive("3.0.0", &script("3.0.0"), b"library 3");
    let installation = at(prefix.path(), Files::real());
    installation
        .install(&third, &Version::new(3, 0, 0))
        .unwrap();
    assert_ne!(inode(), before);
    assert_eq!(pair(prefix.path()), "3.0.0 library 3");
    let kept = installation.kept();
    assert_eq!(kept, [Version::new(3, 0, 0), Version::new(2, 0, 0)]);
    let bin = std::fs::read_dir(prefix.path().join("bin")).unwrap();
    assert_eq!(bin.count(), 1, "no temporary file stays");
    let mode = std::fs::metadata(prefix.path().join("bin/metalshim"))
        .unwrap()
        .mode();
    assert_eq!(mode & 0o111, 0o111);
}

#[test]
fn what_does_not_work_is_not_installed() {
    let (_, new) = two();
    let good = script("2.0.0");
    let cases = [
        (
            archive("2.0.0", &script("2.0.1"), b"l"),
            "it calls itself 2.0.1",
        ),
        (
            archive("2.0.0", "#!/bin/sh\nexit 1\n", b"l"),
            "does not answer",
        ),
        (archive("2.0.0", "not a program", b"l"), "does not"),
        (
            archive(
                "2.0.0",
                &good.replace("doctor) test", "doctor) ! test"),
                b"l",
            ),
            "does not find its library",
        ),
        (archive("2.0.1", &good, b"l"), "it has no metalshim-2.0.0"),
        (b"no archive".to_vec(), "it is no .tar.gz"),
        (two().0[..200].to_vec(), "it is no .tar.gz"),
    ];
    for (archive, says) in cases {
        let prefix = installed();
        let installation = at(prefix.path(), Files::real());
        let error = installation.install(&archive, &new).unwrap_err();
        assert!(error.says.contains(says), "{says}: {error}");
        assert_eq!(pair(prefix.path()), OLD);
        assert_eq!(installation.kept(), []);
    }
}

#[test]
fn an_archive_that_grows_without_end_is_not_unpacked() {
    let top = format!("metalshim-2.0.0-{}", TARGET.unwrap());
    let packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let mut tar = tar::Builder::new(packed);
    let mut header = tar::Header::new_gnu();
    // It need not be true: what it says is more than what is read.
    header.set_size(crate::update::limits::UNPACKED + 1);
    header.set_mode(0o755);
    let name = format!("{top}/bin/metalshim");
    tar.append_data(&mut header, name, io::empty()).unwrap();
    let archive = tar.into_inner().unwrap().finish().unwrap();
    let prefix = installed();
    let installation = at(prefix.path(), Files::real());
    let error = installation
        .install(&archive, &Version::new(2, 0, 0))
        .unwrap_err();
    assert!(error.says.contains("more than 256 MB"), "{error}");
    assert_eq!(pair(prefix.path()), OLD);
}

#[test]
fn a_link_in_the_archive_is_no_command() {
    let top = format!("metalshim-2.0.0-{}", TARGET.unwrap());
    let packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(packed);
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    tar.append_link(&mut header, format!("{top}/bin/metalshim"), "/bin/true")
        .unwrap();
    let archive = tar.into_inner().unwrap().finish().unwrap();
    let prefix = installed();
    let installation = at(prefix.path(), Files::real());
    let error = installation
        .install(&archive, &Version::new(2, 0, 0))
        .unwrap_err();
    assert!(error.says.contains("is no file"), "{error}");
}

#[test]
fn a_command_without_its_library_is_left_alone() {
    let prefix = installed();
    std::fs::remove_dir_all(prefix.path().join("libexec")).unwrap();
    let (archive, new) = two();
    let installation = at(prefix.path(), Files::real());
    let error = installation.install(&archive, &new).unwrap_err();
    assert!(error.says.contains("library in use"), "{error}");
    assert!(
        !prefix.path().join("libexec").exists(),
        "nothing was written"
    );
}
