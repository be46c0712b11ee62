//! Whatever text stands in a database stays text.

use compatdb::records::Records;
use compatdb::{Database, build_database};

use crate::browser::{address, chromium, dom};
use crate::{files, records, site};

const EVIL: &str = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&{guest}\u{1b}[31m\u{2028}\u{202e}";

/// A database with hostile text in every field that takes text. The linter would not let it
/// through; a page must not depend on that.
fn hostile() -> Vec<u8> {
    let (mut records, _) = Records::load(&records());
    let evil = || EVIL.to_owned();
    for filed in &mut records.pairs {
        let pair = &mut filed.record;
        pair.guest.version = evil();
        pair.host.version = evil();
        pair.host.chips = vec![evil()];
        pair.host.models = vec![evil()];
        pair.reason = Some(evil());
        pair.fault = Some("../../evil".to_owned());
        pair.evidence.says = evil();
        pair.notes = vec![evil()];
        for s in &mut pair.vm_software {
            s.name = evil();
        }
        for w in &mut pair.workloads {
            (w.name, w.client, w.metric, w.unit) = (evil(), evil(), evil(), evil());
        }
        for s in &mut pair.sources {
            (s.project, s.path, s.issue) = (evil(), Some(evil()), Some(evil()));
        }
    }
    for filed in &mut records.clients {
        let client = &mut filed.record;
        client.title = evil();
        client.gains_says = evil();
        client.advice = Some(evil());
        client.recognise.executables = vec![evil()];
        client.notes = vec![evil()];
        if client.id == "mlx" {
            client.id = "../../evil".to_owned();
        }
    }
    for filed in &mut records.faults {
        let fault = &mut filed.record;
        (fault.title, fault.says, fault.guests) = (evil(), evil(), evil());
        fault.advice = Some(evil());
    }
    for filed in &mut records.denies {
        filed.record.reason = evil();
    }
    for filed in &mut records.leads {
        (filed.record.outcome, filed.record.missing) = (evil(), evil());
    }
    for build in &mut records.builds.record.build {
        build.version = evil();
    }
    build_database(&records, &records.release).unwrap()
}

#[test]
fn hostile_text_is_shown_as_text_and_names_no_path() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = hostile();
    Database::open(&bytes).unwrap();
    let file = dir.path().join("hostile.sqlite");
    std::fs::write(&file, bytes).unwrap();
    let (made, out) = site(Some(&file));
    for page in files(&out) {
        let text = std::fs::read_to_string(&page).unwrap();
        let of_ours = text.matches("<script").count();
        // A file of script holds it in a string, where nothing reads tags.
        let script = page.extension().unwrap() == "js";
        assert!(script || !text.contains("<img"), "{}", page.display());
        if page.extension().unwrap() == "html" {
            let index = page == out.join("index.html");
            assert_eq!(of_ours, if index { 3 } else { 0 }, "{}", page.display());
        }
    }
    // A client called ../../evil did not leave the folder.
    assert_eq!(std::fs::read_dir(made.path()).unwrap().count(), 1);
    assert!(out.join("clients/.._.._evil.html").is_file());
    // XML has no way to write an escape character.
    let feed = std::fs::read_to_string(out.join("feed.xml")).unwrap();
    assert!(!feed.contains('\u{1b}'));

    let Some(browser) = chromium() else { return };
    for (page, after) in [
        ("index.html", "#host=25G76&guest=25F84"),
        ("index.html", "#host=25G75&guest=23J21"),
        ("pairs/P0001.html", ""),
        ("clients/.._.._evil.html", ""),
        ("faults/F01.html", ""),
        ("changes.html", ""),
    ] {
        let dom = dom(&browser, &address(&out.join(page), after), &[]);
        assert!(
            !dom.contains("<title>owned") && !dom.contains("<img"),
            "{page}: {dom}"
        );
        assert!(
            dom.contains("metalshim compatibility</title>"),
            "{page}: {dom}"
        );
    }
}
