//! What can be asked of a database: lists, and what an id names.

use rusqlite::{OptionalExtension, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::records::{Builds, Filed, Records, Release};
use crate::rows::{
    Build, Client, Deny, Fault, Lead, Pair, PairBrief, Status, StockReport, with_columns,
};
use crate::schema::{build_key, build_of, pair_id, pair_number, status_of};
use crate::{Database, OsBuild};

/// A row that cannot be read, or a question SQLite could not answer: the bytes are damaged,
/// or were not made by this build's schema.
#[derive(Debug)]
pub struct QueryError(String);

impl std::fmt::Display for QueryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the compatibility database is damaged: {}", self.0)
    }
}

impl std::error::Error for QueryError {}

impl From<rusqlite::Error> for QueryError {
    fn from(e: rusqlite::Error) -> Self {
        Self(e.to_string())
    }
}

pub(crate) type Result<T, E = QueryError> = std::result::Result<T, E>;

/// Which pairs to list. Everything that is given has to hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairFilter {
    /// A build, or the beginning of a macOS version, like `26.5`.
    pub guest: Option<String>,
    /// A build, or the beginning of a macOS version, like `26.6`.
    pub host: Option<String>,
    /// A part of the chip's name, whatever the case.
    pub chip: Option<String>,
    /// What is held about it.
    pub status: Option<Status>,
}

/// What an id names.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// `P0001`.
    Pair(Box<Pair>),
    /// `D0001`.
    Deny(Deny),
    /// `L0001`.
    Lead(Box<Lead>),
    /// `F01`.
    Fault(Fault),
    /// `S01`.
    Stock(Box<StockReport>),
    /// `llama.cpp`.
    Client(Box<Client>),
    /// `25F84`.
    Build(Build),
}

fn body<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| QueryError(format!("a row cannot be read: {e}")))
}

/// The columns of a pair that [`brief`] reads.
pub(crate) const BRIEF: &str = "pair.id, guest_key, host_key, status, evidence_level, apple_family_max, max_threadgroup_memory";
/// With its details, for [`whole`].
pub(crate) const WHOLE: &str = "pair.id, guest_key, host_key, status, evidence_level, apple_family_max, max_threadgroup_memory, body FROM pair JOIN detail ON detail.key = pair.detail";

fn brief(row: &Row<'_>) -> Result<PairBrief> {
    let build = |at: usize| -> Result<OsBuild> {
        let key = row.get(at)?;
        build_of(key).ok_or_else(|| QueryError(format!("{key} is not the key of a build")))
    };
    let status: i64 = row.get(3)?;
    let profile = crate::Profile {
        apple_family_max: row.get(5)?,
        max_threadgroup_memory: row.get(6)?,
    };
    Ok(PairBrief {
        id: pair_id(row.get(0)?),
        guest_build: build(1)?,
        host_build: build(2)?,
        status: status_of(status).ok_or_else(|| QueryError(format!("{status} is not a status")))?,
        evidence_level: row.get(4)?,
        profile,
    })
}

fn whole(row: &Row<'_>) -> Result<Pair> {
    let mut pair: Pair = body(row.get_ref(7)?.as_str().map_err(rusqlite::Error::from)?)?;
    with_columns(&mut pair, brief(row)?);
    Ok(pair)
}

impl Database {
    fn rows<T: DeserializeOwned>(&self, sql: &str) -> Result<Vec<T>> {
        let mut query = self.sql.prepare_cached(sql)?;
        let mut rows = query.query([])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(body(
                row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?,
            )?);
        }
        Ok(all)
    }

    fn row<T: DeserializeOwned>(&self, sql: &str, id: &str) -> Result<Option<T>> {
        let text: Option<String> = self
            .sql
            .prepare_cached(sql)?
            .query_row([id], |row| row.get(0))
            .optional()?;
        text.map(|t| body(&t)).transpose()
    }

    pub(crate) fn wholes(&self, sql: &str, params: impl rusqlite::Params) -> Result<Vec<Pair>> {
        let mut query = self.sql.prepare_cached(sql)?;
        let mut rows = query.query(params)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(whole(row)?);
        }
        Ok(all)
    }

    pub(crate) fn briefs(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
    ) -> Result<Vec<PairBrief>> {
        let mut query = self.sql.prepare_cached(sql)?;
        let mut rows = query.query(params)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(brief(row)?);
        }
        Ok(all)
    }

    /// The pairs that a filter leaves, by guest, host and id, newest first.
    ///
    /// # Errors
    /// Damaged rows.
    pub fn pairs(&self, filter: &PairFilter) -> Result<Vec<Pair>> {
        let mut pairs = self.wholes(
            &format!("SELECT {WHOLE} ORDER BY guest_key DESC, host_key DESC, pair.id DESC"),
            [],
        )?;
        pairs.retain(|pair| filter.takes(pair));
        Ok(pairs)
    }

    /// One pair by its id.
    ///
    /// # Errors
    /// Damaged rows.
    pub fn pair(&self, id: &str) -> Result<Option<Pair>> {
        let Some(number) = pair_number(id) else {
            return Ok(None);
        };
        let sql = format!("SELECT {WHOLE} WHERE pair.id = ?1");
        Ok(self.wholes(&sql, [number])?.pop())
    }

    /// All ranges that deny, by id.
    ///
    /// # Errors
    /// Damaged rows.
    pub fn deny_ranges(&self) -> Result<Vec<Deny>> {
        self.rows("SELECT body FROM deny ORDER BY id")
    }

    /// All leads, by id.
    ///
    /// # Errors
    /// Damaged rows.
    pub fn leads(&self) -> Result<Vec<Lead>> {
        self.rows("SELECT body FROM lead ORDER BY id")
    }

    /// All clients, by slug.
    ///
    /// # Errors
    /// Damaged rows.
    pub fn clients(&self) -> Result<Vec<Client>> {
        self.rows("SELECT body FROM client ORDER BY id")
    }

    /// One client by its slug.
    ///
    /// # Errors
    /// Damaged rows.
    pub fn client(&self, id: &str) -> Result<Option<Client>> {
        self.row("SELECT body FROM client WHERE id = ?1", id)
    }

    /// All faults, by id.
    ///
    /// # Errors
    /// Damaged rows.
    pub fn faults(&self) -> Result<Vec<Fault>> {
        self.rows("SELECT body FROM fault ORDER BY id")
    }

    /// All reports of stock answers, by id.
    ///
    /// # Errors
    /// Damaged rows.
    pub fn stock_reports(&self) -> Result<Vec<StockReport>> {
        self.rows("SELECT body FROM stock ORDER BY id")
    }

    /// All known builds of macOS, oldest first.
    ///
    /// # Errors
    /// Damaged rows.
    pub fn builds(&self) -> Result<Vec<Build>> {
        self.rows("SELECT body FROM build ORDER BY key")
    }

    /// One known build of macOS.
    ///
    /// # Errors
    /// Damaged rows.
    pub fn build(&self, build: &OsBuild) -> Result<Option<Build>> {
        let text: Option<String> = self
            .sql
            .prepare_cached("SELECT body FROM build WHERE key = ?1")?
            .query_row([build_key(build)], |row| row.get(0))
            .optional()?;
        text.map(|t| body(&t)).transpose()
    }

    /// Whatever an id names; ids of records in any case.
    ///
    /// # Errors
    /// Damaged rows.
    pub fn show(&self, id: &str) -> Result<Option<Shown>> {
        if let Some(client) = self.client(id)? {
            return Ok(Some(Shown::Client(Box::new(client))));
        }
        if let Ok(build) = id.parse::<OsBuild>() {
            return Ok(self.build(&build)?.map(Shown::Build));
        }
        let id = id.to_ascii_uppercase();
        Ok(match id.as_bytes().first() {
            Some(b'P') => self.pair(&id)?.map(|p| Shown::Pair(Box::new(p))),
            Some(b'D') => self
                .row("SELECT body FROM deny WHERE id = ?1", &id)?
                .map(Shown::Deny),
            Some(b'L') => self
                .row("SELECT body FROM lead WHERE id = ?1", &id)?
                .map(|l| Shown::Lead(Box::new(l))),
            Some(b'F') => self
                .row("SELECT body FROM fault WHERE id = ?1", &id)?
                .map(Shown::Fault),
            Some(b'S') => self
                .row("SELECT body FROM stock WHERE id = ?1", &id)?
                .map(|s| Shown::Stock(Box::new(s))),
            _ => None,
        })
    }
}

impl Records {
    /// All rows of a database as records again, each filed under its id. What a database does not
    /// hold (ids that are used up, the sources of the table of builds) is empty.
    ///
    /// # Errors
    /// Damaged rows.
    pub fn of(database: &Database) -> Result<Self> {
        fn filed<T>(rows: Vec<T>, id: impl Fn(&T) -> &str) -> Vec<Filed<T>> {
            let filed = rows.into_iter().map(|record| Filed {
                file: id(&record).to_owned(),
                record,
            });
            filed.collect()
        }
        let meta = database.meta();
        Ok(Self {
            pairs: filed(database.pairs(&PairFilter::default())?, |r| &r.id),
            leads: filed(database.leads()?, |r| &r.id),
            denies: filed(database.deny_ranges()?, |r| &r.id),
            faults: filed(database.faults()?, |r| &r.id),
            clients: filed(database.clients()?, |r| &r.id),
            stock_reports: filed(database.stock_reports()?, |r| &r.id),
            builds: Filed {
                file: "builds".to_owned(),
                record: Builds {
                    sources: Vec::new(),
                    build: database.builds()?,
                },
            },
            retired: Filed::default(),
            release: Filed {
                file: "meta".to_owned(),
                record: Release {
                    seq: meta.seq,
                    published_at: meta.published_at,
                    min_cli: meta.min_cli.clone(),
                },
            },
        })
    }
}

impl PairFilter {
    fn takes(&self, pair: &Pair) -> bool {
        let system = |want: &Option<String>, build: &OsBuild, version: &str| {
            want.as_ref().is_none_or(|want| {
                build.as_str().eq_ignore_ascii_case(want) || is_version_of(want, version)
            })
        };
        let chip = |want: &String| {
            let want = want.to_ascii_lowercase();
            let mut chips = pair.host.chips.iter();
            chips.any(|has| has.to_ascii_lowercase().contains(&want))
        };
        system(&self.guest, &pair.guest.build, &pair.guest.version)
            && system(&self.host, &pair.host.build, &pair.host.version)
            && self.status.is_none_or(|s| s == pair.status)
            && self.chip.as_ref().is_none_or(chip)
    }
}

/// `26.5` takes `26.5` and `26.5.2`, not `26.50`.
fn is_version_of(want: &str, version: &str) -> bool {
    version
        .strip_prefix(want)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ' ']))
}
