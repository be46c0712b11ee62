//! One question to the device.

use metalshim_guest::figures::{Times, limit};
use metalshim_guest::{Kit, TicketFile};

use crate::{stdout, value};

const RUNS: usize = 21;
const CALLS: usize = 3_000_000;
/// What a call may cost more, in nanoseconds.
const LIMIT: f64 = 3.0;

pub(crate) fn measure(kit: &Kit, ticket: &TicketFile) {
    let keys = ["supports_family_ns", "max_threadgroup_memory_ns"];
    let [mut stock, mut shim]: [[Times; 2]; 2] = Default::default();
    for _ in 0..RUNS {
        let run = || kit.run("callcost").arg(CALLS.to_string());
        let with = run().shim(ticket);
        for (run, times, family) in [(run(), &mut stock, 1005.0), (with, &mut shim, 1009.0)] {
            let output = stdout(run);
            assert!(value(&output, "apple_family") == family, "{output}");
            for (key, times) in keys.iter().zip(times) {
                times.push(value(&output, key));
            }
        }
    }
    println!("one question: {RUNS} runs of {CALLS} calls, in turn; medians in nanoseconds a call");
    println!(
        "{:<46} {:>9} {:>9} {:>8}",
        "", "stock", "with shim", "added"
    );
    let names = ["supportsFamily:", "maxThreadgroupMemoryLength"];
    let rows = names.iter().zip(stock.iter().zip(&shim));
    let rows = rows.map(|(name, (stock, shim))| (name, stock.median(), shim.median()));
    for (name, stock, shim) in rows.clone() {
        println!("{name:<46} {stock:>9.2} {shim:>9.2} {:>8.2}", shim - stock);
    }
    for (name, stock, shim) in rows {
        let name = format!("added to one call of {name}");
        println!("{}", limit(&name, shim - stock, LIMIT, "ns"));
    }
    println!();
}
