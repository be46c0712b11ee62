//! The corners of the shim, as a table: what is different in the guest or the ticket, and what
//! must come of it. Every form of the shim (this system's own, the Mach-O ones under the loader)
//! is held to the same rows.

use metalshim_ticket::Ticket;

use crate::{FactsFile, Outcome, Run, SavedFacts, TicketFile, built};

/// One row: `corners` in a guest of these facts and this scenario, with the sample's ticket as
/// changed here.
#[derive(Clone, Copy, Debug)]
pub struct Corner {
    /// What it is about.
    pub name: &'static str,
    /// Scenarios of the simulated guest (`shim/guest/README.md`), with commas between.
    pub scenario: &'static str,
    /// Changes the facts of the guest; the ticket is for the sample's.
    pub facts: fn(FactsFile) -> FactsFile,
    /// Changes the ticket.
    pub ticket: fn(&mut Ticket<'_>),
    /// What the client gets: `1009/65536`, or `stock`: all it prints is what it prints without the shim.
    pub answers: &'static str,
    /// The last status line's state and reason; empty for no line.
    pub status: &'static str,
    /// The same for a client whose Metal is loaded late, where that is another.
    pub late: Option<(&'static str, &'static str)>,
}

const ROW: Corner = Corner {
    name: "",
    scenario: "",
    facts: |facts| facts,
    ticket: |_| {},
    answers: "stock",
    status: "",
    late: None,
};
const RAISED: Corner = Corner {
    answers: "1009/65536",
    status: "installed -",
    ..ROW
};

/// Every row.
pub const ALL: &[Corner] = &[
    Corner {
        name: "as recorded",
        ..RAISED
    },
    Corner {
        name: "the ticket's lower profile",
        ticket: |t| (t.apple_family_max, t.max_threadgroup_memory) = (1007, 32_768),
        answers: "1007/32768",
        ..RAISED
    },
    Corner {
        name: "a ticket below the stock answers lowers nothing",
        ticket: |t| (t.apple_family_max, t.max_threadgroup_memory) = (1003, 16_384),
        answers: "1005/32768",
        ..RAISED
    },
    // The ticket against the guest.
    Corner {
        name: "another build",
        facts: |f| f.with("guest.build", "25F85"),
        status: "refused other-build",
        ..ROW
    },
    Corner {
        name: "another boot",
        facts: |f| f.with("guest.boot_session", "00000000-8A51-4C1B-9E27-5B1D0A6C2F44"),
        status: "refused other-boot",
        ..ROW
    },
    Corner {
        name: "not a VM",
        facts: |f| f.with("guest.vm", false),
        status: "refused not-a-vm",
        ..ROW
    },
    // Drift.
    Corner {
        name: "base class renamed",
        scenario: "base-renamed",
        status: "refused drift-class",
        ..ROW
    },
    Corner {
        name: "device class renamed",
        scenario: "class-renamed",
        status: "refused drift-device",
        ..ROW
    },
    Corner {
        name: "no device class: no device",
        scenario: "class-missing",
        ..ROW
    },
    Corner {
        name: "no driver: no device",
        scenario: "no-driver",
        ..ROW
    },
    Corner {
        name: "no supportsFamily:",
        scenario: "no-supports-family",
        status: "refused drift-method",
        ..ROW
    },
    Corner {
        name: "no maxThreadgroupMemoryLength",
        scenario: "no-memory-length",
        status: "refused drift-method",
        ..ROW
    },
    Corner {
        name: "no initGPUFamilySupport",
        scenario: "no-init-families",
        status: "refused drift-init",
        ..ROW
    },
    Corner {
        name: "initGPUFamilySupport takes arguments",
        scenario: "init-types",
        status: "refused drift-init",
        ..ROW
    },
    Corner {
        name: "supportsFamily: of other types",
        scenario: "family-types",
        status: "refused drift-types",
        ..ROW
    },
    Corner {
        name: "maxThreadgroupMemoryLength of other types",
        scenario: "memory-types",
        status: "refused drift-types",
        ..ROW
    },
    Corner {
        name: "other offsets, the same types",
        scenario: "offsets",
        ..RAISED
    },
    Corner {
        name: "the stock family is lower",
        facts: |f| f.with("device.apple_family", 1004),
        status: "refused drift-family",
        ..ROW
    },
    Corner {
        name: "the stock family is higher",
        facts: |f| f.with("device.apple_family", 1006),
        status: "refused drift-family",
        ..ROW
    },
    Corner {
        name: "the stock memory is lower",
        facts: |f| f.with("device.max_threadgroup_memory", 16_384),
        // The families were raised until the device was asked for its memory, and both turn back.
        answers: "turned back",
        status: "refused drift-memory",
        ..ROW
    },
    Corner {
        name: "the stock memory is higher",
        facts: |f| f.with("device.max_threadgroup_memory", 49_152),
        answers: "turned back",
        status: "refused drift-memory",
        ..ROW
    },
    Corner {
        name: "0 bytes until it is ready",
        scenario: "zero-until-ready",
        ..RAISED
    },
    Corner {
        name: "both UUIDs as recorded",
        ticket: |t| (t.metal_uuid, t.driver_uuid) = (Some(METAL), Some(DRIVER)),
        ..RAISED
    },
    Corner {
        name: "another Metal",
        scenario: "other-metal-uuid",
        ticket: |t| t.metal_uuid = Some(METAL),
        status: "refused drift-metal-uuid",
        ..ROW
    },
    Corner {
        name: "another driver",
        scenario: "other-driver-uuid",
        ticket: |t| t.driver_uuid = Some(DRIVER),
        status: "refused drift-driver-uuid",
        ..ROW
    },
    Corner {
        name: "a device that is not the paravirtual one",
        scenario: "other-device",
        status: "refused drift-device",
        ..ROW
    },
    Corner {
        name: "a sibling class stays untouched",
        scenario: "sibling",
        ..RAISED
    },
    Corner {
        name: "the sibling's device is the first",
        scenario: "sibling-first",
        status: "refused drift-device",
        ..ROW
    },
    Corner {
        name: "methods that the class owns",
        scenario: "own-methods",
        ..RAISED
    },
    Corner {
        name: "methods that the class owns, and a sibling",
        scenario: "own-methods,sibling",
        ..RAISED
    },
    Corner {
        name: "initialisation that the class owns",
        scenario: "own-init",
        ..RAISED
    },
    Corner {
        name: "a class between",
        scenario: "chain,sibling",
        ..RAISED
    },
    Corner {
        name: "a wrapper in front",
        scenario: "wrapper",
        ..RAISED
    },
    // Others' hooks.
    Corner {
        name: "another shim on the base class",
        scenario: "other-shim-base",
        status: "refused other-shim",
        ..ROW
    },
    Corner {
        name: "another shim on the initialisation",
        scenario: "other-shim-init",
        status: "refused other-shim",
        ..ROW
    },
    Corner {
        name: "another shim on the device class",
        scenario: "other-shim-device",
        status: "refused other-shim",
        ..ROW
    },
    // Half failures.
    Corner {
        name: "the second override is refused",
        scenario: "second-add-fails",
        status: "refused install-failed",
        ..ROW
    },
    Corner {
        name: "a method that moves meanwhile",
        scenario: "memory-moves",
        status: "refused install-failed",
        ..ROW
    },
    // Order.
    Corner {
        name: "a device made before the hook",
        scenario: "early-device",
        status: "refused device-earlier",
        // Loaded late, Metal's image is seen while its constructor loads the driver: before the device.
        late: Some(("1009/65536", "installed -")),
        ..ROW
    },
    Corner {
        name: "a new device at every call",
        scenario: "fresh-devices",
        ..RAISED
    },
];

const METAL: &str = "4D65746C-0000-4000-8000-000000000001";
const DRIVER: &str = "44727672-0000-4000-8000-000000000002";

/// What a row needs on disk; removed with this value.
#[derive(Debug)]
pub struct Prepared {
    facts: SavedFacts,
    /// The ticket.
    pub ticket: TicketFile,
    scenario: &'static str,
}

impl Corner {
    /// Writes the facts and the ticket.
    pub fn prepare(&self) -> Prepared {
        let sample = FactsFile::sample();
        Prepared {
            ticket: TicketFile::new(&sample, self.ticket),
            facts: (self.facts)(sample.clone()).save(),
            scenario: self.scenario,
        }
    }

    /// What is expected: the answers and the status, of a client that has Metal from the start, or late.
    pub fn expected(&self, late: bool) -> (&'static str, &'static str) {
        self.late
            .filter(|_| late)
            .unwrap_or((self.answers, self.status))
    }
}

impl Prepared {
    /// A run of `corners` in this row's guest, without the shim; `late` loads Metal after the start.
    pub fn client(&self, late: bool) -> Run {
        let kit = built();
        let run = if late {
            kit.run_late("corners")
        } else {
            kit.run("corners")
        };
        run.facts(&self.facts).scenario(self.scenario)
    }

    /// State and reason of the last status line; empty when there is none.
    pub fn status(&self) -> String {
        let lines = self.ticket.status();
        let words = lines.last().map(|line| line.split(' '));
        let values: Vec<&str> = words
            .into_iter()
            .flatten()
            .skip(1)
            .take(2)
            .filter_map(|word| word.split_once('=').map(|(_, value)| value))
            .collect();
        values.join(" ")
    }
}

/// What `corners` says of the guest, without what differs from run to run.
pub fn told(outcome: &Outcome) -> Vec<&str> {
    outcome
        .stdout
        .lines()
        .filter(|line| !line.starts_with("pid=") && !line.starts_with("env.METALSHIM_FACTS"))
        .collect()
}
