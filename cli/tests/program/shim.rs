//! The shim's own code that decides about children, from its source.
#![allow(dead_code, unreachable_pub, unused_imports)]
// On a Mac the parent has the first one, too.
#![allow(clippy::duplicate_mod)]

#[path = "../../../shim/src/child/macho.rs"]
pub(crate) mod macho;
#[path = "../../../shim/src/child/mod.rs"]
mod parent;

pub(crate) use parent::Window;
#[cfg(not(target_os = "macos"))]
pub(crate) use parent::elf;
