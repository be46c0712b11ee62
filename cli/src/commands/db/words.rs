//! Words that several of the `db` commands use.

use compatdb::records::{BuildRange, Cap, Figure, Source, VersionRange, VmSoftware, Workload};
use compatdb::rows::Gains;

/// Said wherever figures are shown that this project did not measure.
pub(super) const THIRD_PARTY: &str = "Third-party evidence was measured and published by the named project with a library of its own that \
     overrides the same two answers, not by metalshim.";

/// Several sources in one line.
pub(crate) fn sources(all: &[Source]) -> String {
    all.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

/// The projects that published something, each once.
pub(crate) fn projects(all: &[Source]) -> String {
    let mut projects: Vec<&str> = Vec::new();
    for source in all {
        if !projects.contains(&source.project.as_str()) {
            projects.push(&source.project);
        }
    }
    projects.join(", ")
}

/// The source that a workload or a cap points to, or its key where there is none.
pub(super) fn cited(key: &str, all: &[Source]) -> String {
    all.iter()
        .find(|source| source.key == key)
        .map_or_else(|| key.to_owned(), ToString::to_string)
}

/// How much faster than stock, and how much of the host's speed. Of times, less is faster.
pub(super) fn gain(workload: &Workload) -> String {
    let is_time = ["s", "ms", "min"].contains(&workload.unit.as_str());
    let speed = |figure: &Option<Figure>| match figure {
        Some(Figure::Number(number)) if *number > 0.0 && is_time => Some(1.0 / number),
        Some(Figure::Number(number)) if *number > 0.0 => Some(*number),
        _ => None,
    };
    let Some(shimmed) = speed(&workload.shimmed) else {
        return String::new();
    };
    let stock = speed(&workload.stock).map(|stock| format!("{:.2} x stock", shimmed / stock));
    let host = speed(&workload.host).map(|host| format!("{:.1} % of host", shimmed / host * 100.0));
    let parts: Vec<String> = stock.into_iter().chain(host).collect();
    parts.join(", ")
}

/// What ran the virtual machine.
pub(super) fn vm_software(all: &[VmSoftware]) -> String {
    let name = |vm: &VmSoftware| match &vm.version {
        Some(version) => format!("{} {version}", vm.name),
        None => vm.name.clone(),
    };
    all.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// A range of builds in words.
pub(super) fn builds(range: Option<&BuildRange>) -> String {
    match range.map(|r| (&r.from, &r.before)) {
        None | Some((None, None)) => "all".to_owned(),
        Some((Some(from), None)) => format!("{from} and later"),
        Some((None, Some(before))) => format!("before {before}"),
        Some((Some(from), Some(before))) => format!("{from} and later, before {before}"),
    }
}

/// The versions that a limit is about.
pub(super) fn versions(versions: &[VersionRange], unknown: bool) -> String {
    let mut parts: Vec<String> = versions.iter().map(ToString::to_string).collect();
    if unknown {
        parts.push("version not known".to_owned());
    } else if parts.is_empty() {
        parts.push("all versions".to_owned());
    }
    parts.join(" or ")
}

/// An evidence level in words.
pub(crate) const fn level(level: u8) -> &'static str {
    match level {
        0 => "claimed",
        1 => "measured on one machine",
        2 => "measured on two independent machines",
        3 => "repeated in CI",
        _ => "not a known level",
    }
}

/// Whether the overrides make a client faster.
pub(crate) const fn gains(gains: Gains) -> &'static str {
    match gains {
        Gains::Yes => "yes",
        Gains::No => "no",
        Gains::Flat => "no clear difference",
    }
}

/// What a cap leaves, in words.
pub(super) fn cap(cap: &Cap) -> String {
    let family = cap.apple_family_max.map(|f| format!("at most family {f}"));
    let host = cap.host_family.map(|ceiling| match ceiling.unknown {
        None => "no family above the host's".to_owned(),
        Some(unknown) => format!("no family above the host's, {unknown} where that is not known"),
    });
    let memory = cap
        .max_threadgroup_memory
        .map(|m| format!("at most {m} bytes"));
    let parts: Vec<String> = family.into_iter().chain(host).chain(memory).collect();
    parts.join(" and ")
}

/// The text, or a dash.
pub(super) fn or_dash<T: std::fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |v| v.to_string())
}

/// Texts one after another, or a dash.
pub(super) fn list_or_dash(all: &[String]) -> String {
    if all.is_empty() {
        "-".to_owned()
    } else {
        all.join(", ")
    }
}
