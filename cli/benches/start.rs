//! What starting a program through `metalshim run` costs. (What the shim itself costs the program
//! is in `shim/guest/benches`.)
//!
//! Each line compares two ways to start the same program. They are started in turn, so that
//! whatever else the machine does meets both alike; the figures are medians. Give the number
//! of starts as the argument (500 if none is given). It wants `make shim guest` first, which
//! `make bench` sees to.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot be set up says so and ends; its table is for stdout"
)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use metalshim_guest::figures::{Times, limit};

const METALSHIM: &str = env!("CARGO_BIN_EXE_metalshim");

/// A way to start something.
type Way<'a> = Box<dyn Fn() -> Command + 'a>;

fn main() {
    let starts = std::env::args()
        .filter_map(|a| a.parse().ok())
        .next()
        .unwrap_or(500);
    let home = tempfile::tempdir().unwrap();
    let target = Path::new(METALSHIM).ancestors().nth(2).unwrap();
    let shim = target.join("shim").join(metalshim_cli::install::SHIM);
    assert!(shim.exists(), "there is no {}: make shim", shim.display());
    let clean = |program: &str| {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", home.path())
            .env("METALSHIM_STATE_DIR", home.path().join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    };
    let plain: Way<'_> = Box::new(|| clean("true"));
    let run: Way<'_> = Box::new(|| {
        let mut command = clean(METALSHIM);
        command.args(["run", "--", "true"]);
        command
    });
    // By its name, as a shell finds it: a link to the command in the folder of wrappers.
    let wrappers = home.path().join(metalshim_cli::wrappers::FOLDER);
    std::fs::create_dir(&wrappers).unwrap();
    std::os::unix::fs::symlink(METALSHIM, wrappers.join("true")).unwrap();
    let wrapper: Way<'_> = Box::new(|| {
        let mut command = clean("true");
        command.env("PATH", format!("{}:/usr/bin:/bin", wrappers.display()));
        command
    });
    let again: Way<'_> = Box::new(|| clean("true"));
    println!("{starts} starts of each, in turn; medians in milliseconds");
    println!(
        "{:<44} {:>8} {:>8} {:>8} {:>7}",
        "", "plain", "this", "added", "ratio"
    );
    let added = line("metalshim run -- true", &plain, &run, starts);
    let wrapped = line("true, wrapped by `enable true`", &plain, &wrapper, starts);
    line("true again (what is noise)", &plain, &again, starts);
    println!(
        "{}",
        limit("metalshim run -- true: added", added, 5.0, "ms")
    );
    // Looking for the program behind the wrapper is a few system calls.
    println!(
        "{}",
        limit("a wrapper beyond metalshim run", wrapped - added, 0.5, "ms")
    );
}

/// Measures and prints one comparison; the milliseconds that `this` takes more.
fn line(name: &str, plain: &Way<'_>, this: &Way<'_>, starts: usize) -> f64 {
    let mut times = [Times::default(), Times::default()];
    for _ in 0..starts {
        for (way, times) in [plain, this].into_iter().zip(&mut times) {
            let mut command = way();
            let start = Instant::now();
            let status = command.status().unwrap();
            times.push(start.elapsed().as_secs_f64() * 1000.0);
            assert!(status.success(), "{name}: {status}");
        }
    }
    let [plain, this] = times.map(|times| times.median());
    println!(
        "{name:<44} {plain:>8.3} {this:>8.3} {:>8.3} {:>7.2}",
        this - plain,
        this / plain
    );
    this - plain
}
