//! Starting children from a process that has the shim in it.

use metalshim_guest::figures::limit;
use metalshim_guest::{FactsFile, Kit, Run, TicketFile};

use crate::{STARTS, Starts, bench, bench_library, inserting, shimmed, start};

/// Parents of each kind; each starts its part of the children. Many, since where a parent happens to
/// run and to lie in memory decides more than what is to be seen.
const PARENTS: usize = 100;
/// What the hook may add to one child, in microseconds.
const LIMIT: f64 = 20.0;

pub(crate) fn measure(kit: &Kit, facts: &FactsFile, all: &TicketFile) {
    let none = TicketFile::new(facts, |_| {});
    let by_hand = shimmed(kit, all);
    let library = bench_library(kit, "empty");
    let empty = inserting(&library);
    for method in ["posix_spawn", "fork-execve"] {
        is_followed(kit, method, all);
        let mut results = vec![Starts::default(); 6];
        for _ in 0..PARENTS {
            let times = STARTS / PARENTS;
            let parent = || Run::new(&bench(kit, "spawncost"));
            let kinds = [
                (parent(), ""),
                (parent().shim(&none), ""),
                (parent().shim(all), ""),
                (parent(), by_hand.as_str()),
                (parent(), empty.as_str()),
                (parent().preload(&library), by_hand.as_str()),
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
            "an empty library; the child is given shim by hand",
        ];
        println!(
            "a child by {method}, start to end: {STARTS} of each from {PARENTS} parents in turn; medians in microseconds"
        );
        let medians: Vec<f64> = results.iter().map(|r| r.whole.median()).collect();
        let [plain, _, followed, _, floor, hand] = medians.as_slice() else {
            return;
        };
        println!("{:<46} {:>9} {:>8}", "", "whole", "added");
        for (name, median) in names.iter().zip(&medians) {
            println!("{name:<46} {median:>9.1} {:>8.1}", median - plain);
        }
        println!(
            "a followed child, its own start included: {:.1} us; a child with an empty library: {:.1} us",
            followed - plain,
            floor - plain
        );
        // The same child, from a parent with a library in it either way: what a library in the
        // parent costs a fork, and what one in the child costs its start, is not the hook's.
        let name = format!("a followed child by {method}: the hook's part");
        println!("{}", limit(&name, followed - hand, LIMIT, "us"));
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
