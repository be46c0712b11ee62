//! What the client's source says about the two answers: counted words, nothing of its text.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Source {
    /// What `supportsFamily:` is called with.
    pub(crate) families: BTreeSet<String>,
    /// Lines that use the threadgroup limit, asked or kept.
    pub(crate) limit_lines: usize,
    /// Lines that use the kept number of the highest family.
    pub(crate) family_lines: usize,
    /// Rows of the tuning table, by family.
    pub(crate) rows: BTreeMap<u16, usize>,
}

/// Reads the Metal backend's files; what cannot be read counts nothing.
pub(crate) fn read(ggml: &Path) -> Source {
    let mut source = Source::default();
    let mut files: Vec<PathBuf> = ["src/ggml-metal", "src"]
        .iter()
        .filter_map(|folder| fs::read_dir(ggml.join(folder)).ok())
        .flat_map(|entries| entries.flatten().map(|entry| entry.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("ggml-metal")
                && [".m", ".cpp", ".h"]
                    .iter()
                    .any(|suffix| name.ends_with(suffix))
        })
        .collect();
    files.sort();
    for file in files {
        count(&fs::read_to_string(file).unwrap_or_default(), &mut source);
    }
    source
}

fn count(text: &str, source: &mut Source) {
    for line in text.lines() {
        let code = line.trim_start();
        if code.starts_with("//") {
            continue;
        }
        for (at, call) in code.match_indices("supportsFamily:") {
            let argument = code.get(at + call.len()..).unwrap_or_default();
            let end = argument.find(']').unwrap_or(argument.len());
            let argument = argument.get(..end).unwrap_or_default();
            source.families.insert(argument.trim().to_owned());
        }
        // The second is how ggml itself spells it.
        if [
            "maxThreadgroupMemoryLength",
            "max_theadgroup_memory_size",
            "max_threadgroup_memory_size",
        ]
        .iter()
        .any(|word| code.contains(word))
        {
            source.limit_lines += 1;
        }
        if code.contains("gpu_family") {
            source.family_lines += 1;
        }
        if let Some(family) = row_family(code) {
            *source.rows.entry(family).or_default() += 1;
        }
    }
}

/// The family of a line that is a row of the tuning table: `{ { 7, GGML_TYPE_F16, ..`.
fn row_family(code: &str) -> Option<u16> {
    let rest = code.strip_prefix('{')?.trim_start().strip_prefix('{')?;
    let (family, rest) = rest.split_once(',')?;
    rest.trim_start()
        .starts_with("GGML_TYPE_")
        .then(|| family.trim().parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::{Source, count};

    #[test]
    fn counts_what_the_answers_decide() {
        let mut source = Source::default();
        count(
            "a = [dev supportsFamily:MTLGPUFamilyApple7] || [dev supportsFamily:i];\n\
             // [dev supportsFamily:MTLGPUFamilyApple9]\n\
             if (smem > dev.maxThreadgroupMemoryLength) {\n\
             p->gpu_family = i;\n\
             { { 7, GGML_TYPE_F16, 64, 64, 1, 1 }, { 2, 4 } },\n\
             { { 10, GGML_TYPE_F16, 64, 64, 1, 1 }, { 2, 4 } },\n\
             { 7, GGML_OTHER },\n",
            &mut source,
        );
        let families: Vec<&str> = source.families.iter().map(String::as_str).collect();
        assert_eq!(families, ["MTLGPUFamilyApple7", "i"]);
        assert_eq!((source.limit_lines, source.family_lines), (1, 1));
        assert_eq!(
            source.rows.into_iter().collect::<Vec<_>>(),
            [(7, 1), (10, 1)]
        );
    }
}
