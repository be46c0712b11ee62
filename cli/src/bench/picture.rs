//! A result as a picture to post: SVG, light and dark, without scripts or fonts from elsewhere.

use std::fmt::Write as _;

use compatdb::bench::{Bench, Compared, Judgement, Side, figure_text, ratio_text};

use super::markdown::{conditions, share};

const WIDTH: f64 = 760.0;
const MARGIN: f64 = 28.0;
/// Where bars begin, behind their names.
const BARS: f64 = 118.0;
/// How long the longest is; its figure has room behind it.
const LONGEST: f64 = 430.0;
const BAR: f64 = 20.0;
const STEP: f64 = 27.0;
/// Text that is longer is cut: a picture does not wrap.
const MAX_TEXT: usize = 96;

const TEXT: &str = r#"class="text""#;
const DIM: &str = r#"class="dim""#;

const STYLE: &str = "\
svg{font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}\
.back{fill:#fff}.text{fill:#1c1e21}.dim{fill:#5c636a}.line{stroke:#d8dce0}\
.stock{fill:#9aa3ab}.shimmed{fill:#0b7a5c}.host{fill:#3b6fb6}.range{stroke:#1c1e21}.gain{fill:#0b7a5c}\
@media (prefers-color-scheme:dark){.back{fill:#15181b}.text{fill:#eceff1}.dim{fill:#9ba4ac}\
.line{stroke:#333a40}.stock{fill:#6b757e}.shimmed{fill:#2fbf93}.host{fill:#6ea3e8}\
.range{stroke:#eceff1}.gain{fill:#2fbf93}}";

/// The picture. Each metric has a scale of its own, from zero.
pub fn svg(bench: &Bench) -> String {
    let mut body = String::new();
    let mut y = MARGIN + 18.0;
    text(
        &mut body,
        MARGIN,
        y,
        20.0,
        r#"class="text" font-weight="600""#,
        &title(bench),
    );
    y += 22.0;
    for line in lines(&conditions(bench).unwrap_or_default()) {
        text(&mut body, MARGIN, y, 12.5, DIM, &line);
        y += 17.0;
    }
    y += 6.0;
    for row in &bench.series {
        y = metric(&mut body, y, row);
    }
    y += 12.0;
    let foot = "Medians of the tool's own samples; the thin line is the range. Longer is faster.";
    text(&mut body, MARGIN, y, 11.5, DIM, foot);
    y += 16.0;
    let mut origin = String::from("metalshim bench");
    if let Some(conditions) = &bench.conditions {
        let _ = write!(origin, ", {}", conditions.at.strftime("%Y-%m-%d"));
        if conditions.simulated {
            origin.push_str(", on a simulated guest: these figures say nothing");
        }
        if conditions.busy {
            origin.push_str(", on a busy machine");
        }
    }
    text(&mut body, MARGIN, y, 11.5, DIM, &origin);
    let height = y + MARGIN - 8.0;
    let label = escape(&title(bench));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\" role=\"img\" aria-label=\"{label}\">\n\
         <title>{label}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"back\" width=\"{WIDTH}\" height=\"{height:.0}\" rx=\"10\"/>\n{body}</svg>\n"
    )
}

fn title(bench: &Bench) -> String {
    let mut names: Vec<&str> = bench.series.iter().map(|s| &*s.workload).collect();
    names.dedup();
    match names.as_slice() {
        [one] => format!("{one}, stock and with metalshim"),
        _ => format!("{}, stock and with metalshim", bench.program),
    }
}

fn metric(body: &mut String, top: f64, row: &Compared) -> f64 {
    let _ = writeln!(
        body,
        "<path class=\"line\" d=\"M{MARGIN} {top:.1}H{:.1}\"/>",
        WIDTH - MARGIN
    );
    let mut y = top + 25.0;
    let name = format!("{}  {}", row.metric, row.unit);
    text(
        body,
        MARGIN,
        y,
        14.0,
        r#"class="text" font-weight="600""#,
        &name,
    );
    let says = match row.judgement {
        Judgement::Gain => format!("{} times as fast", ratio_text(row.ratio)),
        _ => row.says(),
    };
    let how = match row.judgement {
        Judgement::Gain => r#"class="gain" font-weight="700" text-anchor="end""#,
        _ => r#"class="text" text-anchor="end""#,
    };
    let size = match row.judgement {
        Judgement::Gain => 18.0,
        _ => 13.0,
    };
    text(body, WIDTH - MARGIN, y, size, how, &says);
    y += 12.0;
    let sides = [
        ("stock", "stock", Some(&row.stock)),
        ("metalshim", "shimmed", Some(&row.shimmed)),
        ("the host itself", "host", row.host.as_ref()),
    ];
    // With seconds less is better: what is drawn is speed, so that longer is always faster.
    let speed = |value: f64| if row.unit == "s" { 1.0 / value } else { value };
    let best = sides.iter().filter_map(|(_, _, side)| *side);
    let best = best
        .map(|s| speed(s.max).max(speed(s.min)))
        .fold(0.0, f64::max);
    let long = |value: f64| (speed(value) / best * LONGEST).clamp(0.0, LONGEST);
    for (name, class, side) in sides {
        let Some(side) = side else { continue };
        bar(body, y, name, class, side, &long);
        let mut figure = figure_text(side.median);
        if let Some(share) = share(row).filter(|_| class == "shimmed") {
            let _ = write!(figure, "  ({share} of the host)");
        }
        let end = long(side.median).max(long(side.max)).max(long(side.min));
        text(body, BARS + end + 24.0, y + 15.0, 13.0, TEXT, &figure);
        y += STEP;
    }
    y + 8.0
}

fn bar(
    body: &mut String,
    y: f64,
    name: &str,
    class: &str,
    side: &Side,
    long: &impl Fn(f64) -> f64,
) {
    text(body, MARGIN, y + 15.0, 13.0, DIM, name);
    let at = BARS + 18.0;
    let _ = writeln!(
        body,
        "<rect class=\"{class}\" x=\"{at}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAR}\" rx=\"3\"/>",
        long(side.median).max(1.0)
    );
    let (from, to) = (long(side.min), long(side.max));
    let middle = y + BAR / 2.0;
    let _ = writeln!(
        body,
        "<path class=\"range\" d=\"M{:.1} {middle:.1}H{:.1}\"/>",
        at + from.min(to),
        at + from.max(to)
    );
}

fn text(body: &mut String, x: f64, y: f64, size: f64, how: &str, says: &str) {
    let _ = writeln!(
        body,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" {how}>{}</text>",
        escape(says)
    );
}

/// In lines that fit.
fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < MAX_TEXT => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// What XML may hold: names come from files.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == MAX_TEXT {
            out.push('…');
            break;
        }
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_be_markup() {
        assert_eq!(
            escape("a<script>&\"\x1b[31m"),
            "a&lt;script&gt;&amp;&quot;\u{fffd}[31m"
        );
        assert_eq!(escape(&"x".repeat(200)).chars().count(), MAX_TEXT + 1);
    }
}
