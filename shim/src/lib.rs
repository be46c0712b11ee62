//! libmetalshim: the injected library.
#![no_std]
#![deny(unsafe_code)]

/// Nothing here panics; should it all the same, the process ends as by `abort`.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
