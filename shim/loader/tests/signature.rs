//! The signature of the library that ships: ad hoc, and every page has the hash that is recorded.
#![allow(clippy::expect_used, clippy::panic, reason = "a test")]

mod common;
#[path = "common/macho_file.rs"]
#[allow(dead_code, reason = "each test program uses its part")]
mod macho_file;

use std::fs;

use common::script;
use macho_file::{LE, commands};
use object::macho;
use object::read::macho::LoadCommandVariant;
use sha2::{Digest, Sha256};

fn built() -> Vec<u8> {
    fs::read(script("shim/macos/build", &[])).expect("built")
}

/// A field of a signature, which is big-endian.
fn big(data: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(data[at..at + 4].try_into().expect("four"))
}

/// What is wrong with the signature; `None` when every page has the hash that is recorded.
fn signature_fault(file: &[u8]) -> Option<String> {
    const EMBEDDED: u32 = 0xfade_0cc0;
    const DIRECTORY: u32 = 0xfade_0c02;
    const SHA256: u8 = 2;
    const ADHOC: u32 = 2;
    let place = commands(file)
        .iter()
        .find_map(|(cmd, command)| match command {
            LoadCommandVariant::LinkeditData(data) if *cmd == macho::LC_CODE_SIGNATURE => Some((
                data.dataoff.get(LE) as usize,
                data.datasize.get(LE) as usize,
            )),
            _ => None,
        });
    let Some((start, size)) = place else {
        return Some("no signature".into());
    };
    if start + size != file.len() {
        return Some("something lies behind the signature".into());
    }
    let blob = &file[start..];
    if big(blob, 0) != EMBEDDED {
        return Some("not an embedded signature".into());
    }
    // The directory is slot 0.
    let at = (0..big(blob, 8) as usize)
        .find(|n| big(blob, 12 + n * 8) == 0)
        .map(|n| big(blob, 16 + n * 8) as usize);
    let directory = &blob[at.expect("a code directory")..];
    let identifier = &directory[big(directory, 20) as usize..];
    let hashes = big(directory, 16) as usize;
    let (count, limit) = (big(directory, 28) as usize, big(directory, 32) as usize);
    let page = 1_usize << directory[39];
    if big(directory, 0) != DIRECTORY || directory[36] != 32 || directory[37] != SHA256 {
        return Some("not a code directory of SHA-256 hashes".into());
    }
    if big(directory, 12) & ADHOC == 0 {
        return Some("not an ad-hoc signature".into());
    }
    if !identifier.starts_with(b"libmetalshim") {
        return Some("the identifier is another".into());
    }
    if limit != start || count != limit.div_ceil(page) {
        return Some(format!(
            "{count} pages up to {limit}, the signature begins at {start}"
        ));
    }
    file[..limit]
        .chunks(page)
        .enumerate()
        .find_map(|(number, contents)| {
            let wanted = &directory[hashes + number * 32..][..32];
            (Sha256::digest(contents).as_slice() != wanted)
                .then(|| format!("page {number} has another hash"))
        })
}

#[test]
fn signed_ad_hoc_and_every_page_has_its_hash() {
    let mut file = built();
    assert_eq!(signature_fault(&file), None);
    // The check can fail: one bit of the code, one of the data.
    for at in [0x1000, 0x8000] {
        file[at] ^= 1;
        assert!(signature_fault(&file).is_some(), "a change at {at:#x}");
        file[at] ^= 1;
    }
    assert_eq!(signature_fault(&file), None);
}
