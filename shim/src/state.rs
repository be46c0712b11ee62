//! The states of the shim in one process, and why it refuses. One way:
//! inert -> armed -> installing -> installed | refused, and refused from anywhere.

/// Where the shim is in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    /// No ticket, or not yet looked at.
    Inert,
    /// The ticket fits: waiting for Metal, or for its first device.
    Armed,
    /// The first device is being looked at.
    Installing,
    /// Both overrides are in place.
    Installed,
    /// Stock, for good.
    Refused,
}

impl State {
    pub(crate) fn from_u8(n: u8) -> Self {
        match n {
            0 => Self::Inert,
            1 => Self::Armed,
            2 => Self::Installing,
            3 => Self::Installed,
            _ => Self::Refused,
        }
    }

    /// Whether `next` may follow.
    pub(crate) fn may_become(self, next: Self) -> bool {
        match next {
            Self::Inert => false,
            Self::Armed => self == Self::Inert,
            Self::Installing => self == Self::Armed,
            Self::Installed => self == Self::Installing,
            Self::Refused => self != Self::Refused,
        }
    }

    /// As it stands in a status line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Inert => "inert",
            Self::Armed | Self::Installing => "armed",
            Self::Installed => "installed",
            Self::Refused => "refused",
        }
    }
}

/// Why the shim refuses. Beside these, the ticket's own problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The ticket's own form or content.
    Ticket(metalshim_ticket::Problem),
    /// The path is not absolute, or longer than the shim takes.
    TicketPath,
    /// No file there.
    TicketGone,
    /// The path's last part is a link.
    TicketLink,
    /// A folder, a pipe, a device.
    TicketNotRegular,
    /// It belongs to another user.
    TicketOwner,
    /// Group or others may write to it.
    TicketMode,
    /// It cannot be opened or read.
    TicketUnreadable,
    /// The system does not tell its build, its boot or whether it is a VM.
    FactsMissing,
    /// The guest runs another build than the ticket is for.
    OtherBuild,
    /// The ticket is from another boot.
    OtherBoot,
    /// This is not a virtual machine.
    NotAVm,
    /// The Objective-C runtime, or a call of it, is not there.
    RuntimeMissing,
    /// The dynamic linker's notice of later images is not there.
    WatchMissing,
    /// Metal is there, `_MTLDevice` is not.
    DriftClass,
    /// `-[_MTLDevice initGPUFamilySupport]` is not there, or takes arguments.
    DriftInit,
    /// The first device is of another class than the ticket's.
    DriftDevice,
    /// One of the two methods is not there.
    DriftMethod,
    /// One of the two methods has other types.
    DriftTypes,
    /// The device's own family is another than the ticket's.
    DriftFamily,
    /// The device's own threadgroup memory is another than the ticket's.
    DriftMemory,
    /// Metal's image is another than the ticket's.
    DriftMetalUuid,
    /// The driver's image is another than the ticket's.
    DriftDriverUuid,
    /// The driver was loaded before the hook: a device may have been made and asked already.
    DeviceEarlier,
    /// Somebody else's hook is on one of the methods already.
    OtherShim,
    /// The runtime did not take an override; what was changed is put back.
    InstallFailed,
}

impl Reason {
    /// The stable code. Whatever says that this guest's Metal is not as recorded starts with
    /// `drift-`.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Ticket(problem) => problem.code(),
            Self::TicketPath => "ticket-path",
            Self::TicketGone => "ticket-gone",
            Self::TicketLink => "ticket-link",
            Self::TicketNotRegular => "ticket-not-regular",
            Self::TicketOwner => "ticket-owner",
            Self::TicketMode => "ticket-mode",
            Self::TicketUnreadable => "ticket-unreadable",
            Self::FactsMissing => "facts-missing",
            Self::OtherBuild => "other-build",
            Self::OtherBoot => "other-boot",
            Self::NotAVm => "not-a-vm",
            Self::RuntimeMissing => "runtime-missing",
            Self::WatchMissing => "watch-missing",
            Self::DriftClass => "drift-class",
            Self::DriftInit => "drift-init",
            Self::DriftDevice => "drift-device",
            Self::DriftMethod => "drift-method",
            Self::DriftTypes => "drift-types",
            Self::DriftFamily => "drift-family",
            Self::DriftMemory => "drift-memory",
            Self::DriftMetalUuid => "drift-metal-uuid",
            Self::DriftDriverUuid => "drift-driver-uuid",
            Self::DeviceEarlier => "device-earlier",
            Self::OtherShim => "other-shim",
            Self::InstallFailed => "install-failed",
        }
    }
}
