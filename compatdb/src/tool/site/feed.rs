//! What changed from one published database to the next, as a page and as an Atom feed.

use askama::Template;
use compatdb::diff::{Change, What, diff};
use compatdb::rows::Status;
use compatdb::{Database, PairFilter};
use jiff::Timestamp;

use super::Failure;

/// One published database, and what it changed for users.
pub(super) struct Release {
    pub(super) seq: u64,
    pub(super) published_at: Timestamp,
    pub(super) changes: Vec<Change>,
    /// Nothing older is known: `changes` is what it holds.
    pub(super) first: bool,
}

/// The newest first.
pub(super) fn changes(older: &[Database], database: &Database) -> Result<Vec<Release>, Failure> {
    let all: Vec<&Database> = older.iter().chain([database]).collect();
    let mut releases = Vec::new();
    for (at, now) in all.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| all.get(before));
        releases.push(Release {
            seq: now.seq(),
            published_at: now.published_at(),
            changes: match before {
                Some(before) => diff(before, now)?.changes,
                None => held(now)?,
            },
            first: before.is_none(),
        });
    }
    releases.reverse();
    Ok(releases)
}

fn held(database: &Database) -> Result<Vec<Change>, Failure> {
    let verified = PairFilter {
        status: Some(Status::Verified),
        ..PairFilter::default()
    };
    let mut changes = Vec::new();
    for pair in database.pairs(&verified)? {
        changes.push(Change {
            what: What::PairAllowed,
            of: format!("{} on {}", pair.guest.build, pair.host.build),
            record: pair.id,
            says: format!(
                "with {}, evidence level {}",
                pair.profile, pair.evidence.level
            ),
        });
    }
    Ok(changes)
}

#[derive(Template)]
#[template(path = "site/feed.xml")]
struct Feed<'a> {
    home: &'static str,
    updated: Timestamp,
    releases: &'a [Release],
}

/// The Atom feed.
pub(super) fn atom(database: &Database, releases: &[Release]) -> Result<Vec<u8>, Failure> {
    let feed = Feed {
        home: env!("CARGO_PKG_REPOSITORY"),
        updated: database.published_at(),
        releases,
    };
    // XML has no way at all to write most control characters.
    let text: String = feed
        .render()?
        .chars()
        .map(|c| match c {
            '\n' | '\t' => c,
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => '\u{fffd}',
            c => c,
        })
        .collect();
    Ok(text.into_bytes())
}
