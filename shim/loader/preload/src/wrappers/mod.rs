//! Functions whose meaning, constants, layout or calling convention differs
//! between macOS and Linux.

pub(crate) mod errors;
mod files;
pub(crate) mod process;
mod spawn;

use std::ffi::c_void;

use crate::{images, symbols};

/// The wrapper for a name as C spells it, if it needs one.
pub(crate) fn find(name: &str) -> Option<usize> {
    let address: *const c_void = match name {
        "dlsym" => symbols::dlsym as *const c_void,
        "__error" => errors::location as *const c_void,
        "open" => files::open as *const c_void,
        "openat" => files::openat as *const c_void,
        // x86_64 macOS adds the suffix to the calls of today's struct stat.
        "fstat" | "fstat$INODE64" => files::fstat as *const c_void,
        "stat" | "stat$INODE64" => files::stat as *const c_void,
        "lstat" | "lstat$INODE64" => files::lstat as *const c_void,
        "fcntl" => files::fcntl as *const c_void,
        "mmap" => files::mmap as *const c_void,
        "munmap" => libc::munmap as *const c_void,
        "posix_spawn" => return spawn::find(false),
        "posix_spawnp" => return spawn::find(true),
        // The same structure here as what the program has made.
        "posix_spawnattr_getflags" => libc::posix_spawnattr_getflags as *const c_void,
        "_NSGetEnviron" => process::environ_place as *const c_void,
        "_NSGetExecutablePath" => process::executable_path as *const c_void,
        "getprogname" => process::program_name as *const c_void,
        "proc_pidpath" => process::pid_path as *const c_void,
        "issetugid" => process::is_set_id as *const c_void,
        "bzero" | "__bzero" => process::zero as *const c_void,
        "object_getClass" => process::class_of as *const c_void,
        "dyld_stub_binder" => process::never_lazy as *const c_void,
        "dladdr" => images::dladdr as *const c_void,
        "_dyld_register_func_for_add_image" => images::register_add as *const c_void,
        "_dyld_image_count" => images::count as *const c_void,
        "_dyld_get_image_name" => images::name as *const c_void,
        "_dyld_get_image_header" => images::header as *const c_void,
        "_dyld_get_image_vmaddr_slide" => images::slide as *const c_void,
        "dlopen" => images::dlopen_for_library as *const c_void,
        "dlclose" => libc::dlclose as *const c_void,
        _ => return None,
    };
    Some(address as usize)
}
