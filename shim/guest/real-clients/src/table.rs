//! The tables that `check` prints, in Markdown, as `docs/real-clients.md` shows them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::observe::{
    HARDWARE, Observed, Op, attention_above, calls_by_family, family_calls, largest_attention,
    memory_calls,
};
use crate::run::bytes;

/// Every table.
pub(crate) fn all(seen: &[Observed]) -> String {
    let mut text = String::new();
    let _ = write!(
        text,
        "Where operations run, stock and with the overrides\n\n{}\n\
         Threadgroup memory that flash attention asks for, in bytes (the hardware has {HARDWARE})\n\n{}\n\
         Other kernels that ask for more than 16384 bytes when told 65536\n\n{}\n\
         Flash-attention tuning by family\n\n{}\n\
         Calls of the two methods\n\n{}\n",
        ops(seen),
        attention(seen),
        others(seen),
        tuning(seen),
        calls(seen)
    );
    text
}

fn ops(seen: &[Observed]) -> String {
    let mut by_name: Vec<(String, Vec<String>)> = Vec::new();
    for (column, observed) in seen.iter().enumerate() {
        for Op {
            name,
            stock,
            shimmed,
        } in observed.ops()
        {
            let cell = if stock == shimmed {
                stock
            } else {
                format!("{stock} -> {shimmed}")
            };
            let at = by_name.iter().position(|(known, _)| *known == name);
            let row = at.unwrap_or_else(|| {
                by_name.push((name, vec!["-".to_owned(); seen.len()]));
                by_name.len() - 1
            });
            if let Some(slot) = by_name
                .get_mut(row)
                .and_then(|(_, cells)| cells.get_mut(column))
            {
                *slot = cell;
            }
        }
    }
    // `MUL_MAT f16` and `MUL_MAT q4_0` become `MUL_MAT: f16, q4_0` where they go the same way.
    let mut lines: Vec<(String, Vec<String>, Vec<String>)> = Vec::new();
    for (name, cells) in by_name {
        let (op, types) = name.split_once(' ').unwrap_or((&name, ""));
        match lines
            .iter_mut()
            .find(|(known, _, other)| known == op && *other == cells)
        {
            Some((_, list, _)) => list.push(types.to_owned()),
            None => lines.push((op.to_owned(), vec![types.to_owned()], cells)),
        }
    }
    lines.sort_by(|a, b| (&a.2, &a.0).cmp(&(&b.2, &b.0)));
    let rows = lines.into_iter().map(|(op, types, cells)| {
        let types = types.join(", ");
        let name = if types.is_empty() {
            op
        } else {
            format!("{op}: {types}")
        };
        std::iter::once(name).chain(cells).collect()
    });
    table(&headed("operation", seen), rows.collect())
}

fn attention(seen: &[Observed]) -> String {
    let mut rows = Vec::new();
    for observed in seen {
        for (how, run) in [
            ("the record's whole profile", &observed.whole),
            ("its client row", &observed.row),
        ] {
            let above = attention_above(run, HARDWARE);
            let kernels = match above.as_slice() {
                [] => "none".to_owned(),
                [.., (kernel, memory)] => {
                    let least = above
                        .iter()
                        .map(|(_, memory)| memory)
                        .min()
                        .unwrap_or(memory);
                    let most = above
                        .iter()
                        .map(|(_, memory)| memory)
                        .max()
                        .unwrap_or(memory);
                    format!(
                        "{} kernels, {least} to {most}, for example {kernel}",
                        above.len()
                    )
                }
            };
            rows.push(vec![
                observed.version.says.to_owned(),
                how.to_owned(),
                run.profile(),
                largest_attention(run, false).to_string(),
                kernels,
            ]);
        }
    }
    table(
        &[
            "version",
            "with",
            "told",
            "largest",
            "above the hardware's limit",
        ],
        rows,
    )
}

fn others(seen: &[Observed]) -> String {
    let mut rows = Vec::new();
    for observed in seen {
        let mut kernels: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for words in observed.whole.lines("encode") {
            if let ([kind, kernel, ..], true) = (words.as_slice(), bytes(words) > 16_384) {
                kernels.insert((kind, kernel), bytes(words));
            }
        }
        for ((kind, kernel), memory) in kernels {
            rows.push(vec![
                observed.version.says.to_owned(),
                kind.to_owned(),
                kernel.to_owned(),
                memory.to_string(),
            ]);
        }
    }
    table(&["version", "graph", "kernel", "bytes"], rows)
}

fn tuning(seen: &[Observed]) -> String {
    let mut rows = Vec::new();
    for observed in seen {
        for (family, count) in &observed.source.rows {
            let tuned = observed.tuned(*family);
            let claimed = observed.hosts.iter().find(|(host, _)| host == family);
            rows.push(vec![
                observed.version.says.to_owned(),
                family.to_string(),
                count.to_string(),
                tuned.choices.to_string(),
                tuned.largest.to_string(),
                tuned.above.to_string(),
                claimed.map_or_else(
                    || "calculated, never claimed".to_owned(),
                    |(_, run)| format!("{}: {}", run.profile(), largest_attention(run, true)),
                ),
            ]);
        }
    }
    table(
        &[
            "version",
            "family",
            "rows in its table",
            "sizes not at the baseline",
            "largest, bytes",
            "above 32768",
            "claimed, and then asked for",
        ],
        rows,
    )
}

fn calls(seen: &[Observed]) -> String {
    let mut rows = Vec::new();
    for observed in seen {
        for (phase, says, run) in [
            ("start", "start, stock", &observed.stock),
            ("start", "start, shimmed", &observed.row),
            ("ops", "all supports_op", &observed.row),
            ("graph", "one token, 32 layers", &observed.row),
        ] {
            let search: Vec<String> = calls_by_family(run, phase)
                .iter()
                .filter(|(_, calls)| *calls > 1)
                .map(|(family, calls)| format!("{family} x{calls}"))
                .collect();
            rows.push(vec![
                observed.version.says.to_owned(),
                says.to_owned(),
                family_calls(run, phase).to_string(),
                search.join(", "),
                memory_calls(run, phase).to_string(),
            ]);
        }
    }
    table(
        &[
            "version",
            "when",
            "supportsFamily:",
            "more than once",
            "maxThreadgroupMemoryLength",
        ],
        rows,
    )
}

fn headed<'a>(first: &'a str, seen: &[Observed]) -> Vec<&'a str> {
    std::iter::once(first)
        .chain(seen.iter().map(|observed| observed.version.says))
        .collect()
}

/// A table in Markdown, its columns aligned.
fn table(head: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut all = vec![
        head.iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>(),
    ];
    all.extend(rows);
    let width = |column: usize| {
        all.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    for (number, row) in all.iter().enumerate() {
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(text, "| {cell:width$} ");
        }
        text.push_str("|\n");
        if number == 0 {
            for width in &widths {
                let _ = write!(text, "|{}", "-".repeat(width + 2));
            }
            text.push_str("|\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = vec![vec!["long".to_owned(), "b".to_owned()]];
        assert_eq!(
            table(&["a", "c"], rows),
            "| a    | c |\n|------|---|\n| long | b |\n"
        );
    }
}
