//! The compatibility database: which pairs of host and guest build are verified, and
//! the verdict that follows for one machine.
//!
//! **Contract.** Data flows one way: records (TOML, reviewed) -> database (SQLite, exact
//! bytes) -> verdict. The verdict is a pure function: no clock, no files, no printing;
//! time and facts are arguments. Exact builds only ever allow, ranges may only deny, and
//! unknown means stock.
#![forbid(unsafe_code)]

pub mod bench;
mod build;
pub mod client;
mod db;
mod deny_list;
pub mod diff;
pub mod facts;
pub mod ingest;
pub mod lint;
mod lookup;
mod os_build;
mod policy;
mod profile;
pub mod query;
pub mod records;
pub mod report;
pub mod rows;
pub mod schema;
pub mod seed;
pub mod verdict;

pub use build::{BuildError, build_database, write_file};
pub use client::{ClientMatch, Program, Told, recognise};
pub use db::{Database, MAX_LEN, Meta, OpenError, sha256_hex};
pub use deny_list::{DeniedBuild, DeniedRecord, DenyList, Revocation};
pub use facts::Facts;
pub use lookup::{Lookup, NEIGHBOURS};
pub use os_build::{BadBuild, OsBuild};
pub use policy::Policy;
pub use profile::{BadProfile, Profile};
pub use query::{PairFilter, QueryError, Shown};
pub use verdict::{Reason, Verdict, decide};
