//! Every scenario, stock: what it changes, and that it changes nothing else.

use std::collections::{BTreeMap, BTreeSet};

use metalshim_guest::built;

/// What `corners` prints, without what differs between any two runs.
fn described(scenario: &str) -> BTreeMap<String, String> {
    let run = built().run("corners").scenario(scenario);
    let out = run.output();
    assert_eq!(out.code, Some(0), "{scenario}: {}", out.stderr);
    assert_eq!(out.stderr, "", "{scenario}");
    out.pairs()
        .filter(|(key, _)| *key != "pid" && *key != "fds" && !key.starts_with("env."))
        // The runtime's own root class: Apple's and GNU's.
        .map(|(key, value)| (key.to_owned(), value.replace("NSObject", "Object")))
        .collect()
}

/// The lines that are not as without a scenario: `key=value`, and `-key` for one that is gone.
fn changed(scenario: &str) -> BTreeSet<String> {
    let stock = described("");
    let played = described(scenario);
    let mut lines: BTreeSet<String> = played
        .iter()
        .filter(|(key, value)| stock.get(*key) != Some(value))
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    lines.extend(
        stock
            .keys()
            .filter(|key| !played.contains_key(*key))
            .map(|key| format!("-{key}")),
    );
    lines
}

/// Changes, one a line; `sibling.*` and `-device.*` stand for all keys that start so.
#[track_caller]
fn changes(scenario: &str, expected: &str) {
    let mut lines = changed(scenario);
    for line in expected.split_whitespace() {
        let found: Vec<String> = match line.strip_suffix('*') {
            Some(start) => lines
                .iter()
                .filter(|l| l.starts_with(start))
                .cloned()
                .collect(),
            None => lines.iter().filter(|l| *l == line).cloned().collect(),
        };
        assert!(!found.is_empty(), "{scenario}: no {line} among {lines:#?}");
        for line in found {
            lines.remove(&line);
        }
    }
    assert!(lines.is_empty(), "{scenario}: also {lines:#?}");
}

const RAISED: &str = "device.families=1001,1002,1003,1004,1005,1006,1007,1008,1009,3001,3002,3003
    device.families_again=1001,1002,1003,1004,1005,1006,1007,1008,1009,3001,3002,3003
    device.max_threadgroup_memory=65536 apple_family=1009 max_threadgroup_memory=65536
    device.family_image=libOtherShim.so device.memory_image=libOtherShim.so";
const NO_ANSWERS: &str = "-apple_family -max_threadgroup_memory -kernel";

#[test]
fn classes_missing_or_renamed() {
    changes(
        "base-renamed",
        "device.chain=AppleParavirtDevice,_MTLDeviceNext,Object device.family_owner=_MTLDeviceNext
         device.memory_owner=_MTLDeviceNext device.init_owner=_MTLDeviceNext",
    );
    changes(
        "class-renamed",
        "device.class=AppleParavirtDeviceNext device.chain=AppleParavirtDeviceNext,_MTLDevice,Object",
    );
    changes(
        "other-device",
        "device.class=GuestOtherDevice device.chain=GuestOtherDevice,_MTLDevice,Object",
    );
    for gone in ["class-missing", "no-driver"] {
        changes(
            gone,
            &format!("device=none -device.* -devices -same_device {NO_ANSWERS}"),
        );
    }
}

#[test]
fn methods_missing() {
    changes(
        "no-supports-family",
        &format!(
            "device.families=missing device.families_again=missing device.family_owner=none
             device.family_types=none device.family_image=none {NO_ANSWERS}"
        ),
    );
    changes(
        "no-memory-length",
        &format!(
            "device.max_threadgroup_memory=missing device.memory_owner=none
             device.memory_types=none device.memory_image=none {NO_ANSWERS}"
        ),
    );
    changes(
        "no-init-families",
        "device.init_owner=none device.init_types=none device.init_image=none",
    );
}

#[test]
fn types_and_offsets() {
    changes("family-types", "device.family_types=B20@0:8i16");
    changes("memory-types", "device.memory_types=I16@0:8");
    changes("init-types", "device.init_types=v24@0:8@16");
    changes(
        "offsets",
        "device.family_types=B32@0:8q24 device.memory_types=Q24@0:8",
    );
}

#[test]
fn memory_is_zero_until_the_device_is_ready() {
    changes("zero-until-ready", "");
    let run = built().run("corners").arg("watch");
    let out = run.scenario("zero-until-ready").output();
    assert_eq!(out.get("within.max_threadgroup_memory"), Some("0"));
    assert_eq!(out.get("device.max_threadgroup_memory"), Some("32768"));
}

#[test]
fn images_have_other_uuids() {
    changes(
        "other-metal-uuid",
        "metal_uuid=FFFFFFFF-0000-4000-8000-00000000000F",
    );
    changes(
        "other-driver-uuid",
        "driver_uuid=FFFFFFFF-0000-4000-8000-00000000000F",
    );
}

#[test]
fn siblings_wrappers_and_who_owns_the_methods() {
    changes("sibling", "devices=2 sibling.*");
    changes("sibling-first", "devices=2 sibling.*");
    assert_eq!(
        described("sibling")["sibling.chain"],
        "GuestSiblingDevice,_MTLDevice,Object"
    );
    changes(
        "own-methods",
        "device.family_owner=AppleParavirtDevice device.memory_owner=AppleParavirtDevice",
    );
    changes(
        "own-init",
        "device.init_owner=AppleParavirtDevice device.init_image=libAppleParavirtGPU.so",
    );
    changes(
        "chain",
        "device.chain=AppleParavirtDevice,GuestMiddleDevice,_MTLDevice,Object",
    );
    changes(
        "wrapper",
        "device.class=MTLDebugDevice device.chain=MTLDebugDevice,Object
         device.family_owner=MTLDebugDevice device.memory_owner=MTLDebugDevice
         device.init_owner=none device.init_types=none device.init_image=none base.*",
    );
    assert_eq!(described("wrapper")["base.class"], "AppleParavirtDevice");
    changes("memory-moves", "device.memory_owner=AppleParavirtDevice");
}

#[test]
fn another_shim_was_there_first() {
    // In the base class: the owner is as ever, the code is not Metal's, and the sibling has it too.
    changes("other-shim-base", RAISED);
    let both = described("other-shim-base,sibling");
    assert_eq!(both["sibling.families"], both["device.families"]);
    for (scenario, init) in [
        ("other-shim-init", "device.init_image=libOtherShim.so"),
        ("other-shim-device", ""),
    ] {
        changes(
            scenario,
            &format!(
                "{RAISED} {init} device.family_owner=AppleParavirtDevice
                 device.memory_owner=AppleParavirtDevice"
            ),
        );
    }
}

#[test]
fn devices_made_early_and_devices_made_anew() {
    changes("early-device", "");
    let run = built().run("corners").arg("watch");
    let out = run.scenario("early-device").output();
    // Its initialisation is over before the program's first line.
    assert_eq!(out.get("before.driver_class"), Some("there"));
    assert_eq!(out.get("within.class"), None);
    changes("fresh-devices", "same_device=false");
}

#[test]
fn the_second_override_is_refused_for_the_device_class_only() {
    changes("second-add-fails", "");
    let add = |class: &str, scenario: &str| {
        let run = built()
            .run("addmethod")
            .args([class, "maxThreadgroupMemoryLength"]);
        run.scenario(scenario)
            .output()
            .get("added")
            .map(str::to_owned)
    };
    assert_eq!(add("AppleParavirtDevice", "").as_deref(), Some("true"));
    assert_eq!(
        add("AppleParavirtDevice", "second-add-fails").as_deref(),
        Some("false")
    );
    assert_eq!(
        add("GuestSiblingDevice", "second-add-fails").as_deref(),
        Some("true")
    );
}

#[test]
fn scenarios_combine_and_an_unknown_one_is_an_error() {
    let both = changed("chain,other-metal-uuid");
    assert_eq!(both.len(), 2);
    let out = built().run("toy").scenario("chain,chian").output();
    assert_eq!(out.code, Some(70));
    assert!(
        out.stderr.contains("\"chian\" is not a scenario"),
        "{}",
        out.stderr
    );
}

#[test]
fn the_table_in_the_readme_names_every_scenario() {
    let readme = include_str!("../README.md");
    let source = include_str!("../system/scenario.c");
    let names = source.split("names[] = {").nth(1).unwrap();
    let names = names.split("};").next().unwrap();
    let mut count = 0;
    for name in names.split('"').skip(1).step_by(2) {
        assert!(readme.contains(&format!("`{name}`")), "{name}");
        count += 1;
    }
    assert_eq!(count, 43);
}
