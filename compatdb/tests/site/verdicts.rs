//! The answers of the page's script are the verdict's, over all pairs of known builds.

use std::fmt::Write as _;

use compatdb::facts::{Facts, Guest, Host, HostSource, Local, Sip};
use compatdb::verdict::{Case, Evidence, Request, Verdict};
use compatdb::{Database, OsBuild, Policy, build_database, decide, records::Records};

use crate::browser::{address, chromium, dom};
use crate::{records, site};

/// One line about what the verdict says: everything that the page shows of it, but for the
/// sentence about what is not known, which names neighbours that the page lists itself.
fn line(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Allow(a) => format!(
            "allow {} {} {}",
            a.record.as_deref().unwrap(),
            a.evidence_level.unwrap(),
            a.profile
        ),
        Verdict::Refuse(r) => {
            let mut line = r.reason.code().to_owned();
            for also in &r.also {
                write!(line, " +{also}").unwrap();
            }
            if !r.reason.code().ends_with("-unknown") {
                write!(line, " {}", r.says).unwrap();
            }
            // The nearest verified pair is among the page's neighbours.
            let commands = r.remedies.iter().filter_map(|r| r.command.as_deref());
            for command in commands.filter(|c| !c.starts_with("metalshim db show P")) {
                write!(line, " | {command}").unwrap();
            }
            line
        }
    }
}

fn decided(database: &Database, guest: &OsBuild, host: Option<&OsBuild>) -> Verdict {
    let facts = Facts {
        guest: Guest {
            build: guest.clone(),
            version: "1.0".to_owned(),
            model: String::new(),
            chip: String::new(),
            vm: true,
            sip: Sip::Unknown,
            boot_session: String::new(),
        },
        host: host.map(|build| Host {
            build: build.clone(),
            version: None,
            model: None,
            chip: None,
            apple_family: None,
            feature_level_preference: None,
            source: HostSource::Stated,
        }),
        device: None,
        local: Local::default(),
    };
    let lookup = database.lookup(guest, host, None).unwrap();
    let meta = database.meta();
    decide(&Case {
        facts: &facts,
        database: Evidence::Known {
            meta,
            lookup: &lookup,
        },
        policy: &Policy::default(),
        request: &Request::default(),
        cli: &meta.min_cli,
        shim_abi: u32::MAX,
        now: meta.published_at,
        fresh_until: None,
        unsigned: false,
    })
}

const COMPARE: &str = r#"
const wrong = [];
let n = 0;
const line = (is) => {
  if (is.decision === "allow") return `allow ${is.record} ${is.level} ${is.profile.apple_family_max}/${is.profile.max_threadgroup_memory}`;
  const says = is.reason.endsWith("-unknown") ? "" : ` ${is.says}`;
  const commands = is.remedies.map(([, c]) => c).filter((c) => c && !c.startsWith("metalshim db show P"));
  return is.reason + is.also.map((a) => ` +${a}`).join("") + says + commands.map((c) => ` | ${c}`).join("");
};
for (const guest of BUILDS) for (const host of [null, ...BUILDS]) {
  const want = TEXTS[OF[n++]], is = line(verdict(VERDICTS, guest, host));
  const filled = want.replaceAll("{guest}", guest).replaceAll("{host}", host || "");
  if (is !== filled && wrong.length < 5) wrong.push(`${guest} on ${host}: ${is} INSTEAD OF ${filled}`);
}
document.body.textContent = `${n} pairs, ${wrong.length} wrong. ${wrong.join("\n")}`;
"#;

#[test]
fn the_page_says_what_the_verdict_says_of_all_pairs() {
    let Some(browser) = chromium() else { return };
    let (dir, out) = site(None);
    let (records, _) = Records::load(&records());
    let database = Database::open(build_database(&records, &records.release).unwrap()).unwrap();
    let mut builds: Vec<OsBuild> = database
        .builds()
        .unwrap()
        .into_iter()
        .map(|b| b.build)
        .collect();
    // Of systems that nobody knows yet, too, and of one that is older than all.
    builds
        .extend(["00A1", "21A1", "25Z99", "26B1", "27A1", "27A5001a"].map(|b| b.parse().unwrap()));
    let mut texts: Vec<String> = Vec::new();
    let mut of = String::from("[");
    for guest in &builds {
        for host in std::iter::once(None).chain(builds.iter().map(Some)) {
            let line = line(&decided(&database, guest, host)).replace(guest.as_str(), "{guest}");
            let line = host.map_or(line.clone(), |host| line.replace(host.as_str(), "{host}"));
            let at = texts.iter().position(|t| *t == line).unwrap_or_else(|| {
                texts.push(line);
                texts.len() - 1
            });
            write!(of, "{at},").unwrap();
        }
    }
    let page = dir.path().join("site/compare.html");
    let data = format!(
        "const BUILDS = {}; const TEXTS = {}; const OF = {of}];",
        serde_json::to_string(&builds).unwrap(),
        serde_json::to_string(&texts).unwrap()
    );
    std::fs::write(
        &page,
        format!(
            "<!doctype html><meta charset=utf-8><body><script src=verdicts.js></script><script src=verdict.js></script><script>{data}{COMPARE}</script>"
        ),
    )
    .unwrap();
    let says = dom(&browser, &address(&out.join("compare.html"), ""), &[]);
    let pairs = builds.len() * (builds.len() + 1);
    assert!(says.contains(&format!("{pairs} pairs, 0 wrong")), "{says}");
}
