//! Tickets that the shim must refuse, each with its reason: one list for every form of the shim.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

type Make = Box<dyn Fn(&Path, &[u8]) -> PathBuf + Sync>;

/// One ticket that is wrong.
pub struct Faulty {
    /// What is wrong with it.
    pub name: String,
    /// The reason in the status line, or how it begins.
    pub reason: &'static str,
    make: Make,
}

impl Faulty {
    /// Makes it below an empty folder from the bytes of a good one: the value for
    /// `METALSHIM_TICKET`.
    ///
    /// # Panics
    ///
    /// When it cannot be made.
    pub fn make(&self, folder: &Path, good: &[u8]) -> PathBuf {
        (self.make)(folder, good)
    }
}

/// Every one that can be made from a ticket of this many bytes. Only root can give a file away:
/// elsewhere that one is left out, which is said on stdout.
///
/// # Panics
///
/// When it cannot be tried what this user may do.
#[allow(clippy::print_stdout)]
pub fn all(length: usize) -> Vec<Faulty> {
    let mut all = vec![
        content("empty", "ticket-empty", |_| Vec::new()),
        content("too long", "ticket-too-long", |good| {
            [good, &[b'\n'; 4096]].concat()
        }),
        content("far too long", "ticket-too-long", |_| vec![b'x'; 1 << 20]),
        content("another version", "ticket-version", |good| {
            replaced(good, "ticket 1", "ticket 2")
        }),
        content("another value", "ticket-hash", |good| {
            replaced(good, "=1005", "=1004")
        }),
        content("a key that is not known", "ticket-hash", |good| {
            replaced(good, "follow=", "follows=")
        }),
        content("a key twice", "ticket-hash", |good| {
            replaced(good, "follow=", "follow=none\nfollow=")
        }),
        content("more behind it", "ticket-incomplete", |good| {
            [good, b"x"].concat()
        }),
        content("not text", "ticket-not-ascii", |good| {
            [b"\xff", good].concat()
        }),
        kind("absent", "ticket-gone", |folder, _| folder.join("absent")),
        kind("a folder", "ticket-not-regular", |folder, _| {
            done(fs::create_dir(folder.join("ticket")));
            folder.join("ticket")
        }),
        kind("no path", "ticket-path", |_, _| PathBuf::new()),
        kind("a relative path", "ticket-path", |_, _| {
            PathBuf::from("Cargo.toml")
        }),
        kind("a link", "ticket-link", |folder, good| {
            done(symlink(file(folder, good, 0o600), folder.join("link")));
            folder.join("link")
        }),
        kind("a fifo", "ticket-not-regular", |folder, _| {
            let path = folder.join("fifo");
            let made = done(Command::new("mkfifo").arg(&path).status());
            assert!(made.success(), "mkfifo {}: {made}", path.display());
            path
        }),
    ];
    let folder = done(tempfile::tempdir());
    match chown(file(folder.path(), b"", 0o600), Some(12_345), None) {
        Ok(()) => all.push(kind("another owner", "ticket-owner", |folder, good| {
            let path = file(folder, good, 0o600);
            done(chown(&path, Some(12_345), None));
            path
        })),
        Err(why) => println!("skipped: giving a file away needs root here: {why}"),
    }
    for mode in [0o620, 0o602, 0o666] {
        let name = format!("mode {mode:o}");
        all.push(kind(&name, "ticket-mode", move |folder, good| {
            file(folder, good, mode)
        }));
    }
    // The parser's own tests try every byte and bit; here some of each go through a process.
    for cut in (1..length).step_by(37) {
        let name = format!("cut to {cut}");
        all.push(content(&name, "ticket-incomplete", move |good| {
            good.get(..cut).unwrap_or_default().to_vec()
        }));
    }
    for bit in (0..length * 8).step_by(211) {
        let name = format!("bit {bit} flipped");
        all.push(content(&name, "ticket-", move |good| {
            let mut bytes = good.to_vec();
            if let Some(byte) = bytes.get_mut(bit / 8) {
                *byte ^= 1 << (bit % 8);
            }
            bytes
        }));
    }
    all
}

/// A ticket of changed content.
fn content(
    name: &str,
    reason: &'static str,
    change: impl Fn(&[u8]) -> Vec<u8> + Sync + 'static,
) -> Faulty {
    kind(name, reason, move |folder, good| {
        file(folder, &change(good), 0o600)
    })
}

/// A ticket that is another kind of file, or of another mode or owner.
fn kind(
    name: &str,
    reason: &'static str,
    make: impl Fn(&Path, &[u8]) -> PathBuf + Sync + 'static,
) -> Faulty {
    Faulty {
        name: name.to_owned(),
        reason,
        make: Box::new(make),
    }
}

fn file(folder: &Path, bytes: &[u8], mode: u32) -> PathBuf {
    let path = folder.join("ticket");
    done(fs::write(&path, bytes));
    done(fs::set_permissions(&path, fs::Permissions::from_mode(mode)));
    path
}

fn replaced(good: &[u8], what: &str, by: &str) -> Vec<u8> {
    String::from_utf8_lossy(good).replace(what, by).into_bytes()
}

fn done<T>(made: std::io::Result<T>) -> T {
    made.unwrap_or_else(|why| panic!("a faulty ticket cannot be made: {why}"))
}
