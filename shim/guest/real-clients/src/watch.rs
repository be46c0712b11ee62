//! The newest published version, against the last reviewed one: an early warning for the client
//! rows, as drift is for Apple's side.

use std::process::Command;

use crate::fetch::{CRATE, one_line};
use crate::summary::{self, Change};
use crate::versions::{CURRENT, Version};
use crate::{Problem, claims, look, table};

/// The newest version of the package, from the registry.
pub(crate) fn newest() -> Result<String, Problem> {
    // Outside of any project: inside one, cargo prefers what the project can use.
    let folder = tempfile::tempdir().map_err(|why| Problem::Missing(why.to_string()))?;
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["info", "--quiet", CRATE])
        .current_dir(folder.path())
        .output()
        .map_err(|why| Problem::Missing(format!("cargo: {why}")))?;
    if !output.status.success() {
        return Err(Problem::Skipped(format!(
            "the registry cannot be asked for {CRATE}: {}",
            one_line(&String::from_utf8_lossy(&output.stderr))
        )));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    version_in(&text).ok_or_else(|| {
        Problem::Missing(format!(
            "`cargo info {CRATE}` does not say a version:\n{text}"
        ))
    })
}

/// `version: 0.1.157 (latest 0.1.161)` or `version: 0.1.161`.
fn version_in(info: &str) -> Option<String> {
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("version: "))?;
    let newest = line
        .split_once("(latest ")
        .and_then(|(_, rest)| rest.split([')', ' ']).next());
    newest
        .or_else(|| line.split_whitespace().next())
        .map(str::to_owned)
}

/// Looks at a version and says what changed since the last reviewed one. The exit code.
pub(crate) fn watch(newest: &str) -> u8 {
    println!(
        "newest: {CRATE} {newest}; last reviewed: {}",
        CURRENT.package
    );
    let version = Version {
        // Told as the same kind of version: the rows for the newest ones have no upper end.
        package: Box::leak(newest.to_owned().into_boxed_str()),
        says: "newest",
        ..CURRENT
    };
    let seen = match look(&version) {
        Ok(seen) => seen,
        Err(Problem::Broken(says)) => {
            println!("CHANGED: {says}");
            println!(
                "What it asks Metal for now has to be read before its client row can be trusted."
            );
            return 1;
        }
        Err(problem) => return crate::not_looked(problem),
    };
    let before = match summary::reviewed(CURRENT.package) {
        Ok(before) => before,
        Err(why) => {
            eprintln!("{why}");
            return 2;
        }
    };
    let seen = [seen];
    print!("{}", table::all(&seen));
    let mut findings = 0;
    for observed in &seen {
        for broken in claims::broken(observed) {
            println!("CLAIM BROKEN: {broken}");
            findings += 1;
        }
        for change in summary::changes(&before, &summary::of(observed)) {
            println!("CHANGED: {}", words(&change));
            findings += 1;
        }
    }
    if findings == 0 {
        println!("nothing changed for the client rows");
        return 0;
    }
    println!(
        "{findings} findings. Read them against compatdb/records/clients/llama.cpp.toml, change its rows where needed, make this version the current one in src/versions.rs, and run `real-clients review`."
    );
    1
}

/// A change, in plain words.
fn words(change: &Change) -> String {
    let Change { what, before, now } = change;
    let was = match (before.is_empty(), now.is_empty()) {
        (true, _) => format!("new: {now}"),
        (_, true) => format!("gone; it was {before}"),
        _ => format!("{before} -> {now}"),
    };
    let starts = |prefix: &str| what.strip_prefix(prefix);
    if let Some((phase, family)) = starts("calls ").and_then(|rest| rest.split_once(" family ")) {
        format!("asks for GPU family {family} another number of times ({phase}): {was}")
    } else if let Some(phase) = starts("calls ").and_then(|rest| rest.strip_suffix(" limit")) {
        format!("reads the threadgroup limit another number of times ({phase}): {was}")
    } else if let Some(op) = starts("op ") {
        format!("the operation {op} runs elsewhere, stock -> with the overrides: {was}")
    } else if what.contains("attention above") {
        format!("other attention kernels ask for more than the hardware has ({what}): {was}")
    } else if what.ends_with("attention largest") || what.starts_with("encode ") {
        format!("another amount of threadgroup memory, in bytes ({what}): {was}")
    } else if what.contains(" aborts ") {
        format!("its own assertions end other graphs ({what}): {was}")
    } else if let Some(family) = starts("tuning family ") {
        format!("the tuning for family {family} is another: {was}")
    } else if let Some(family) = starts("source tuning rows family ") {
        format!("the tuning table has other rows for family {family}: {was}")
    } else if what == "source families asked" {
        format!("its source asks for other families by name: {was}")
    } else if what.starts_with("source lines with") {
        format!("its {what} are more or fewer, so there may be a new threshold: {was}")
    } else {
        format!("{what}: {was}")
    }
}

#[cfg(test)]
mod tests {
    use super::{version_in, words};
    use crate::summary::Change;

    #[test]
    fn the_newest_version_is_read_from_what_cargo_says() {
        assert_eq!(
            version_in("name\nversion: 0.1.161\nlicense: MIT\n").as_deref(),
            Some("0.1.161")
        );
        let older = "version: 0.1.157 (latest 0.1.161)\n";
        assert_eq!(version_in(older).as_deref(), Some("0.1.161"));
        assert_eq!(version_in("license: MIT\n"), None);
    }

    #[test]
    fn changes_are_said_in_words() {
        let say = |what: &str, before: &str, now: &str| {
            words(&Change {
                what: what.to_owned(),
                before: before.to_owned(),
                now: now.to_owned(),
            })
        };
        assert_eq!(
            say("calls start family 1010", "1", "2"),
            "asks for GPU family 1010 another number of times (start): 1 -> 2"
        );
        assert_eq!(
            say(
                "tuning family 9",
                "",
                "3 choices, largest 40960, 1 above 32768"
            ),
            "the tuning for family 9 is another: new: 3 choices, largest 40960, 1 above 32768"
        );
    }
}
