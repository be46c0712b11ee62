//! Small records of our own, so that a test does not change with the real ones.

use compatdb::facts::{Canary, Device, Guest, Host, HostSource, Local, Sip};
use compatdb::records::{Client, Deny, Filed, Pair, Records, Release, Status};
use compatdb::verdict::{Case, Evidence, Request};
use compatdb::{Database, DenyList, Facts, OsBuild, Policy, Verdict, build_database, decide};

pub(crate) fn build(text: &str) -> OsBuild {
    text.parse().unwrap()
}

/// A verified pair, as a reviewer would write it.
pub(crate) fn pair(id: &str, guest: &str, host: &str) -> Pair {
    toml::from_str(&format!(
        r#"
        id = "{id}"
        status = "verified"
        published = "2026-09-01"
        profile = {{ apple_family_max = 1009, max_threadgroup_memory = 65536 }}
        device_class = "AppleParavirtDevice"
        min_shim_abi = 1
        host = {{ build = "{host}", version = "26.6.1", chips = ["Apple M1 Ultra"] }}
        guest = {{ build = "{guest}", version = "26.5.2" }}
        stock = {{ apple_family = 1005, common_family = 3003, metal3 = false, max_threadgroup_memory = 32768 }}
        evidence = {{ level = 1, kind = "third-party", says = "Measured on one machine." }}
        [[workloads]]
        name = "TinyLlama"
        client = "llama.cpp"
        metric = "pp512"
        unit = "tokens/s"
        stock = 431.8625
        shimmed = 4786.7
        source = "example"
        [[sources]]
        key = "example"
        project = "example/example"
        "#
    ))
    .unwrap()
}

/// A range over guests before `before`.
pub(crate) fn deny(id: &str, before: &str) -> Deny {
    toml::from_str(&format!(
        r#"
        id = "{id}"
        status = "broken"
        published = "2026-09-01"
        guest = {{ before = "{before}" }}
        fault = "F01"
        reason = "Guests before macOS 15 can read stale weights."
        "#
    ))
    .unwrap()
}

/// Limited below b6500, where its version is unknown, and by the host's family from b9000;
/// b13 is blocked.
pub(crate) fn llama() -> Client {
    toml::from_str(
        r#"
        id = "llama.cpp"
        title = "llama.cpp"
        gains = "yes"
        gains_says = "Its matrix work moves to the GPU."
        schemes = [{ name = "build", form = "number" }, { name = "ggml", form = "semver" }]
        [recognise]
        executables = ["llama-cli", "llama-server"]
        libraries = ["libggml-metal*"]
        formulae = ["llama.cpp"]
        [[caps]]
        versions = [{ of = "build", before = "b6500" }]
        unknown_version = true
        max_threadgroup_memory = 32768
        says = "Some builds ask for more memory than there is."
        source = "s"
        [[caps]]
        versions = [{ of = "build", from = "b9000" }, { of = "ggml", from = "0.24.0" }]
        host_family = {}
        says = "It tunes by the family."
        source = "s"
        [[blocked]]
        versions = [{ of = "build", from = "b13", through = "b13" }]
        says = "It crashes above family 5."
        source = "s"
        [[sources]]
        key = "s"
        project = "example/example"
        "#,
    )
    .unwrap()
}

pub(crate) fn mlx() -> Client {
    toml::from_str(
        r#"
        id = "mlx"
        title = "MLX"
        gains = "no"
        gains_says = "It never asks."
        [recognise]
        libraries = ["libmlx.*"]
        "#,
    )
    .unwrap()
}

fn filed<T>(record: T) -> Filed<T> {
    Filed {
        file: String::new(),
        record,
    }
}

pub(crate) fn records(pairs: Vec<Pair>, denies: Vec<Deny>) -> Records {
    let mut records = Records {
        pairs: pairs.into_iter().map(filed).collect(),
        denies: denies.into_iter().map(filed).collect(),
        clients: vec![filed(llama()), filed(mlx())],
        ..Records::default()
    };
    records.release.record = Release {
        seq: 7,
        published_at: "2026-09-01T00:00:00Z".parse().unwrap(),
        min_cli: "0.1.0".parse().unwrap(),
    };
    records.builds.record = toml::from_str(
        r#"
        [[build]]
        build = "25F84"
        version = "26.5.2"
        beta = false
        sources = []
        [[build]]
        build = "25G76"
        version = "26.6.1"
        beta = false
        sources = []
        "#,
    )
    .unwrap();
    records
}

/// P0001 25F84 on 25G76 verified, P0002 25F84 on 25G80 broken, P0003 25E10 on 25G76
/// revoked, P0004 25G76 on 25G76 only claimed, and everything before macOS 15 denied.
pub(crate) fn sample() -> Records {
    let with = |mut p: Pair, status: Status, reason: &str| {
        p.status = status;
        p.reason = (!reason.is_empty()).then(|| reason.to_owned());
        p
    };
    let broken = with(
        pair("P0002", "25F84", "25G80"),
        Status::Broken,
        "Wrong results in half of the runs.",
    );
    let revoked = with(
        pair("P0003", "25E10", "25G76"),
        Status::Revoked,
        "The measurement was of another guest.",
    );
    let mut claimed = pair("P0004", "25G76", "25G76");
    claimed.evidence.level = 0;
    records(
        vec![pair("P0001", "25F84", "25G76"), broken, revoked, claimed],
        vec![deny("D0001", "24A0")],
    )
}

pub(crate) fn bytes(records: &Records) -> Vec<u8> {
    build_database(records, &records.release).unwrap()
}

pub(crate) fn open(records: &Records) -> Database {
    Database::open(bytes(records)).unwrap()
}

/// The machine that P0001 is about.
pub(crate) fn facts() -> Facts {
    Facts {
        guest: Guest {
            build: build("25F84"),
            version: "26.5.2".into(),
            model: "VirtualMac2,1".into(),
            chip: "Apple M1 Ultra (Virtual)".into(),
            vm: true,
            sip: Sip::Disabled,
            boot_session: "3F0C".into(),
        },
        host: Some(Host {
            build: build("25G76"),
            version: Some("26.6.1".into()),
            model: None,
            chip: Some("Apple M1 Ultra".into()),
            apple_family: Some(1007),
            feature_level_preference: None,
            source: HostSource::Attested,
        }),
        device: Some(Device {
            class: "AppleParavirtDevice".into(),
            name: "Apple Paravirtual device".into(),
            apple_family: 1005,
            common_family: Some(3003),
            metal3: false,
            max_threadgroup_memory: 32768,
            metal_uuid: None,
            driver_uuid: None,
        }),
        local: Local {
            drift: false,
            canary: Canary::Passed,
            canary_profile: None,
        },
    }
}

/// Everything that enters a verdict, to change one thing in.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) facts: Facts,
    pub(crate) policy: Policy,
    pub(crate) request: Request,
    pub(crate) deny_list: Option<DenyList>,
    pub(crate) cli: semver::Version,
    pub(crate) shim_abi: u32,
    pub(crate) now: jiff::Timestamp,
    pub(crate) fresh_until: Option<jiff::Timestamp>,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            facts: facts(),
            policy: Policy::default(),
            request: Request::default(),
            deny_list: None,
            cli: "0.1.0".parse().unwrap(),
            shim_abi: 1,
            now: "2026-12-01T00:00:00Z".parse().unwrap(),
            fresh_until: None,
        }
    }
}

impl Setting {
    pub(crate) fn decide(&self, db: &Database) -> Verdict {
        let host = self.facts.host.as_ref().map(|h| &h.build);
        let lookup = db
            .lookup(&self.facts.guest.build, host, self.deny_list.as_ref())
            .unwrap();
        self.decide_with(Evidence::Known {
            meta: db.meta(),
            lookup: &lookup,
        })
    }

    pub(crate) fn decide_with(&self, database: Evidence<'_>) -> Verdict {
        decide(&Case {
            facts: &self.facts,
            database,
            policy: &self.policy,
            request: &self.request,
            cli: &self.cli,
            shim_abi: self.shim_abi,
            now: self.now,
            fresh_until: self.fresh_until,
            unsigned: false,
        })
    }
}
