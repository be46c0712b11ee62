//! The stand-in for Metal, stock: facts in, answers out, on a real Objective-C runtime.

use std::fs;

use metalshim_guest::{FactsFile, Outcome, built};

fn corners(facts: &FactsFile) -> Outcome {
    built().run("corners").facts(&facts.save()).output()
}

#[test]
fn the_sample_guest_answers_as_the_paravirtual_device_does() {
    let toy = built().run("toy").output();
    assert_eq!(toy.picked(), "1005/32768 cpu_fallback");
    assert_eq!((toy.code, toy.stderr.as_str()), (Some(0), ""));
}

#[test]
fn facts_decide_the_answers() {
    let facts = FactsFile::sample()
        .with("device.apple_family", 1009)
        .with("device.max_threadgroup_memory", 65_536);
    let toy = built().run("toy").facts(&facts.save()).output();
    assert_eq!(toy.picked(), "1009/65536 fast_gpu_kernel");

    let facts = FactsFile::sample()
        .with("device.class", "AppleM1Device")
        .with("device.name", "Apple M1")
        .with("device.apple_family", 1007)
        .with("device.common_family", 3002)
        .with("device.metal3", true)
        .with("device.metal_uuid", "0F0E0D0C-0000-4000-8000-0000000000AA")
        .without("host");
    let device = corners(&facts);
    assert_eq!(device.get("device.class"), Some("AppleM1Device"));
    assert_eq!(device.get("device.name"), Some("Apple M1"));
    assert_eq!(
        device.get("device.families"),
        Some("1001,1002,1003,1004,1005,1006,1007,2002,3001,3002,5001")
    );
    assert_eq!(
        device.get("metal_uuid"),
        Some("0F0E0D0C-0000-4000-8000-0000000000AA")
    );
    // Nothing is known of the host: there is nobody to ask about it.
    assert_eq!(device.get("device.host_family"), None);
}

#[test]
fn the_base_class_owns_the_answers_and_the_device_inherits_them() {
    let device = corners(&FactsFile::sample());
    assert_eq!(device.get("device.class"), Some("AppleParavirtDevice"));
    for method in ["family", "memory", "init"] {
        assert_eq!(
            device.get(&format!("device.{method}_owner")),
            Some("_MTLDevice")
        );
    }
    assert_eq!(device.get("device.family_types"), Some("B24@0:8q16"));
    assert_eq!(device.get("device.memory_types"), Some("Q16@0:8"));
    assert_eq!(device.get("device.host_family"), Some("1007"));
    assert_eq!(device.get("same_device"), Some("true"));
    assert_eq!(device.get("devices"), Some("1"));
}

#[test]
fn the_driver_arrives_with_the_first_device_and_is_initialised_through_the_hooked_method() {
    let device = built().run("corners").arg("watch").output();
    assert_eq!(device.get("before.driver_class"), Some("none"));
    assert_eq!(device.get("within.class"), Some("AppleParavirtDevice"));
    assert_eq!(device.get("within.apple_family"), Some("1005"));
    assert_eq!(device.get("within.max_threadgroup_memory"), Some("32768"));
}

#[test]
fn metal_can_come_late_with_a_library_that_a_program_loads() {
    let kit = built();
    assert_eq!(
        kit.run_late("toy").output().picked(),
        "1005/32768 cpu_fallback"
    );
    // And the program that loads it really is without: no image of Metal among what it needs.
    let binary = fs::read(kit.program("interpreter")).unwrap();
    let has = |bytes: &[u8], name: &[u8]| bytes.windows(name.len()).any(|w| w == name);
    assert!(!has(&binary, b"libMetal"));
    assert!(has(&fs::read(kit.program("toy")).unwrap(), b"libMetal"));
}

#[test]
fn many_threads_get_one_answer() {
    for scenario in ["chain", "fresh-devices"] {
        let run = built().run("corners").args(["threads", "64"]);
        let out = run.scenario(scenario).output();
        let answers: Vec<_> = out
            .pairs()
            .filter(|(key, _)| key.starts_with("thread."))
            .collect();
        assert_eq!(answers.len(), 64, "{scenario}: {}", out.stderr);
        assert!(answers.iter().all(|(_, v)| *v == "1005/32768,1005/32768"));
    }
}

#[test]
fn a_facts_file_that_cannot_be_understood_is_named() {
    let kit = built();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("facts.toml");
    for (text, says) in [
        ("", "guest.build is missing"),
        ("[guest\n", "facts.toml:1: \"[guest\" is not a [section]"),
        (
            "[guest]\nbuild\n",
            "facts.toml:2: \"build\" is not key = value",
        ),
        (
            "[guest]\nbuild = 25\n",
            "facts.toml:2: guest.build is not a plain \"text\"",
        ),
        ("[guest]\nvm = yes\n", "guest.vm is neither true nor false"),
        (
            "[guest]\nvm = true\nvm = true\n",
            "facts.toml:3: guest.vm is there twice",
        ),
        (
            "[device]\napple_family = \"x\"\n",
            "device.apple_family is not a number",
        ),
    ] {
        fs::write(&path, text).unwrap();
        let out = kit.run("toy").env("METALSHIM_FACTS", &path).output();
        assert_eq!(out.code, Some(70), "{text}");
        assert!(out.stderr.contains(says), "{text}: {}", out.stderr);
        assert_eq!(out.stderr.lines().count(), 1);
    }
    let missing = folder.path().join("none.toml");
    let out = kit.run("toy").env("METALSHIM_FACTS", &missing).output();
    assert_eq!(out.code, Some(70));
    assert!(
        out.stderr.contains("none.toml: No such file"),
        "{}",
        out.stderr
    );
}

#[test]
fn every_facts_file_that_is_shipped_can_be_played() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/facts");
    let mut played = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let facts = FactsFile::parse(&fs::read_to_string(&path).unwrap());
        // As it is, comments and all, and not as the kit would write it.
        let out = built().run("sysctl").env("METALSHIM_FACTS", &path).output();
        assert_eq!(out.code, Some(0), "{}: {}", path.display(), out.stderr);
        for (name, key) in [
            ("kern.osversion", "guest.build"),
            ("kern.osproductversion", "guest.version"),
            ("kern.bootsessionuuid", "guest.boot_session"),
            ("hw.model", "guest.model"),
            ("machdep.cpu.brand_string", "guest.chip"),
        ] {
            assert_eq!(out.get(name), Some(facts.text(key)), "{}", path.display());
        }
        assert_eq!(out.get("kern.hv_vmm_present"), Some("1"));
        played += 1;
    }
    assert!(played >= 4);
}

#[test]
fn sysctl_fails_as_the_system_call_does() {
    let bare = FactsFile::sample().with("guest.vm", false).save();
    let out = built().run("sysctl").facts(&bare).output();
    assert_eq!(out.get("kern.hv_vmm_present"), Some("0"));
    assert_eq!(out.get("no.such.name"), Some("error ENOENT"));
    // Room for one byte less than "25F84" and its end; and the size that it would take.
    assert_eq!(out.get("kern.osversion.short"), Some("error ENOMEM"));
    assert_eq!(out.get("kern.osversion.size"), Some("6"));
}
