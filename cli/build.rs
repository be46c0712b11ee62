//! Builds the database that the program embeds, from the reviewed records: the unsigned
//! development database. A release has `compatdb/seed/`, a signed repository, and embeds that.

use std::error::Error;
use std::path::{Path, PathBuf};

use compatdb::records::Records;

fn main() -> Result<(), Box<dyn Error>> {
    // Asked when it runs: the folder in which it was compiled may have moved since.
    let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo sets it")?;
    let manifest_dir = Path::new(&manifest_dir);
    let records_dir = manifest_dir.join("../compatdb/records");
    println!("cargo::rerun-if-changed={}", records_dir.display());
    let (records, problems) = Records::load(&records_dir);
    if let Some(problem) = problems.first() {
        let dir = records_dir.display();
        return Err(format!("{dir}: {problem}; `compatdb lint` lists every problem").into());
    }
    let bytes = compatdb::build_database(&records, &records.release)?;
    let out = std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    let out = PathBuf::from(out);
    compatdb::write_file(&out.join("compat.sqlite"), &bytes)?;
    // A rehearsal names one elsewhere.
    println!("cargo::rerun-if-env-changed=METALSHIM_SEED");
    let seed = match std::env::var_os("METALSHIM_SEED") {
        Some(seed) => PathBuf::from(seed),
        None => manifest_dir.join("../compatdb/seed"),
    };
    // A path that is not there would have this run each time.
    if seed.exists() {
        println!("cargo::rerun-if-changed={}", seed.display());
    }
    compatdb::write_file(&out.join("seed.rs"), seed_list(&seed)?.as_bytes())?;
    Ok(())
}

/// The signed repository of a release, as a Rust list of names and bytes; empty without one.
fn seed_list(seed: &Path) -> Result<String, Box<dyn Error>> {
    let mut list = String::from("&[\n");
    for (name, path) in compatdb::seed::files(seed)? {
        let path = path.canonicalize()?;
        list.push_str(&format!("({name:?}, include_bytes!({path:?})),\n"));
    }
    list.push_str("]\n");
    Ok(list)
}
