//! The stable codes: why a program can or cannot be injected, one for each cause.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal,)+) => {
        /// Why, or why not. Scripts read the kebab-case form; it does not change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Code {
            /// All of them, in the order in which they are looked at.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The code that scripts read.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)+ }
            }

            /// What it means, in a sentence.
            pub const fn means(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+),)+ }
            }
        }
    };
}

codes! {
    /// It can.
    Injectable = "injectable",
    /// There is no such file.
    NotFound = "not-found",
    /// It cannot be opened or read.
    Unreadable = "unreadable",
    /// A folder (an `.app`, for example), a device, a pipe.
    NotAFile = "not-a-file",
    /// A script whose first line names nothing that could be followed.
    ShebangBad = "shebang-bad",
    /// A script whose first line ends in CR LF: the system looks for a name with a CR.
    ShebangCrlf = "shebang-crlf",
    /// A script whose first line is longer than the system reads.
    ShebangTooLong = "shebang-too-long",
    /// A script whose interpreter is not there.
    InterpreterMissing = "interpreter-missing",
    /// A script whose interpreter is a script, which macOS does not start.
    InterpreterIsScript = "interpreter-is-script",
    /// Scripts that name each other, or more of them than can be meant.
    ShebangLoop = "shebang-loop",
    /// A script that needs an option of `env` which cannot be done without `env`.
    EnvOption = "env-option",
    /// Neither Mach-O nor ELF nor a script.
    UnknownFormat = "unknown-format",
    /// For another system than this.
    OtherSystem = "other-system",
    /// Cut, or not what its header says.
    Damaged = "damaged",
    /// A library, a bundle, an object: loaded by a program, not started.
    NotExecutable = "not-executable",
    /// Set-user-id or set-group-id, or with capabilities: the variables are dropped.
    SetId = "set-id",
    /// Part of macOS, or marked as restricted, and System Integrity Protection is on or not
    /// known to be off: the variables are dropped.
    RestrictedPath = "restricted-path",
    /// Signed as a part of macOS, wherever it lies.
    PlatformBinary = "platform-binary",
    /// Runs under Rosetta; the library is arm64.
    X86Only = "x86-64-only",
    /// For yet another processor.
    OtherCpu = "other-cpu",
    /// Has a slice of an arm64 sub-type that is not known here.
    UnknownSubtype = "unknown-subtype",
    /// Runs as arm64e; the library is plain arm64, and dyld would end the program.
    Arm64e = "arm64e",
    /// Has a segment `__RESTRICT`.
    RestrictSegment = "restrict-segment",
    /// Signed with the flag `restrict`.
    RestrictFlag = "restrict-flag",
    /// Hardened, without `allow-dyld-environment-variables`.
    Hardened = "hardened",
    /// Takes libraries of its own team only.
    LibraryValidation = "library-validation",
    /// Without a dynamic linker, which is what reads the variables.
    Static = "static",
    /// Linked, on Linux, against another C library than the one that the library needs.
    OtherCLibrary = "other-c-library",
    /// Downloaded, and not yet approved: macOS asks before it starts it, or refuses.
    Quarantined = "quarantined",
    /// Nobody may execute it.
    NoPermission = "no-permission",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
