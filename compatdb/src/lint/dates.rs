//! Rules about dates. Time comes from the release itself, never from a clock.

use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::{Report, sources};
use crate::records::Records;

/// Every date in the records, with its file and field.
fn dates(records: &Records) -> Vec<(&str, String, Date)> {
    let mut all = Vec::new();
    for record in sources(records) {
        for (at, source) in record.sources.iter().enumerate() {
            if let Some(date) = source.date {
                let field = format!("{}sources[{at}].date", record.prefix);
                all.push((record.file, field, date));
            }
        }
    }
    for r in &records.pairs {
        all.push((&r.file, "published".to_owned(), r.published));
    }
    for r in &records.denies {
        all.push((&r.file, "published".to_owned(), r.published));
    }
    for row in &records.builds.build {
        if let Some(date) = row.released {
            let field = format!("build[{}].released", row.build);
            all.push((&records.builds.file, field, date));
        }
    }
    for (at, source) in records.builds.sources.iter().enumerate() {
        if let Some(date) = source.date {
            let field = format!("sources[{at}].date");
            all.push((&records.builds.file, field, date));
        }
    }
    for row in &records.retired.retired {
        let field = format!("retired[{}].on", row.id);
        all.push((&records.retired.file, field, row.on));
    }
    all
}

pub(super) fn future(records: &Records, report: &mut Report) {
    let published = TimeZone::UTC
        .to_datetime(records.release.published_at)
        .date();
    for (file, field, date) in dates(records) {
        if date > published {
            let says = format!("{date} is after the release's own date, {published}");
            report.add(file, field, says);
        }
    }
}

pub(super) fn order(records: &Records, report: &mut Report) {
    let pairs = records
        .pairs
        .iter()
        .map(|r| (&r.file, r.published, &r.sources));
    let denies = records
        .denies
        .iter()
        .map(|r| (&r.file, r.published, &r.sources));
    for (file, published, sources) in pairs.chain(denies) {
        let newest = sources.iter().filter_map(|source| source.date).max();
        if let Some(newest) = newest.filter(|newest| *newest > published) {
            let says = format!("{published} is before its source of {newest}");
            report.add(file, "published", says);
        }
    }
}
