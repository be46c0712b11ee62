//! libmetalshim: the injected library. It does the two overrides and nothing else.
//!
//! # Contract
//!
//! Without `METALSHIM_TICKET` in the environment: one `getenv`, and nothing else. With it, the
//! library takes itself and its variables out of the environment, reads the ticket, compares it
//! with the guest, and waits for the process's first Metal device. If everything is as the ticket
//! says, `supportsFamily:` and `maxThreadgroupMemoryLength` of that device's class answer what the
//! ticket allows. Otherwise nothing is changed. Either way the process goes on: nothing is
//! printed, nothing fails. The one exception is `METALSHIM_REQUIRE=1`, see `docs/shim.md`.
//!
//! # Honest scope
//!
//! The Linux form stands for the macOS one, in front of the simulated guest: it is for tests and
//! the demonstration. What only a Mac can settle is listed in `docs/shim.md`.
//!
//! # Layout
//!
//! What decides is safe and pure: [`state`], [`gate`], [`answers`], [`encoding`], [`uuid`],
//! [`insert`], [`child`], [`text`]. What touches the process is in [`runtime`], the only module
//! with unsafe code; what differs between the two systems is in `runtime::platform`.
#![no_std]
#![deny(unsafe_code)]
#![allow(rustdoc::private_intra_doc_links)]

mod answers;
mod child;
mod encoding;
mod gate;
mod insert;
#[allow(unsafe_code)]
mod runtime;
mod state;
mod text;
mod uuid;

/// Nothing here panics, and a test holds that the shipped library has no call to this.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
