//! What differs between the two systems, and nothing else: one module of the same names each.
//!
//! | | macOS | Linux (the simulated guest) |
//! |---|---|---|
//! | inserting variable | `DYLD_INSERT_LIBRARIES`, colons | `LD_PRELOAD`, colons and spaces |
//! | symbols of any image | `RTLD_DEFAULT` is -2 | 0; then Metal's own image, which may be local |
//! | later images | dyld's add-image callback, before the classes are read | our own `dlopen` in front of the C library's, when the image is loaded whole |
//! | interposing | a table in `__DATA,__interpose` | symbols of the same names, and `RTLD_NEXT` |
//! | constructor | `__DATA,__mod_init_func` | `.init_array` |
//! | images' UUIDs | `LC_UUID` of the loaded images | what the stand-in says |
//! | programs | Mach-O | ELF |

#[cfg(not(target_os = "macos"))]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(not(target_os = "macos"))]
pub(crate) use linux::*;
#[cfg(target_os = "macos")]
pub(crate) use macos::*;

/// The two images that a ticket may name by UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Image {
    /// Metal itself.
    Metal,
    /// The paravirtual GPU's driver.
    Driver,
}
