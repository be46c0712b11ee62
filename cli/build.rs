//! Builds the database that the program embeds, from the reviewed records: the unsigned
//! development database.

use std::error::Error;
use std::path::{Path, PathBuf};

use compatdb::records::Records;

fn main() -> Result<(), Box<dyn Error>> {
    let records_dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../compatdb/records");
    println!("cargo::rerun-if-changed={}", records_dir.display());
    let (records, problems) = Records::load(&records_dir);
    if let Some(problem) = problems.first() {
        let dir = records_dir.display();
        return Err(format!("{dir}: {problem}; `compatdb lint` lists every problem").into());
    }
    let bytes = compatdb::build_database(&records, &records.release)?;
    let out = std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    compatdb::write_file(&PathBuf::from(out).join("compat.sqlite"), &bytes)?;
    Ok(())
}
