//! A page of text: a title, named fields, and a table of what was measured.

use compatdb::records::{SeenSystem, Source, Workload};

use super::words::{self, or_dash};
use crate::printer::Style;
use crate::table::{Table, paragraph};

/// How far the values stand to the right of their names.
const COLUMN: usize = 20;

/// A title and fields below it. A field without a value is left out.
pub(super) struct Page {
    out: String,
    style: Style,
    width: Option<usize>,
}

impl Page {
    pub(super) fn new(style: Style, width: Option<usize>) -> Self {
        Self {
            out: String::new(),
            style,
            width,
        }
    }

    pub(super) fn text(self) -> String {
        self.out
    }

    pub(super) fn title(&mut self, title: &str) {
        self.out.push_str(&self.style.bold(title));
        self.out.push('\n');
    }

    pub(super) fn field(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.out.push_str(&format!("  {name:<18}"));
            self.out.push_str(&paragraph(value, COLUMN, self.width));
        }
    }

    pub(super) fn fields(&mut self, name: &str, values: &[String]) {
        for value in values {
            self.field(name, value);
        }
    }

    pub(super) fn sources(&mut self, all: &[Source]) {
        for source in all {
            self.field("source", &source.to_string());
        }
    }

    pub(super) fn seen(&mut self, name: &str, system: &SeenSystem) {
        let mut parts = Vec::new();
        parts.extend(system.version.as_ref().map(|v| format!("macOS {v}")));
        parts.push(match &system.build {
            Some(build) => build.to_string(),
            None => "build not stated".to_owned(),
        });
        parts.extend(system.chip.clone());
        parts.extend(system.model.clone());
        self.field(name, &parts.join(", "));
    }

    /// Every figure with its source.
    pub(super) fn workloads(&mut self, all: &[Workload], sources: &[Source]) {
        if all.is_empty() {
            return;
        }
        let mut table = Table::new([
            "client", "workload", "metric", "host", "stock", "shimmed", "unit", "gain", "source",
        ]);
        for workload in all {
            table.row([
                match &workload.client_version {
                    Some(version) => format!("{} {version}", workload.client),
                    None => workload.client.clone(),
                },
                workload.name.clone(),
                workload.metric.clone(),
                or_dash(workload.host.as_ref()),
                or_dash(workload.stock.as_ref()),
                or_dash(workload.shimmed.as_ref()),
                workload.unit.clone(),
                words::gain(workload),
                words::cited(&workload.source, sources),
            ]);
        }
        self.out.push('\n');
        self.out.push_str(&table.render(self.width));
        for workload in all {
            if let Some(note) = &workload.note {
                let note = format!("{} {}: {note}", workload.name, workload.metric);
                self.out.push_str("  ");
                self.out.push_str(&paragraph(&note, 2, self.width));
            }
        }
    }
}

pub(super) const fn yes_or_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}
