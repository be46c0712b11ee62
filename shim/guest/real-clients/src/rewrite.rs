//! Small changes to a copy of the client's Objective-C files, so that clang takes them for GNU's
//! runtime. That runtime is the one in which the simulated guest lives; for it, clang knows
//! neither subscripts of collections nor properties without an instance variable. Meaning, and
//! the numbers of the lines, stay.

/// The file with subscripts and properties in the older style.
pub(crate) fn for_gnu_runtime(source: &str) -> String {
    let mut text = properties(source);
    for (name, dictionary) in collections(source) {
        text = subscripts(&text, &name, dictionary);
    }
    // The one subscript of a message's result in all versions seen.
    text.replace(
        "[[NSProcessInfo processInfo] arguments][0]",
        "[[[NSProcessInfo processInfo] arguments] objectAtIndex:0]",
    )
}

/// Names that are declared as a pointer to an array or a dictionary, and which it is.
fn collections(source: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for (kind, dictionary) in [("Array", false), ("Dictionary", true)] {
        for (at, _) in source.match_indices(kind) {
            let before = source.get(..at).unwrap_or_default();
            if !before.ends_with("NS") && !before.ends_with("NSMutable") {
                continue;
            }
            let after = source.get(at + kind.len()..).unwrap_or_default();
            let after = skip_generic(after).trim_start();
            // One star, and then the name.
            let Some(name) = after.strip_prefix('*').map(|rest| word(rest.trim_start())) else {
                continue;
            };
            if !name.is_empty() && !found.iter().any(|(known, _)| known == name) {
                found.push((name.to_owned(), dictionary));
            }
        }
    }
    found
}

/// Without a leading `<NSString *, NSNumber *>`.
fn skip_generic(text: &str) -> &str {
    match text.strip_prefix('<') {
        Some(rest) => rest.split_once('>').map_or(text, |(_, after)| after),
        None => text,
    }
}

fn word(text: &str) -> &str {
    let end = text
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// `a->name[key]` and `name[key] = value;` for one name.
fn subscripts(text: &str, name: &str, dictionary: bool) -> String {
    let needle = format!("{name}[");
    let getter = if dictionary {
        "objectForKey"
    } else {
        "objectAtIndex"
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(&needle) {
        let (before, from) = rest.split_at(at);
        let inside = from.get(needle.len()..).unwrap_or_default();
        let key = word(inside);
        let after = inside.get(key.len()..).unwrap_or_default();
        let starts_inside_word = before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let Some(after) = after
            .strip_prefix(']')
            .filter(|_| !starts_inside_word && !key.is_empty())
        else {
            let (kept, next) = rest.split_at(at + needle.len());
            out.push_str(kept);
            rest = next;
            continue;
        };
        // What leads to it: `ctx->`, `a->b->`.
        let lead_start = before
            .rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '>')))
            .map_or(0, |i| i + 1);
        let (kept, lead) = before.split_at(lead_start);
        out.push_str(kept);
        let stored = after
            .strip_prefix(" = ")
            .and_then(|value| value.split_once(';'));
        match stored {
            Some((value, next)) if dictionary => {
                out.push_str(&format!("[{lead}{name} setObject:{value} forKey:{key}];"));
                rest = next;
            }
            _ => {
                out.push_str(&format!("[{lead}{name} {getter}:{key}]"));
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Gives each property of a class that the file itself declares its instance variable.
fn properties(source: &str) -> String {
    let mut lines: Vec<String> = source.split('\n').map(str::to_owned).collect();
    let mut class: Option<(usize, String)> = None;
    let mut made: Vec<(String, String)> = Vec::new();
    for at in 0..lines.len() {
        let line = lines.get(at).cloned().unwrap_or_default();
        if let Some(rest) = line.strip_prefix("@interface ") {
            class = Some((at, word(rest).to_owned()));
        } else if line.starts_with("@end") {
            class = None;
        } else if let Some(name) = line.strip_prefix("@implementation ").map(word) {
            let synthesized: String = made
                .iter()
                .filter(|(of, _)| of == name)
                .map(|(_, property)| format!(" @synthesize {property};"))
                .collect();
            if let Some(line) = lines.get_mut(at) {
                line.push_str(&synthesized);
            }
        } else if let (Some((start, of)), Some(declared)) = (&class, line.strip_prefix("@property"))
        {
            // After the attributes in brackets: type, name, semicolon.
            let declared = declared.trim_start();
            let declared = match declared.strip_prefix('(') {
                Some(rest) => rest.split_once(')').map_or(rest, |(_, after)| after),
                None => declared,
            };
            let Some(declared) = declared.trim().strip_suffix(';') else {
                continue;
            };
            let name = declared
                .rsplit(|c: char| c.is_whitespace() || c == '*')
                .next()
                .unwrap_or_default();
            made.push((of.clone(), name.to_owned()));
            if let Some(line) = lines.get_mut(*start) {
                line.push_str(&format!(" {{ {declared}; }}"));
            }
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::for_gnu_runtime;

    #[test]
    fn subscripts_of_collections_become_messages() {
        for (before, after) in [
            (
                "NSMutableArray * many; x = ctx->many[i];",
                "NSMutableArray * many; x = [ctx->many objectAtIndex:i];",
            ),
            (
                "NSMutableDictionary<NSString *, NSNumber *> * table; table[name] = @(kind); y = lib->table[name];",
                "NSMutableDictionary<NSString *, NSNumber *> * table; [table setObject:@(kind) forKey:name]; y = [lib->table objectForKey:name];",
            ),
            (
                "bin = [[NSProcessInfo processInfo] arguments][0];",
                "bin = [[[NSProcessInfo processInfo] arguments] objectAtIndex:0];",
            ),
            // Arrays of C, and names that only end alike.
            (
                "NSArray * all; overall[i] = all_of[j]; NSString ** paths; p = paths[k];",
                "NSArray * all; overall[i] = all_of[j]; NSString ** paths; p = paths[k];",
            ),
        ] {
            assert_eq!(for_gnu_runtime(before), after);
        }
    }

    #[test]
    fn properties_get_their_variable_on_the_same_lines() {
        let before = "@interface holder : NSObject\n\n@property (nonatomic, assign) struct heap * data;\n\n@end\n\n@implementation holder\n@end\n";
        let after = "@interface holder : NSObject { struct heap * data; }\n\n@property (nonatomic, assign) struct heap * data;\n\n@end\n\n@implementation holder @synthesize data;\n@end\n";
        assert_eq!(for_gnu_runtime(before), after);
    }

    #[test]
    fn other_text_is_left_alone() {
        let text =
            "static int a[4];\n@interface C : NSObject\n@end\n@implementation C\n@end\n[x y];\n";
        assert_eq!(for_gnu_runtime(text), text);
    }
}
