//! `metalshim db clients | faults | builds`: one table each.

use compatdb::OsBuild;
use compatdb::records::Recognise;
use compatdb::rows::{Build, Client, Fault, Pair};
use serde::Serialize;

use super::words;
use crate::printer::{Report, Style};
use crate::table::{Table, paragraph};

/// What `db clients` lists.
#[derive(Debug, Serialize)]
pub(super) struct Clients {
    /// All of them.
    pub clients: Vec<Client>,
    /// How wide the text may be.
    #[serde(skip)]
    pub width: Option<usize>,
}

impl Report for Clients {
    const SCHEMA: &'static str = "metalshim.db-clients/1";

    fn text(&self, _: Style) -> String {
        let mut table = Table::new(["id", "gains", "limits", "recognised by", "what to know"]);
        for client in &self.clients {
            table.row([
                client.id.clone(),
                words::gains(client.gains).to_owned(),
                limits(client),
                recognised(&client.recognise),
                client.gains_says.clone(),
            ]);
        }
        let mut out = table.render(self.width);
        out.push('\n');
        out.push_str(&paragraph(
            "A limit only ever lowers a record's profile. A program that no row knows gets the record's profile. \
             `metalshim db show ID` gives the sources and the reason of each limit; `--client ID@VERSION` says what a program is.",
            0,
            self.width,
        ));
        out
    }
}

/// The limits of a client, one after another.
fn limits(client: &Client) -> String {
    let blocked = client.blocked.iter().map(|b| {
        let versions = words::versions(&b.versions, false);
        format!("{versions}: stock only")
    });
    let caps = client.caps.iter().map(|cap| {
        let versions = words::versions(&cap.versions, cap.unknown_version);
        format!("{versions}: {}", words::cap(cap))
    });
    let limits: Vec<String> = blocked.chain(caps).collect();
    if limits.is_empty() {
        "none".to_owned()
    } else {
        limits.join("; ")
    }
}

/// How a client is recognised.
pub(super) fn recognised(by: &Recognise) -> String {
    let group = |what: &str, names: &[String]| {
        (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")))
    };
    let groups: Vec<String> = [
        group("program", &by.executables),
        group("library", &by.libraries),
        group("formula", &by.formulae),
    ]
    .into_iter()
    .flatten()
    .collect();
    if groups.is_empty() {
        "--client only".to_owned()
    } else {
        groups.join("; ")
    }
}

/// What `db faults` lists.
#[derive(Debug, Serialize)]
pub(super) struct Faults {
    /// All of them.
    pub faults: Vec<Fault>,
    /// How wide the text may be.
    #[serde(skip)]
    pub width: Option<usize>,
}

impl Report for Faults {
    const SCHEMA: &'static str = "metalshim.db-faults/1";

    fn text(&self, _: Style) -> String {
        let mut table = Table::new(["id", "what", "guests", "clients", "what to do", "source"]);
        for fault in &self.faults {
            table.row([
                fault.id.clone(),
                fault.title.clone(),
                fault.guests.clone(),
                words::list_or_dash(&fault.clients),
                words::or_dash(fault.advice.as_deref()),
                words::sources(&fault.sources),
            ]);
        }
        let mut out = table.render(self.width);
        out.push('\n');
        out.push_str(&paragraph(
            "Faults of the guest's GPU, as others reported them; the overrides cause none of these and mend only the missing kernels. \
             `metalshim db show ID` tells all about one.",
            0,
            self.width,
        ));
        out
    }
}

/// What `db builds` lists.
#[derive(Debug, Serialize)]
pub(super) struct Builds {
    /// All of them, oldest first.
    pub builds: Vec<KnownBuild>,
    /// How wide the text may be.
    #[serde(skip)]
    pub width: Option<usize>,
}

/// One build of macOS, and the pairs that it is in.
#[derive(Debug, Serialize)]
pub(super) struct KnownBuild {
    /// The build itself.
    #[serde(flatten)]
    pub build: Build,
    /// The records with it as the guest.
    pub guest_in: Vec<String>,
    /// The records with it as the host.
    pub host_in: Vec<String>,
}

impl Builds {
    /// The builds that `wanted` names (all when it names none), with the pairs they are in.
    pub(super) fn new(
        builds: Vec<Build>,
        pairs: &[Pair],
        wanted: &[OsBuild],
        width: Option<usize>,
    ) -> Self {
        let ids = |found: &dyn Fn(&Pair) -> bool| {
            let found = pairs.iter().filter(|p| found(p));
            found.map(|p| p.id.clone()).collect()
        };
        let builds = builds
            .into_iter()
            .filter(|b| wanted.is_empty() || wanted.contains(&b.build))
            .map(|b| KnownBuild {
                guest_in: ids(&|p| p.guest.build == b.build),
                host_in: ids(&|p| p.host.build == b.build),
                build: b,
            })
            .collect();
        Self { builds, width }
    }
}

impl Report for Builds {
    const SCHEMA: &'static str = "metalshim.db-builds/1";

    fn text(&self, _: Style) -> String {
        if self.builds.is_empty() {
            return "The database does not know this build.\n".to_owned();
        }
        let mut table = Table::new(["build", "macos", "released", "guest in", "host in"]);
        for KnownBuild {
            build,
            guest_in,
            host_in,
        } in &self.builds
        {
            table.row([
                build.build.to_string(),
                build.version.clone(),
                words::or_dash(build.released),
                guest_in.join(", "),
                host_in.join(", "),
            ]);
        }
        table.render(self.width)
    }
}
