//! Facts from a file, so that any guest can be simulated.

use std::io;
use std::path::{Path, PathBuf};

use compatdb::Facts;
use compatdb::facts::{Device, Guest, Host, Local};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer};

use super::{Machine, Source, share};
use crate::error::Error;
use crate::variables;
use crate::{regular, toml_error};

/// What stands for this machine when no file is named; the simulated guest's library has
/// the same one.
const SAMPLE: &str = include_str!("../../../shim/guest/facts/sample.toml");

/// No facts file is larger.
const MAX_LEN: u64 = 64 << 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FactsFile {
    guest: Guest,
    host: Option<Host>,
    device: Option<Device>,
    #[serde(default)]
    local: Local,
    #[serde(default)]
    clock: Clock,
    #[serde(default)]
    share: Share,
}

/// What stands for the folders that the host shares.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Share {
    #[serde(default)]
    folder: Option<PathBuf>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Clock {
    #[serde(default, deserialize_with = "timestamp")]
    now: Option<Timestamp>,
    #[serde(default, deserialize_with = "timestamp")]
    booted: Option<Timestamp>,
}

/// A TOML date-time with its offset, or the same as text.
fn timestamp<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Toml(toml::value::Datetime),
        Text(String),
    }
    let text = match Either::deserialize(deserializer)? {
        Either::Toml(datetime) => datetime.to_string(),
        Either::Text(text) => text,
    };
    let bad = |e| {
        serde::de::Error::custom(format!(
            "{text} is not a time like 2026-12-01T00:00:00Z: {e}"
        ))
    };
    text.parse().map(Some).map_err(bad)
}

/// Reads the file, or the sample.
pub(super) fn read(path: Option<&Path>) -> Result<Machine, Error> {
    let Some(path) = path else {
        return machine(SAMPLE, Source::Sample)
            .map_err(|e| Error::project(format!("the built-in facts cannot be used: {e}")));
    };
    let text = contents(path).map_err(|e| {
        Error::user(format!(
            "the facts file cannot be read: {}: {}",
            path.display(),
            crate::error::plain(&e)
        ))
        .hint(format!(
            "let {} name a readable TOML file, or unset it to use the built-in sample",
            variables::FACTS
        ))
    })?;
    machine(&text, Source::File(path.to_owned())).map_err(|e| {
        Error::user(format!(
            "the facts file cannot be used: {}: {}",
            path.display(),
            toml_error::says(&text, &e)
        ))
        .hint("mend that line; docs/design.md, \"Facts\", lists every key")
    })
}

fn contents(path: &Path) -> io::Result<String> {
    regular::text(regular::open(path)?, MAX_LEN)
}

fn machine(text: &str, source: Source) -> Result<Machine, toml::de::Error> {
    let file: FactsFile = toml::from_str(text)?;
    Ok(Machine {
        facts: Facts {
            guest: file.guest,
            host: file.host,
            device: file.device,
            local: file.local,
        },
        now: file.clock.now.unwrap_or_else(Timestamp::now),
        booted: file.clock.booted,
        source,
        host_from: None,
        shares: file.share.folder.unwrap_or_else(|| share::SHARES.into()),
        warnings: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_the_documented_machine() {
        let machine = read(None).unwrap();
        assert_eq!(machine.facts.guest.build.as_str(), "25F84");
        assert_eq!(machine.now.to_string(), "2026-12-01T00:00:00Z");
        assert_eq!(machine.source, Source::Sample);
    }

    #[test]
    fn an_unknown_key_is_named_with_its_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), SAMPLE.replace("metal3", "metal4")).unwrap();
        let error = read(Some(file.path())).unwrap_err();
        assert!(error.says.contains("metal4"), "{error}");
        assert!(
            error.says.contains(&*file.path().to_string_lossy()),
            "{error}"
        );
    }

    #[test]
    fn an_endless_file_is_refused() {
        let error = read(Some(Path::new("/dev/zero"))).unwrap_err();
        assert!(error.says.contains("/dev/zero"), "{error}");
    }
}
