//! `compatdb site`: the database as static pages that any web server, or none, can show.
//!
//! **Contract.** Everything comes from one database and is a pure function of it: the same
//! database gives the same bytes. The pages ask nobody else for anything, say what they know
//! without a script, and hold whatever text a record has, however hostile, as text. "What
//! about my Mac" answers by a table that [`verdicts`] takes from the verdict itself.

mod feed;
mod pages;
mod verdicts;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use compatdb::{Database, write_file};
use serde_json::json;

use super::{Failure, From, Output, commands, json as json_text};

/// What the site is made from.
#[derive(Debug, Args)]
pub(super) struct Site {
    /// The folder to write; files that the site does not have any more are removed from it.
    #[arg(value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    from: From,
    /// An older published database, for the page and the feed of changes; may be repeated.
    #[arg(long, value_name = "FILE")]
    before: Vec<PathBuf>,
}

/// Names of files below the site's folder, and what they hold.
type Files = BTreeMap<String, Vec<u8>>;

/// Every file that a site made here may have ends in one of these; only such are removed.
const KINDS: [&str; 5] = ["html", "css", "js", "json", "xml"];
/// Says that a folder is a site of ours.
const MARK: &str = "site.json";

pub(super) fn run(args: &Site) -> Result<Output, Failure> {
    let database = commands::open(args.from.path())?;
    let mut older = Vec::new();
    for path in &args.before {
        older.push(commands::open(path)?);
    }
    older.sort_by_key(Database::seq);
    if let Some(newest) = older.last().filter(|old| old.seq() >= database.seq()) {
        return Err(Failure(format!(
            "--before {} is not older than database {}; leave it out",
            newest.seq(),
            database.seq()
        )));
    }
    let files = files(&older, &database)?;
    let old = owned(&args.out)?;
    for (name, bytes) in &files {
        let path = args.out.join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| cannot("make", folder, &e))?;
        }
        // What did not change keeps its time, for those who copy by it.
        if !std::fs::read(&path).is_ok_and(|was| was == *bytes) {
            write_file(&path, bytes)?;
        }
    }
    for name in old.iter().filter(|name| !files.contains_key(*name)) {
        let path = args.out.join(name);
        std::fs::remove_file(&path).map_err(|e| cannot("remove", &path, &e))?;
    }
    let bytes: usize = files.values().map(Vec::len).sum();
    let out = args.out.display();
    Ok(Output {
        text: format!(
            "{out}: {} files, {bytes} bytes, from database {}; open {out}/index.html\n",
            files.len(),
            database.seq()
        ),
        json: json_text(
            "site",
            &json!({ "out": out.to_string(), "files": files.len(), "bytes": bytes, "database": database.meta() }),
        )?,
        code: 0,
    })
}

fn files(older: &[Database], database: &Database) -> Result<Files, Failure> {
    let changes = feed::changes(older, database)?;
    let mut files = pages::files(database, &changes)?;
    files.insert("feed.xml".to_owned(), feed::atom(database, &changes)?);
    files.insert("verdicts.js".to_owned(), verdicts::script(database)?);
    for (name, text) in [
        ("style.css", include_str!("assets/style.css")),
        ("verdict.js", include_str!("assets/verdict.js")),
        ("page.js", include_str!("assets/page.js")),
    ] {
        files.insert(name.to_owned(), text.as_bytes().to_vec());
    }
    let mark = json!({
        "schema": "compatdb.site-made/1",
        "seq": database.seq(),
        "sha256": database.sha256(),
    });
    files.insert(MARK.to_owned(), serde_json::to_vec_pretty(&mark)?);
    Ok(files)
}

/// The files of an earlier site in the folder. A folder that holds anything else is left
/// alone: a slip in the argument must not cost anybody's files.
fn owned(out: &Path) -> Result<Vec<String>, Failure> {
    let Ok(entries) = std::fs::read_dir(out) else {
        return Ok(Vec::new());
    };
    if !out.join(MARK).is_file() {
        return match entries.count() {
            0 => Ok(Vec::new()),
            _ => Err(Failure(format!(
                "{} holds other files, and no site of an earlier run; name an empty or new folder",
                out.display()
            ))),
        };
    }
    let mut names = Vec::new();
    collect(out, "", &mut names)?;
    Ok(names)
}

fn collect(root: &Path, below: &str, names: &mut Vec<String>) -> Result<(), Failure> {
    let folder = root.join(below);
    for entry in std::fs::read_dir(&folder).map_err(|e| cannot("list", &folder, &e))? {
        let entry = entry.map_err(|e| cannot("list", &folder, &e))?;
        let Some(name) = entry.file_name().to_str().map(|name| match below {
            "" => name.to_owned(),
            below => format!("{below}/{name}"),
        }) else {
            continue;
        };
        let kind = entry
            .file_type()
            .map_err(|e| cannot("look at", &entry.path(), &e))?;
        let extension = Path::new(&name).extension().and_then(|e| e.to_str());
        if kind.is_dir() && pages::FOLDERS.contains(&name.as_str()) {
            collect(root, &name, names)?;
        } else if kind.is_file() && extension.is_some_and(|e| KINDS.contains(&e)) {
            names.push(name);
        }
    }
    Ok(())
}

fn cannot(what: &str, path: &Path, e: &std::io::Error) -> Failure {
    Failure(format!("cannot {what} {}: {e}", path.display()))
}
