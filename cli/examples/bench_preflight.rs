//! How long the question takes whether a program can be injected: for one of 200 MB with the
//! signature that such a program has, against one of 1 KB. At most 20 ms.
//! `cargo run --release -p metalshim --example bench_preflight`

#![allow(clippy::print_stdout)]

#[path = "../tests/program/build.rs"]
#[allow(dead_code)]
mod build;

use std::error::Error;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use compatdb::facts::Sip;
use metalshim_cli::program::{Context, preflight};
use metalshim_guest::figures::limit;

use build::{DYLD, LIBRARIES, MachO, Sig, der, plain, xml};

const RUNS: usize = 201;
const LARGE: u64 = 200_000_000;
const LIMIT: Duration = Duration::from_millis(20);

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let small = measure(&write(folder.path(), 1024)?)?;
    let large = measure(&write(folder.path(), LARGE)?)?;
    println!(
        "preflight of a program of 1 KB     {:>9.1} us",
        micros(small)
    );
    println!(
        "preflight of a program of 200 MB   {:>9.1} us",
        micros(large)
    );
    println!(
        "ratio                              {:>9.2}",
        micros(large) / micros(small)
    );
    println!(
        "{}",
        limit(
            "preflight of a program of 200 MB",
            micros(large) / 1000.0,
            micros(LIMIT) / 1000.0,
            "ms"
        )
    );
    Ok(())
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// A hardened and entitled program whose text takes `text` bytes, as a sparse file.
fn write(folder: &Path, text: u64) -> Result<std::path::PathBuf, Box<dyn Error>> {
    let both = [(DYLD, true), (LIBRARIES, true)];
    // A page of 4 KiB has a hash of 32 bytes.
    let hashes = usize::try_from(text.div_ceil(4096) * 32)?;
    let sig = Sig {
        xml: Some(xml(&both)),
        der: Some(der(&both)),
        hashes,
        ..Sig::hardened()
    };
    let (head, tail) = MachO {
        signature: Some(sig),
        text,
        ..plain()
    }
    .parts();
    let path = folder.join(format!("program-{text}"));
    let file = File::create(&path)?;
    file.write_all_at(&head, 0)?;
    file.write_all_at(&tail, text)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

/// The median time of a whole preflight, opening the file included.
fn measure(path: &Path) -> Result<Duration, Box<dyn Error>> {
    let context = Context::here(Sip::Enabled, &[]);
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let start = Instant::now();
        let answer = preflight(path, &[], &context);
        times.push(start.elapsed());
        if !answer.injectable {
            return Err(answer.says.into());
        }
    }
    times.sort();
    Ok(times[RUNS / 2])
}
