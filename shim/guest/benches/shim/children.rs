//! Starting children from a process that has the shim in it.

use metalshim_guest::figures::limit;
use metalshim_guest::{FactsFile, Kit, Run, TicketFile};

use crate::{STARTS, Starts, bench, inserting_bench, shimmed, start};

/// Parents of each kind; each starts its part of the children. Many, since where a parent happens to
/// run and to lie in memory decides more than what is to be seen.
const PARENTS: usize = 100;
/// What one child may cost more, in microseconds.
const LIMIT: f64 = 20.0;

pub(crate) fn measure(kit: &Kit, facts: &FactsFile, all: &TicketFile) {
    let none = TicketFile::new(facts, |_| {});
    let by_hand = shimmed(kit, all);
    let empty = inserting_bench(kit, "empty");
    for method in ["posix_spawn", "fork-execve"] {
        is_followed(kit, method, all);
        let mut results = vec![Starts::default(); 5];
        for _ in 0..PARENTS {
            let times = STARTS / PARENTS;
            let parent = || Run::new(&bench(kit, "spawncost"));
            let kinds = [
                (parent(), ""),
                (parent().shim(&none), ""),
                (parent().shim(all), ""),
                (parent(), by_hand.as_str()),
                (parent(), empty.as_str()),
            ];
            for ((parent, environment), into) in kinds.into_iter().zip(&mut results) {
                let into = std::slice::from_mut(into);
                start(parent, times, method, &[environment], into);
            }
        }
        let names = [
            "no shim",
            "shim, follow=none",
            "shim, follow=all: the child has the shim, too",
            "no shim; the child is given it by hand",
            "no shim; the child has an empty library",
        ];
        println!(
            "a child by {method}, start to end: {STARTS} of each from {PARENTS} parents in turn; medians in microseconds"
        );
        let medians: Vec<f64> = results.iter().map(|r| r.whole.median()).collect();
        let [plain, _, followed, hand, _] = medians.as_slice() else {
            return;
        };
        println!("{:<46} {:>9} {:>8}", "", "whole", "added");
        for (name, median) in names.iter().zip(&medians) {
            println!("{name:<46} {median:>9.1} {:>8.1}", median - plain);
        }
        let limits = [
            ("the hook's part", followed - hand),
            ("its own start included", followed - plain),
        ];
        for (what, added) in limits {
            let name = format!("a followed child by {method}: {what}");
            println!("{}", limit(&name, added, LIMIT, "us"));
        }
        println!();
    }
}

/// That it is the followed kind which is measured: a child that asks gets the raised answers.
fn is_followed(kit: &Kit, method: &str, ticket: &TicketFile) {
    let outcome = kit
        .run("spawner")
        .arg(method)
        .arg(kit.program("toy"))
        .shim(ticket)
        .output();
    assert!(
        outcome.get("apple_family") == Some("1009"),
        "a child by {method} is not followed: {outcome:?}"
    );
}
