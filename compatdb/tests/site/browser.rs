//! A real browser, without a screen.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::site;

/// Chromium, or a reason why these tests are skipped. Where `METALSHIM_NEED_BROWSER` is
/// set, as in `make site`, there is no skipping.
pub(crate) fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .flat_map(|dir| ["chromium", "chromium-browser"].map(|name| dir.join(name)))
        .find(|program| program.is_file());
    if found.is_none() {
        assert!(
            std::env::var_os("METALSHIM_NEED_BROWSER").is_none(),
            "no chromium"
        );
        eprintln!("skipped: no chromium here; `make site` installs it");
    }
    found
}

/// What the document is after its scripts have run.
pub(crate) fn dom(browser: &Path, url: &str, more: &[&str]) -> String {
    let profile = tempfile::tempdir().unwrap();
    let out = Command::new(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ])
        // Nothing but this page: no updates, no measurements of the browser's own.
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .args(more)
        .arg(url)
        .output()
        .unwrap();
    String::from_utf8(out.stdout).unwrap()
}

pub(crate) fn address(page: &Path, after: &str) -> String {
    format!("file://{}{after}", page.display())
}

#[test]
fn the_form_answers() {
    let Some(browser) = chromium() else { return };
    let (_dir, out) = site(None);
    let ask = |after: &str| {
        let dom = dom(&browser, &address(&out.join("index.html"), after), &[]);
        let (_, answer) = dom.split_once("<div id=\"answer\"").unwrap();
        answer.split_once("</section>").unwrap().0.to_owned()
    };
    let yes = ask("#host=25G76&guest=25F84");
    assert!(
        yes.contains("class=\"allow\"") && yes.contains("pairs/P0001.html"),
        "{yes}"
    );
    assert!(yes.contains("metalshim enable --host-build 25G76"), "{yes}");
    // As people type.
    assert!(ask("#host=25g76&guest=25f84").contains("class=\"allow\""));
    let unknown = ask("#host=25G75&guest=25F84");
    assert!(
        unknown.contains("pair-unknown") && unknown.contains("pairs/P0001.html"),
        "{unknown}"
    );
    assert!(ask("#guest=25F84").contains("host-unknown"));
    assert!(ask("#host=25G76&guest=23J21").contains("pair-broken"));
    let no_build = ask("#host=25G76&guest=%3Cimg%20src%3Dx%3E");
    assert!(
        no_build.contains("is not a macOS build number"),
        "{no_build}"
    );
    assert!(!no_build.contains("<img"), "{no_build}");
}

#[test]
fn without_a_script_the_list_is_there_and_no_dead_form() {
    let Some(browser) = chromium() else { return };
    let (_dir, out) = site(None);
    let page = address(&out.join("index.html"), "");
    let with = dom(&browser, &page, &[]);
    assert!(!with.contains("<form id=\"ask\" hidden"));
    assert!(with.contains("3 of 3"), "the filter counts");
    // The browser prints no document with its scripts switched off: ours are taken away.
    for script in ["verdicts.js", "verdict.js", "page.js"] {
        std::fs::remove_file(out.join(script)).unwrap();
    }
    let without = dom(&browser, &page, &[]);
    assert!(without.contains("<form id=\"ask\" hidden"), "{without}");
    assert!(without.contains("This form needs a script"));
    assert!(without.contains("href=\"pairs/P0001.html\""));
}
