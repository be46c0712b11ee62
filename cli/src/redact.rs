//! Takes what names a person or a machine out of text that is sent to others.
//!
//! **Contract.** Home folders become `~`, other users' too; the user's and the machine's names
//! become `-` where they stand as words. What is left was looked at by nobody: the user reads it
//! before it is sent, and every command that makes such a file says so.

use std::path::Path;

/// Names shorter than this would be found in every other word.
const SHORTEST: usize = 3;

/// What is taken out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redactor {
    home: Option<String>,
    names: Vec<String>,
}

impl Redactor {
    /// Of this user and this machine.
    pub fn here(home: Option<&Path>) -> Self {
        let user = home.and_then(Path::file_name);
        let node = rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned();
        let short = node.split('.').next().unwrap_or_default().to_owned();
        Self::of(
            home,
            [
                user.map(|u| u.to_string_lossy().into_owned()),
                Some(node),
                Some(short),
            ]
            .into_iter()
            .flatten(),
        )
    }

    /// Of this home folder and these names.
    pub fn of(home: Option<&Path>, names: impl IntoIterator<Item = String>) -> Self {
        let home = home.map(|h| h.to_string_lossy().trim_end_matches('/').to_owned());
        let mut names: Vec<String> = names
            .into_iter()
            // `root` and `localhost` name nobody, and stand in many texts.
            .filter(|n| n.len() >= SHORTEST && n != "root" && n != "localhost")
            .collect();
        names.sort_by_key(|n| std::cmp::Reverse(n.len()));
        Self {
            home: home.filter(|h| h.len() > 1),
            names,
        }
    }

    /// The text without them.
    pub fn text(&self, text: &str) -> String {
        let mut out = match &self.home {
            Some(home) => text.replace(home.as_str(), "~"),
            None => text.to_owned(),
        };
        for folder in ["/Users/", "/home/"] {
            out = others(&out, folder);
        }
        for name in &self.names {
            out = words(&out, name);
        }
        out
    }

    /// Every string in it, names of fields left as they are.
    pub fn json(&self, value: &mut serde_json::Value) {
        use serde_json::Value;
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|v| self.json(v)),
            Value::Object(fields) => fields.values_mut().for_each(|v| self.json(v)),
            _ => {}
        }
    }
}

/// `/Users/somebody/x` is `~/x`.
fn others(text: &str, folder: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(folder) {
        let end = after.find(|c: char| c == '/' || c.is_whitespace() || c == '"');
        let end = end.unwrap_or(after.len());
        out.push_str(before);
        out.push_str(if end == 0 { folder } else { "~" });
        rest = after.get(end..).unwrap_or_default();
    }
    out + rest
}

fn words(text: &str, name: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    let part = |c: char| c.is_alphanumeric();
    while let Some((before, after)) = rest.split_once(name) {
        out.push_str(before);
        let whole = !out.ends_with(part) && !after.starts_with(part);
        out.push_str(if whole { "-" } else { name });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_and_names_go() {
        let names = ["maria".to_owned(), "marias-mini.local".to_owned()];
        let redactor = Redactor::of(Some(Path::new("/Users/maria")), names);
        for (text, left) in [
            ("/Users/maria/x.gguf", "~/x.gguf"),
            ("at /home/otto/y and /Users/otto", "at ~/y and ~"),
            ("by maria on marias-mini.local", "by - on -"),
            ("mariamne", "mariamne"),
            ("/Users/", "/Users/"),
            ("", ""),
        ] {
            assert_eq!(redactor.text(text), left);
        }
    }

    #[test]
    fn short_names_are_left() {
        let redactor = Redactor::of(None, ["vm".to_owned(), "root".to_owned()]);
        assert_eq!(redactor.text("vm root"), "vm root");
    }
}
