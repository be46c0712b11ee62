//! From the constructor to the overrides.
//!
//! The shim holds no clock. A program that loads it by hand and makes a device takes the time of
//! both, with a ticket and without: the constructor of the same library without a ticket is one
//! `getenv`.

use metalshim_guest::figures::{Times, limit};
use metalshim_guest::{Kit, Run, TicketFile};

use crate::{bench, stdout, value};

const RUNS: usize = 501;
/// What it may take, in microseconds.
const LIMIT: f64 = 100.0;

pub(crate) fn measure(kit: &Kit, ticket: &TicketFile) {
    let [mut stock, mut shim]: [[Times; 3]; 2] = Default::default();
    for _ in 0..RUNS {
        let run = || Run::new(&bench(kit, "installcost")).arg(kit.shim());
        let with = run().env("METALSHIM_TICKET", ticket.path());
        for (run, times, family) in [(run(), &mut stock, 1005.0), (with, &mut shim, 1009.0)] {
            let output = stdout(run);
            assert!(value(&output, "apple_family") == family, "{output}");
            let load = value(&output, "load_ns") / 1000.0;
            let device = value(&output, "device_ns") / 1000.0;
            for (times, time) in times.iter_mut().zip([load, device, load + device]) {
                times.push(time);
            }
        }
    }
    println!(
        "constructor to installed: {RUNS} processes of each, in turn; medians in microseconds"
    );
    println!(
        "{:<46} {:>9} {:>9} {:>8}",
        "", "no ticket", "ticket", "added"
    );
    let names = [
        "loading the shim, its constructor included",
        "making the first device",
        "both",
    ];
    let mut added = 0.0;
    for (name, (stock, shim)) in names.iter().zip(stock.iter().zip(&shim)) {
        added = shim.median() - stock.median();
        println!(
            "{name:<46} {:>9.1} {:>9.1} {added:>8.1}",
            stock.median(),
            shim.median()
        );
    }
    println!("{}", limit("constructor to installed", added, LIMIT, "us"));
}
