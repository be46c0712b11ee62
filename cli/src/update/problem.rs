//! Why an update did not happen: each cause its own message and its own next step.
//!
//! **Contract.** None of them takes the last good database away, and every message can be
//! followed by the sentence that says so.

use std::io;
use std::path::PathBuf;

use jiff::Timestamp;

use super::clock::{Clock, apart};
use crate::error::{Error, plain};
use crate::variables;

/// Why there was no update.
#[derive(Debug)]
pub enum Problem {
    /// Nobody answers: the address and the cause.
    Unreachable(String, String),
    /// Something else answers: the address, and what it answered with.
    NotTheSource(String, String),
    /// The source answers that it cannot: the address and its status.
    Refused(String, String),
    /// It took longer than it may: the address.
    Slow(String),
    /// More bytes than may come: the address and the limit.
    TooLong(String, u64),
    /// A file that has to be there is not: the file.
    Missing(String),
    /// Signed freshness is over.
    Expired {
        /// The role, like `timestamp`.
        role: String,
        /// When it ended.
        expires: Timestamp,
        /// The clock that it was held against.
        clock: Clock,
        /// What the source says the time is, where it says so.
        server: Option<Timestamp>,
    },
    /// Older than what is known here.
    Rollback(String),
    /// Not signed by those who have to.
    Signature(String),
    /// It cannot be understood.
    Malformed(String),
    /// What was fetched is not what was signed.
    Swapped(String),
    /// The signed database cannot be used: why.
    Database(String),
    /// It could not be written: the file, and the system's error.
    Disk(PathBuf, io::Error),
    /// What is kept here cannot be read or understood: the file, and why.
    Stored(PathBuf, String),
    /// What the user named cannot be used.
    Usage(String, String),
}

impl Problem {
    /// As users read it; `kept` says which database decides meanwhile.
    pub fn error(self, kept: &str) -> Error {
        let error = match self {
            Self::Unreachable(what, why) => {
                let error = Error::machine(format!("the update source cannot be reached: {what}: {why}"));
                if why.contains("ertificate") {
                    error
                        .hint("look at this machine's clock: a wrong one makes every certificate wrong")
                        .hint(format!("behind a proxy that looks into TLS, {TRUST}"))
                } else {
                    error.hint("look at the network, or name a mirror or a folder with --from")
                }
            }
            Self::NotTheSource(what, answer) => Error::machine(format!(
                "something else than the update source answers: {what}: {answer}"
            ))
            .hint("a captive portal or a proxy does this: open a web page, sign in to the network, and try again"),
            Self::Refused(what, status) => Error::machine(format!(
                "the update source cannot answer: {what}: {status}"
            ))
            .hint("try again later, or name a mirror with --from"),
            Self::Slow(what) => Error::machine(format!(
                "the update source is too slow: {what} did not come in the time that it has"
            ))
            .hint("try again with more time (--timeout SECONDS), or name a mirror with --from"),
            Self::TooLong(what, max) => Error::machine(format!(
                "the update source sends more than it may: {what} has more than {max} bytes"
            ))
            .hint("this is not what the project publishes: name another source with --from"),
            Self::Missing(what) => Error::machine(format!(
                "the update source has no {what}"
            ))
            .hint("the address names the folder that has `metadata` and `targets` in it"),
            Self::Expired { role, expires, clock, server } => expired(&role, expires, clock, server),
            Self::Rollback(says) => Error::machine(format!(
                "the update source offers what is older than what is known here: {says}"
            ))
            .hint("a mirror that is behind does this, and so does an attack: try another source with --from"),
            Self::Signature(says) => Error::machine(format!(
                "the update source is not signed by those who have to: {says}"
            ))
            .hint("this is not what the project publishes, or the trust root is another project's: `metalshim db info` names it"),
            Self::Malformed(says) => Error::machine(format!(
                "the update source cannot be understood: {says}"
            ))
            .hint("try again later; if it stays, update metalshim or name a mirror with --from"),
            Self::Swapped(says) => Error::machine(format!(
                "the update source sends other bytes than were signed: {says}"
            ))
            .hint("a mirror that is being copied does this, and so does an attack: try again later, or name another source with --from"),
            Self::Database(says) => Error::machine(format!(
                "the signed database cannot be used: {says}"
            ))
            .hint("update metalshim; if it is the newest, report it to those who publish the database"),
            Self::Disk(path, e) => disk(&path, &e),
            Self::Stored(path, why) => Error::machine(format!(
                "what metalshim keeps cannot be used: {}: {why}",
                path.display()
            ))
            .hint(format!(
                "make it readable; if it is damaged, remove it: {} (then it is no longer known which databases are too old)",
                path.display()
            )),
            Self::Usage(says, hint) => return Error::user(says).hint(hint),
        };
        error.hint(format!("nothing is lost: {kept} stays in use"))
    }
}

/// How a fleet's own authority is trusted.
const TRUST: &str = if cfg!(target_os = "macos") {
    "have its authority in the system's keychain, marked as trusted"
} else {
    "have its authority among the system's, or name its file in SSL_CERT_FILE"
};

fn expired(role: &str, expires: Timestamp, clock: Clock, server: Option<Timestamp>) -> Error {
    let ended = format!(
        "the signed freshness of {role} ended on {}",
        expires.strftime("%F %R UTC")
    );
    let ahead = server
        .filter(|server| apart(*server, clock.system) > 3600)
        .filter(|server| *server <= expires);
    match ahead {
        Some(server) => Error::machine(format!(
            "this machine's clock is wrong: it says {}, the source says {}, {} apart; by this clock {ended}",
            clock.system.strftime("%F %R UTC"),
            server.strftime("%F %R UTC"),
            words(apart(server, clock.system))
        ))
        .hint("set the clock, and try again"),
        None => Error::machine(format!(
            "the update source is stale: {ended}, {} ago by this machine's clock ({})",
            words(apart(clock.now(), expires)),
            clock.now().strftime("%F %R UTC")
        ))
        .hint("look at this machine's clock; if it is right, the source is no longer kept up, or somebody holds back what is newer: try another one with --from"),
    }
}

/// Seconds, as people say it.
pub(crate) fn words(seconds: i64) -> String {
    match seconds {
        s if s >= 2 * 86_400 => format!("{} days", s / 86_400),
        s if s >= 2 * 3_600 => format!("{} hours", s / 3_600),
        s => format!("{} minutes", s / 60),
    }
}

fn disk(path: &std::path::Path, e: &io::Error) -> Error {
    let path = path.display();
    match e.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::machine(format!("the disk is full: {path} could not be written")).hint(format!(
                "make room for twice the size of the database, or name another state folder in {}",
                variables::STATE_DIR
            ))
        }
        _ => Error::machine(format!(
            "the state folder cannot be written: {path}: {}",
            plain(e)
        ))
        .hint(format!(
            "make it writable for this user, or name another state folder in {}",
            variables::STATE_DIR
        )),
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreachable(a, b)
            | Self::NotTheSource(a, b)
            | Self::Refused(a, b)
            | Self::Usage(a, b) => write!(f, "{a}: {b}"),
            Self::Slow(a) => write!(f, "{a} did not come in time"),
            Self::TooLong(a, max) => write!(f, "{a} has more than {max} bytes"),
            Self::Missing(a) => write!(f, "{a} is missing"),
            Self::Expired { role, expires, .. } => write!(f, "{role} expired on {expires}"),
            Self::Rollback(a)
            | Self::Signature(a)
            | Self::Malformed(a)
            | Self::Swapped(a)
            | Self::Database(a) => f.write_str(a),
            Self::Disk(path, e) => write!(f, "{}: {}", path.display(), plain(e)),
            Self::Stored(path, why) => write!(f, "{}: {why}", path.display()),
        }
    }
}

impl std::error::Error for Problem {}

impl From<sigstore_tuf::Error> for Problem {
    fn from(e: sigstore_tuf::Error) -> Self {
        use sigstore_tuf::Error as Tuf;
        let says = chain(&e);
        match e {
            Tuf::Transport {
                source: Some(source),
                ..
            } => match source.downcast::<Self>() {
                Ok(problem) => *problem,
                Err(other) => Self::Malformed(other.to_string()),
            },
            // "timestamp.json not found": the library's own.
            Tuf::Transport { message, .. } => match message.strip_suffix(" not found") {
                Some(what) => Self::Missing(what.to_owned()),
                None => Self::Malformed(message),
            },
            Tuf::Rollback { .. } | Tuf::BadRootVersion { .. } => Self::Rollback(says),
            Tuf::ThresholdNotMet { .. }
            | Tuf::DuplicateSignature { .. }
            | Tuf::UnusableKey { .. }
            | Tuf::UnsupportedScheme { .. }
            | Tuf::Crypto(_) => Self::Signature(says),
            Tuf::IntegrityMismatch(_) => Self::Swapped(says),
            // Who knows the clock turns this into the whole story.
            Tuf::Expired { role, expires } => match expires.to_string().parse() {
                Ok(expires) => Self::Expired {
                    role,
                    expires,
                    clock: Clock::default(),
                    server: None,
                },
                Err(_) => Self::Malformed(says),
            },
            _ => Self::Malformed(says),
        }
    }
}

/// An error with all its causes.
pub(crate) fn chain(e: &dyn std::error::Error) -> String {
    let mut says = e.to_string();
    let mut source = e.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !says.contains(&text) {
            says.push_str(": ");
            says.push_str(&text);
        }
        source = cause.source();
    }
    says
}
