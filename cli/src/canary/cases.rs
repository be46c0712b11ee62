//! What is run: the kernels' sources, and for each case its buffers, its launch, and what has
//! to come back.

use super::formats::{Format, Values, bfloat, half};
use super::pages::Pages;
use super::reference::{self, LANES, Near, Shared};

/// One file of kernels, compiled as one library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Library {
    /// The file's name without `.metal`.
    pub name: &'static str,
    /// Metal Shading Language.
    pub source: &'static str,
}

/// All of them.
pub const LIBRARIES: [Library; 5] = [
    Library {
        name: "simd",
        source: include_str!("kernels/simd.metal"),
    },
    Library {
        name: "matrix",
        source: include_str!("kernels/matrix.metal"),
    },
    Library {
        name: "bfloat",
        source: include_str!("kernels/bfloat.metal"),
    },
    Library {
        name: "rows",
        source: include_str!("kernels/rows.metal"),
    },
    Library {
        name: "memory",
        source: include_str!("kernels/memory.metal"),
    },
];

/// What a kernel's argument is bound to, in the order of its buffers.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// These bytes.
    In(Vec<u8>),
    /// The results.
    Out(Output),
    /// The pages of the file, with nothing copied.
    File,
}

/// Results: read in this format, they have to be near these.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Their format.
    pub format: Format,
    /// What they have to be.
    pub near: Vec<Near>,
}

impl Output {
    /// How many bytes they are.
    pub fn len(&self) -> usize {
        self.near.len() * self.format.size()
    }

    /// Whether nothing comes back, which is never so.
    pub fn is_empty(&self) -> bool {
        self.near.is_empty()
    }
}

/// One kernel, its data, and what has to come back.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// As reports name it.
    pub name: &'static str,
    /// The library that the kernel is in.
    pub library: &'static str,
    /// The kernel.
    pub kernel: &'static str,
    /// Threadgroups, in x and y.
    pub groups: [usize; 2],
    /// Threads of each.
    pub threads: usize,
    /// Bytes of threadgroup memory.
    pub memory: usize,
    /// Its buffers.
    pub arguments: Vec<Argument>,
}

impl Case {
    /// Its results: every case has one buffer of them.
    pub fn output(&self) -> Option<&Output> {
        self.arguments.iter().find_map(|argument| match argument {
            Argument::Out(output) => Some(output),
            _ => None,
        })
    }
}

fn bytes<T, const N: usize>(values: &[T], of: impl Fn(&T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(of).collect()
}

fn floats(values: &[f32]) -> Argument {
    Argument::In(bytes(values, |v| v.to_le_bytes()))
}

fn shorts(values: &[u16]) -> Argument {
    Argument::In(bytes(values, |v| v.to_le_bytes()))
}

fn words(values: &[u32]) -> Argument {
    Argument::In(bytes(values, |v| v.to_le_bytes()))
}

fn out(format: Format, near: Vec<Near>) -> Argument {
    Argument::Out(Output { format, near })
}

fn made<T>(count: usize, one: impl FnMut() -> T) -> Vec<T> {
    std::iter::repeat_with(one).take(count).collect()
}

/// All cases but those of threadgroup memory beyond the hardware's and of the file, with
/// other values for every `seed`.
pub fn cases(seed: u64) -> Vec<Case> {
    let mut values = Values::new(seed);
    let values = &mut values;
    vec![
        simd_sums(values),
        simd_shuffles(values),
        matrix_half(values),
        matrix_float(values),
        bfloat_arithmetic(values),
        soft_max("soft-max", values, 4, 1000, 256),
        // Fewer values than threads, and not a multiple of anything.
        soft_max("soft-max-short", values, 3, 37, 64),
        rms_norm("rms-norm", values, 4, 2048, 256),
        rms_norm("rms-norm-short", values, 3, 36, 32),
        threadgroup_memory("threadgroup-memory", values, 32_768),
    ]
}

fn simd_sums(values: &mut Values) -> Case {
    let (groups, threads) = (8, 128);
    let own = made(groups * threads, || values.float(8.0));
    Case {
        name: "simd-sums",
        library: "simd",
        kernel: "simd_sums",
        groups: [groups, 1],
        threads,
        memory: 0,
        arguments: vec![floats(&own), out(Format::Float, reference::simd_sums(&own))],
    }
}

fn simd_shuffles(values: &mut Values) -> Case {
    let (groups, threads) = (4, 64);
    let own = made(groups * threads, || values.word());
    Case {
        name: "simd-shuffles",
        library: "simd",
        kernel: "simd_shuffles",
        groups: [groups, 1],
        threads,
        memory: 0,
        arguments: vec![
            words(&own),
            out(Format::Word, reference::simd_shuffles(&own)),
        ],
    }
}

/// Rows of A, what both have in common, columns of B.
const SIDES: [usize; 3] = [32, 64, 48];

fn matrix_half(values: &mut Values) -> Case {
    let [rows, inner, columns] = SIDES;
    let a = made(rows * inner, || values.half());
    let b = made(inner * columns, || values.half());
    let read = |all: &[u16]| all.iter().map(|v| half(*v)).collect::<Vec<_>>();
    let near = reference::matrix(&read(&a), &read(&b), inner, columns);
    Case {
        name: "matrix-half",
        library: "matrix",
        kernel: "matrix_half",
        groups: [columns / 8, rows / 8],
        threads: LANES,
        memory: 256,
        arguments: vec![
            shorts(&a),
            shorts(&b),
            out(Format::Float, near),
            words(&[inner as u32, columns as u32]),
        ],
    }
}

fn matrix_float(values: &mut Values) -> Case {
    let [rows, inner, columns] = SIDES;
    let a = made(rows * inner, || values.float(2.0));
    let b = made(inner * columns, || values.float(2.0));
    let read = |all: &[f32]| all.iter().map(|v| f64::from(*v)).collect::<Vec<_>>();
    let near = reference::matrix(&read(&a), &read(&b), inner, columns);
    Case {
        name: "matrix-float",
        library: "matrix",
        kernel: "matrix_float",
        groups: [columns / 8, rows / 8],
        threads: LANES,
        memory: 0,
        arguments: vec![
            floats(&a),
            floats(&b),
            out(Format::Float, near),
            words(&[inner as u32, columns as u32]),
        ],
    }
}

fn bfloat_arithmetic(values: &mut Values) -> Case {
    let (groups, threads) = (4, 64);
    let [a, b, c] = [(); 3].map(|()| made(groups * threads, || values.bfloat()));
    let read = |all: &[u16]| all.iter().map(|v| bfloat(*v)).collect::<Vec<_>>();
    let near = reference::bfloat_arithmetic(&read(&a), &read(&b), &read(&c));
    Case {
        name: "bfloat",
        library: "bfloat",
        kernel: "bfloat_arithmetic",
        groups: [groups, 1],
        threads,
        memory: 0,
        arguments: vec![
            shorts(&a),
            shorts(&b),
            shorts(&c),
            out(Format::Bfloat, near),
        ],
    }
}

fn soft_max(
    name: &'static str,
    values: &mut Values,
    rows: usize,
    columns: usize,
    threads: usize,
) -> Case {
    let scale = 0.125;
    let scores = made(rows * columns, || values.float(40.0));
    // Halves below 0, as a slope or a mask gives them.
    let mask = made(columns, || values.half() | 0x8000);
    let read: Vec<f64> = mask.iter().map(|v| half(*v)).collect();
    let of_row = |row| reference::soft_max(row, &read, scale, Shared { threads });
    let near = scores.chunks_exact(columns).flat_map(of_row).collect();
    let mut args = (columns as u32).to_le_bytes().to_vec();
    args.extend(scale.to_le_bytes());
    Case {
        name,
        library: "rows",
        kernel: "soft_max",
        groups: [rows, 1],
        threads,
        memory: LANES * 4,
        arguments: vec![
            floats(&scores),
            shorts(&mask),
            out(Format::Float, near),
            Argument::In(args),
        ],
    }
}

fn rms_norm(
    name: &'static str,
    values: &mut Values,
    rows: usize,
    columns: usize,
    threads: usize,
) -> Case {
    let epsilon = 1e-5f32;
    let own = made(rows * columns, || values.float(10.0));
    let of_row = |row| reference::rms_norm(row, epsilon, Shared { threads });
    let near = own.chunks_exact(columns).flat_map(of_row).collect();
    let mut args = (columns as u32 / 4).to_le_bytes().to_vec();
    args.extend(epsilon.to_le_bytes());
    Case {
        name,
        library: "rows",
        kernel: "rms_norm",
        groups: [rows, 1],
        threads,
        memory: LANES * 4,
        arguments: vec![floats(&own), out(Format::Float, near), Argument::In(args)],
    }
}

/// Threadgroup memory of `memory` bytes, all of it in use.
fn threadgroup_memory(name: &'static str, values: &mut Values, memory: usize) -> Case {
    let (groups, threads, count) = (8, 256, memory / 4);
    let seeds = made(groups, || values.word());
    let near = reference::threadgroup_words(&seeds, count, threads);
    Case {
        name,
        library: "memory",
        kernel: "threadgroup_words",
        groups: [groups, 1],
        threads,
        memory,
        arguments: vec![
            words(&seeds),
            out(Format::Word, near),
            words(&[count as u32]),
        ],
    }
}

/// The case beyond what the hardware is known to have: `memory` bytes, as the profile says.
pub fn large_memory(seed: u64, memory: usize) -> Case {
    threadgroup_memory("threadgroup-memory-large", &mut Values::new(seed), memory)
}

/// A buffer over a file's pages.
pub fn file_pages(pages: &Pages) -> Case {
    let threads = 64;
    let near = (0..pages.count).flat_map(|page| pages.stamp(page).map(Near::exactly));
    let mut args = (Pages::SIZE / 16).to_le_bytes().to_vec();
    args.extend(pages.count.to_le_bytes());
    let count = usize::try_from(pages.count).unwrap_or(usize::MAX);
    Case {
        name: "file-pages",
        library: "memory",
        kernel: "file_pages",
        groups: [count.div_ceil(threads), 1],
        threads,
        memory: 0,
        arguments: vec![
            Argument::File,
            out(Format::Word, near.collect()),
            Argument::In(args),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Case> {
        let mut all = cases(1);
        all.push(large_memory(1, 65_536));
        all.push(file_pages(&Pages { seed: 1, count: 8 }));
        all
    }

    #[test]
    fn every_kernel_has_a_case_and_every_case_its_kernel() {
        for library in LIBRARIES {
            let names = library.source.split("kernel void ").skip(1);
            for name in names.filter_map(|rest| rest.split('(').next()) {
                let used = |c: &Case| c.library == library.name && c.kernel == name;
                assert!(all().iter().any(used), "{}: {name}", library.name);
            }
        }
        for case in all() {
            let library = LIBRARIES.iter().find(|l| l.name == case.library).unwrap();
            let head = format!("kernel void {}(", case.kernel);
            let (_, rest) = library.source.split_once(&head).unwrap();
            let head = rest.split(')').next().unwrap();
            assert!(!head.is_empty());
            let buffers = rest.split('{').next().unwrap().matches("[[buffer(").count();
            assert_eq!(buffers, case.arguments.len(), "{}", case.name);
        }
    }

    #[test]
    fn launches_are_what_any_device_takes() {
        for case in all() {
            assert!(
                case.threads <= 256 && case.threads.is_multiple_of(LANES),
                "{}",
                case.name
            );
            assert!(case.memory.is_multiple_of(16), "{}", case.name);
            assert!(!case.output().unwrap().is_empty(), "{}", case.name);
        }
    }

    #[test]
    fn another_seed_wants_other_results() {
        for (one, other) in cases(1).iter().zip(&cases(2)) {
            let near = |case: &Case| case.output().unwrap().near.clone();
            let (one_, other_) = (near(one), near(other));
            // So that what stays from an earlier run is wrong, not only a little off.
            let differ = one_.iter().zip(&other_);
            let apart = differ.filter(|(a, b)| (a.want - b.want).abs() > 10.0 * a.within);
            assert!(apart.count() * 2 > one_.len(), "{}", one.name);
        }
    }

    #[test]
    fn no_tolerance_lets_zeros_or_halves_pass() {
        for case in all() {
            let near = &case.output().unwrap().near;
            let tight = near.iter().filter(|n| n.within < n.want.abs() / 50.0);
            assert!(tight.count() * 10 > near.len() * 9, "{}", case.name);
        }
    }
}
