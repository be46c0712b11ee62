//! Brings facts, database, policy and program together, and asks for the verdict.
//!
//! **Contract.** This gathers; [`compatdb::decide`] decides. A database that cannot be used
//! is a refusal like any other, not an error, so that the other reasons are told too.

use std::cell::OnceCell;
use std::path::Path;

use compatdb::facts::{Canary, Facts, Local, PARAVIRTUAL_CLASS};
use compatdb::records::{Client, Pair};
use compatdb::verdict::{Case, Evidence, Request, Target};
use compatdb::{ClientMatch, Lookup, OsBuild, Policy, Profile, Program, Told, Verdict};
use metalshim_ticket::{SHIM_ABI, Ticket};

use crate::canary::kept::{self, Kept, Said};
use crate::context::Context;
use crate::database::{self, Loaded, Origin};
use crate::drift::{self, Drift};
use crate::error::Error;
use crate::facts::Machine;
use crate::program::Launcher;
use crate::state::StateFolder;
use crate::unverified;

/// What every verdict is made from, read once a command.
#[derive(Debug)]
pub struct Known {
    /// The facts.
    pub machine: Machine,
    /// The fleet's rules.
    pub policy: Policy,
    /// The database, or why there is none.
    pub database: Result<Loaded, String>,
    /// The state folder; none without a home.
    pub state: Option<StateFolder>,
    /// What the shim found other than recorded, while it holds; the facts say so, too.
    pub drift: Option<Drift>,
    /// What the last canary said, of whichever boot.
    kept: Option<Kept>,
    /// The client rows, read at the first need.
    clients: OnceCell<Result<Vec<Client>, String>>,
}

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Question<'a> {
    /// `--profile` of this command.
    pub profile: Option<Profile>,
    /// What `enable` and the configuration say where the command does not: the most that
    /// programs are told, which never makes it more.
    pub at_most: Option<Profile>,
    /// `--allow-unverified`; none asks for a grant that still holds.
    pub allow_unverified: Option<&'a OsBuild>,
    /// The program, if one is asked about.
    pub program: Option<Asked<'a>>,
}

/// The program that is asked about.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// The base name it is started by.
    pub name: String,
    /// Where it is, with every link resolved.
    pub path: &'a Path,
    /// The libraries that it links.
    pub libraries: Vec<String>,
    /// `--client`
    pub client: Option<&'a Told>,
    /// Whether it can load the library.
    pub target: Target,
}

/// The verdict, and what it was made from.
#[derive(Debug)]
pub struct Decision {
    /// The verdict.
    pub verdict: Verdict,
    /// What the database holds about this machine; none where it cannot be asked.
    pub lookup: Option<Lookup>,
    /// What the program was recognised as.
    pub clients: Vec<ClientMatch>,
    /// The grant of an earlier `--allow-unverified` that still holds, with the profile that it
    /// gives where the command line says nothing.
    pub grant: Option<unverified::Grant>,
}

impl Known {
    /// Reads facts, policy and database. `host_build` is the command's `--host-build`.
    ///
    /// # Errors
    /// Facts, policy or state cannot be read.
    pub fn gather(context: &Context, host_build: Option<&OsBuild>) -> Result<Self, Error> {
        let mut machine = context.machine(host_build)?;
        let state = context.state().ok();
        if let Some(state) = &state {
            let ahead = unverified::ahead(state, &machine.facts.guest.build, machine.now)?;
            machine.warnings.extend(ahead);
        }
        let database = database::load(&context.variables).map_err(|e| e.to_string());
        let seq = machine.host_from.as_ref().and_then(|from| from.seq);
        if let (Some(seq), Ok(loaded)) = (seq, &database) {
            let ours = loaded.database.meta().seq;
            if seq > ours {
                machine.warnings.push(format!(
                    "the host's database is seq {seq}, ahead of this guest's, seq {ours}: `metalshim update`"
                ));
            }
        }
        let drift = match &state {
            Some(state) => {
                let loaded = database.as_ref().ok();
                drift::look(state, &machine.facts, loaded, machine.now)?
            }
            None => None,
        };
        // What the facts say themselves, nobody ends.
        let drift = drift.filter(|_| !machine.facts.local.drift);
        if let Some(drift) = &drift {
            machine.warnings.push(drift.says());
            machine.facts.local.drift = true;
        }
        Ok(Self {
            machine,
            policy: context.policy()?,
            database,
            kept: state.as_ref().map(Kept::read).transpose()?.flatten(),
            state,
            drift,
            clients: OnceCell::new(),
        })
    }

    /// What the canary said on this boot.
    pub fn canary(&self) -> Option<&Kept> {
        let guest = &self.machine.facts.guest;
        self.kept.as_ref().filter(|kept| kept.is_of(guest))
    }

    /// As if the canary had passed: for what finds out whether it does.
    #[must_use]
    pub fn canary_aside(mut self) -> Self {
        self.machine.facts.local.canary = Canary::Passed;
        self.kept = None;
        self
    }

    /// The same without what the shim found earlier: for a command that looks again.
    #[must_use]
    pub fn without_drift(mut self) -> Self {
        if let Some(drift) = self.drift.take() {
            let says = drift.says();
            self.machine.warnings.retain(|warning| *warning != says);
            self.machine.facts.local.drift = false;
        }
        self
    }

    fn clients(&self) -> Result<&[Client], String> {
        let read = || match &self.database {
            Ok(loaded) => loaded.database.clients().map_err(|e| e.to_string()),
            Err(why) => Err(why.clone()),
        };
        let clients = self.clients.get_or_init(read);
        clients.as_deref().map_err(Clone::clone)
    }

    /// Asks for the verdict.
    ///
    /// # Errors
    /// The state cannot be read, or `--client` names no client.
    pub fn decide(&self, question: Question<'_>) -> Result<Decision, Error> {
        let facts = &self.machine.facts;
        let guest = &facts.guest.build;
        let mut grant = match &self.state {
            Some(state) => unverified::current(state, guest, self.machine.now)?,
            None => None,
        };
        if let Some(grant) = &mut grant {
            grant.profile = unverified::profile(grant.profile, question.at_most);
        }
        let granted = grant.as_ref().map(|g| &g.build);
        let mut request = Request {
            clients: Vec::new(),
            profile: question.profile,
            at_most: question.at_most.filter(|_| question.profile.is_none()),
            allow_unverified: question.allow_unverified.or(granted).cloned(),
            target: Target::Injectable,
        };
        let mut found = None;
        let mut broken = self.database.as_ref().err().cloned();
        if let Ok(loaded) = &self.database {
            if let Some(asked) = &question.program {
                match self.clients() {
                    Ok(clients) => request.clients = recognise(clients, asked)?,
                    Err(why) => broken = Some(why),
                }
            }
            let host = facts.host.as_ref().map(|host| &host.build);
            match loaded
                .database
                .lookup(guest, host, loaded.deny_list.as_ref())
            {
                Ok(lookup) => found = Some((loaded.database.meta(), lookup)),
                Err(e) => broken = Some(e.to_string()),
            }
        }
        if let Some(asked) = question.program {
            request.target = asked.target;
        }
        let evidence = match (&found, &broken) {
            (Some((meta, lookup)), None) => Evidence::Known { meta, lookup },
            (_, why) => Evidence::Invalid {
                why: why.as_deref().unwrap_or("it was not asked"),
            },
        };
        let loaded = self.database.as_ref().ok();
        let cli = version()?;
        let decide = |local: &Local, request: &Request| {
            let facts = Facts {
                local: local.clone(),
                ..facts.clone()
            };
            compatdb::decide(&Case {
                facts: &facts,
                database: evidence,
                policy: &self.policy,
                request,
                cli: &cli,
                shim_abi: SHIM_ABI,
                // A clock that is behind what was signed is wrong.
                now: loaded
                    .and_then(|l| l.clock_floor)
                    .map_or(self.machine.now, |floor| floor.max(self.machine.now)),
                fresh_until: loaded.and_then(|l| l.fresh_until),
                unsigned: loaded.is_some_and(|l| l.origin == Origin::UnsignedDevelopment),
            })
        };
        let mut local = facts.local.clone();
        if self.kept.is_some() {
            // Whether it is about this start is known once there is a verdict.
            local.canary = Canary::Passed;
        }
        let mut verdict = decide(&local, &request);
        let unverified = matches!(&verdict, Verdict::Allow(allow) if allow.record.is_none());
        let stands = grant
            .as_ref()
            .filter(|_| question.allow_unverified.is_none());
        if let Some(grant) = stands.filter(|_| unverified && question.profile.is_none()) {
            // A grant remembers the profile that it was given for; for a record it says nothing.
            request.profile = grant.profile;
            verdict = decide(&local, &request);
        }
        if let Some(kept) = &self.kept {
            local = facts.local.clone();
            match &verdict {
                Verdict::Allow(allow) => {
                    let record = allow.record.clone();
                    let record = record.unwrap_or_else(|| kept::unverified(guest));
                    kept.about(&facts.guest, &record, allow.profile, &mut local);
                }
                // It is one reason more.
                Verdict::Refuse(_) if kept.is_of(&facts.guest) && kept.outcome == Said::Failed => {
                    local.canary = Canary::Failed;
                }
                Verdict::Refuse(_) => {}
            }
            verdict = decide(&local, &request);
        }
        Ok(Decision {
            verdict,
            lookup: found.map(|(_, lookup)| lookup),
            clients: request.clients,
            grant,
        })
    }
}

impl Known {
    /// What the database's client rows say of other builds and other processes of a program.
    pub fn launchers(&self) -> Vec<Launcher> {
        let clients = self.clients().unwrap_or_default();
        clients.iter().map(Launcher::from).collect()
    }
}

fn recognise(clients: &[Client], asked: &Asked<'_>) -> Result<Vec<ClientMatch>, Error> {
    let program = Program {
        name: asked.name.clone(),
        resolved_path: asked.path.to_string_lossy().into_owned(),
        libraries: asked.libraries.clone(),
    };
    compatdb::recognise(clients, &program, asked.client).map_err(|e| {
        Error::user(format!("--client: {e}"))
            .hint("`metalshim db clients` lists them; leave --client out to have it recognised")
    })
}

fn version() -> Result<semver::Version, Error> {
    env!("CARGO_PKG_VERSION")
        .parse()
        .map_err(|e| Error::project(format!("this build's own version cannot be read: {e}")))
}

impl Decision {
    /// The record that allows, if one does.
    pub fn record(&self) -> Option<&Pair> {
        let Verdict::Allow(allow) = &self.verdict else {
            return None;
        };
        let id = allow.record.as_ref()?;
        self.lookup.as_ref()?.pairs.iter().find(|p| p.id == *id)
    }

    /// The children that are followed where the user says nothing: those of the client's row.
    pub fn follow(&self) -> String {
        let children: Vec<&str> = self
            .clients
            .iter()
            .flat_map(|found| found.client.children.iter().map(String::as_str))
            .collect();
        match children.as_slice() {
            [] => "none".to_owned(),
            children => children.join(","),
        }
    }

    /// Hands the ticket for `profile` to `with`.
    ///
    /// # Errors
    /// `with`'s, or the stock answers are not known, which an allowed start never lacks.
    pub fn ticket<T>(
        &self,
        known: &Known,
        profile: Profile,
        follow: &str,
        with: impl FnOnce(&Ticket<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let facts = &known.machine.facts;
        let record = self.record();
        let probed = facts.device.as_ref();
        // What the record was verified with is what the device must still say.
        let stock = record
            .map(|r| (r.stock.apple_family, r.stock.max_threadgroup_memory))
            .or(probed.map(|d| (d.apple_family, d.max_threadgroup_memory)));
        let Some((stock_apple_family, stock_max_threadgroup_memory)) = stock else {
            return Err(Error::project(
                "the stock answers of the device are not known",
            ));
        };
        let unverified = format!("unverified:{}", facts.guest.build);
        let database = known.database.as_ref().map(|l| l.database.name());
        with(&Ticket {
            guest_build: facts.guest.build.as_str(),
            boot_session: &facts.guest.boot_session,
            device_class: record.map_or(PARAVIRTUAL_CLASS, |r| &r.device_class),
            stock_apple_family,
            stock_max_threadgroup_memory,
            apple_family_max: profile.apple_family_max,
            max_threadgroup_memory: profile.max_threadgroup_memory,
            metal_uuid: record.and_then(|r| r.metal_uuid.as_deref()),
            driver_uuid: record.and_then(|r| r.driver_uuid.as_deref()),
            record: record.map_or(&unverified, |r| &r.id),
            database: database.as_deref().unwrap_or("0:0000000000000000"),
            follow,
        })
    }
}
