//! Which client a program is: a pure function over what can be seen of it from outside.
//!
//! **Contract.** In this order: what the user says (`--client`), the executable's base
//! name, the Homebrew formula in whose Cellar folder it is, the libraries that it links. The
//! first that knows it decides. By a library, or by a name that two clients share, there
//! can be several: then the limits of all of them hold. An interpreter is not a client:
//! what it runs cannot be seen from outside, so only the user can say it.

use serde::Serialize;

use crate::rows::Client;

/// What can be seen of a program from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The base name it is started by, like `llama-cli`.
    pub name: String,
    /// Where it is, with every link resolved: Homebrew's Cellar path tells the version.
    pub resolved_path: String,
    /// What it links, as install names, paths or base names.
    pub libraries: Vec<String>,
}

/// `--client NAME[@VERSION]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// A client's slug, or one of its executables.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
}

impl std::str::FromStr for Told {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, version) = match text.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        if name.is_empty() || version.is_some_and(str::is_empty) {
            return Err(format!(
                "\"{}\" is not a client: it is NAME or NAME@VERSION, like llama.cpp@b10359",
                text.escape_default()
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            version: version.map(str::to_owned),
        })
    }
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        self.version.iter().try_for_each(|v| write!(f, "@{v}"))
    }
}

/// A client that the program is, or may be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClientMatch {
    /// Its row.
    pub client: Client,
    /// Its version, where known.
    pub version: Option<String>,
    /// How it was recognised.
    pub by: By,
}

/// How a client was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The user said so.
    Told,
    /// The executable's name.
    Name,
    /// The Homebrew formula it belongs to.
    Formula,
    /// A library it links.
    Library,
}

/// The user named a client that no row knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownClient {
    /// What was said.
    pub name: String,
    /// What could have been.
    pub known: Vec<String>,
}

impl std::fmt::Display for UnknownClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the database knows no client \"{}\"; it knows {}",
            self.name.escape_default(),
            self.known.join(", ")
        )
    }
}

impl std::error::Error for UnknownClient {}

/// Whether a program of this name runs what others wrote.
pub fn is_interpreter(name: &str) -> bool {
    const NAMES: [&str; 19] = [
        "python", "pypy", "node", "deno", "bun", "ruby", "perl", "php", "lua", "luajit", "julia",
        "java", "sh", "bash", "zsh", "dash", "ksh", "fish", "env",
    ];
    // python3, python3.13, Python (the framework's own name)
    let bare = name
        .trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
        .to_ascii_lowercase();
    NAMES.contains(&bare.as_str())
}

/// `ggml@0.24.0` is said of the part that a client's versions can also be counted by: where one
/// client alone has such a part, it is that client, of that version.
fn part_of(clients: &[Client], told: &Told) -> Option<ClientMatch> {
    let version = told.version.as_ref()?;
    let has = |c: &&Client| {
        let mut schemes = c.schemes.iter();
        schemes.any(|s| s.name.eq_ignore_ascii_case(&told.name))
    };
    let mut found = clients.iter().filter(has);
    let client = found.next().filter(|_| found.next().is_none())?;
    Some(ClientMatch {
        client: client.clone(),
        version: Some(format!("{} {version}", told.name)),
        by: By::Told,
    })
}

/// Recognises a program. Empty: no row knows it.
///
/// # Errors
/// The user named a client that no row knows.
pub fn recognise(
    clients: &[Client],
    program: &Program,
    told: Option<&Told>,
) -> Result<Vec<ClientMatch>, UnknownClient> {
    let version_of = |client: &Client| {
        let own = cellar(&program.resolved_path)
            .filter(|(formula, _)| client.recognise.formula(formula))
            .map(|(_, version)| version.to_owned());
        own.or_else(|| library_version(client, &program.libraries))
    };
    if let Some(told) = told {
        let named = |c: &&Client| c.id.eq_ignore_ascii_case(&told.name);
        let by_part = part_of(clients, told);
        if let Some(found) = by_part.filter(|_| !clients.iter().any(|c| named(&c))) {
            return Ok(vec![found]);
        }
        let client = clients
            .iter()
            .find(named)
            .or_else(|| clients.iter().find(|c| c.recognise.executable(&told.name)))
            .ok_or_else(|| UnknownClient {
                name: told.name.clone(),
                known: clients.iter().map(|c| c.id.clone()).collect(),
            })?;
        return Ok(vec![ClientMatch {
            client: client.clone(),
            version: told.version.clone().or_else(|| version_of(client)),
            by: By::Told,
        }]);
    }
    let base = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    if is_interpreter(&program.name) || is_interpreter(&base(&program.resolved_path)) {
        return Ok(Vec::new());
    }
    let all = |by: By, is: &dyn Fn(&Client) -> bool| -> Vec<ClientMatch> {
        let known = clients.iter().filter(|c| is(c));
        known
            .map(|client| ClientMatch {
                client: client.clone(),
                version: version_of(client),
                by,
            })
            .collect()
    };
    let resolved = base(&program.resolved_path);
    let by_name = all(By::Name, &|c| {
        c.recognise.executable(&program.name) || c.recognise.executable(&resolved)
    });
    if !by_name.is_empty() {
        return Ok(by_name);
    }
    let by_formula = all(By::Formula, &|c| {
        cellar(&program.resolved_path).is_some_and(|(f, _)| c.recognise.formula(f))
    });
    if !by_formula.is_empty() {
        return Ok(by_formula);
    }
    Ok(all(By::Library, &|c| {
        let mut linked = program.libraries.iter().map(|l| base(l));
        linked.any(|l| c.recognise.library(&l))
    }))
}

/// The version that a linked library in the Cellar tells: of the client's own formula, or of
/// one that the client counts versions by, as `ggml 0.24.0`.
fn library_version(client: &Client, libraries: &[String]) -> Option<String> {
    libraries.iter().find_map(|library| {
        let (formula, version) = cellar(library)?;
        if client.recognise.formula(formula) {
            return Some(version.to_owned());
        }
        let mut schemes = client.schemes.iter();
        schemes
            .any(|s| s.name == formula)
            .then(|| format!("{formula} {version}"))
    })
}

/// Formula and version of a path in Homebrew's Cellar.
fn cellar(path: &str) -> Option<(&str, &str)> {
    let (_, rest) = path.split_once("/Cellar/")?;
    let mut parts = rest.split('/');
    let (formula, version) = (parts.next()?, parts.next()?);
    (!formula.is_empty() && !version.is_empty()).then_some((formula, version))
}
