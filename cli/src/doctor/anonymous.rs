//! Takes personal data out of what is to be handed to others.
//!
//! **Contract.** What leaves here names neither the user nor the machine: the home folder, the
//! user's name and full name and the host's name become words in angle brackets, and so do home
//! folders of others, volumes, identifiers (UUIDs, MAC and e-mail addresses, what looks like a
//! serial number), and names in addresses. Two equal UUIDs stay recognisable as equal. Where it
//! is not certain that something is a name, it counts as one: what is lost costs a question,
//! what is told cannot be taken back. Keys are ours and stay, as do the UUIDs of Metal's code.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::variables::Variables;

/// Shorter names are replaced where they stand alone only: `al` is a part of `metal`.
const LONG: usize = 4;

/// What is replaced.
#[derive(Clone, Debug, Default)]
pub(crate) struct Anonymous {
    /// Text, and what stands for it; the longest first.
    names: Vec<(String, &'static str)>,
    uuids: BTreeMap<String, usize>,
}

impl Anonymous {
    /// Of the user and the machine of this process.
    pub(crate) fn here(variables: &Variables) -> Self {
        let get = |name: &str| std::env::var(name).unwrap_or_default();
        let mut names = Vec::new();
        if let Some(home) = &variables.home {
            let mut add = |home: &Path| {
                names.push((home.to_string_lossy().into_owned(), "<home>"));
                let last = home.file_name().map(|n| n.to_string_lossy().into_owned());
                names.extend(last.map(|name| (name, "<user>")));
            };
            add(home);
            // As programs see it that follow links.
            if let Ok(real) = home.canonicalize() {
                add(&real);
            }
        }
        for name in ["USER", "LOGNAME", "SUDO_USER"] {
            names.push((get(name), "<user>"));
        }
        names.extend(account().into_iter().map(|name| (name, "<user>")));
        for name in [host_name(), get("HOSTNAME"), get("HOST")] {
            let short = name.split('.').next().unwrap_or_default().to_owned();
            names.push((name, "<host>"));
            names.push((short, "<host>"));
        }
        Self::of(names)
    }

    fn of(mut names: Vec<(String, &'static str)>) -> Self {
        // Everybody's, or nobody's.
        let kept = ["", "/", "root", "localhost"];
        names.retain(|(name, _)| !kept.contains(&name.as_str()));
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        names.dedup();
        Self {
            names,
            uuids: BTreeMap::new(),
        }
    }

    /// All texts of `value`.
    pub(crate) fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(all) => all.iter_mut().for_each(|one| self.value(one)),
            Value::Object(all) => {
                for (key, one) in all.iter_mut() {
                    match key.as_str() {
                        // Apple's, the same for everybody with that build.
                        "metal_uuid" | "driver_uuid" => {}
                        // Ours, whatever a user is called.
                        "schema" | "check" | "severity" => {}
                        "args" => replace_all(one, "<argument>"),
                        "set" | "unset" => replace_all(one, "<variable>"),
                        _ => self.value(one),
                    }
                }
            }
            _ => {}
        }
    }

    /// One text.
    pub(crate) fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        // Whole paths before what is left of them.
        let (paths, names): (Vec<_>, Vec<_>) =
            self.names.iter().partition(|n| n.0.starts_with('/'));
        for (path, by) in paths {
            text = replaced(&text, path, by);
        }
        for (folder, by) in [
            ("/Users/", "<user>"),
            ("/home/", "<user>"),
            ("/Volumes/", "<volume>"),
            ("/var/folders/", "<user>"),
        ] {
            text = next_replaced(&text, folder, by);
        }
        for (name, by) in names {
            text = replaced(&text, name, by);
        }
        text = without_user_in_address(&text);
        self.tokens(&text)
    }

    /// Identifiers: each stands alone between characters that are in none.
    fn tokens(&mut self, text: &str) -> String {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-:@.+_%".contains(c);
        let mut out = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let start = rest.find(is_part).unwrap_or(rest.len());
            out.push_str(&rest[..start]);
            rest = &rest[start..];
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let (token, after) = rest.split_at(end);
            out.push_str(&self.token(token));
            rest = after;
        }
        out
    }

    fn token(&mut self, token: &str) -> String {
        let bare = token.trim_end_matches(['.', ':']);
        let end = &token[bare.len()..];
        let by = if is_uuid(bare) {
            let next = self.uuids.len() + 1;
            let number = *self.uuids.entry(bare.to_uppercase()).or_insert(next);
            format!("<uuid {number}>")
        } else if is_mac_address(bare) {
            "<address>".to_owned()
        } else if bare.split_once('@').is_some_and(|(who, at)| {
            !who.is_empty()
                && at.split('.').count() > 1
                && at.starts_with(|c: char| c.is_alphabetic())
        }) {
            "<e-mail>".to_owned()
        } else if is_serial(bare) {
            "<serial>".to_owned()
        } else {
            return token.to_owned();
        };
        by + end
    }
}

/// `name` as `by`, whatever its case. A short one only between characters that are in no name.
fn replaced(text: &str, name: &str, by: &str) -> String {
    let (low, name) = (text.to_ascii_lowercase(), name.to_ascii_lowercase());
    let alone = |at: usize| {
        let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !letter(before) && !letter(after)
    };
    let mut out = String::new();
    let mut from = 0;
    for (at, _) in low.match_indices(&name) {
        if name.len() >= LONG || alone(at) {
            out.push_str(&text[from..at]);
            out.push_str(by);
            from = at + name.len();
        }
    }
    out.push_str(&text[from..]);
    out
}

/// What stands behind each `folder`, up to the next slash.
fn next_replaced(text: &str, folder: &str, by: &str) -> String {
    let mut parts = text.split(folder);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(['/', '"', '\n']).unwrap_or(part.len());
        let ours = ["Shared", "My Shared Files"].contains(&&part[..end]) || part.starts_with('<');
        out.push_str(folder);
        out.push_str(if ours || end == 0 { &part[..end] } else { by });
        out.push_str(&part[end..]);
    }
    out
}

/// `scheme://name:word@host` without what is before the `@`.
fn without_user_in_address(text: &str) -> String {
    let mut parts = text.split("://");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(['/', ' ', '"']).unwrap_or(part.len());
        out.push_str("://");
        match part[..end].rfind('@') {
            Some(at) => out.push_str(&format!("<user>{}", &part[at..])),
            None => out.push_str(part),
        }
    }
    out
}

fn is_uuid(token: &str) -> bool {
    let lengths: Vec<usize> = token.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && token.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
}

fn is_mac_address(token: &str) -> bool {
    let parts: Vec<&str> = token.split([':', '-']).collect();
    let hex = |p: &&str| p.len() == 2 && p.bytes().all(|b| b.is_ascii_hexdigit());
    parts.len() == 6 && parts.iter().all(hex)
}

/// Apple's have 8 to 14 capitals and digits. A macOS build is shorter, or has a small letter.
fn is_serial(token: &str) -> bool {
    let both =
        token.bytes().any(|b| b.is_ascii_digit()) && token.bytes().any(|b| b.is_ascii_uppercase());
    let only = token
        .bytes()
        .all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
    (8..=14).contains(&token.len()) && both && only
}

fn replace_all(value: &mut Value, by: &str) {
    match value {
        Value::String(text) => by.clone_into(text),
        Value::Array(all) => all.iter_mut().for_each(|one| replace_all(one, by)),
        Value::Object(all) => all.values_mut().for_each(|one| replace_all(one, by)),
        _ => {}
    }
}

/// This user's name and full name, where they are in a file.
fn account() -> Vec<String> {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let us = rustix::process::getuid().as_raw().to_string();
    let ours = passwd
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let ours = ours.filter(|fields| fields.get(2) == Some(&us.as_str()));
    ours.flat_map(|fields| {
        let full = fields.get(4).and_then(|it| it.split(',').next());
        let names = [fields.first().copied(), full];
        names
            .into_iter()
            .flatten()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    })
    .collect()
}

fn host_name() -> String {
    #[cfg(target_os = "macos")]
    let name = {
        use sysctl::Sysctl;
        let read = sysctl::Ctl::new("kern.hostname").and_then(|ctl| ctl.value_string());
        read.unwrap_or_default()
    };
    #[cfg(not(target_os = "macos"))]
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[(&str, &'static str)]) -> Anonymous {
        Anonymous::of(names.iter().map(|(n, by)| ((*n).to_owned(), *by)).collect())
    }

    #[test]
    fn names_go_wherever_they_are() {
        let mut all = of(&[
            ("/Users/alice", "<home>"),
            ("alice", "<user>"),
            ("Alice Smith", "<user>"),
            ("Alices-Mac.local", "<host>"),
            ("Alices-Mac", "<host>"),
        ]);
        for (text, expected) in [
            ("/Users/alice/models/a.gguf", "<home>/models/a.gguf"),
            ("/opt/alice_tools/alice2", "/opt/<user>_tools/<user>2"),
            ("ALICE SMITH on alices-mac.LOCAL", "<user> on <host>"),
            (
                "/Users/bob/x and /home/carol",
                "/Users/<user>/x and /home/<user>",
            ),
            ("/Volumes/Alice's disk/m", "/Volumes/<volume>/m"),
            ("/Volumes/My Shared Files/a", "/Volumes/My Shared Files/a"),
            (
                "https://me:secret@host.example/x",
                "https://<user>@host.example/x",
            ),
            ("mail bob.b@example.org.", "mail <e-mail>."),
            ("at 00:1B:44:11:3A:B7", "at <address>"),
            ("serial C02XG0FDH7JY", "serial <serial>"),
            (
                "guest 25G76, host 26A5378n, P0001",
                "guest 25G76, host 26A5378n, P0001",
            ),
            (
                "llama.cpp@b10359 and VirtualMac2,1",
                "llama.cpp@b10359 and VirtualMac2,1",
            ),
        ] {
            assert_eq!(all.text(text), expected, "{text}");
        }
    }

    #[test]
    fn a_short_name_goes_where_it_stands_alone() {
        let mut all = of(&[("/home/al", "<home>"), ("al", "<user>")]);
        assert_eq!(
            all.text("metalshim, /home/al/x, al, al-2"),
            "metalshim, <home>/x, <user>, <user>-2"
        );
    }

    #[test]
    fn names_of_many_scripts_do_no_harm() {
        let mut all = of(&[
            ("ünï", "<user>"),
            ("名前", "<user>"),
            ("/Users/名前", "<home>"),
        ]);
        assert_eq!(all.text("/Users/名前/ä 名前 ünï"), "<home>/ä <user> <user>");
    }

    #[test]
    fn equal_uuids_stay_equal_and_metals_stay() {
        let (one, two) = (
            "3F0C5D6E-8A51-4C1B-9E27-5B1D0A6C2F44",
            "00000000-8A51-4C1B-9E27-5B1D0A6C2F44",
        );
        let mut value = serde_json::json!({
            "boot_session": one, "other": [two, one.to_lowercase()], "metal_uuid": two,
            "args": ["secret"], "set": [["NAME", "secret"]],
        });
        of(&[]).value(&mut value);
        assert_eq!(value["boot_session"], "<uuid 1>");
        assert_eq!(value["other"], serde_json::json!(["<uuid 2>", "<uuid 1>"]));
        assert_eq!(value["metal_uuid"], two);
        assert!(!value.to_string().contains("secret"), "{value}");
    }
}
