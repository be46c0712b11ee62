//! The first line of a script, read as the system reads it, and the command line of `env`.
//!
//! The two systems differ. Linux reads 256 bytes and hands everything behind the interpreter
//! over as one argument; macOS reads 512, ends the line at a `#` too, and splits it at blanks
//! (xnu, `exec_shell_imgact`, `IMG_SHSIZE`).

use super::System;
use super::code::Code;

/// The first line of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shebang {
    /// The interpreter as it is written: relative names count from the working folder.
    pub interpreter: Vec<u8>,
    /// What is handed to it in front of the script's own path.
    pub arguments: Vec<Vec<u8>>,
}

/// How much of a script has to be read.
pub const LINE: usize = 512;

/// Whether these are the first bytes of a script.
pub fn is_script(start: &[u8]) -> bool {
    start.starts_with(b"#!")
}

fn blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn trim(mut line: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = line
        && blank(first)
    {
        line = rest;
    }
    while let [rest @ .., last] = line
        && blank(last)
    {
        line = rest;
    }
    line
}

/// Reads the first line from the first [`LINE`] bytes of a script (fewer if it is shorter).
///
/// # Errors
/// The code that says what is wrong with it.
pub fn parse(start: &[u8], system: System) -> Result<Shebang, Code> {
    let limit = match system {
        System::Mac => 512,
        System::Linux => 256,
    };
    let seen = start.get(2..start.len().min(limit)).unwrap_or_default();
    let ends = |byte: &u8| *byte == b'\n' || (system == System::Mac && *byte == b'#');
    let line = match seen.iter().position(ends) {
        Some(end) => &seen[..end],
        // A script may be its first line alone, without an end.
        None if start.len() < limit && system == System::Linux => seen,
        None if start.len() < limit => return Err(Code::ShebangBad),
        None => return Err(Code::ShebangTooLong),
    };
    if line.ends_with(b"\r") {
        return Err(Code::ShebangCrlf);
    }
    let line = trim(line);
    if line.is_empty() || line.contains(&0) {
        return Err(Code::ShebangBad);
    }
    let end = line.iter().position(blank).unwrap_or(line.len());
    let (interpreter, rest) = line.split_at(end);
    let rest = trim(rest);
    let arguments = match system {
        _ if rest.is_empty() => Vec::new(),
        System::Mac => {
            let words = rest.split(blank).filter(|word| !word.is_empty());
            words.map(<[u8]>::to_vec).collect()
        }
        System::Linux => vec![rest.to_vec()],
    };
    Ok(Shebang {
        interpreter: interpreter.to_vec(),
        arguments,
    })
}

/// What a command line of `env` asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvCall {
    /// `-i`: the program starts with none of the variables.
    pub clear: bool,
    /// `-u NAME`.
    pub unset: Vec<Vec<u8>>,
    /// `NAME=VALUE`, in order.
    pub set: Vec<(Vec<u8>, Vec<u8>)>,
    /// `-P PATH`: where the program is looked for instead (macOS, FreeBSD).
    pub search: Option<Vec<u8>>,
    /// `-a NAME`: the name that the program is started under (GNU).
    pub arg0: Option<Vec<u8>>,
    /// The program and its arguments; empty if none is named.
    pub command: Vec<Vec<u8>>,
}

/// Reads the arguments of `env` (without its own name). `variable` answers what `${NAME}` in
/// `-S` stands for.
///
/// # Errors
/// The option or the part of it that cannot be done without `env`.
pub fn env(
    arguments: Vec<Vec<u8>>,
    variable: &dyn Fn(&[u8]) -> Option<Vec<u8>>,
) -> Result<EnvCall, String> {
    let mut call = EnvCall::default();
    let mut left: std::collections::VecDeque<Vec<u8>> = arguments.into();
    // Each -S puts words in front of the others; a text that does so for ever is not meant.
    let mut splits = 0;
    while let Some(word) = left.pop_front() {
        if word == b"--" {
            break;
        }
        if word == b"-" {
            call.clear = true;
            continue;
        }
        let Some(options) = word.strip_prefix(b"-") else {
            left.push_front(word);
            break;
        };
        let next = |attached: Option<&[u8]>, left: &mut std::collections::VecDeque<Vec<u8>>| {
            let value = attached.map(<[u8]>::to_vec).or_else(|| left.pop_front());
            value.ok_or_else(|| format!("{} without a value", String::from_utf8_lossy(&word)))
        };
        if let Some(long) = options.strip_prefix(b"-") {
            let equals = long.iter().position(|byte| *byte == b'=');
            let (name, value) = match equals {
                Some(at) => (&long[..at], Some(&long[at + 1..])),
                None => (long, None),
            };
            match (name, value) {
                (b"ignore-environment", None) => call.clear = true,
                (b"unset", value) => call.unset.push(next(value, &mut left)?),
                (b"argv0", value) => call.arg0 = Some(next(value, &mut left)?),
                (b"split-string", value) => {
                    let text = next(value, &mut left)?;
                    split_into(&text, variable, &mut left, &mut splits)?;
                }
                _ => return Err(String::from_utf8_lossy(&word).into_owned()),
            }
            continue;
        }
        let mut at = 0;
        while let Some(option) = options.get(at) {
            at += 1;
            let attached = Some(&options[at..]).filter(|rest| !rest.is_empty());
            match option {
                b'i' => {
                    call.clear = true;
                    continue;
                }
                b'u' => call.unset.push(next(attached, &mut left)?),
                b'a' => call.arg0 = Some(next(attached, &mut left)?),
                b'P' => call.search = Some(next(attached, &mut left)?),
                b'S' => {
                    let text = next(attached, &mut left)?;
                    split_into(&text, variable, &mut left, &mut splits)?;
                }
                other => return Err(format!("-{}", char::from(*other))),
            }
            break;
        }
    }
    while let Some(word) = left.pop_front() {
        match word.iter().position(|byte| *byte == b'=') {
            Some(at) => call
                .set
                .push((word[..at].to_vec(), word[at + 1..].to_vec())),
            None => {
                call.command.push(word);
                call.command.extend(left);
                break;
            }
        }
    }
    Ok(call)
}

fn split_into(
    text: &[u8],
    variable: &dyn Fn(&[u8]) -> Option<Vec<u8>>,
    left: &mut std::collections::VecDeque<Vec<u8>>,
    splits: &mut usize,
) -> Result<(), String> {
    *splits += 1;
    if *splits > 8 {
        return Err("-S within -S".into());
    }
    for word in split(text, variable)?.into_iter().rev() {
        left.push_front(word);
    }
    Ok(())
}

/// Splits the text of `-S` into words: blanks separate, both kinds of quotes, backslash
/// escapes, `${NAME}`, and `#` at the start of a word ends it all.
fn split(text: &[u8], variable: &dyn Fn(&[u8]) -> Option<Vec<u8>>) -> Result<Vec<Vec<u8>>, String> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote: Option<u8> = None;
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        rest = after;
        match (quote, *byte) {
            (Some(open), byte) if byte == open => quote = None,
            (None, byte @ (b'"' | b'\'')) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (None, b' ' | b'\t' | b'\n' | b'\x0b' | b'\x0c' | b'\r') => words.extend(word.take()),
            (None, b'#') if word.is_none() => break,
            (Some(b'\''), b'\\') => {
                // Within single quotes only these two are escapes.
                let escaped = match rest {
                    [next @ (b'\'' | b'\\'), after @ ..] => {
                        rest = after;
                        *next
                    }
                    _ => b'\\',
                };
                word.get_or_insert_default().push(escaped);
            }
            (_, b'\\') => {
                let [next, after @ ..] = rest else {
                    return Err("-S with a backslash at its end".into());
                };
                rest = after;
                let byte = match (next, quote) {
                    (b'c', None) => break,
                    (b'_', None) => {
                        words.extend(word.take());
                        continue;
                    }
                    (b'_', Some(_)) => b' ',
                    (b'f', _) => b'\x0c',
                    (b'n', _) => b'\n',
                    (b'r', _) => b'\r',
                    (b't', _) => b'\t',
                    (b'v', _) => b'\x0b',
                    (b'#' | b'$' | b'"' | b'\'' | b'\\', _) => *next,
                    (b' ', None) => b' ',
                    (other, _) => return Err(format!("-S with \\{}", char::from(*other))),
                };
                word.get_or_insert_default().push(byte);
            }
            (None | Some(b'"'), b'$') => {
                let name = rest.strip_prefix(b"{").and_then(|name| {
                    let end = name.iter().position(|byte| *byte == b'}')?;
                    rest = &name[end + 1..];
                    Some(&name[..end])
                });
                let name = name.filter(|name| {
                    let first = name.first().is_some_and(|byte| !byte.is_ascii_digit());
                    first
                        && name
                            .iter()
                            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
                });
                let name = name.ok_or("-S with a $ that is not ${NAME}")?;
                if let Some(value) = variable(name) {
                    word.get_or_insert_default().extend(value);
                }
            }
            (_, byte) => word.get_or_insert_default().push(byte),
        }
    }
    if quote.is_some() {
        return Err("-S with a quote that does not end".into());
    }
    words.extend(word);
    Ok(words)
}

/// The interpreter behind a script that is a shell script only because a `#!` line cannot
/// hold its path (as pip and others write it): the second line replaces the shell by the
/// interpreter, which reads both lines as one text.
pub fn shell_in_front(script: &[u8]) -> Option<Vec<u8>> {
    let mut lines = script.split(|byte| *byte == b'\n').skip(1);
    let second = lines.next()?.strip_prefix(b"'''exec' ")?;
    let third = lines.next()?;
    let (path, rest) = match second.strip_prefix(b"\"") {
        Some(quoted) => {
            let end = quoted.iter().position(|byte| *byte == b'"')?;
            (&quoted[..end], &quoted[end + 1..])
        }
        None => second.split_at(second.iter().position(blank)?),
    };
    let rest = trim(rest);
    let one_line = rest == b"\"$0\" \"$@\" #'''";
    let two_lines = rest == b"\"$0\" \"$@\"" && trim(third) == b"' '''";
    let plain = path.starts_with(b"/") && !path.iter().any(|byte| b"$`\\".contains(byte));
    (plain && (one_line || two_lines)).then(|| path.to_vec())
}

/// The program that a shell wrapper starts in its own place, where a line says so in full:
/// `exec "/path/to/program" .. "$@"`, as Homebrew writes it, variables in front or not.
pub fn wrapped(script: &[u8]) -> Option<Vec<u8>> {
    script.split(|byte| *byte == b'\n').find_map(|line| {
        let at = line.windows(5).position(|window| window == b"exec ")?;
        let before = trim(&line[..at]);
        let assignments = before
            .split(blank)
            .all(|word| word.is_empty() || word.contains(&b'='));
        let rest = trim(&line[at + 5..]);
        let path = match rest.strip_prefix(b"\"") {
            Some(quoted) => &quoted[..quoted.iter().position(|byte| *byte == b'"')?],
            None => &rest[..rest.iter().position(blank)?],
        };
        let plain = path.starts_with(b"/") && !path.iter().any(|byte| b"$`\\".contains(byte));
        let passes_on = rest.windows(4).any(|window| window == b"\"$@\"");
        (assignments && plain && passes_on).then(|| path.to_vec())
    })
}
