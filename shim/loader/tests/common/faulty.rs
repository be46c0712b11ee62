//! Tickets that the shim must refuse, as recipes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A name, and what makes the ticket below a folder from the bytes of a good one.
pub(crate) type Recipe = (String, Box<dyn Fn(&Path, &[u8]) -> PathBuf + Sync>);

fn file(folder: &Path, bytes: &[u8], mode: u32) -> PathBuf {
    let path = folder.join("ticket");
    fs::write(&path, bytes).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("mode set");
    path
}

/// A ticket of changed content.
fn content(name: &str, change: impl Fn(&[u8]) -> Vec<u8> + Sync + 'static) -> Recipe {
    let make = move |folder: &Path, good: &[u8]| file(folder, &change(good), 0o600);
    (name.to_owned(), Box::new(make))
}

/// A ticket that is another kind of file, or of another mode or owner.
fn kind(name: &str, make: impl Fn(&Path, &[u8]) -> PathBuf + Sync + 'static) -> Recipe {
    (name.to_owned(), Box::new(make))
}

fn replaced(good: &[u8], what: &str, by: &str) -> Vec<u8> {
    String::from_utf8_lossy(good).replace(what, by).into_bytes()
}

/// Every recipe for a ticket of this many bytes.
pub(crate) fn all(length: usize) -> Vec<Recipe> {
    let mut all = vec![
        kind("in order", |folder, good| file(folder, good, 0o600)),
        content("empty", |_| Vec::new()),
        content("too long", |good| [good, &[b'\n'; 4096]].concat()),
        content("far too long", |_| vec![b'x'; 1 << 20]),
        content("another version", |good| {
            replaced(good, "ticket 1", "ticket 2")
        }),
        content("another value", |good| replaced(good, "=1005", "=1004")),
        content("a key that is not known", |good| {
            replaced(good, "follow=", "follows=")
        }),
        content("a key twice", |good| {
            replaced(good, "follow=", "follow=none\nfollow=")
        }),
        content("more behind it", |good| [good, b"x"].concat()),
        content("not text", |good| [b"\xff", good].concat()),
        kind("absent", |folder, _| folder.join("absent")),
        kind("a folder", |folder, _| {
            fs::create_dir(folder.join("ticket")).expect("folder");
            folder.join("ticket")
        }),
        kind("no path", |_, _| PathBuf::new()),
        kind("a link", |folder, good| {
            symlink(file(folder, good, 0o600), folder.join("link")).expect("link");
            folder.join("link")
        }),
        kind("a fifo", |folder, _| {
            let path = folder.join("fifo");
            assert!(
                Command::new("mkfifo")
                    .arg(&path)
                    .status()
                    .expect("mkfifo")
                    .success()
            );
            path
        }),
        kind("another owner", |folder, good| {
            let path = file(folder, good, 0o600);
            if let Err(why) = chown(&path, Some(12_345), None) {
                println!("skipped in part: giving a file away needs root here: {why}");
            }
            path
        }),
    ];
    for mode in [0o620, 0o602, 0o666] {
        all.push(kind(&format!("mode {mode:o}"), move |folder, good| {
            file(folder, good, mode)
        }));
    }
    for cut in (1..length).step_by(37) {
        all.push(content(&format!("cut to {cut}"), move |good| {
            good[..cut].to_vec()
        }));
    }
    for bit in (0..length * 8).step_by(211) {
        all.push(content(&format!("bit {bit} flipped"), move |good| {
            let mut bytes = good.to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            bytes
        }));
    }
    all
}
