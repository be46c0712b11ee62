//! Words as a shell takes them.

use std::ffi::OsStr;

/// One word, in quotes where it needs them.
pub fn quoted(word: impl AsRef<OsStr>) -> String {
    let text = word.as_ref().to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A line of words.
pub fn line<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> String {
    let words: Vec<String> = words.into_iter().map(quoted).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_words_back() {
        let words = ["a b", "it's", "$HOME", "", "-m", "x=1;rm", "tüte", "*"];
        let script = format!("printf '%s\\n' {}", line(words));
        let output = std::process::Command::new("sh")
            .args(["-c", &script])
            .output()
            .unwrap();
        let read = String::from_utf8(output.stdout).unwrap();
        assert_eq!(read.trim_end_matches('\n'), words.join("\n"));
        assert_eq!(quoted("/opt/llama-cli"), "/opt/llama-cli");
    }
}
