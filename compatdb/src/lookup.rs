//! Everything that bears on one machine, in a time that does not grow with the database.

use rusqlite::params;
use serde::Serialize;

use crate::deny_list::{DenyList, Revocation};
use crate::query::{BRIEF, Result, WHOLE};
use crate::rows::{Deny, Pair, PairBrief, Status};
use crate::schema::build_key;
use crate::{Database, OsBuild};

/// How many other pairs of a guest or a host a lookup names at most.
pub const NEIGHBOURS: usize = 8;

/// Everything the database holds that bears on one machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lookup {
    /// What was asked for.
    pub guest_build: OsBuild,
    /// What was asked for; none where the host is not known.
    pub host_build: Option<OsBuild>,
    /// Every record of exactly this pair.
    pub pairs: Vec<Pair>,
    /// Every range that hits.
    pub denies: Vec<Deny>,
    /// Entries of the deny list that hit.
    pub revoked: Vec<Revocation>,
    /// Other pairs of this guest, the nearest host first, at most [`NEIGHBOURS`].
    pub same_guest: Vec<PairBrief>,
    /// Other pairs of this host, the nearest guest first, at most [`NEIGHBOURS`].
    pub same_host: Vec<PairBrief>,
    /// The nearest verified pair: of the same guest, else of the same host, else of the
    /// nearest guest build. One of releases comes before one with a beta.
    pub nearest: Option<PairBrief>,
}

impl Database {
    /// Everything that bears on one guest and host.
    ///
    /// The work does not grow with the number of pairs.
    ///
    /// # Errors
    /// Damaged rows.
    pub fn lookup(
        &self,
        guest: &OsBuild,
        host: Option<&OsBuild>,
        deny_list: Option<&DenyList>,
    ) -> Result<Lookup> {
        let pairs = match host {
            Some(host) => self.exact(guest, host)?,
            None => Vec::new(),
        };
        let denies = self
            .deny_ranges()?
            .into_iter()
            .filter(|d| d.covers(guest, host))
            .collect();
        let revoked = match deny_list {
            Some(list) => list.hits(guest, host, pairs.iter().map(|p| p.id.as_str())),
            None => Vec::new(),
        };
        let is_other = |p: &PairBrief| p.guest_build != *guest || Some(&p.host_build) != host;
        let mut same_guest = self.beside(guest, host, "guest_key", "host_key")?;
        same_guest.retain(|p| p.guest_build == *guest && is_other(p));
        same_guest.truncate(NEIGHBOURS);
        let mut same_host = match host {
            Some(host) => self.beside(host, Some(guest), "host_key", "guest_key")?,
            None => Vec::new(),
        };
        same_host.retain(|p| Some(&p.host_build) == host && is_other(p));
        same_host.truncate(NEIGHBOURS);
        let verified = |list: &[PairBrief]| {
            let allows = |p: &&PairBrief| p.status == Status::Verified && p.evidence_level >= 1;
            let verified = list.iter().filter(allows);
            verified.min_by_key(|p| p.has_beta()).cloned()
        };
        let nearest = match verified(&same_guest).or_else(|| verified(&same_host)) {
            Some(pair) => Some(pair),
            None => self.nearest_verified(guest, host)?,
        };
        Ok(Lookup {
            guest_build: guest.clone(),
            host_build: host.cloned(),
            pairs,
            denies,
            revoked,
            same_guest,
            same_host,
            nearest,
        })
    }

    fn exact(&self, guest: &OsBuild, host: &OsBuild) -> Result<Vec<Pair>> {
        self.wholes(
            &format!("SELECT {WHOLE} WHERE guest_key = ?1 AND host_key = ?2 ORDER BY pair.id"),
            params![build_key(guest), build_key(host)],
        )
    }

    /// Pairs that share the build `of` under `by`, from `around` outwards under `other`.
    fn beside(
        &self,
        of: &OsBuild,
        around: Option<&OsBuild>,
        by: &str,
        other: &str,
    ) -> Result<Vec<PairBrief>> {
        let center = around.map_or(i64::MAX, build_key);
        // One more than is shown: the pair itself may be among them.
        let limit = NEIGHBOURS + 1;
        let half = |compare: &str, order: &str| {
            self.briefs(
                &format!(
                    "SELECT {BRIEF} FROM pair WHERE {by} = ?1 AND {other} {compare} ?2 \
                     ORDER BY {other} {order}, id {order} LIMIT {limit}"
                ),
                params![build_key(of), center],
            )
        };
        let mut all = half("<=", "DESC")?;
        all.extend(half(">", "ASC")?);
        all.sort_by_key(|p| {
            let build = match other {
                "host_key" => &p.host_build,
                _ => &p.guest_build,
            };
            build_key(build).abs_diff(center)
        });
        Ok(all)
    }

    fn nearest_verified(
        &self,
        guest: &OsBuild,
        host: Option<&OsBuild>,
    ) -> Result<Option<PairBrief>> {
        // Two on each side: one of them may be the very pair that was asked for.
        let center = build_key(guest);
        let half = |compare: &str, order: &str| {
            self.briefs(
                &format!(
                    "SELECT {BRIEF} FROM nearest JOIN pair USING (guest_key, host_key, id) \
                     WHERE guest_key {compare} ?1 ORDER BY guest_key {order} LIMIT 2"
                ),
                params![center],
            )
        };
        let mut all = half("<", "DESC")?;
        all.extend(half(">=", "ASC")?);
        all.retain(|p| p.guest_build != *guest || Some(&p.host_build) != host);
        Ok(all
            .into_iter()
            .min_by_key(|p| (p.has_beta(), build_key(&p.guest_build).abs_diff(center))))
    }
}
