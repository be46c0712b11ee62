//! `libmacholoader.so`: preloaded into a Linux program (`LD_PRELOAD`), it loads the
//! macOS library named by `METALSHIM_LOADER_DYLIB` before the program's `main`, as
//! dyld would load an inserted library on a Mac.
//!
//! Contract: without the variable it changes nothing. With it, either the library
//! is loaded, bound and initialised, or one line on stderr says why not and the
//! process ends with status 126: a test must never go on without what it tests.
//! The variable and this library's own entry in `LD_PRELOAD` are taken out of the
//! environment first, so that children start plain and the library under test
//! sees the environment that dyld would show it.
//!
//! Order: a preloaded library's constructors run after those of the shared
//! libraries that the program links and before the program's own; a library that
//! the program links stands for a framework, one it opens later for a plug-in.
#![cfg(target_os = "linux")]

mod images;
mod interpose;
mod map;
mod start;
mod symbols;
mod wrappers;
