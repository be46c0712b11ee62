//! The sample clients: what each picks at which answers.

use metalshim_guest::{FactsFile, Outcome, built};

fn ask(client: &str, family: i64, memory: i64, metal3: bool) -> Outcome {
    let facts = FactsFile::sample()
        .with("device.apple_family", family)
        .with("device.max_threadgroup_memory", memory)
        .with("device.metal3", metal3)
        .save();
    built().run(client).facts(&facts).output()
}

fn kernel(client: &str, family: i64, memory: i64) -> String {
    let out = ask(client, family, memory, false);
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    out.get("kernel").unwrap_or_default().to_owned()
}

#[test]
fn toy_needs_both_answers() {
    assert_eq!(kernel("toy", 1009, 65_536), "fast_gpu_kernel");
    assert_eq!(kernel("toy", 1008, 65_536), "cpu_fallback");
    assert_eq!(kernel("toy", 1009, 65_535), "cpu_fallback");
}

#[test]
fn llama_has_matrix_products_on_the_gpu_from_family_7() {
    for (family, metal3, kernel, flash, bfloat) in [
        (1005, false, "cpu", "false", "false"),
        (1006, false, "cpu", "false", "true"),
        (1007, false, "mul_mm", "true", "true"),
        (1009, false, "mul_mm", "true", "true"),
        // Metal3 brings reductions and bfloat, and no matrix products of SIMD groups.
        (1005, true, "mul_mv", "false", "true"),
    ] {
        let out = ask("llama", family, 32_768, metal3);
        assert_eq!(out.get("kernel"), Some(kernel), "{family} {metal3}");
        assert_eq!(out.get("flash_attention"), Some(flash), "{family} {metal3}");
        assert_eq!(out.get("bfloat"), Some(bfloat), "{family} {metal3}");
    }
}

#[test]
fn llama_says_on_stderr_what_it_found() {
    // The capability lines of a published stock log of such a guest, as far as the device's
    // answers decide them.
    let stock = "\
ggml_metal_device_init: GPU name:   MTL0 (Apple Paravirtual device)
ggml_metal_device_init: GPU family: MTLGPUFamilyApple5  (1005)
ggml_metal_device_init: GPU family: MTLGPUFamilyCommon3 (3003)
ggml_metal_device_init: simdgroup reduction   = false
ggml_metal_device_init: simdgroup matrix mul. = false
ggml_metal_device_init: has bfloat            = false
ggml_metal_device_init: has tensor            = false
";
    assert_eq!(built().run("llama").output().stderr, stock);
    let host = ask("llama", 1007, 32_768, true).stderr;
    assert!(host.contains("MTLGPUFamilyApple7  (1007)\n"), "{host}");
    assert!(host.contains("MTLGPUFamilyMetal3  (5001)\n"), "{host}");
    assert!(host.contains("simdgroup matrix mul. = true\n"), "{host}");
}

#[test]
fn mlx_goes_by_the_name_and_fails_where_metal_3_is_claimed() {
    assert_eq!(kernel("mlx", 1005, 32_768), "base_tiles");
    assert_eq!(kernel("mlx", 1009, 65_536), "base_tiles");
    let out = ask("mlx", 1009, 65_536, true);
    assert_eq!((out.code, out.stdout.as_str()), (Some(1), ""));
    assert!(out.stderr.contains("residency set"), "{}", out.stderr);
}

#[test]
fn wgpu_offers_64_bit_atomics_from_family_8() {
    assert_eq!(kernel("wgpu", 1007, 32_768), "atomics_32");
    assert_eq!(kernel("wgpu", 1008, 32_768), "atomics_64_min_max");
    assert_eq!(kernel("wgpu", 1009, 32_768), "atomics_64");
}

#[test]
fn a_client_without_a_device_says_so() {
    for client in ["toy", "llama", "mlx", "wgpu"] {
        let out = built().run(client).scenario("class-missing").output();
        assert_eq!(out.code, Some(1));
        assert_eq!(out.stderr, format!("{client}: no Metal device\n"));
    }
}

#[test]
fn callcost_measures_both_questions() {
    let out = built().run("callcost").arg("1000").output();
    for key in ["supports_family_ns", "max_threadgroup_memory_ns"] {
        let cost: f64 = out.get(key).unwrap().parse().unwrap();
        assert!(cost > 0.0, "{key} {cost}");
    }
}
