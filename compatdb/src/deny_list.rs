//! A deny list: a small file, signed by a role of its own, that takes records and builds
//! back without a new database. It can only deny; several are united.

use serde::{Deserialize, Serialize};

use crate::OsBuild;

/// What is taken back, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DenyList {
    /// Counts up with every list that is published.
    pub seq: u64,
    /// Records that are taken back.
    pub records: Vec<DeniedRecord>,
    /// Guest builds that stay stock.
    pub guest_builds: Vec<DeniedBuild>,
    /// Host builds whose guests stay stock.
    pub host_builds: Vec<DeniedBuild>,
}

/// A record that is taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeniedRecord {
    /// Like `P0001`.
    pub id: String,
    /// Why.
    pub reason: String,
}

/// A build that stays stock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeniedBuild {
    /// Like `25F84`.
    pub build: OsBuild,
    /// Why.
    pub reason: String,
}

/// One entry of a deny list that hits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Revocation {
    /// What is taken back: a record's id, or a build.
    pub what: String,
    /// Why.
    pub reason: String,
}

impl DenyList {
    /// Reads a list. An unknown key is an error: a list that is half understood might deny
    /// less than it says.
    ///
    /// # Errors
    /// What is wrong, with line and column.
    pub fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(json)
    }

    /// Both together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.seq = self.seq.max(other.seq);
        self.records.extend(other.records);
        self.guest_builds.extend(other.guest_builds);
        self.host_builds.extend(other.host_builds);
        self
    }

    /// What of it hits this machine and these records.
    pub(crate) fn hits<'a>(
        &self,
        guest: &OsBuild,
        host: Option<&OsBuild>,
        records: impl Iterator<Item = &'a str> + Clone,
    ) -> Vec<Revocation> {
        let revocation = |what: &str, reason: &str| Revocation {
            what: what.to_owned(),
            reason: reason.to_owned(),
        };
        let by_id = self
            .records
            .iter()
            .filter(|d| records.clone().any(|id| id == d.id))
            .map(|d| revocation(&d.id, &d.reason));
        let by_guest = self.guest_builds.iter().filter(|d| d.build == *guest);
        let by_host = self.host_builds.iter().filter(|d| Some(&d.build) == host);
        let by_build = by_guest
            .chain(by_host)
            .map(|d| revocation(d.build.as_str(), &d.reason));
        by_id.chain(by_build).collect()
    }
}
