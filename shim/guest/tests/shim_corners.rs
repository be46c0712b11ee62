//! The shim of this system at every corner of the table: from the start and loaded late, and with
//! the overrides required.

use metalshim_guest::corners::{ALL, Corner, Prepared, told};
use metalshim_guest::{Outcome, Run, built};

/// Without the shim, and with it.
fn both(corner: &Corner, late: bool, change: fn(Run) -> Run) -> (Prepared, Outcome, Outcome) {
    let prepared = corner.prepare();
    // The shim last: what a scenario preloads comes first.
    let shimmed = change(prepared.client(late))
        .shim(&prepared.ticket)
        .output();
    let stock = prepared.client(late).output();
    (prepared, stock, shimmed)
}

/// What is wrong with the row; empty when nothing is.
fn judge(corner: &Corner, late: bool) -> Vec<String> {
    let (prepared, stock, shimmed) = both(corner, late, |run| run);
    let (answers, status) = corner.expected(late);
    let mut wrong = Vec::new();
    let mut hold = |what: &str, ok: bool| {
        if !ok {
            wrong.push(format!(
                "{} (late: {late}): {what}\n  status {:?}\n  shimmed {shimmed:?}\n  stock {stock:?}",
                corner.name,
                prepared.status()
            ));
        }
    };
    hold("the status", prepared.status() == status);
    hold("silence", shimmed.stderr == stock.stderr);
    hold("the exit code", shimmed.code == stock.code);
    let pairs: Vec<_> = shimmed.pairs().collect();
    // Once it is decided, the hook is out of the way again.
    let init = "device.init_image";
    hold("the hook is gone", shimmed.get(init) == stock.get(init));
    match answers {
        // Only the owner of a method may tell that something was tried.
        "stock" => {
            let plain = |o: &Outcome| -> Vec<String> {
                let lines = told(o).into_iter().filter(|l| !l.contains("_owner="));
                lines.map(str::to_owned).collect()
            };
            hold("as stock", plain(&shimmed) == plain(&stock));
        }
        "turned back" => {
            for key in [
                "device.families_again",
                "device.max_threadgroup_memory",
                "apple_family",
            ] {
                hold("turned back", shimmed.get(key) == stock.get(key));
            }
        }
        answers => {
            let picked = shimmed.picked();
            hold("the answers", picked == format!("{answers} none"));
            // Nothing but the two answers: the other families, the name, other devices.
            let others = |o: &Outcome, who: &str| -> Vec<String> {
                let families = o
                    .get(&format!("{who}.families"))
                    .unwrap_or_default()
                    .to_owned();
                let kept = families.split(',').filter(|f| !f.starts_with("10"));
                kept.map(str::to_owned).collect()
            };
            hold(
                "other families",
                others(&shimmed, "device") == others(&stock, "device"),
            );
            for (key, value) in stock.pairs() {
                let other = key.starts_with("sibling.")
                    || key.ends_with(".name")
                    || key.ends_with(".class");
                hold(key, !other || pairs.contains(&(key, value)));
            }
        }
    }
    wrong
}

fn judge_all(late: bool) {
    built();
    let wrong: Vec<String> = ALL.iter().flat_map(|corner| judge(corner, late)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_corner() {
    judge_all(false);
}

#[test]
fn every_corner_with_metal_loaded_late() {
    judge_all(true);
}

#[test]
fn required_and_refused_ends_with_78_and_one_line() {
    for late in [false, true] {
        for corner in ALL {
            let (prepared, stock, shimmed) =
                both(corner, late, |r| r.env("METALSHIM_REQUIRE", "1"));
            let (_, status) = corner.expected(late);
            let context = format!("{} (late: {late}): {shimmed:?}", corner.name);
            assert_eq!(prepared.status(), status, "{context}");
            if let Some(reason) = status.strip_prefix("refused ") {
                assert_eq!(shimmed.code, Some(78), "{context}");
                assert_eq!(shimmed.stderr.lines().count(), 1, "{context}");
                assert!(shimmed.stderr.contains(reason), "{context}");
            } else {
                assert_eq!(shimmed.code, stock.code, "{context}");
                assert_eq!(shimmed.stderr, stock.stderr, "{context}");
            }
        }
    }
}
