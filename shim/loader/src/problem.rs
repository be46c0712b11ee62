//! Why a file cannot be loaded.

use core::fmt;

/// Why a file cannot be loaded. The text names the place in the file and, where
/// there is one, the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Not a Mach-O file that this loader takes: another format, a fat file,
    /// another processor, an executable.
    Kind(String),
    /// The file is damaged: it ends too early or contradicts itself.
    Damaged(String),
    /// The file may well be in order, but needs something that is not
    /// implemented here.
    Unsupported(String),
}

impl Problem {
    pub(crate) fn damaged(what: impl fmt::Display) -> Self {
        Problem::Damaged(what.to_string())
    }

    pub(crate) fn unsupported(what: impl fmt::Display) -> Self {
        Problem::Unsupported(what.to_string())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Kind(what) => write!(f, "cannot be loaded here: {what}"),
            Problem::Damaged(what) => write!(f, "damaged file: {what}; build it again"),
            Problem::Unsupported(what) => write!(f, "not supported by this loader: {what}"),
        }
    }
}

impl core::error::Error for Problem {}
