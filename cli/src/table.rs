//! Tables, lists and paragraphs for people.
//!
//! **Contract.** A table fits the width that it is given: cells wrap, nothing is cut. Without a
//! width every row is one line. Nothing here prints.

use std::io::IsTerminal;

use comfy_table::{ColumnConstraint, ContentArrangement, Width, presets};

/// Narrower than this, wrapping helps nobody: the terminal may wrap by itself.
const NARROWEST: usize = 40;

/// How wide text for stdout may be, in columns; none when it goes to a file or a pipe.
pub fn stdout_width() -> Option<usize> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    terminal_size::terminal_size_of(stdout).map(|(width, _)| usize::from(width.0).max(NARROWEST))
}

/// How wide a page of text for reading is where there is no terminal to say so.
const PAGE: usize = 100;

/// How wide tables and pages for stdout may be: the terminal's width, else `columns`
/// (`COLUMNS`), else 100. Scripts read `--json`.
pub fn page_width(columns: Option<usize>) -> Option<usize> {
    let said = columns.map(|columns| columns.max(NARROWEST));
    stdout_width().or(said).or(Some(PAGE))
}

/// Columns between two columns of a table.
const GAP: u16 = 2;

/// A table of text, its header in capitals.
#[derive(Clone, Debug)]
pub struct Table {
    headers: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these column headers.
    pub fn new<const N: usize>(headers: [&str; N]) -> Self {
        Self {
            headers: headers.iter().map(|h| h.to_uppercase()).collect(),
            rows: Vec::new(),
        }
    }

    /// Appends a row. Line breaks inside a cell become spaces; a missing cell is empty.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let cells = cells.into_iter().map(|c| one_line(&c.into()));
        self.rows.push(cells.collect());
    }

    /// Whether there is no row yet.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How narrow each column may become: its longest word (a build, a profile) stays whole,
    /// as far as all columns can have that in `width`.
    fn least(&self, width: u16) -> Vec<u16> {
        let longest = |column: usize| {
            let cells = self.rows.iter().chain([&self.headers]);
            let words = cells.filter_map(|row| row.get(column));
            let words = words.flat_map(|cell| cell.split(' '));
            words.map(|w| w.chars().count()).max().unwrap_or(0)
        };
        let all: Vec<usize> = (0..self.headers.len()).map(longest).collect();
        let bounded = |most: usize| {
            let bounded = all.iter().map(move |&w| w.min(most));
            bounded.map(|w| u16::try_from(w).unwrap_or(u16::MAX) + GAP)
        };
        let most = (1..=24)
            .rev()
            .find(|most| bounded(*most).map(u32::from).sum::<u32>() <= u32::from(width));
        bounded(most.unwrap_or(1)).collect()
    }

    /// The text, ending in a line break; fitted to `width` columns if there is one.
    pub fn render(&self, width: Option<usize>) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(&self.headers);
        table.add_rows(&self.rows);
        match width {
            Some(width) => {
                let width = u16::try_from(width).unwrap_or(u16::MAX);
                table
                    .set_content_arrangement(ContentArrangement::Dynamic)
                    .set_width(width);
                for (column, least) in table.column_iter_mut().zip(self.least(width)) {
                    column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
                }
            }
            None => {
                table.set_content_arrangement(ContentArrangement::Disabled);
            }
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, GAP));
        }
        let mut text = String::new();
        for line in table.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// `text` in lines of at most `width` columns, each after `indent` spaces but the first,
/// which goes behind whatever the caller has printed in those columns. Ends in a line break.
pub fn paragraph(text: &str, indent: usize, width: Option<usize>) -> String {
    let room = width.map_or(usize::MAX, |w| w.saturating_sub(indent).max(20));
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let len = word.chars().count();
        if used > 0 && used + 1 + len > room {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            used = 0;
        }
        if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += len;
    }
    out.push('\n');
    out
}

fn one_line(cell: &str) -> String {
    cell.split(['\n', '\r', '\t'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(["id", "host", "says"]);
        table.row([
            "P0001",
            "25G76",
            "one record with\na longer text than the rest",
        ]);
        table.row(["P0002", "26A5378n", ""]);
        table
    }

    #[test]
    fn without_a_terminal_every_row_is_one_line() {
        let expected = "ID     HOST      SAYS\n\
                        P0001  25G76     one record with a longer text than the rest\n\
                        P0002  26A5378n\n";
        assert_eq!(sample().render(None), expected);
    }

    #[test]
    fn on_a_terminal_cells_wrap_and_nothing_is_cut() {
        let text = sample().render(Some(40));
        let words: Vec<&str> = text.split_whitespace().collect();
        for word in ["P0001", "26A5378n", "longer", "rest"] {
            assert!(words.contains(&word), "{word} is missing in\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 40));
    }

    #[test]
    fn builds_and_profiles_stay_whole_where_they_can() {
        let mut table = Table::new(["id", "host", "profile", "by", "says"]);
        let says = "a text that takes all the room that it can get and then some more of it";
        table.row([
            "P0001",
            "26A5378n",
            "1009/65536",
            "metaspartan/lunchpail",
            says,
        ]);
        for width in [50, 60, 80] {
            let text = table.render(Some(width));
            for whole in ["26A5378n", "1009/65536"] {
                assert!(text.contains(whole), "{width}:\n{text}");
            }
            assert!(
                text.lines().all(|line| line.chars().count() <= width),
                "{width}:\n{text}"
            );
        }
    }

    #[test]
    fn paragraphs_wrap_at_words_and_hang() {
        let text = paragraph("one two three four five six seven", 2, Some(22));
        assert_eq!(text, "one two three four\n  five six seven\n");
        assert_eq!(paragraph("a  b\nc", 2, None), "a b c\n");
    }
}
