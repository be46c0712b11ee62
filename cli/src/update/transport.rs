//! Where updates come from: a web server, a folder, or one file.
//!
//! **Contract.** Plain GETs of public files, nothing identifying, no redirects, no cookies.
//! Every read is bounded in length and in time. "There is no such file" is 404 and nothing
//! else: whoever stands in between (a captive portal, a proxy) would otherwise decide which
//! root is the newest.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use reqwest::StatusCode;
use reqwest::blocking::{Client, Response};
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, DATE, LOCATION};
use sigstore_tuf::transport::FetchFuture;

use super::limits;
use super::problem::{Problem, chain};
use crate::error::plain;

/// A place that has a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The addresses below which metadata and targets are, without a slash at the end.
    Http {
        /// Of metadata.
        metadata: String,
        /// Of targets.
        targets: String,
    },
    /// The two folders.
    Folder {
        /// Of metadata.
        metadata: PathBuf,
        /// Of targets.
        targets: PathBuf,
    },
    /// One file with everything in it: `metadata/..` and `targets/..` by name.
    Archive(PathBuf, Arc<BTreeMap<String, Vec<u8>>>),
}

impl Place {
    /// What `--from` names: `http://..`, `https://..`, `file://..`, a folder, or a tar file.
    ///
    /// # Errors
    /// There is no such folder or file, or it is not a repository.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        if let Some((scheme, rest)) = text.split_once("://") {
            match scheme.to_ascii_lowercase().as_str() {
                "http" | "https" => {
                    let base = text.trim_end_matches('/');
                    return Ok(Self::Http {
                        metadata: format!("{base}/metadata"),
                        targets: format!("{base}/targets"),
                    });
                }
                "file" => {
                    let path = rest.strip_prefix("localhost").unwrap_or(rest);
                    return Self::of_path(Path::new(path));
                }
                other => {
                    return Err(Problem::Usage(
                        format!("{text}: updates cannot come by {other}"),
                        "name an http://, https:// or file:// address, a folder, or a tar file"
                            .to_owned(),
                    ));
                }
            }
        }
        Self::of_path(Path::new(text))
    }

    /// A folder or a tar file.
    ///
    /// # Errors
    /// As [`Place::parse`].
    pub fn of_path(path: &Path) -> Result<Self, Problem> {
        let unreadable = |e: &io::Error| {
            Problem::Usage(
                format!(
                    "the repository {} cannot be read: {}",
                    path.display(),
                    plain(e)
                ),
                "name the folder that has `metadata` and `targets` in it, or a tar file of it"
                    .to_owned(),
            )
        };
        let found = std::fs::metadata(path).map_err(|e| unreadable(&e))?;
        if found.is_file() {
            let files = unpack(path)?;
            return Ok(Self::Archive(path.to_owned(), Arc::new(files)));
        }
        let (metadata, targets) = (path.join("metadata"), path.join("targets"));
        if !metadata.is_dir() {
            return Err(Problem::Usage(
                format!(
                    "{} is not a repository: it has no folder `metadata`",
                    path.display()
                ),
                "name the folder that has `metadata` and `targets` in it, or a tar file of it"
                    .to_owned(),
            ));
        }
        Ok(Self::Folder { metadata, targets })
    }

    /// Whether it takes a network.
    pub fn is_remote(&self) -> bool {
        matches!(self, Self::Http { .. })
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Http { metadata, .. } => f.write_str(metadata.trim_end_matches("/metadata")),
            Self::Folder { metadata, .. } => {
                write!(f, "{}", metadata.parent().unwrap_or(metadata).display())
            }
            Self::Archive(path, _) => write!(f, "{}", path.display()),
        }
    }
}

/// Reads a tar file of a repository into memory.
fn unpack(path: &Path) -> Result<BTreeMap<String, Vec<u8>>, Problem> {
    let unusable = |why: &str| {
        Problem::Usage(
            format!(
                "{} is not a repository in a tar file: {why}",
                path.display()
            ),
            "make one with: tar -cf repository.tar -C FOLDER metadata targets".to_owned(),
        )
    };
    let file = File::open(path).map_err(|e| unusable(&plain(&e)))?;
    let mut archive = tar::Archive::new(file.take(limits::ARCHIVE));
    let mut files = BTreeMap::new();
    let mut room = limits::ARCHIVE;
    for entry in archive.entries().map_err(|e| unusable(&plain(&e)))? {
        let entry = entry.map_err(|e| {
            unusable(&format!(
                "{} (a compressed one must be unpacked first)",
                plain(&e)
            ))
        })?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = entry.path().map_err(|e| unusable(&plain(&e)))?.into_owned();
        let Some(name) = inside(&name) else { continue };
        let mut bytes = Vec::new();
        entry
            .take(room + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| unusable(&plain(&e)))?;
        room = room
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| unusable("it is too large"))?;
        files.insert(name, bytes);
    }
    if !files.contains_key("metadata/timestamp.json") {
        return Err(unusable("it has no metadata/timestamp.json"));
    }
    Ok(files)
}

/// `metadata/NAME` or `targets/NAME`, wherever in the tar file the two folders are.
fn inside(path: &Path) -> Option<String> {
    let mut parts = path.components().rev();
    let name = parts.next()?.as_os_str().to_str()?;
    let folder = parts.next()?.as_os_str().to_str()?;
    matches!(folder, "metadata" | "targets").then(|| format!("{folder}/{name}"))
}

/// What was asked for, and what is known from it.
#[derive(Debug, Default)]
pub struct Log {
    /// Requests, or files read.
    pub requests: AtomicU64,
    /// Bytes of answers.
    pub bytes: AtomicU64,
    /// What the server says the time is.
    server: Mutex<Option<Timestamp>>,
}

impl Log {
    /// What the server says the time is: not signed, so it is only ever told, never used.
    pub fn server_time(&self) -> Option<Timestamp> {
        *self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Told how far a fetch is: its name, bytes so far, bytes in all where known.
pub type Progress = Arc<dyn Fn(&str, u64, Option<u64>) + Send + Sync>;

/// Fetches from a place.
#[derive(Clone)]
pub struct Transport {
    place: Place,
    client: Option<Client>,
    deadline: Instant,
    progress: Option<Progress>,
    /// What was asked for so far.
    pub log: Arc<Log>,
}

impl Transport {
    /// Everything together may take `budget`.
    ///
    /// # Errors
    /// No client for the web can be made on this machine.
    pub fn new(
        place: Place,
        budget: Duration,
        progress: Option<Progress>,
    ) -> Result<Self, Problem> {
        let client = match &place {
            Place::Http { metadata, .. } => {
                let client = Client::builder()
                    .redirect(reqwest::redirect::Policy::none())
                    .connect_timeout(limits::CONNECT)
                    .build();
                Some(client.map_err(|e| Problem::Unreachable(metadata.clone(), chain(&e)))?)
            }
            _ => None,
        };
        Ok(Self {
            place,
            client,
            deadline: Instant::now() + budget,
            progress,
            log: Arc::default(),
        })
    }

    fn metadata(&self, name: &str, max: u64) -> Result<Option<Vec<u8>>, Problem> {
        let deadline = self.deadline.min(Instant::now() + limits::SMALL_FILE);
        let found = match &self.place {
            Place::Http { metadata, .. } => self.http(&format!("{metadata}/{name}"), max, deadline),
            Place::Folder { metadata, .. } => self.file(metadata, name, max),
            Place::Archive(_, files) => self.member(files, &format!("metadata/{name}"), max),
        }?;
        if let Some(bytes) = &found
            && bytes.trim_ascii_start().starts_with(b"<")
        {
            return Err(Problem::NotTheSource(
                self.name_of(name),
                "a web page where metadata has to be".to_owned(),
            ));
        }
        Ok(found)
    }

    fn target(&self, name: &str, max: u64) -> Result<Option<Vec<u8>>, Problem> {
        match &self.place {
            Place::Http { targets, .. } => {
                self.http(&format!("{targets}/{name}"), max, self.deadline)
            }
            Place::Folder { targets, .. } => self.file(targets, name, max),
            Place::Archive(_, files) => self.member(files, &format!("targets/{name}"), max),
        }
    }

    fn name_of(&self, name: &str) -> String {
        match &self.place {
            Place::Http { metadata, .. } => format!("{metadata}/{name}"),
            Place::Folder { metadata, .. } => metadata.join(name).display().to_string(),
            Place::Archive(path, _) => format!("{}: metadata/{name}", path.display()),
        }
    }

    fn http(&self, url: &str, max: u64, deadline: Instant) -> Result<Option<Vec<u8>>, Problem> {
        let Some(client) = &self.client else {
            return Err(Problem::Missing(url.to_owned()));
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Problem::Slow(url.to_owned()));
        }
        self.log.requests.fetch_add(1, Ordering::Relaxed);
        let response = client
            .get(url)
            .timeout(left)
            .send()
            .map_err(|e| of_reqwest(url, &e))?;
        let date = response.headers().get(DATE).and_then(|v| v.to_str().ok());
        let parser = jiff::fmt::rfc2822::DateTimeParser::new();
        if let Some(date) = date.and_then(|text| parser.parse_timestamp(text).ok()) {
            *self
                .log
                .server
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = Some(date);
        }
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            status => return Err(of_status(url, status, &response)),
        }
        let length = header(&response, CONTENT_LENGTH.as_str()).and_then(|v| v.parse::<u64>().ok());
        if length.is_some_and(|length| length > max) {
            return Err(Problem::TooLong(url.to_owned(), max));
        }
        self.body(url, response, length, max, deadline).map(Some)
    }

    /// Reads at most `max` bytes, and looks at the clock after each piece: a server that sends
    /// a byte now and then is as good as none.
    fn body(
        &self,
        url: &str,
        mut response: Response,
        length: Option<u64>,
        max: u64,
        deadline: Instant,
    ) -> Result<Vec<u8>, Problem> {
        let mut bytes = Vec::new();
        let mut piece = [0; 16 << 10];
        loop {
            let count = match response.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) if Instant::now() >= deadline => return Err(Problem::Slow(url.to_owned())),
                Err(e) => return Err(Problem::Unreachable(url.to_owned(), chain(&e))),
            };
            bytes.extend_from_slice(piece.get(..count).unwrap_or_default());
            self.log.bytes.fetch_add(count as u64, Ordering::Relaxed);
            if bytes.len() as u64 > max {
                return Err(Problem::TooLong(url.to_owned(), max));
            }
            if Instant::now() >= deadline {
                return Err(Problem::Slow(url.to_owned()));
            }
            if let Some(progress) = &self.progress {
                progress(url, bytes.len() as u64, length);
            }
        }
        Ok(bytes)
    }

    fn file(&self, folder: &Path, name: &str, max: u64) -> Result<Option<Vec<u8>>, Problem> {
        let plain_name = Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let path = folder.join(name);
        if !plain_name {
            return Err(Problem::Malformed(format!(
                "{name} is not the name of a file"
            )));
        }
        self.log.requests.fetch_add(1, Ordering::Relaxed);
        let unreadable = |e: &io::Error| Problem::Unreachable(path.display().to_string(), plain(e));
        match std::fs::metadata(&path) {
            // Opening a pipe would wait for whoever writes into it.
            Ok(found) if !found.is_file() => {
                return Err(Problem::Malformed(format!(
                    "{} is not a file",
                    path.display()
                )));
            }
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(unreadable(&e)),
        }
        let mut bytes = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(max + 1).read_to_end(&mut bytes))
            .map_err(|e| unreadable(&e))?;
        self.log
            .bytes
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if bytes.len() as u64 > max {
            return Err(Problem::TooLong(path.display().to_string(), max));
        }
        Ok(Some(bytes))
    }

    fn member(
        &self,
        files: &BTreeMap<String, Vec<u8>>,
        name: &str,
        max: u64,
    ) -> Result<Option<Vec<u8>>, Problem> {
        self.log.requests.fetch_add(1, Ordering::Relaxed);
        match files.get(name) {
            Some(bytes) if bytes.len() as u64 > max => Err(Problem::TooLong(name.to_owned(), max)),
            found => Ok(found.cloned()),
        }
    }
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name).and_then(|v| v.to_str().ok())
}

fn of_reqwest(url: &str, e: &reqwest::Error) -> Problem {
    if e.is_timeout() && !e.is_connect() {
        return Problem::Slow(url.to_owned());
    }
    if e.is_builder() {
        return Problem::Usage(
            format!("{url} is not an address: {}", chain(e)),
            "name an http://, https:// or file:// address, a folder, or a tar file".to_owned(),
        );
    }
    // Its own text repeats the address, which is told already.
    let source = std::error::Error::source(e);
    Problem::Unreachable(url.to_owned(), source.map_or_else(|| e.to_string(), chain))
}

fn of_status(url: &str, status: StatusCode, response: &Response) -> Problem {
    let page = header(response, CONTENT_TYPE.as_str()).is_some_and(|t| t.starts_with("text/html"));
    match status.as_u16() {
        300..=399 => Problem::NotTheSource(
            url.to_owned(),
            match header(response, LOCATION.as_str()) {
                Some(to) => format!("HTTP {}, look at {to}", status.as_u16()),
                None => format!("HTTP {}", status.as_u16()),
            },
        ),
        401 | 403 | 407 | 511 => Problem::NotTheSource(url.to_owned(), format!("HTTP {status}")),
        200..=299 if page => {
            Problem::NotTheSource(url.to_owned(), format!("HTTP {status}, a web page"))
        }
        _ => Problem::Refused(url.to_owned(), format!("HTTP {status}")),
    }
}

/// The library wants futures; ours are ready.
fn ready<'a>(found: Result<Option<Vec<u8>>, Problem>) -> FetchFuture<'a> {
    let found = found.map_err(|e| sigstore_tuf::Error::transport_with_source(e.to_string(), e));
    Box::pin(std::future::ready(found))
}

impl sigstore_tuf::Repository for Transport {
    fn fetch_metadata<'a>(&'a self, name: &'a str, max_length: u64) -> FetchFuture<'a> {
        ready(self.metadata(name, max_length))
    }

    fn fetch_target<'a>(&'a self, path: &'a str, max_length: u64) -> FetchFuture<'a> {
        ready(self.target(path, max_length))
    }
}
