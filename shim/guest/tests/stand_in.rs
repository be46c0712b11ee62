//! The stand-in for Metal, stock: every scenario really is what its name says.

use metalshim_guest::{FactsFile, built};

#[test]
fn the_sample_guest_answers_as_the_paravirtual_device_does() {
    let toy = built().run("toy").output();
    assert_eq!(toy.picked(), "1005/32768 cpu_fallback");
    assert_eq!((toy.code, toy.stderr.as_str()), (Some(0), ""));
}

#[test]
fn facts_decide_the_answers() {
    let facts = FactsFile::sample()
        .with("device.apple_family", 1009)
        .with("device.max_threadgroup_memory", 65_536)
        .save();
    let toy = built().run("toy").facts(&facts).output();
    assert_eq!(toy.picked(), "1009/65536 fast_gpu_kernel");
}
