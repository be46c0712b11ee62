//! What the Metal device says, asked in a child process of our own.
//!
//! **Contract.** The device is never made in this process. The child prints one `key=value` a
//! line: on a Mac it is this executable again (`mac_device.rs`), with simulated facts the
//! program `probe` of the simulated guest. [`Answers::parse`] reads them, [`compare`] holds two
//! sets against each other: between stock and shimmed nothing may differ but the Apple families
//! up to the profile's and the threadgroup memory.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;

use compatdb::Profile;
use serde::Serialize;

use crate::error::Error;
use crate::helper::{self, Ended};

/// The first line that a probe prints.
pub const HEADER: &str = "metalshim-probe 1";

/// The families that are asked for: Apple, Mac, Common, Catalyst and Metal, as Metal numbers
/// them, some beyond those that are published, so that a claim too much is seen.
pub const ASKED: [(u16, u16); 5] = [
    (1001, 1021),
    (2001, 2002),
    (3001, 3009),
    (4001, 4002),
    (5001, 5009),
];

/// What one device said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answers {
    /// Like `Apple Paravirtual device`.
    pub name: String,
    /// Its Objective-C class, like `AppleParavirtDevice`.
    pub class: String,
    /// Every family of [`ASKED`] that it answers yes to.
    pub families: Vec<u16>,
    /// `maxThreadgroupMemoryLength`, in bytes.
    pub max_threadgroup_memory: u32,
    /// The highest Apple family of `hostSupportsFamily:`; none where the device has no such
    /// method. Read only, and a hint.
    pub host_family: Option<u16>,
    /// LC_UUID of Metal's image.
    pub metal_uuid: Option<String>,
    /// LC_UUID of the driver's image.
    pub driver_uuid: Option<String>,
    /// Other answers worth recording, as the device gives them.
    pub features: BTreeMap<String, String>,
    /// How long it took to make the device, in microseconds.
    pub created_us: u64,
}

impl Answers {
    /// Reads what a probe printed.
    ///
    /// # Errors
    /// What is missing or cannot be read, as the end of a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        if lines.next() != Some(HEADER) {
            return Err("it did not print what a probe prints".to_owned());
        }
        let pairs: BTreeMap<&str, &str> = lines.filter_map(|l| l.split_once('=')).collect();
        let get = |key: &str| pairs.get(key).copied();
        let need = |key: &str| get(key).ok_or(format!("it printed no {key}"));
        fn number<T: std::str::FromStr>(key: &str, value: &str) -> Result<T, String> {
            let bad = |_| format!("{key}={} is not a number", value.escape_default());
            value.parse().map_err(bad)
        }
        if get("device") == Some("none") {
            return Err("this system has no Metal device".to_owned());
        }
        let families = need("families")?.split(',').filter(|f| !f.is_empty());
        let uuid = |key| get(key).filter(|v| !v.is_empty()).map(str::to_owned);
        let host_family = get("host_family").map(|f| number("host_family", f));
        let feature = |(key, value): (&&str, &&str)| {
            let name = key.strip_prefix("feature.")?;
            Some((name.to_owned(), (*value).to_owned()))
        };
        Ok(Self {
            name: need("name")?.to_owned(),
            class: need("class")?.to_owned(),
            families: families
                .map(|f| number("families", f))
                .collect::<Result<_, _>>()?,
            max_threadgroup_memory: number(
                "max_threadgroup_memory",
                need("max_threadgroup_memory")?,
            )?,
            host_family: host_family.transpose()?,
            metal_uuid: uuid("metal_uuid"),
            driver_uuid: uuid("driver_uuid"),
            features: pairs.iter().filter_map(feature).collect(),
            created_us: number("created_us", need("created_us")?)?,
        })
    }

    /// As facts hold it.
    #[cfg(all(target_os = "macos", not(feature = "simulate")))]
    pub fn into_device(self) -> compatdb::facts::Device {
        compatdb::facts::Device {
            apple_family: self.apple_family(),
            common_family: self.highest(3001, 3009),
            metal3: self.families.contains(&5001),
            class: self.class,
            name: self.name,
            max_threadgroup_memory: self.max_threadgroup_memory,
            metal_uuid: self.metal_uuid,
            driver_uuid: self.driver_uuid,
        }
    }

    /// The highest family from `first` to `last`; none where there is none.
    pub fn highest(&self, first: u16, last: u16) -> Option<u16> {
        let within = |f: &&u16| (first..=last).contains(*f);
        self.families.iter().filter(within).max().copied()
    }

    /// The highest Apple family; 0 where there is none.
    pub fn apple_family(&self) -> u16 {
        self.highest(1001, 1999).unwrap_or_default()
    }
}

/// Runs a probe to its end: its process id, and what it was answered.
///
/// # Errors
/// It could not be started, did not end in time, or printed something else.
pub fn ask(command: Command, limit: Duration) -> Result<(u32, Answers), Error> {
    let failed = |why: &str| {
        Error::machine(format!("the Metal device could not be asked: {why}")).hint(
            "try again after a restart of this guest: a graphics device that hangs stays so until then",
        )
    };
    let (pid, printed, ended) = helper::output(command, limit)?;
    match ended {
        Ended::Code(0) => {}
        ended => return Err(failed(&ended.says())),
    }
    let answers = Answers::parse(&printed).map_err(|why| failed(&why))?;
    Ok((pid, answers))
}

/// One answer that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Which.
    pub what: String,
    /// Without the overrides.
    pub stock: String,
    /// With them.
    pub shimmed: String,
    /// Whether it is one of the two answers, raised as far as the profile says.
    pub expected: bool,
}

/// What differs between the two, the time that it took left out.
pub fn compare(stock: &Answers, shimmed: &Answers, profile: Profile) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut differs = |what: &str, stock: String, shimmed: String, expected: bool| {
        if stock != shimmed {
            let what = what.to_owned();
            changes.push(Change {
                what,
                stock,
                shimmed,
                expected,
            });
        }
    };
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    for (first, last) in ASKED {
        for family in first..=last {
            let says = |a: &Answers| {
                if a.families.contains(&family) {
                    "yes"
                } else {
                    "no"
                }
            };
            // Upward, and no further than the ceiling.
            let raised = !stock.families.contains(&family)
                && (1001..=profile.apple_family_max).contains(&family);
            let what = format!("supportsFamily:{family}");
            differs(
                &what,
                says(stock).to_owned(),
                says(shimmed).to_owned(),
                raised,
            );
        }
    }
    let memory = (stock.max_threadgroup_memory, shimmed.max_threadgroup_memory);
    differs(
        "maxThreadgroupMemoryLength",
        memory.0.to_string(),
        memory.1.to_string(),
        memory.1 == memory.0.max(profile.max_threadgroup_memory),
    );
    differs("name", stock.name.clone(), shimmed.name.clone(), false);
    differs("class", stock.class.clone(), shimmed.class.clone(), false);
    let host = |a: &Answers| a.host_family.map_or("none".to_owned(), |f| f.to_string());
    differs("hostSupportsFamily:", host(stock), host(shimmed), false);
    differs(
        "Metal's UUID",
        text(&stock.metal_uuid),
        text(&shimmed.metal_uuid),
        false,
    );
    differs(
        "the driver's UUID",
        text(&stock.driver_uuid),
        text(&shimmed.driver_uuid),
        false,
    );
    let names: BTreeSet<_> = stock
        .features
        .keys()
        .chain(shimmed.features.keys())
        .collect();
    for name in names {
        let of = |a: &Answers| text(&a.features.get(name).cloned());
        differs(name, of(stock), of(shimmed), false);
    }
    changes
}

/// Whether `shimmed` says all that the profile asks for: an override that is not there shows
/// in no comparison.
pub fn is_raised(stock: &Answers, shimmed: &Answers, profile: Profile) -> bool {
    let mut asked = 1001..=profile.apple_family_max;
    asked.all(|f| shimmed.families.contains(&f))
        && shimmed.max_threadgroup_memory
            == stock
                .max_threadgroup_memory
                .max(profile.max_threadgroup_memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOCK: &str = "metalshim-probe 1\nname=Apple Paravirtual device\nclass=AppleParavirtDevice\n\
        families=1001,1002,1003,1004,1005,2002,3001,3002,3003\nmax_threadgroup_memory=32768\n\
        host_family=1007\nmetal_uuid=AA\nfeature.unified_memory=true\ncreated_us=1200\n";

    fn shimmed() -> String {
        STOCK
            .replace("1005,", "1005,1006,1007,1008,1009,")
            .replace("32768", "65536")
    }

    fn compared(stock: &str, shimmed: &str) -> Vec<Change> {
        let read = |text| Answers::parse(text).unwrap();
        compare(&read(stock), &read(shimmed), Profile::HIGHEST)
    }

    #[test]
    fn the_two_answers_are_the_only_changes_that_are_expected() {
        let changes = compared(STOCK, &shimmed().replace("=1200", "=9"));
        assert_eq!(changes.len(), 5, "{changes:?}");
        assert!(changes.iter().all(|c| c.expected), "{changes:?}");
        for (old, new) in [
            ("3003", "3003,5001"),
            ("1009,", "1009,1010,"),
            ("1003,", ""),
            ("65536", "65552"),
            ("name=Apple", "name=Appel"),
            ("host_family=1007\n", ""),
            ("metal_uuid=AA", "metal_uuid=BB"),
            ("unified_memory=true", "unified_memory=false"),
        ] {
            let changes = compared(STOCK, &shimmed().replace(old, new));
            let wrong: Vec<_> = changes.iter().filter(|c| !c.expected).collect();
            assert_eq!(wrong.len(), 1, "{old} -> {new}: {wrong:?}");
        }
    }

    #[test]
    fn an_override_that_is_not_there_is_noticed() {
        let read = |text: &str| Answers::parse(text).unwrap();
        let raised = |text: &str| is_raised(&read(STOCK), &read(text), Profile::HIGHEST);
        assert!(raised(&shimmed()));
        assert!(!raised(STOCK));
        assert!(!raised(&shimmed().replace("65536", "32768")));
        assert!(!raised(&shimmed().replace(",1008", "")));
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let says = |text: &str| Answers::parse(text).unwrap_err();
        assert!(says("").contains("a probe prints"));
        assert!(says("metalshim-probe 1\ndevice=none\n").contains("no Metal device"));
        assert!(says(&STOCK.replace("name=Apple", "nam=Apple")).contains("no name"));
        assert!(says(&STOCK.replace("=32768", "=many")).contains("many"));
        assert!(says(&STOCK.replace("1003,", "10O3,")).contains("10O3"));
    }
}
