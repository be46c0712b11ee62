//! Starting `true` with a library in it.

use metalshim_guest::figures::limit;
use metalshim_guest::{Kit, Run, TicketFile};

use crate::{STARTS, Starts, bench, bench_library, inserting, inserting_bench, shimmed, start};

pub(crate) fn measure(kit: &Kit, ticket: &TicketFile) {
    let empty = inserting_bench(kit, "empty");
    let shim = inserting(kit.shim());
    let ticket = shimmed(kit, ticket);
    let objc = inserting_bench(kit, "objconly");
    let foundation = bench_library(kit, "foundation");

    println!("starting `true`: {STARTS} starts of each, in turn; medians in microseconds");
    println!(
        "{:<46} {:>9} {:>8} {:>9}",
        "", "whole", "added", "processor"
    );
    // The second is the first again: how far apart two are that do not differ.
    let ways = [
        ("nothing in it", ""),
        ("nothing in it, again", ""),
        ("a library with nothing in it", &empty),
        ("the shim, no ticket", &shim),
        ("the shim and a ticket", &ticket),
        ("a library linked with libobjc alone", &objc),
    ];
    let plain = table(kit, &ways, STARTS, None);
    // On its own: it is so large that it would push the others out of the processor's caches.
    let large = foundation.exists().then(|| {
        let name = if cfg!(target_os = "macos") {
            "a library linked with Foundation"
        } else {
            "a library linked with gnustep-base (Foundation)"
        };
        let ways = [("nothing in it", ""), (name, &inserting(&foundation))];
        table(kit, &ways, STARTS / 5, Some(1))
    });
    if large.is_none() {
        println!("(no library linked with Foundation: gnustep-base is not installed here)");
    }
    let [one, again, empty, shim, ticket, objc] = plain.as_slice() else {
        return;
    };
    let noise = one.whole.with(&again.whole).spread();
    let added = |starts: &Starts| starts.whole.median() - one.whole.median();
    println!("noise: the middle half of the starts with nothing in it lies {noise:.1} us apart");
    println!(
        "beyond a library with nothing in it, the shim adds {:.1} us, with a ticket {:.1} us",
        added(shim) - added(empty),
        added(ticket) - added(empty)
    );
    println!(
        "of what a library linked with libobjc adds, the shim adds {:.0} %, with a ticket {:.0} %",
        100.0 * added(shim) / added(objc),
        100.0 * added(ticket) / added(objc)
    );
    if let Some([plain, large]) = large.as_deref() {
        let all = large.whole.median() - plain.whole.median();
        println!(
            "of what a library linked with Foundation adds, the shim adds {:.2} %, with a ticket {:.2} %",
            100.0 * added(shim) / all,
            100.0 * added(ticket) / all
        );
    }
    for (name, starts) in [
        (
            "start-up with the shim, no ticket: added, against noise",
            shim,
        ),
        (
            "start-up with shim and ticket, no Metal: against noise",
            ticket,
        ),
    ] {
        println!("{}", limit(name, added(starts), noise, "us"));
    }
    println!();
}

/// Measures and prints all of them, or from the row `from` on; the first is what is added to.
fn table(kit: &Kit, ways: &[(&str, &str)], times: usize, from: Option<usize>) -> Vec<Starts> {
    let environments: Vec<&str> = ways.iter().map(|(_, environment)| *environment).collect();
    let mut all = vec![Starts::default(); ways.len()];
    let parent = Run::new(&bench(kit, "spawncost"));
    start(parent, times, "posix_spawn", &environments, &mut all);
    let first = all.first().map_or(0.0, |plain| plain.whole.median());
    for ((name, _), starts) in ways.iter().zip(&all).skip(from.unwrap_or(0)) {
        let whole = starts.whole.median();
        println!(
            "{name:<46} {whole:>9.1} {:>8.1} {:>9.1}",
            whole - first,
            starts.processor.median()
        );
    }
    all
}
