//! One refresh against a place, in memory only.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use sigstore_tuf::{Updater, UpdaterConfig};

use super::clock::Clock;
use super::kept::Kept;
use super::limits;
use super::problem::Problem;
use super::transport::Transport;
use super::verify::{
    Denied, EARLY, Keys, Metadata, REVOCATIONS, Verified, delegation, keys_of_root, verify,
};

/// What a place has, verified.
pub(crate) struct Fetched {
    /// The files.
    pub(crate) metadata: Metadata,
    /// What they vouch for.
    pub(crate) verified: Verified,
    updater: Updater,
}

/// The library's work is over at the first poll: every answer of our transport is ready.
pub(crate) fn once<T>(work: impl Future<Output = sigstore_tuf::Result<T>>) -> Result<T, Problem> {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Ok(done?),
        Poll::Pending => Err(Problem::Malformed("the refresh did not end".to_owned())),
    }
}

/// An updater that starts from `root` and what is kept.
pub(crate) fn updater(root: &[u8], kept: &Kept, transport: Transport) -> Result<Updater, Problem> {
    let mut config = UpdaterConfig::default();
    config.root_max_length = limits::ROOT;
    config.timestamp_max_length = limits::TIMESTAMP;
    config.snapshot_max_length = limits::LISTS;
    config.targets_max_length = limits::LISTS;
    config.target_max_length = limits::TARGET;
    config.max_root_rotations = limits::ROOTS;
    Ok(Updater::new(transport, root)?
        .with_config(config)
        .with_store(kept.clone()))
}

/// The refresh itself, at `clock`. An end of freshness is told with the clock that it was held
/// against.
pub(crate) fn run(
    updater: &mut Updater,
    clock: Clock,
    transport: &Transport,
) -> Result<(), Problem> {
    let now = clock.now().to_string();
    let now = now
        .parse()
        .map_err(|_| Problem::Malformed(format!("{now} is not a time")))?;
    once(updater.refresh(now)).map_err(|problem| match problem {
        Problem::Expired { role, expires, .. } => Problem::Expired {
            role,
            expires,
            clock,
            server: transport.log.server_time(),
        },
        other => other,
    })
}

/// Refreshes from the trust root and what is stored. `clock` gives the time that counts under
/// a set of keys.
///
/// # Errors
/// Any link that does not hold; nothing is written.
pub(crate) fn refresh(
    trust_root: &[u8],
    stored: Option<(&Metadata, &Verified)>,
    transport: &Transport,
    clock: impl Fn(&Keys) -> Clock,
) -> Result<Fetched, Problem> {
    let (first, mut keys) = keys_of_root(trust_root)?;
    let kept = Kept::default();
    if let Some((metadata, verified)) = stored {
        for (version, root) in (first + 1..).zip(&metadata.roots) {
            kept.put(format!("root_history/{version}.root.json"), root.clone());
        }
        kept.put("timestamp.json", metadata.timestamp.clone());
        kept.put("snapshot.json", metadata.snapshot.clone());
        kept.put("targets.json", metadata.targets.clone());
        if let Some((_, list)) = &metadata.revoker {
            kept.put(format!("targets/{REVOCATIONS}"), list.clone());
        }
        keys = verified.keys.clone();
    }
    let mut updater = updater(trust_root, &kept, transport.clone())?;
    let at = clock(&keys);
    if let Err(problem) = run(&mut updater, at, transport) {
        // A new root may have ended the keys that signed the time: then it counts no more.
        let newest = keys_of_root(updater.trusted().root_bytes())?.1;
        let again = clock(&newest);
        if !matches!(problem, Problem::Expired { .. }) || again == at || again.now() == at.now() {
            return Err(problem);
        }
        run(&mut updater, again, transport)?;
    }
    let newest = updater.trusted().root().version;
    let file = |name: &str| {
        kept.get(name)
            .ok_or_else(|| Problem::Missing(name.to_owned()))
    };
    let mut metadata = Metadata {
        roots: (first + 1..=newest)
            .map(|version| file(&format!("root_history/{version}.root.json")))
            .collect::<Result<_, _>>()?,
        timestamp: file("timestamp.json")?,
        snapshot: file("snapshot.json")?,
        targets: file("targets.json")?,
        revoker: None,
    };
    let snapshot = updater.trusted().snapshot().map_or(0, |s| s.version);
    metadata.revoker = match stored {
        // The snapshot pins everything below it: nothing else can have changed.
        Some((old, verified))
            if verified.root_version == newest && verified.snapshot_version == snapshot =>
        {
            old.revoker.clone()
        }
        _ => deny_list(&mut updater, &kept)?,
    };
    let verified = verify(trust_root, &metadata)?;
    Ok(Fetched {
        metadata,
        verified,
        updater,
    })
}

/// The revoker's metadata and the deny list. A deny list whose freshness is over is taken all
/// the same: it can only deny.
fn deny_list(updater: &mut Updater, kept: &Kept) -> Result<Option<Denied>, Problem> {
    let trusted = updater.trusted();
    let Some(targets) = trusted.targets_role("targets") else {
        return Ok(None);
    };
    let pinned = trusted
        .snapshot()
        .is_some_and(|s| s.meta.contains_key("revoker.json"));
    if delegation(targets)?.is_none() || !pinned {
        return Ok(None);
    }
    let early = EARLY
        .parse()
        .map_err(|_| Problem::Malformed(format!("{EARLY} is not a time")))?;
    let missing = || Problem::Missing(REVOCATIONS.to_owned());
    let file = once(updater.get_target_info(REVOCATIONS, early))?.ok_or_else(missing)?;
    let Some(revoker) = kept.get("revoker.json") else {
        return Err(Problem::Malformed(format!(
            "{REVOCATIONS} is listed by another role than the revoker"
        )));
    };
    if file.length > limits::DENY_LIST {
        return Err(Problem::TooLong(REVOCATIONS.to_owned(), limits::DENY_LIST));
    }
    let list = match updater.find_cached_target(&file, REVOCATIONS) {
        Some(list) => list,
        None => once(updater.download_target(&file, REVOCATIONS))?,
    };
    Ok(Some((revoker, list)))
}

impl Fetched {
    /// Fetches a target that targets itself lists, and checks its length and hash.
    ///
    /// # Errors
    /// It does not come, or is not what was signed.
    pub(crate) fn target(&self, name: &str) -> Result<Vec<u8>, Problem> {
        let targets = self.updater.trusted().targets_role("targets");
        let file = targets.and_then(|targets| targets.target(name));
        let file = file.ok_or_else(|| Problem::Missing(name.to_owned()))?;
        once(self.updater.download_target(file, name))
    }

    /// Every target that targets itself lists, by the name of its file, verified.
    ///
    /// # Errors
    /// One does not come, or is not what was signed.
    pub(crate) fn targets(&self) -> Result<Vec<(String, Vec<u8>)>, Problem> {
        let Some(targets) = self.updater.trusted().targets_role("targets") else {
            return Ok(Vec::new());
        };
        let mut files = Vec::new();
        for (name, file) in &targets.targets {
            let bytes = once(self.updater.download_target(file, name))?;
            files.push((format!("{}.{name}", compatdb::sha256_hex(&bytes)), bytes));
        }
        Ok(files)
    }

    /// The version numbers of targets and snapshot.
    pub(crate) fn versions(&self) -> (u64, u64) {
        let trusted = self.updater.trusted();
        let targets = trusted.targets_role("targets").map_or(0, |t| t.version);
        (targets, trusted.snapshot().map_or(0, |s| s.version))
    }
}
