//! A result as people read and post it: the table for a terminal, and Markdown.

use std::fmt::Write as _;

use compatdb::bench::{Bench, Compared, Judgement, Side, figure_text, ratio_text};
use compatdb::facts::HostSource;

use crate::printer::Style;
use crate::table::{Table, paragraph};

/// What is compared with what, in one line; none for figures of files.
pub fn conditions(bench: &Bench) -> Option<String> {
    let c = bench.conditions.as_ref()?;
    let host = match (&c.host_build, c.host_source) {
        (Some(build), Some(HostSource::Attested)) => format!("host {build}"),
        (Some(build), _) => format!("host {build} as stated"),
        (None, _) => "host not known".to_owned(),
    };
    let record = c.record.as_deref().map(|id| format!("record {id}"));
    let simulated = if c.simulated { "simulated " } else { "" };
    Some(format!(
        "{simulated}guest {}, {host}, {}; programs were told {} ({}); {} runs a side, in turn",
        c.guest_build,
        c.guest_chip,
        c.profile,
        record.unwrap_or_else(|| "no record: unverified".to_owned()),
        c.runs
    ))
}

/// The answers in the logs that differ between stock and shimmed.
pub fn changed(bench: &Bench) -> Vec<String> {
    let (stock, shimmed) = (&bench.capabilities.stock, &bench.capabilities.shimmed);
    let differs = shimmed.iter().filter_map(|(name, value)| {
        let before = stock.get(name)?;
        (before != value).then(|| format!("{name} {before} -> {value}"))
    });
    differs.collect()
}

/// For a terminal.
pub fn text(bench: &Bench, style: Style, width: Option<usize>) -> String {
    let mut text = String::new();
    if let Some(conditions) = conditions(bench) {
        text.push_str(&paragraph(&conditions, 0, width));
        text.push('\n');
    }
    let host = bench.series.iter().any(|s| s.host.is_some());
    let mut table = match host {
        true => Table::new([
            "workload",
            "metric",
            "stock",
            "overrides",
            "result",
            "host",
            "of host",
        ]),
        false => Table::new(["workload", "metric", "stock", "overrides", "result"]),
    };
    for row in &bench.series {
        let mut cells = vec![
            row.workload.clone(),
            format!("{} {}", row.metric, row.unit),
            side(&row.stock),
            side(&row.shimmed),
            row.says(),
        ];
        if host {
            cells.push(row.host.as_ref().map(side).unwrap_or_default());
            cells.push(share(row).unwrap_or_default());
        }
        table.row(cells);
    }
    text.push_str(&table.render(width));
    let changed = changed(bench);
    if !changed.is_empty() {
        text.push_str(&paragraph(
            &format!("the program's log: {}", changed.join(", ")),
            0,
            width,
        ));
    }
    for warning in &bench.warnings {
        let _ = writeln!(text, "{} {warning}", style.yellow("warning:"));
    }
    text
}

fn side(side: &Side) -> String {
    format!(
        "{} ({} to {})",
        figure_text(side.median),
        figure_text(side.min),
        figure_text(side.max)
    )
}

/// `98.25 %`
pub fn share(row: &Compared) -> Option<String> {
    row.share_of_host
        .map(|share| format!("{:.2} %", share * 100.0))
}

/// For an issue or a page.
pub fn markdown(bench: &Bench) -> String {
    let mut text = format!("### {}: stock and with metalshim\n\n", cell(&bench.program));
    if let Some(conditions) = conditions(bench) {
        let _ = writeln!(text, "{}.\n", cell(&conditions));
    }
    let host = bench.series.iter().any(|s| s.host.is_some());
    text.push_str("| workload | metric | stock | overrides | result |");
    text.push_str(if host { " host | of host |\n" } else { "\n" });
    text.push_str("|---|---|---:|---:|---|");
    text.push_str(if host { "---:|---:|\n" } else { "\n" });
    for row in &bench.series {
        let says = match row.judgement {
            Judgement::Gain => format!("**{} times**", ratio_text(row.ratio)),
            _ => row.says(),
        };
        let _ = write!(
            text,
            "| {} | {} {} | {} | {} | {says} |",
            cell(&row.workload),
            cell(&row.metric),
            cell(&row.unit),
            side(&row.stock),
            side(&row.shimmed)
        );
        if host {
            let of = row.host.as_ref().map(side).unwrap_or_default();
            let _ = write!(text, " {of} | {} |", share(row).unwrap_or_default());
        }
        text.push('\n');
    }
    text.push_str("\nMedians of the tool's own samples, ranges in brackets.");
    for line in &bench.warnings {
        let _ = write!(text, "\nWarning: {}.", cell(line.trim_end_matches('.')));
    }
    let changed = changed(bench);
    if !changed.is_empty() {
        let _ = write!(text, "\nThe program's log: {}.", cell(&changed.join(", ")));
    }
    text.push('\n');
    text
}

/// Text that cannot be markup: names come from files.
pub fn cell(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '|' | '<' | '>' | '`' | '*' | '_' | '[' | ']' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
