//! Programs that this process starts, and its own next image.
//!
//! The hooks may run between `fork` and `exec`, in a child of a threaded program: they make system
//! calls and use the stack, and nothing else. Whatever they need was looked up in the constructor.

use super::cell::Once;
use super::environ;
use super::libc::{self, File};
use super::platform;
use crate::child::{self, Program};
use crate::insert::{self, Entry};
use crate::text::Fixed;
use core::ffi::{c_char, c_int};
use core::ptr::null;
use metalshim_ticket::Ticket;

/// A list of strings as `execve` takes it.
pub(crate) type Strings = *const *const c_char;

/// The most variables that a followed program may have, with the null pointer at the end: the list
/// is made on the stack. Nearly all have fewer than the small one takes, and after a fork every page
/// of the stack that is touched costs.
const VARIABLES: usize = 1024;
const FEW: usize = 128;
/// The longest path of a program that is followed, with a zero byte.
const PROGRAM_PATH: usize = 1024;

/// What a followed program gets back; every text ends with a zero byte.
struct Back {
    /// The inserting variable with our entry alone.
    insert: &'static [u8],
    /// The path of the library.
    library: &'static [u8],
    /// The ticket's variable.
    ticket: &'static [u8],
    required: bool,
    /// The process that `run` started: the ticket's file name begins with its id.
    origin: u32,
    follow: &'static [u8],
    own_program: Option<Program>,
}

static BACK: Once<Back> = Once::new();

/// In the constructor: keeps what a followed program needs: the ticket's variable (empty where its
/// path is not usable), and the inserting one with our entry alone. Without an absolute path of our
/// own library nothing can be followed.
pub(crate) fn begin(
    variable: &'static [u8],
    own: Option<&'static [u8]>,
    required: bool,
    ticket: Option<Ticket<'static>>,
) {
    let Some(insert) = own else {
        return;
    };
    let library = insert.strip_prefix(platform::INSERT).unwrap_or_default();
    if !library.starts_with(b"/") || variable.is_empty() {
        return;
    }
    let mut back = Back {
        insert,
        library,
        ticket: variable,
        required,
        origin: origin(variable),
        follow: ticket.map_or(b"none", |ticket| ticket.follow.as_bytes()),
        own_program: None,
    };
    // A program that was followed, and follows nobody itself, is done here.
    if back.origin != libc::pid() && back.follow == b"none" {
        return;
    }
    if back
        .follow
        .split(|b| *b == b',')
        .any(|name| name == b"self")
    {
        back.own_program = platform::own_program();
    }
    platform::ready_children();
    BACK.set(back);
}

/// The number that the ticket's file name begins with, before a hyphen; 0 for none.
fn origin(path: &[u8]) -> u32 {
    let name = insert::base_name(path);
    let mut parts = name.split(|b| *b == b'-');
    let (Some(pid), Some(_)) = (parts.next(), parts.next()) else {
        return 0;
    };
    pid.iter()
        .try_fold(0u32, |n, b| {
            let digit = char::from(*b).to_digit(10)?;
            n.checked_mul(10)?.checked_add(digit)
        })
        .unwrap_or(0)
}

/// The process's own environment, as it is now.
pub(crate) fn own_environment() -> Strings {
    let place = environ::place();
    if place.is_null() {
        return null();
    }
    // SAFETY: the place of the environment's pointer, which the C library keeps.
    unsafe { place.read() }.cast_const().cast()
}

/// Calls `call` with the environment that the program at `path` is to have: the caller's own, or,
/// if the program is followed, that and our variables. `replaces`: the call replaces the process's
/// image. `search`: `path` is looked for in `PATH` when it has no slash.
///
/// # Safety
///
/// `path` is null or a string, `environment` null or a list of strings that ends with null; both
/// stay as they are during the call.
pub(crate) unsafe fn with_environment(
    path: *const c_char,
    search: bool,
    replaces: bool,
    environment: Strings,
    call: &dyn Fn(Strings) -> c_int,
) -> c_int {
    let Some(back) = BACK.get() else {
        return call(environment);
    };
    let own_image = replaces && libc::pid() == back.origin;
    if environment.is_null() || (!own_image && back.follow == b"none") {
        return call(environment);
    }
    // A call that replaces the image says by itself what it failed by.
    let errno = (!replaces).then(libc::errno);
    // SAFETY: the caller's promise.
    let path = unsafe { libc::head(path, PROGRAM_PATH) };
    let followed = is_followed(back, path, search, own_image);
    if let Some(errno) = errno {
        libc::set_errno(errno);
    }
    if followed {
        // SAFETY: the caller's promise.
        unsafe { call_with_ours(back, environment, call) }
    } else {
        call(environment)
    }
}

fn is_followed(back: &Back, path: &[u8], search: bool, own_image: bool) -> bool {
    let name = insert::base_name(path);
    // Who may be wanted as `self` has to be looked at first.
    if !own_image && !child::is_wanted(back.follow, name, back.own_program.is_some()) {
        return false;
    }
    let Some((file, program)) = program_file(path, search) else {
        return false;
    };
    let same = back
        .own_program
        .is_some_and(|own| own.is_same_file(&program));
    (own_image || child::is_wanted(back.follow, name, same))
        && child::format::can_load(|offset, to| file.read_at(offset, to))
        // A library that an update has removed since would end the program.
        && File::open(back.library, platform::OPEN_READ).is_some()
}

/// Opens the program that the path leads to, as the C library looks for it.
fn program_file(path: &[u8], search: bool) -> Option<(File, Program)> {
    if !search || path.contains(&b'/') {
        return open_program(&[path]);
    }
    let mut entry = own_environment();
    loop {
        // SAFETY: the list of the process's environment, up to its null pointer.
        let text = unsafe { entry.as_ref() }.copied()?;
        if text.is_null() {
            return None;
        }
        // SAFETY: an entry of the environment, which the caller keeps as it is.
        if unsafe { libc::head(text, 5) } == b"PATH=" {
            // SAFETY: as above.
            let folders = unsafe { libc::bytes(text) }?.strip_prefix(b"PATH=")?;
            return folders.split(|b| *b == b':').find_map(|folder| {
                let folder = if folder.is_empty() { b"." } else { folder };
                open_program(&[folder, b"/", path])
            });
        }
        // SAFETY: this entry was not the last.
        entry = unsafe { entry.add(1) };
    }
}

fn open_program(parts: &[&[u8]]) -> Option<(File, Program)> {
    let mut path = Fixed::<PROGRAM_PATH>::new();
    if !path.push_all(parts) || !path.push(b"\0") {
        return None;
    }
    let file = File::open(path.as_bytes(), platform::OPEN_READ)?;
    let program = file.info()?;
    program.may_be_followed().then_some((file, program))
}

/// # Safety
///
/// As for [`with_environment`]; `environment` is not null.
#[inline(never)]
unsafe fn call_with_ours(
    back: &Back,
    environment: Strings,
    call: &dyn Fn(Strings) -> c_int,
) -> c_int {
    let mut list = [null::<c_char>(); FEW];
    // SAFETY: the caller's promise.
    match unsafe { call_with_list(back, environment, &mut list, call) } {
        Some(result) => result,
        // SAFETY: as above.
        None => unsafe { call_with_many(back, environment, call) },
    }
}

/// # Safety
///
/// As for [`call_with_ours`].
#[inline(never)]
unsafe fn call_with_many(
    back: &Back,
    environment: Strings,
    call: &dyn Fn(Strings) -> c_int,
) -> c_int {
    let mut list = [null::<c_char>(); VARIABLES];
    // SAFETY: the caller's promise.
    match unsafe { call_with_list(back, environment, &mut list, call) } {
        Some(result) => result,
        None => call(environment),
    }
}

/// `None` when the list has no room for all.
///
/// # Safety
///
/// As for [`call_with_ours`]; `list` is all null.
#[inline(never)]
unsafe fn call_with_list(
    back: &Back,
    environment: Strings,
    list: &mut [*const c_char],
    call: &dyn Fn(Strings) -> c_int,
) -> Option<c_int> {
    let mut joined = Fixed::<2048>::new();
    let (mut used, mut inserted, mut required) = (0usize, false, false);
    let mut from = environment;
    loop {
        // SAFETY: the list goes on to its null pointer.
        let entry = unsafe { from.read() };
        if entry.is_null() {
            break;
        }
        let mut kept = entry;
        // SAFETY: the caller's promise: a string.
        let name = unsafe { libc::head(entry, insert::LONGEST) };
        match insert::sort(name, platform::INSERT) {
            // Somebody has given this program a ticket of its own: that one counts.
            Entry::Ticket => return Some(call(environment)),
            Entry::Require => required = true,
            Entry::Insert if !inserted => {
                let ours = back.insert.strip_suffix(b"\0").unwrap_or_default();
                // SAFETY: the caller's promise: a string.
                let text = unsafe { libc::bytes(entry) }.unwrap_or_default();
                let theirs = text.get(platform::INSERT.len()..).unwrap_or_default();
                let own = insert::find(theirs, platform::SEPARATORS, platform::LIBRARY);
                if own.is_none() && !joined.push_all(&[ours, b":", theirs, b"\0"]) {
                    return Some(call(environment));
                }
                if own.is_none() {
                    kept = joined.as_bytes().as_ptr().cast();
                }
                inserted = true;
            }
            Entry::Insert | Entry::Other => {}
        }
        *list.get_mut(used)? = kept;
        used = used.saturating_add(1);
        // SAFETY: this entry was not the last.
        from = unsafe { from.add(1) };
    }
    let ours: [Option<*const c_char>; 3] = [
        (!inserted).then(|| back.insert.as_ptr().cast()),
        Some(back.ticket.as_ptr().cast()),
        (back.required && !required).then(|| c"METALSHIM_REQUIRE=1".as_ptr()),
    ];
    for entry in ours.into_iter().flatten() {
        *list.get_mut(used)? = entry;
        used = used.saturating_add(1);
    }
    // The last place stays null.
    if used == list.len() {
        return None;
    }
    Some(call(list.as_ptr()))
}
