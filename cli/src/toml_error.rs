//! What is wrong with a TOML file that somebody else wrote.
//!
//! **Contract.** Key, line, column and reason; never a line of the file, and of its values at
//! most a few characters: a file that is no configuration, named by mistake, stays unread.

use crate::printer::escaped;

/// No key or reason is told further.
const MOST: usize = 160;

/// Like `line 3, column 5: min_evidence_level: it is 1, 2 or 3`.
pub fn says(text: &str, error: &toml::de::Error) -> String {
    let reason = escaped(&short(&without_value(error.message()))).into_owned();
    let start = error.span().map(|span| span.start);
    let Some(before) = start.and_then(|start| text.get(..start)) else {
        return reason;
    };
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    let key = text
        .lines()
        .nth(line - 1)
        .and_then(key)
        .filter(|key| !reason.contains(&format!("`{key}`")));
    let key = key.map(|key| format!("{key}: ")).unwrap_or_default();
    format!("line {line}, column {column}: {key}{reason}")
}

/// The key of a line, where it has a plain one.
fn key(line: &str) -> Option<&str> {
    let key = line.split_once('=')?.0.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (!key.is_empty() && key.len() <= 40 && key.chars().all(plain)).then_some(key)
}

/// `invalid type: string "..", expected u8` without what was there.
fn without_value(message: &str) -> String {
    let kinds = ["invalid type: ", "invalid value: "];
    let Some(kind) = kinds.iter().find(|kind| message.starts_with(**kind)) else {
        return message.to_owned();
    };
    match message[kind.len()..].rsplit_once(", expected ") {
        Some((what, expected)) => {
            let what = what.split([' ', '`', '"']).next().unwrap_or_default();
            format!("{kind}{what}, expected {expected}")
        }
        None => kind.trim_end_matches(": ").to_owned(),
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use compatdb::Policy;

    use super::*;

    fn told(text: &str) -> String {
        says(text, &toml::from_str::<Policy>(text).unwrap_err())
    }

    #[test]
    fn key_line_column_and_reason_and_no_line_of_the_file() {
        assert!(
            told("# a comment\nmax_profil = \"1007/32768\"\n")
                .starts_with("line 2, column 1: unknown field `max_profil`, expected one of")
        );
        assert_eq!(
            told("forbid_unverified = \"hunter2 hunter2\"\n"),
            "line 1, column 21: forbid_unverified: invalid type: string, expected a boolean"
        );
    }

    #[test]
    fn a_file_that_was_named_by_mistake_is_not_told() {
        for secret in [
            "root:$6$secret$secret:19000::::::\n",
            "-----BEGIN PRIVATE KEY-----\nMIIsecret\n",
            "password = secret\n",
            "\u{1b}[31msecret\u{7} = 1\n",
        ] {
            let told = told(secret);
            assert!(!told.contains("secret:"), "{told}");
            assert!(!told.contains("MII") && !told.contains('\u{1b}'), "{told}");
        }
        let long = format!("{} = 1\n", "k".repeat(5000));
        assert!(told(&long).len() < 250);
    }
}
