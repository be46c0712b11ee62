//! The constructor: which library, and what to do when it cannot be loaded.

use std::ffi::{CString, OsStr, OsString, c_char, c_int};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use metalshim_loader::{Cpu, Plan};

use crate::{interpose, map};

/// Names the library to load. Empty counts as absent.
const DYLIB: &str = "METALSHIM_LOADER_DYLIB";
/// A file larger than this is not read.
const MAX_FILE: u64 = 64 << 20;
/// "Found, but cannot be started", as shells use it.
const CANNOT_START: i32 = 126;

#[used]
// SAFETY: `.init_array` takes pointers to functions of this type; the C library
// calls each once, with the arguments of `main`.
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = start;

extern "C" fn start(argc: c_int, argv: *const *const c_char, envp: *const *const c_char) {
    let Some(path) = std::env::var_os(DYLIB).filter(|path| !path.is_empty()) else {
        return;
    };
    hide();
    if let Err(why) = load(Path::new(&path), (argc, argv, envp)) {
        // Nothing can be done about a stderr that is closed.
        let _ = writeln!(
            std::io::stderr(),
            "metalshim loader: {}: {why}",
            path.display()
        );
        // SAFETY: ends the process; nothing of it is used after.
        unsafe { libc::_exit(CANNOT_START) };
    }
}

/// Takes the loader's traces out of the environment.
fn hide() {
    // SAFETY: constructors run before the program has threads of its own.
    unsafe { std::env::remove_var(DYLIB) };
    let Some(list) = std::env::var_os("LD_PRELOAD") else {
        return;
    };
    let rest: Vec<&[u8]> = list
        .as_bytes()
        .split(|&byte| byte == b':' || byte == b' ')
        .filter(|entry| {
            Path::new(OsStr::from_bytes(entry)).file_name() != Some(OsStr::new("libmacholoader.so"))
        })
        .collect();
    let rest = OsString::from_vec(rest.join(&b':'));
    if rest.is_empty() {
        // SAFETY: as above.
        unsafe { std::env::remove_var("LD_PRELOAD") };
    } else {
        // SAFETY: as above.
        unsafe { std::env::set_var("LD_PRELOAD", rest) };
    }
}

fn load(path: &Path, arguments: map::Arguments) -> Result<(), String> {
    let size = std::fs::metadata(path).map_err(|e| e.to_string())?.len();
    if size > MAX_FILE {
        return Err(format!("has {size} bytes, more than {MAX_FILE}"));
    }
    let file = std::fs::read(path).map_err(|e| e.to_string())?;
    let plan = Plan::read(&file).map_err(|e| e.to_string())?;
    if Some(plan.commands.cpu) != Cpu::host() {
        return Err(format!(
            "is for {:?}, this process is {}; build the library for it, or start the program under qemu",
            plan.commands.cpu,
            std::env::consts::ARCH
        ));
    }
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
    let image = map::Image::map(&file, &plan, name)?;
    interpose::install(image, &plan)?;
    image.initialise(&plan, arguments);
    Ok(())
}
