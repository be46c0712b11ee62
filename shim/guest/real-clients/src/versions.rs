//! The versions that are looked at.

/// One version of llama.cpp, by the registry package that carries its source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version {
    /// Version of the crate `llama-cpp-sys-2`.
    pub(crate) package: &'static str,
    /// What `metalshim run --client` is told.
    pub(crate) client: &'static str,
    /// What it stands for.
    pub(crate) says: &'static str,
    /// What the client row is expected to make of a record of 1009/65536 on a host of family 7.
    pub(crate) profile: &'static str,
    /// How its lines at start compare with the published ones.
    pub(crate) lines: Lines,
}

/// How the capability lines compare with the published logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    /// All of them, word for word.
    Same,
    /// The same but for the line with the Common family, which arm64 builds no longer print.
    NoCommon,
    /// The families and the gates of the published logs; worded otherwise.
    Gates,
}

/// Oldest first. The packages do not say their build number; the commits are those of their
/// source repository (utilityai/llama-cpp-rs), and the numbers told to `--client` are about right: each is
/// well inside the range of its row in the client record.
pub(crate) const PINNED: &[Version] = &[
    Version {
        // llama.cpp 8f1d81a0, 2024-09-02.
        package: "0.1.83",
        client: "llama.cpp@b3650",
        says: "2024",
        profile: "1009/32768",
        lines: Lines::Gates,
    },
    Version {
        // llama.cpp e434e691, 2025-06-16.
        package: "0.1.112",
        client: "llama.cpp@b5680",
        says: "mid 2025",
        profile: "1009/32768",
        lines: Lines::Gates,
    },
    Version {
        // The nearest to the published logs, which are of b10167 (2026-07).
        package: "0.1.156",
        client: "llama.cpp@ggml 0.19.0",
        says: "ggml 0.19.0",
        profile: "1009/65536",
        lines: Lines::Same,
    },
    CURRENT,
];

/// The last one that was reviewed whole: what `watch` compares with.
pub(crate) const CURRENT: Version = Version {
    package: "0.1.161",
    client: "llama.cpp@ggml 0.26.0",
    says: "ggml 0.26.0",
    profile: "1007/65536",
    lines: Lines::NoCommon,
};
