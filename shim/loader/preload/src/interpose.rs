//! `__interpose`: calls that the program makes reach the library's replacements.
//!
//! dyld redirects the imports of every other image. Here the loader exports each
//! function that may be redirected, being ahead of the C library in the search
//! order, and passes each call on. The library's own calls always go to the real
//! function, as they do under dyld. As on a Mac, calls from inside the C library
//! itself are not seen.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use metalshim_loader::Plan;

use crate::map::Image;
use crate::symbols;

/// One redirectable function: its name in C and where its calls go now
/// (0: not looked up yet).
struct Entry {
    name: &'static str,
    target: AtomicUsize,
}

impl Entry {
    const fn new(name: &'static str) -> Self {
        Entry {
            name,
            target: AtomicUsize::new(0),
        }
    }

    /// Where a call goes. The look-up happens in [`install`] at the latest, so not
    /// between a program's fork and exec.
    fn target(&self) -> usize {
        match self.target.load(Ordering::Acquire) {
            0 => {
                let real = symbols::next(self.name).unwrap_or(0);
                self.target.store(real, Ordering::Release);
                real
            }
            target => target,
        }
    }
}

/// Defines the exported functions. Every argument is a pointer or an `int`, passed
/// as a machine word either way; results are words as well.
macro_rules! redirectable {
    ($($name:ident($($argument:ident),*);)*) => {
        static ENTRIES: &[&Entry] = &[$({
            static ENTRY: Entry = Entry::new(stringify!($name));
            /// Stands in front of the C library's function of that name.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: *const c_void),*) -> isize {
                type Function = unsafe extern "C" fn($(redirectable!(@word $argument)),*) -> isize;
                let target = ENTRY.target();
                // SAFETY: the real function, or the replacement that the library
                // declares for it; both have the C function's type.
                let target = unsafe { core::mem::transmute::<usize, Function>(target) };
                // SAFETY: the caller's own promise for the function of that name.
                unsafe { target($($argument),*) }
            }
            &ENTRY
        }),*];
    };
    (@word $argument:ident) => { *const c_void };
}

redirectable! {
    execve(path, argv, envp);
    execv(path, argv);
    execvp(file, argv);
    execvpe(file, argv, envp);
    posix_spawn(pid, path, actions, attributes, argv, envp);
    posix_spawnp(pid, file, actions, attributes, argv, envp);
    fork();
    system(command);
    popen(command, mode);
}

/// Whether the loader stands in front of this function, so that the real one has
/// to be searched for behind it.
pub(crate) fn stands_before(name: &str) -> bool {
    ENTRIES.iter().any(|entry| entry.name == name)
}

/// Puts the library's replacements in force.
pub(crate) fn install(image: &Image, plan: &Plan) -> Result<(), String> {
    for entry in ENTRIES {
        entry.target();
    }
    for pair in &plan.interposes {
        let name = pair.symbol.strip_prefix('_').unwrap_or(&pair.symbol);
        let entry = ENTRIES
            .iter()
            .find(|entry| entry.name == name)
            .ok_or_else(|| {
                format!(
                    "interposes {name}, which this loader does not redirect; add it to interpose.rs"
                )
            })?;
        entry
            .target
            .store(image.base + pair.replacement as usize, Ordering::Release);
    }
    Ok(())
}
