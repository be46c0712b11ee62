//! The GPU in software: what it has to get right, and what it has to catch.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test whose set-up fails has failed"
)]

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use metalshim_guest::built;

/// A launch of one threadgroup with `words` words of results, on the device with the tests' kernels.
fn launch(order: &str, kernel: &str, threads: usize, memory: usize, words: usize) -> Output {
    let device = built().guest_dir().join("software/test-device");
    let mut child = Command::new(device)
        .env("METALSHIM_GUEST_LANES", order)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let length = words * 4;
    let mut request =
        format!("run semantics {kernel} 1 1 1 {threads} 1 1 {memory} 1\nout {length}\n")
            .into_bytes();
    request.extend(vec![0xff; length]);
    child.stdin.take().unwrap().write_all(&request).unwrap();
    child.wait_with_output().unwrap()
}

/// The answer behind the two lines of greeting.
fn answer(output: &Output) -> Vec<u8> {
    let mut lines = output.stdout.splitn(3, |b| *b == b'\n');
    lines.nth(2).unwrap().to_vec()
}

fn results(order: &str, kernel: &str, threads: usize, memory: usize, words: usize) -> Vec<u32> {
    let answer = answer(&launch(order, kernel, threads, memory, words));
    let text = String::from_utf8_lossy(&answer);
    assert!(text.starts_with("ok "), "{kernel}: {text}");
    let at = answer.iter().position(|b| *b == b'\n').unwrap() + 1;
    let words = answer[at..].chunks_exact(4);
    words
        .map(|w| u32::from_le_bytes(w.try_into().unwrap()))
        .collect()
}

#[test]
fn every_kernel_that_ships_is_in_the_device() {
    let kit = built();
    let listed = kit.run("canary-device").arg("list").output().stdout;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cli/src/canary/kernels");
    let mut wanted = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let library = path.file_stem().unwrap().to_string_lossy().into_owned();
        for kernel in text.split("kernel void ").skip(1) {
            let name = kernel.split('(').next().unwrap();
            wanted.push(format!("{library} {name}"));
        }
    }
    let mut listed: Vec<&str> = listed.lines().collect();
    listed.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(listed, wanted);
    assert!(wanted.len() >= 9);
}

#[test]
fn part_of_a_group_works_among_itself() {
    for order in ["forward", "reverse", "shuffled"] {
        let got = results(order, "partial_groups", 32, 0, 96);
        for lane in 0..32usize {
            let odd = if lane % 2 == 1 { 256 } else { 0 };
            // Lanes 1, 2, 4, 5, .. take part in the first round, 2, 5, .. in the second.
            let rounds = [0, 21, 21 + 10][lane % 3];
            let early = if lane < 20 { 20 } else { 0 };
            assert_eq!(
                got[3 * lane..3 * lane + 3],
                [odd, rounds, early],
                "{order} {lane}"
            );
        }
    }
}

#[test]
fn a_missing_barrier_shows_in_the_order_of_threads() {
    let forward = results("forward", "no_barrier", 64, 256, 64);
    let reverse = results("reverse", "no_barrier", 64, 256, 64);
    assert_ne!(forward, reverse);
    // What was not written yet is poison, not a value that looks right.
    assert_eq!(forward[0], u32::MAX);
}

#[test]
fn misuse_is_named() {
    for (kernel, threads, memory, says) in [
        ("barrier_of_some", 8, 0, "others wait for it at a barrier"),
        ("two_barriers", 8, 0, "different barriers"),
        ("product_of_some", 32, 0, "part of a SIMD-group"),
        ("no_barrier", 8, 0, "no threadgroup memory"),
        ("no_barrier", 8, 40, "multiple of 16"),
        ("no_barrier", 8, 65536, "more than the device has: 32768"),
        ("no_barrier", 1025, 256, "more threads"),
        ("nothing", 8, 0, "no kernel nothing"),
    ] {
        let output = launch("forward", kernel, threads, memory, 64);
        let text = String::from_utf8_lossy(&answer(&output)).into_owned();
        assert!(
            text.starts_with("failed ") && text.contains(says),
            "{kernel}: {text}"
        );
    }
}

#[test]
fn writing_past_an_end_crashes() {
    for kernel in ["beyond_a_buffer", "beyond_threadgroup_memory"] {
        let output = launch("forward", kernel, 64, 256, 64);
        assert_eq!(output.status.code(), None, "{kernel}: {output:?}");
    }
}

#[test]
fn the_scanner_takes_nothing_that_it_does_not_understand() {
    let scan = built().guest_dir().join("software/scan");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.metal");
    let whole = "kernel void k(device uint *r [[buffer(0)]], uint i [[thread_position_in_grid]])\n{\n    r[i] = i;\n}\n";
    for (old, new, says) in [
        ("", "", ""),
        (
            "thread_position_in_grid",
            "thread_position_in_gird",
            "not known",
        ),
        ("[[buffer(0)]]", "[[buffer]]", "lacks its number"),
        (" [[buffer(0)]]", "", "not every parameter has an attribute"),
        ("kernel ", "", "not on a kernel's parameter"),
        (
            "r[i] = i;",
            "threadgroup uint t[4]; r[i] = i;",
            "threadgroup memory is a parameter",
        ),
        ("r[i] = i;", "/* r[i] = i;", "no */"),
        ("r[i] = i;", "print(\"x\");", "text in quotes"),
        ("{", "{ kernel int", "\"void\" is expected"),
    ] {
        fs::write(&path, whole.replacen(old, new, 1)).unwrap();
        let output = Command::new(&scan).arg(&path).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.success(), says.is_empty(), "{new}: {text}");
        assert!(text.contains(says), "{new}: {text}");
    }
    fs::write(&path, "// nothing\n").unwrap();
    let output = Command::new(&scan).arg(&path).output().unwrap();
    assert!(!output.status.success());
}
