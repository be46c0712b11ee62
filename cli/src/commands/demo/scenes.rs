//! The scenes of the demo: which machine, which programs, and how it has to end.

use compatdb::verdict::Reason;
use toml::{Table, Value};

/// One machine, and the programs that are started on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene {
    /// What this machine is, in a few words.
    pub(super) title: &'static str,
    /// What to look at.
    pub(super) says: &'static str,
    /// How its facts differ from the built-in sample.
    change: fn(&mut Table),
    /// The programs, in order.
    pub(super) programs: &'static [Program],
    /// The reason for staying stock; none where the database allows.
    pub(super) refused: Option<Reason>,
}

/// One sample program of the simulated guest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    /// Its file in the simulated guest's folder.
    pub(super) file: &'static str,
    /// What is told to `--client`; none lets metalshim recognise the program by itself.
    pub(super) client: Option<&'static str>,
    /// Whether the overrides have to change what it picks.
    pub(super) gains: bool,
    /// What it stands for.
    pub(super) says: &'static str,
}

const TOY: Program = Program {
    file: "toy",
    client: None,
    gains: true,
    says: "wants Apple family 9 and 64 KB for its fast kernel; no client row knows it",
};

const LLAMA: Program = Program {
    file: "llama",
    client: Some("llama.cpp@b10167"),
    gains: true,
    says: "asks the questions that llama.cpp asks",
};

const MLX: Program = Program {
    file: "mlx",
    client: Some("mlx"),
    gains: false,
    says: "goes by the device's name, as MLX does: nothing to gain",
};

const WGPU: Program = Program {
    file: "wgpu",
    client: Some("wgpu"),
    gains: false,
    says: "would use 64-bit atomics from Apple family 8 on, which this host's GPU does not have: capped below",
};

const STOCK_TOY: Program = Program {
    gains: false,
    ..TOY
};

/// All scenes, in the order in which they are told.
pub(super) const ALL: &[Scene] = &[
    Scene {
        title: "a verified pair",
        says: "the database has a record of this host and guest build, so the overrides may be used",
        change: |_| {},
        programs: &[TOY, LLAMA, MLX, WGPU],
        refused: None,
    },
    Scene {
        title: "another verified pair, with a lower profile",
        says: "verified with 32768 bytes only: llama.cpp needs no more, the toy does",
        change: |facts| {
            set(facts, "guest", "build", "25G76");
            set(facts, "guest", "version", "26.6.1");
            set(facts, "guest", "chip", "Apple M4 Max (Virtual)");
            set(facts, "host", "build", "25G83");
            set(facts, "host", "version", "26.6.2");
            set(facts, "host", "model", "Mac16,5");
            set(facts, "host", "chip", "Apple M4 Max");
            set(facts, "host", "apple_family", 1009);
        },
        programs: &[STOCK_TOY, LLAMA],
        refused: None,
    },
    Scene {
        title: "a pair that nobody has verified",
        says: "the first machine, after its host took the next macOS update: unknown means stock",
        change: |facts| {
            set(facts, "host", "build", "25G83");
            set(facts, "host", "version", "26.6.2");
        },
        programs: &[STOCK_TOY],
        refused: Some(Reason::PairUnknown),
    },
    Scene {
        title: "a macOS 14 guest",
        says: "known to read wrong weights, so it is denied whatever the flags",
        change: |facts| {
            set(facts, "guest", "build", "23J631");
            set(facts, "guest", "version", "14.8.9");
        },
        programs: &[STOCK_TOY],
        refused: Some(Reason::PairBroken),
    },
];

impl Scene {
    /// The facts file of this scene: the built-in sample with the scene's changes.
    ///
    /// # Errors
    ///
    /// When the sample is not TOML, which the tests rule out.
    pub(super) fn facts(&self, sample: &str) -> Result<Table, toml::de::Error> {
        let mut facts: Table = sample.parse()?;
        (self.change)(&mut facts);
        Ok(facts)
    }
}

fn set(facts: &mut Table, section: &str, key: &str, value: impl Into<Value>) {
    let section = facts
        .entry(section)
        .or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(section) = section {
        section.insert(key.to_owned(), value.into());
    }
}
