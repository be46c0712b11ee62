//! What the pages hold.

use std::collections::BTreeSet;

use compatdb::build_database;
use compatdb::records::Records;

use crate::{compatdb, files, records, site};

/// Every `href` and `src` of a page.
fn links(page: &str) -> Vec<&str> {
    let mut all = Vec::new();
    for mark in [" href=\"", " src=\""] {
        for rest in page.split(mark).skip(1) {
            all.push(rest.split('"').next().unwrap());
        }
    }
    all
}

#[test]
fn every_link_within_the_site_leads_somewhere_and_nothing_is_loaded_from_elsewhere() {
    let (_dir, out) = site(None);
    for page in files(&out)
        .iter()
        .filter(|p| p.extension().unwrap() == "html")
    {
        let text = std::fs::read_to_string(page).unwrap();
        assert!(
            text.len() < 200_000,
            "{} has {} bytes",
            page.display(),
            text.len()
        );
        for link in links(&text) {
            if link.starts_with("https://github.com/") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => page.clone(),
                file => page.parent().unwrap().join(file),
            };
            assert!(target.is_file(), "{}: {link}", page.display());
            if !anchor.is_empty() {
                let there = std::fs::read_to_string(&target).unwrap();
                assert!(there.contains(&format!("id=\"{anchor}\"")), "{link}");
            }
        }
        // Only a link may name another host: whatever loads is ours.
        for loads in text.split('<').filter(|tag| !tag.starts_with("a ")) {
            assert!(
                !loads.split('>').next().unwrap().contains("https:"),
                "{loads}"
            );
        }
    }
}

#[test]
fn two_hundred_pairs_still_make_small_pages() {
    let (mut records, _) = Records::load(&records());
    let model = records.pairs.remove(0);
    records.pairs.clear();
    for n in 0..200 {
        let mut filed = model.clone();
        filed.record.id = format!("P{:04}", n + 1);
        filed.record.guest.build = format!("25F{}", 100 + n / 10).parse().unwrap();
        filed.record.host.build = format!("25G{}", 100 + n % 10).parse().unwrap();
        records.pairs.push(filed);
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("many.sqlite");
    std::fs::write(&file, build_database(&records, &records.release).unwrap()).unwrap();
    let (_dir, out) = site(Some(&file));
    for page in files(&out) {
        let len = std::fs::metadata(&page).unwrap().len();
        assert!(len < 200_000, "{} has {len} bytes", page.display());
    }
}

#[test]
fn every_record_has_its_page() {
    let (_dir, out) = site(None);
    for folder in ["pairs", "denies", "clients", "faults", "leads"] {
        let names = |dir: std::path::PathBuf| -> BTreeSet<String> {
            let stem = |e: std::io::Result<std::fs::DirEntry>| {
                let path = e.unwrap().path();
                path.file_stem().unwrap().to_str().unwrap().to_owned()
            };
            std::fs::read_dir(dir).unwrap().map(stem).collect()
        };
        assert_eq!(
            names(out.join(folder)),
            names(records().join(folder)),
            "{folder}"
        );
    }
}

#[test]
fn a_second_run_replaces_the_first_and_a_folder_of_something_else_is_left_alone() {
    let (dir, out) = site(None);
    let gone = out.join("pairs/P9999.html");
    std::fs::write(&gone, "of an earlier database").unwrap();
    let mine = out.join("CNAME");
    std::fs::write(&mine, "kept").unwrap();
    let before = std::fs::metadata(out.join("index.html"))
        .unwrap()
        .modified()
        .unwrap();
    assert!(compatdb(&out, None).status.success());
    assert!(!gone.exists() && mine.exists());
    let after = std::fs::metadata(out.join("index.html"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(before, after, "what did not change is not written again");

    let other = dir.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("index.html"), "somebody's").unwrap();
    let refused = compatdb(&other, None);
    assert_eq!(refused.status.code(), Some(2));
    let says = String::from_utf8(refused.stderr).unwrap();
    assert!(says.contains("holds other files"), "{says}");
    assert_eq!(
        std::fs::read_to_string(other.join("index.html")).unwrap(),
        "somebody's"
    );
}

#[test]
fn the_feed_tells_what_changed() {
    let (_dir, out) = site(None);
    let feed = std::fs::read_to_string(out.join("feed.xml")).unwrap();
    assert!(feed.contains("25F84 on 25G76 (P0001)"), "{feed}");
}
