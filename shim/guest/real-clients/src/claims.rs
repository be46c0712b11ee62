//! The claims that the client rows and the documents rest on.

use std::collections::BTreeMap;

use crate::observe::{HARDWARE, Observed, attention_above, largest_attention};
use crate::run::{Run, bytes};
use crate::versions::Lines;

const STOCK: &str = include_str!("../published/stock.txt");
const SHIMMED: &str = include_str!("../published/shimmed.txt");

/// Every claim that a version breaks, in words.
pub(crate) fn broken(observed: &Observed) -> Vec<String> {
    let mut found = Vec::new();
    let mut hold = |held: bool, says: String| {
        if !held {
            found.push(format!("{}: {says}", observed.version.package));
        }
    };

    for (name, published, run) in [
        ("stock", STOCK, &observed.stock),
        ("shimmed", SHIMMED, &observed.whole),
    ] {
        if let Err(why) = like_published(published, &run.log, observed.version.lines) {
            hold(false, format!("{name}: {why}"));
        }
    }

    let stock = observed.stock.profile();
    hold(stock == "1005/32768", format!("stock answers are {stock}"));
    let whole = observed.whole.profile();
    hold(
        whole == "1009/65536",
        format!("the record's whole profile came out as {whole}"),
    );
    let row = observed.row.profile();
    hold(
        row == observed.version.profile,
        format!(
            "the client row gives {row}, expected {}",
            observed.version.profile
        ),
    );

    for op in observed.ops() {
        let gated = ["MUL_MAT", "FLASH_ATTN_EXT", "SOFT_MAX", "RMS_NORM"]
            .iter()
            .any(|name| op.name.starts_with(name));
        hold(
            !gated || op.stock == "cpu",
            format!(
                "{} runs on the {} stock: the overrides are not needed for it",
                op.name, op.stock
            ),
        );
        hold(
            op.stock != "gpu" || op.shimmed == "gpu",
            format!("{} leaves the GPU with the overrides", op.name),
        );
        hold(
            ![
                "MUL_MAT f16",
                "MUL_MAT q4_K",
                "MUL_MAT_ID q4_K",
                "FLASH_ATTN_EXT f16",
                "SOFT_MAX",
                "RMS_NORM",
            ]
            .contains(&op.name.as_str())
                || op.shimmed == "gpu",
            format!("{} stays on the CPU with the overrides", op.name),
        );
    }

    // Memory.
    let above = attention_above(&observed.whole, HARDWARE);
    match &observed.low {
        // The row keeps the limit at what the hardware has.
        None => {
            hold(
                !above.is_empty(),
                "attention asks for no more than the hardware has when told 65536: the cap of its row has no reason".to_owned(),
            );
            let most = largest_request(&observed.row);
            hold(
                most <= HARDWARE,
                format!("with the cap of its row it still asks for {most} bytes"),
            );
        }
        // The row lets 65536 through: then it must change nothing above the hardware's limit.
        Some(low) => hold(
            requests_above(low) == requests_above(&observed.whole),
            format!(
                "told 65536 instead of 32768, other kernels ask for more than {HARDWARE} bytes: {:?} instead of {:?}",
                requests_above(&observed.whole),
                requests_above(low)
            ),
        ),
    }

    // Tuning.
    for family in [7, 8, 9] {
        let tuned = observed.tuned(family);
        hold(
            tuned.above == 0,
            format!(
                "{} tuning choices of family {family} ask for more than {HARDWARE} bytes",
                tuned.above
            ),
        );
    }
    for (family, run) in &observed.hosts {
        let expected = format!("{}/65536", 1000 + family);
        let profile = run.profile();
        hold(
            profile == expected,
            format!("on a host of family {family} the row gives {profile}, expected {expected}"),
        );
        let most = largest_attention(run, true);
        hold(
            most > 0 && most <= HARDWARE,
            format!("claiming family {family}, a tuned kernel asks for {most} bytes"),
        );
    }
    found
}

/// The kernels that ask for more than the hardware has, in any graph, with the most of each.
fn requests_above(run: &Run) -> BTreeMap<String, u64> {
    let mut kernels: BTreeMap<String, u64> = attention_above(run, HARDWARE).into_iter().collect();
    for words in run.lines("encode") {
        if bytes(words) > HARDWARE {
            kernels.insert(words.get(1).cloned().unwrap_or_default(), bytes(words));
        }
    }
    kernels
}

/// The largest request of all graphs.
fn largest_request(run: &Run) -> u64 {
    let encoded = run.lines("encode").iter().map(|words| bytes(words)).max();
    largest_attention(run, false).max(encoded.unwrap_or_default())
}

/// Compares what the client logged at start with a published log.
fn like_published(published: &str, log: &str, lines: Lines) -> Result<(), String> {
    let published: Vec<&str> = published
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    if lines == Lines::Gates {
        return gates_like(&published, log);
    }
    let expected: Vec<&str> = published
        .into_iter()
        .filter(|line| lines == Lines::Same || !line.contains("MTLGPUFamilyCommon"))
        .collect();
    let said: Vec<&str> = log
        .lines()
        .filter_map(|line| line.strip_prefix("ggml_metal_device_init: "))
        .filter(|line| !line.starts_with("tensor API"))
        .collect();
    if said == expected {
        Ok(())
    } else {
        Err(format!(
            "the lines at start are not the published ones:\n{}",
            said.join("\n")
        ))
    }
}

/// Older wording: the families as published, and the gates' values.
fn gates_like(published: &[&str], log: &str) -> Result<(), String> {
    for line in published {
        let held = if line.starts_with("GPU family") {
            log.lines().any(|said| said.ends_with(line))
        } else if let Some((gate, value)) = line
            .strip_prefix("simdgroup")
            .and_then(|rest| rest.split_once(" = "))
        {
            let gate = format!("simdgroup{}", gate.trim_end());
            log.lines()
                .any(|said| said.contains(&gate) && said.ends_with(&format!("= {value}")))
        } else {
            true
        };
        if !held {
            return Err(format!("no line at start says `{line}`"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Lines, STOCK, like_published};

    fn log(text: &str) -> String {
        text.lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| format!("ggml_metal_device_init: {line}\n"))
            .collect()
    }

    #[test]
    fn lines_are_compared_word_for_word() {
        let same = log(STOCK);
        assert!(like_published(STOCK, &same, Lines::Same).is_ok());
        assert!(like_published(STOCK, &same, Lines::NoCommon).is_err());
        let other = same.replace(
            "has bfloat            = false",
            "has bfloat            = true",
        );
        assert!(like_published(STOCK, &other, Lines::Same).is_err());
    }

    #[test]
    fn older_wording_is_held_to_families_and_gates() {
        let old = "ggml_metal_init: GPU family: MTLGPUFamilyApple5  (1005)\n\
                   ggml_metal_init: GPU family: MTLGPUFamilyCommon3 (3003)\n\
                   ggml_metal_init: simdgroup reduction support   = false\n\
                   ggml_metal_init: simdgroup matrix mul. support = false\n";
        assert!(like_published(STOCK, old, Lines::Gates).is_ok());
        let raised = old.replace("mul. support = false", "mul. support = true");
        assert!(like_published(STOCK, &raised, Lines::Gates).is_err());
    }
}
