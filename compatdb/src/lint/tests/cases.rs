//! A small record set that is right, and the ways to break it: one rule each.

use serde::de::DeserializeOwned;

use crate::records::{Filed, Records, RetiredIds, Status};

fn filed<T: DeserializeOwned>(file: &str, text: &str) -> Filed<T> {
    Filed {
        file: file.to_owned(),
        record: toml::from_str(text).unwrap(),
    }
}

const SOURCE: &str =
    "[[sources]]\nkey = 's'\nproject = 'a/b'\nissue = 'issue 1'\ndate = '2026-08-09'\n";

const PAIR: &str = "
id = 'P0001'
status = 'verified'
published = '2026-12-01'
profile = { apple_family_max = 1009, max_threadgroup_memory = 65536 }
device_class = 'AppleParavirtDevice'
min_shim_abi = 1
host = { build = '25G76', version = '26.6.1' }
guest = { build = '25F84', version = '26.5.2' }
stock = { apple_family = 1005, metal3 = false, max_threadgroup_memory = 32768 }
evidence = { level = 1, kind = 'third-party', says = 'Measured by a/b.' }
workloads = [{ name = 'w', client = 'c', metric = 'm', unit = 'u', shimmed = 1, source = 's' }]
";

const CLIENT: &str = "
id = 'llama.cpp'
title = 'llama.cpp'
gains = 'yes'
gains_says = 'Much.'
schemes = [{ name = 'build', form = 'number' }]
children = ['self']
recognise = { executables = ['llama-cli'], libraries = ['libggml*'], formulae = ['llama.cpp'] }
caps = [
    { versions = [{ of = 'build', through = 'b6300' }], max_threadgroup_memory = 32768, says = 'x', source = 's' },
    { unknown_version = true, host_family = { unknown = 1007 }, says = 'x', source = 's' },
]
";

/// A small set of records that is right.
pub(super) fn right() -> Records {
    let with_source = |text: &str| format!("{text}{SOURCE}");
    Records {
        pairs: vec![filed("pairs/P0001.toml", &with_source(PAIR))],
        leads: vec![filed(
            "leads/L0001.toml",
            &with_source(
                "id = 'L0001'\noutcome = 'x'\nmissing = 'x'\nguest = { build = '24G830' }\nprofile = { apple_family_max = 1007, max_threadgroup_memory = 32768 }\nevidence = { level = 0, kind = 'third-party', says = 'Claimed by a/b.' }\n",
            ),
        )],
        denies: vec![filed(
            "denies/D0001.toml",
            &with_source(
                "id = 'D0001'\nstatus = 'broken'\npublished = '2026-12-01'\nguest = { before = '24A0' }\nfault = 'F01'\nreason = 'x'\n",
            ),
        )],
        faults: vec![filed(
            "faults/F01.toml",
            &with_source(
                "id = 'F01'\ntitle = 'x'\nkind = 'crash'\nsays = 'x'\nmeasured = true\nguests = '14'\n",
            ),
        )],
        clients: vec![
            filed("clients/llama.cpp.toml", &with_source(CLIENT)),
            filed(
                "clients/mlx.toml",
                &with_source(
                    "id = 'mlx'\ntitle = 'MLX'\ngains = 'no'\ngains_says = 'x'\nrecognise = { libraries = ['libmlx.*'] }\n",
                ),
            ),
        ],
        stock_reports: vec![filed(
            "stock-reports.toml",
            &with_source(
                "id = 'S01'\nsays = 'x'\nmeasured = true\nguest = { build = '25F84' }\nanswers = { apple_family = 1005, metal3 = false }\n",
            ),
        )],
        builds: filed(
            "builds.toml",
            "
sources = [{ key = 'feed', project = 'a/b' }]
build = [
    { build = '23J631', version = '14.8.9', beta = false, sources = ['feed'] },
    { build = '24G830', version = '15.7.9', beta = false, sources = ['feed'] },
    { build = '25F84', version = '26.5.2', released = '2026-06-29', beta = false, sources = ['feed'] },
    { build = '25G76', version = '26.6.1', beta = false, sources = ['feed'] },
]
",
        ),
        retired: Filed {
            file: "retired.toml".to_owned(),
            record: RetiredIds::default(),
        },
        release: filed(
            "release.toml",
            "seq = 1\npublished_at = '2026-12-01T00:00:00Z'\nmin_cli = '0.1.0'\n",
        ),
    }
}

/// What breaks the records, the rule that it breaks, and the file and field reported.
pub(super) struct Case {
    pub(super) rule: &'static str,
    pub(super) at: &'static str,
    pub(super) breaks: fn(&mut Records),
}

pub(super) const CASES: &[Case] = &[
    Case {
        rule: "file-name",
        at: "pairs/P0002.toml: id",
        breaks: |r| r.pairs[0].file = "pairs/P0002.toml".to_owned(),
    },
    Case {
        rule: "id-shape",
        at: "leads/L1.toml: id",
        breaks: |r| {
            r.leads[0].id = "L1".to_owned();
            r.leads[0].file = "leads/L1.toml".to_owned();
        },
    },
    Case {
        rule: "id-shape",
        at: "clients/MLX.toml: id",
        breaks: |r| {
            r.clients[1].id = "MLX".to_owned();
            r.clients[1].file = "clients/MLX.toml".to_owned();
        },
    },
    Case {
        rule: "id-duplicate",
        at: "stock-reports.toml: report[S01].id",
        breaks: |r| {
            let again = r.stock_reports[0].clone();
            r.stock_reports.push(again);
        },
    },
    Case {
        rule: "id-retired",
        at: "faults/F01.toml: id",
        breaks: |r| {
            r.retired.record =
                toml::from_str("[[retired]]\nid = 'F01'\non = '2026-11-01'\nreason = 'Wrong.'\n")
                    .unwrap();
        },
    },
    Case {
        rule: "release",
        at: "release.toml: seq",
        breaks: |r| r.release.seq = 0,
    },
    Case {
        rule: "build-known",
        at: "pairs/P0001.toml: host.build",
        breaks: |r| r.pairs[0].host.build = "25G77".parse().unwrap(),
    },
    Case {
        rule: "build-known",
        at: "leads/L0001.toml: guest.build",
        breaks: |r| r.leads[0].guest.build = Some("25G77".parse().unwrap()),
    },
    Case {
        rule: "build-known",
        at: "stock-reports.toml: report[S01].host.build",
        breaks: |r| r.stock_reports[0].host.build = Some("25G77".parse().unwrap()),
    },
    Case {
        rule: "build-version",
        at: "pairs/P0001.toml: guest.version",
        breaks: |r| r.pairs[0].guest.version = "26.5".to_owned(),
    },
    Case {
        rule: "build-row",
        at: "builds.toml: build[23J631]",
        breaks: |r| {
            let again = r.builds.build[0].clone();
            r.builds.build.push(again);
        },
    },
    Case {
        rule: "build-row",
        at: "builds.toml: build[23J631].sources",
        breaks: |r| r.builds.build[0].sources = vec!["hearsay".to_owned()],
    },
    Case {
        rule: "pair-twice",
        at: "pairs/P0002.toml: guest.build",
        breaks: |r| {
            let mut again = r.pairs[0].clone();
            again.id = "P0002".to_owned();
            again.file = "pairs/P0002.toml".to_owned();
            r.pairs.push(again);
        },
    },
    Case {
        rule: "profile-range",
        at: "pairs/P0001.toml: profile",
        breaks: |r| r.pairs[0].profile.apple_family_max = 1010,
    },
    Case {
        rule: "profile-range",
        at: "pairs/P0001.toml: profile",
        breaks: |r| r.pairs[0].profile.max_threadgroup_memory = 65_552,
    },
    Case {
        rule: "profile-range",
        at: "leads/L0001.toml: profile",
        breaks: |r| r.leads[0].profile.as_mut().unwrap().apple_family_max = 1000,
    },
    Case {
        rule: "profile-raises",
        at: "pairs/P0001.toml: profile",
        breaks: |r| r.pairs[0].profile.max_threadgroup_memory = 16_384,
    },
    Case {
        rule: "metal3",
        at: "pairs/P0001.toml: stock.metal3",
        breaks: |r| r.pairs[0].stock.metal3 = true,
    },
    Case {
        rule: "metal3",
        at: "stock-reports.toml: report[S01].answers.metal3",
        breaks: |r| r.stock_reports[0].answers.metal3 = Some(true),
    },
    Case {
        rule: "metal3",
        at: "stock-reports.toml: report[S01].answers.apple_family",
        breaks: |r| r.stock_reports[0].answers.apple_family = Some(5001),
    },
    Case {
        rule: "cap-range",
        at: "clients/llama.cpp.toml: caps[0]",
        breaks: |r| r.clients[0].caps[0].apple_family_max = Some(1010),
    },
    Case {
        rule: "cap-range",
        at: "clients/llama.cpp.toml: caps[0]",
        breaks: |r| r.clients[0].caps[0].max_threadgroup_memory = None,
    },
    Case {
        rule: "cap-range",
        at: "clients/llama.cpp.toml: caps[1]",
        breaks: |r| r.clients[0].caps[1].host_family.as_mut().unwrap().unknown = Some(1010),
    },
    Case {
        rule: "device",
        at: "pairs/P0001.toml: device_class",
        breaks: |r| r.pairs[0].device_class = "Apple Paravirtual device".to_owned(),
    },
    Case {
        rule: "device",
        at: "pairs/P0001.toml: metal_uuid",
        breaks: |r| r.pairs[0].metal_uuid = Some("94b8d816".to_owned()),
    },
    Case {
        rule: "evidence-level",
        at: "leads/L0001.toml: evidence.level",
        breaks: |r| r.leads[0].evidence.level = 4,
    },
    Case {
        rule: "evidence-named",
        at: "pairs/P0001.toml: evidence.says",
        breaks: |r| r.pairs[0].evidence.says = "It works.".to_owned(),
    },
    Case {
        rule: "verified-evidence",
        at: "pairs/P0001.toml: evidence.level",
        breaks: |r| r.pairs[0].evidence.level = 0,
    },
    Case {
        rule: "verified-evidence",
        at: "pairs/P0001.toml: workloads",
        breaks: |r| r.pairs[0].workloads.clear(),
    },
    Case {
        rule: "source-missing",
        at: "faults/F01.toml: sources",
        breaks: |r| r.faults[0].sources.clear(),
    },
    Case {
        rule: "source-shape",
        at: "faults/F01.toml: sources[0].project",
        breaks: |r| r.faults[0].sources[0].project = "somebody".to_owned(),
    },
    Case {
        rule: "source-shape",
        at: "faults/F01.toml: sources[0]",
        breaks: |r| r.faults[0].sources[0].issue = None,
    },
    Case {
        rule: "source-shape",
        at: "denies/D0001.toml: sources[0].date",
        breaks: |r| r.denies[0].sources[0].date = None,
    },
    Case {
        rule: "source-shape",
        at: "pairs/P0001.toml: sources[1].key",
        breaks: |r| {
            let again = r.pairs[0].sources[0].clone();
            r.pairs[0].sources.push(again);
        },
    },
    Case {
        rule: "figure-source",
        at: "pairs/P0001.toml: workloads[0].source",
        breaks: |r| r.pairs[0].workloads[0].source = "nowhere".to_owned(),
    },
    Case {
        rule: "figure-source",
        at: "pairs/P0001.toml: workloads[1]",
        breaks: |r| {
            let mut bare = r.pairs[0].workloads[0].clone();
            bare.shimmed = None;
            r.pairs[0].workloads.push(bare);
        },
    },
    Case {
        rule: "text-empty",
        at: "clients/mlx.toml: gains_says",
        breaks: |r| r.clients[1].gains_says = " ".to_owned(),
    },
    Case {
        rule: "date-future",
        at: "builds.toml: build[25F84].released",
        breaks: |r| r.builds.build[2].released = Some("2026-12-02".parse().unwrap()),
    },
    Case {
        rule: "date-future",
        at: "faults/F01.toml: sources[0].date",
        breaks: |r| r.faults[0].sources[0].date = Some("2026-12-02".parse().unwrap()),
    },
    Case {
        rule: "date-order",
        at: "denies/D0001.toml: published",
        breaks: |r| r.denies[0].published = "2026-08-08".parse().unwrap(),
    },
    Case {
        rule: "range-allows",
        at: "denies/D0001.toml: status",
        breaks: |r| r.denies[0].status = Status::Verified,
    },
    Case {
        rule: "range-empty",
        at: "denies/D0001.toml: guest",
        breaks: |r| {
            // A deny without ranges would cover the verified pair as well.
            r.pairs.clear();
            r.denies[0].guest = None;
        },
    },
    Case {
        rule: "range-empty",
        at: "denies/D0001.toml: guest",
        breaks: |r| {
            r.denies[0].guest.as_mut().unwrap().from = Some("24A0".parse().unwrap());
        },
    },
    Case {
        rule: "range-verified",
        at: "pairs/P0001.toml: status",
        breaks: |r| {
            r.denies[0].guest.as_mut().unwrap().before = Some("25F85".parse().unwrap());
        },
    },
    Case {
        rule: "fault-unknown",
        at: "denies/D0001.toml: fault",
        breaks: |r| r.denies[0].fault = "F99".to_owned(),
    },
    Case {
        rule: "deny-reason",
        at: "pairs/P0001.toml: reason",
        breaks: |r| r.pairs[0].status = Status::Revoked,
    },
    Case {
        rule: "version-range",
        at: "clients/llama.cpp.toml: caps[0].versions[0].of",
        breaks: |r| r.clients[0].caps[0].versions[0].of = "release".to_owned(),
    },
    Case {
        rule: "version-range",
        at: "clients/llama.cpp.toml: caps[0].versions[0].through",
        breaks: |r| r.clients[0].caps[0].versions[0].through = Some("6.3.0".to_owned()),
    },
    Case {
        rule: "version-range",
        at: "clients/llama.cpp.toml: caps[0].versions[0]",
        breaks: |r| r.clients[0].caps[0].versions[0].from = Some("b6301".to_owned()),
    },
    Case {
        rule: "version-overlap",
        at: "clients/llama.cpp.toml: caps[1].versions",
        breaks: |r| {
            let mut range = r.clients[0].caps[0].versions[0].clone();
            range.from = range.through.take();
            r.clients[0].caps[1].versions.push(range);
        },
    },
    Case {
        rule: "client-source",
        at: "clients/llama.cpp.toml: caps[0].source",
        breaks: |r| r.clients[0].caps[0].source = "nowhere".to_owned(),
    },
    Case {
        rule: "client-ambiguous",
        at: "clients/mlx.toml: recognise.executables",
        breaks: |r| {
            r.clients[1]
                .recognise
                .executables
                .push("llama-cli".to_owned())
        },
    },
    Case {
        rule: "client-ambiguous",
        at: "clients/mlx.toml: recognise.libraries",
        breaks: |r| {
            r.clients[1]
                .recognise
                .libraries
                .push("*-metal.dylib".to_owned())
        },
    },
    Case {
        rule: "client-names",
        at: "clients/mlx.toml: recognise.executables",
        breaks: |r| {
            r.clients[1]
                .recognise
                .executables
                .push("/usr/bin/mlx".to_owned())
        },
    },
    Case {
        rule: "client-names",
        at: "clients/llama.cpp.toml: children",
        breaks: |r| r.clients[0].children.push("a,b".to_owned()),
    },
    Case {
        rule: "client-names",
        at: "clients/llama.cpp.toml: schemes",
        breaks: |r| {
            let again = r.clients[0].schemes[0].clone();
            r.clients[0].schemes.push(again);
        },
    },
];
