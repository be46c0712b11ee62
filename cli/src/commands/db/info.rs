//! `metalshim db info`: which database is in use, and what is in it.

use compatdb::Meta;
use jiff::Timestamp;
use serde::Serialize;

use super::verify::Rows;
use crate::database::{Loaded, Origin, Root};
use crate::printer::{Report, Style};
use crate::table::paragraph;

/// What `db info` says.
#[derive(Debug, Serialize)]
pub(super) struct Info {
    origin: Origin,
    /// Whether signatures vouch for it.
    signed: bool,
    meta: Meta,
    /// Until when the signatures vouch for it.
    fresh_until: Option<Timestamp>,
    /// The trust root in force; none where there is none.
    trust_root: Option<Root>,
    /// The deny list's `seq`; none where there is none.
    deny_list_seq: Option<u64>,
    /// What is there and could not be used.
    problems: Vec<String>,
    /// Whole days since it was published.
    age_days: i64,
    rows: Rows,
    #[serde(skip)]
    width: Option<usize>,
}

impl Info {
    /// What there is to say of `loaded` at `now`.
    pub(super) fn new(loaded: &Loaded, rows: Rows, now: Timestamp, width: Option<usize>) -> Self {
        let meta = loaded.database.meta().clone();
        Self {
            origin: loaded.origin,
            signed: loaded.origin != Origin::UnsignedDevelopment,
            age_days: age_days(meta.published_at, now),
            meta,
            fresh_until: loaded.fresh_until,
            trust_root: loaded.root.clone(),
            deny_list_seq: loaded.deny_list.as_ref().map(|list| list.seq),
            problems: loaded.problems.clone(),
            rows,
            width,
        }
    }
}

/// Whole days from `published` to `now`; 0 for a clock that is behind.
pub(crate) fn age_days(published: Timestamp, now: Timestamp) -> i64 {
    (now.duration_since(published).as_hours() / 24).max(0)
}

impl Report for Info {
    const SCHEMA: &'static str = "metalshim.db-info/1";

    fn text(&self, style: Style) -> String {
        let mut out = format!(
            "{}, seq {}\n",
            style.bold(self.origin.says()),
            self.meta.seq
        );
        let day = self.meta.published_at.strftime("%F");
        let mut field = |name: &str, value: &str| {
            out.push_str(&format!("  {name:<12}"));
            out.push_str(&paragraph(value, 14, self.width));
        };
        field("published", &format!("{day}, {} days ago", self.age_days));
        field(
            "signed",
            match (self.signed, &self.trust_root) {
                (true, _) => "yes",
                (false, None) => {
                    "no: it was built from the records together with this command, and has no trust root"
                }
                (false, Some(_)) => {
                    "no: it was built from the records together with this command; nothing signed was taken in yet"
                }
            },
        );
        if let Some(root) = &self.trust_root {
            field("trust root", &root.says);
        }
        match self.fresh_until {
            Some(until) => field("fresh until", &until.strftime("%F").to_string()),
            None => field("fresh until", "nothing is promised without signatures"),
        }
        field("schema", &self.meta.schema.to_string());
        field(
            "needs",
            &format!("metalshim {} or later", self.meta.min_cli),
        );
        field("sha256", &self.meta.sha256);
        if let Some(seq) = self.deny_list_seq {
            field("deny list", &format!("seq {seq}"));
        }
        field("rows", &self.rows.text());
        for problem in &self.problems {
            field("warning", problem);
        }
        out
    }
}
