//! From the ticket to the overrides: the hook that waits for the first device, and what is done
//! when it comes. All or nothing.

use super::objc::{Class, Found, Imp, Object, Runtime, Selector};
use super::{hooks, libc, platform, report};
use crate::answers::{self, HIGHEST_ASKED};
use crate::encoding;
use crate::state::{Reason, State};
use crate::text::Fixed;
use crate::uuid;
use core::ffi::{CStr, c_char, c_void};
use core::mem::{MaybeUninit, transmute};
use core::sync::atomic::{AtomicPtr, Ordering};
use metalshim_ticket::Ticket;
use platform::Image;

const BASE: &[u8] = b"_MTLDevice\0";
const INIT: &CStr = c"initGPUFamilySupport";
const SUPPORTS_FAMILY: &CStr = c"supportsFamily:";
const THREADGROUP_MEMORY: &CStr = c"maxThreadgroupMemoryLength";

/// What came of the attempt to hook the device's initialisation.
pub(crate) enum Hooked {
    /// It is hooked.
    Yes,
    /// There is no `_MTLDevice` yet.
    NoClass,
}

/// Hooks `-[_MTLDevice initGPUFamilySupport]`. `driver_is_new`: the driver's image has arrived just
/// now, so its class may be there without any device.
pub(crate) fn hook(ticket: &Ticket<'_>, driver_is_new: bool) -> Result<Hooked, Reason> {
    let runtime = Runtime::find().ok_or(Reason::RuntimeMissing)?;
    let Some(base) = runtime.class(BASE) else {
        return Ok(Hooked::NoClass);
    };
    if !driver_is_new && device_class(runtime, ticket).is_some() {
        // The driver is loaded for the first device: one may have been made, and asked.
        return Err(Reason::DeviceEarlier);
    }
    let selector = runtime.selector(INIT);
    let init = runtime.method(base, selector).ok_or(Reason::DriftInit)?;
    if !init.own || !encoding::matches(init.encoding(), encoding::INIT) {
        return Err(Reason::DriftInit);
    }
    if !is_systems_own(init.implementation) {
        return Err(Reason::OtherShim);
    }
    hooks::INIT.store(init.implementation.cast_mut(), Ordering::Release);
    let new = hooks::init as *const c_void;
    if !runtime.swap(init.method, init.implementation, new) {
        return Err(Reason::OtherShim);
    }
    Ok(Hooked::Yes)
}

fn device_class(runtime: &Runtime, ticket: &Ticket<'_>) -> Option<Class> {
    let mut name = Fixed::<130>::new();
    let whole = name.push_all(&[ticket.device_class.as_bytes(), b"\0"]);
    whole.then(|| runtime.class(name.as_bytes())).flatten()
}

/// Called for every device, after its initialisation of families. The first one decides; those
/// made meanwhile by other threads wait for that, so that no program sees half of it.
pub(crate) fn first_device(device: Object) {
    if report::advance(State::Installing) {
        let Some(runtime) = Runtime::find() else {
            return report::refuse(Reason::RuntimeMissing);
        };
        let result = match report::TICKET.get() {
            Some(ticket) => install(runtime, ticket, device),
            None => Err(Reason::InstallFailed),
        };
        unhook(runtime);
        match result {
            Ok(()) => {
                report::installed();
            }
            Err(reason) => report::refuse(reason),
        }
        return;
    }
    // Bounded: a runtime that waited for this thread would otherwise never come back.
    for _ in 0..100_000 {
        if report::state() != State::Installing {
            return;
        }
        libc::give_way();
    }
}

/// Takes the hook out of `initGPUFamilySupport` again, unless somebody stands in front of it.
fn unhook(runtime: &Runtime) {
    let before = hooks::INIT.load(Ordering::Acquire);
    let init = runtime
        .class(BASE)
        .and_then(|base| runtime.method(base, runtime.selector(INIT)));
    if let Some(init) = init {
        let ours = hooks::init as *const c_void;
        if init.implementation == ours && !before.is_null() {
            runtime.swap(init.method, ours, before);
        }
    }
}

fn install(runtime: &Runtime, ticket: &Ticket<'_>, device: Object) -> Result<(), Reason> {
    if runtime.name_of(device) != ticket.device_class.as_bytes() {
        return Err(Reason::DriftDevice);
    }
    let class = device_class(runtime, ticket).ok_or(Reason::DriftDevice)?;
    let base = runtime.class(BASE).ok_or(Reason::DriftClass)?;
    let init = runtime.method(base, runtime.selector(INIT));
    if init.is_none_or(|init| init.implementation != hooks::init as *const c_void) {
        // Somebody has hooked the initialisation since: what comes behind is theirs.
        return Err(Reason::OtherShim);
    }
    let family = runtime.selector(SUPPORTS_FAMILY);
    let memory = runtime.selector(THREADGROUP_MEMORY);
    let found = Pair::find(runtime, class, (family, memory))?;
    for part in [found.family, found.memory] {
        if !is_systems_own(part.implementation) {
            return Err(Reason::OtherShim);
        }
    }
    if !encoding::matches(found.family.encoding(), encoding::SUPPORTS_FAMILY)
        || !encoding::matches(found.memory.encoding(), encoding::THREADGROUP_MEMORY)
    {
        return Err(Reason::DriftTypes);
    }
    let uuids = [
        (ticket.metal_uuid, Image::Metal, Reason::DriftMetalUuid),
        (ticket.driver_uuid, Image::Driver, Reason::DriftDriverUuid),
    ];
    for (wanted, image, reason) in uuids {
        if let Some(text) = wanted {
            let wanted = uuid::of_text(text.as_bytes());
            if wanted.is_none() || platform::image_uuid(image) != wanted {
                return Err(reason);
            }
        }
    }
    let stock = answers::stock_family(|asked| {
        let asked = isize::try_from(asked.min(HIGHEST_ASKED)).unwrap_or(0);
        hooks::ask_family(found.family.implementation, device, family, asked) != 0
    });
    if stock != u32::from(ticket.stock_apple_family) {
        return Err(Reason::DriftFamily);
    }
    // Looked up once more: the questions ran the driver's code.
    let again = Pair::find(runtime, class, (family, memory))?;
    if again.family.method != found.family.method || again.memory.method != found.memory.method {
        return Err(Reason::InstallFailed);
    }
    let first = Override {
        class,
        selector: family,
        found: found.family,
        new: hooks::supports_family as *const c_void,
    };
    let second = Override {
        class,
        selector: memory,
        found: found.memory,
        new: hooks::threadgroup_memory as *const c_void,
    };
    first.put(runtime, &hooks::FAMILY)?;
    if let Err(reason) = second.put(runtime, &hooks::MEMORY) {
        first.undo(runtime);
        return Err(reason);
    }
    hooks::raise(
        ticket.apple_family_max,
        ticket.max_threadgroup_memory,
        ticket.stock_max_threadgroup_memory,
    );
    Ok(())
}

struct Pair {
    family: Found,
    memory: Found,
}

impl Pair {
    fn find(runtime: &Runtime, class: Class, of: (Selector, Selector)) -> Result<Self, Reason> {
        let method = |selector| runtime.method(class, selector).ok_or(Reason::DriftMethod);
        Ok(Self {
            family: method(of.0)?,
            memory: method(of.1)?,
        })
    }
}

/// One method of one class, and what comes in its place.
struct Override {
    class: Class,
    selector: Selector,
    found: Found,
    new: Imp,
}

impl Override {
    /// Adds the method to the class where it inherits it, so that no other class is touched, and
    /// changes the class's own one where it has one.
    fn put(&self, runtime: &Runtime, original: &AtomicPtr<c_void>) -> Result<(), Reason> {
        original.store(self.found.implementation.cast_mut(), Ordering::Release);
        let done = if self.found.own {
            runtime.swap(self.found.method, self.found.implementation, self.new)
        } else {
            runtime.add(self.class, self.selector, self.new, &self.found)
        };
        if done && self.is_there(runtime).is_some() {
            Ok(())
        } else {
            self.undo(runtime);
            Err(Reason::InstallFailed)
        }
    }

    fn is_there(&self, runtime: &Runtime) -> Option<Found> {
        runtime
            .method(self.class, self.selector)
            .filter(|now| now.own && now.implementation == self.new)
    }

    /// What stood there before stands there again. A method cannot be taken from a class, so an
    /// added one stays and answers by the inherited code.
    fn undo(&self, runtime: &Runtime) {
        if let Some(now) = self.is_there(runtime) {
            runtime.swap(now.method, self.new, self.found.implementation);
        }
    }
}

/// Whether the code is the system's own: in Metal's image, or in one that Metal's driver is made
/// of. Code of no image at all (a block made a method) is not.
fn is_systems_own(code: Imp) -> bool {
    #[repr(C)]
    struct Info {
        path: *const c_char,
        rest: [*const c_void; 3],
    }
    let found = libc::find(c"dladdr");
    if found.is_null() {
        return false;
    }
    type Dladdr = unsafe extern "C" fn(*const c_void, *mut Info) -> i32;
    // SAFETY: that is the type of the dynamic linker's function of this name.
    let dladdr = unsafe { transmute::<*mut c_void, Dladdr>(found) };
    let mut info = MaybeUninit::<Info>::zeroed();
    // SAFETY: any address may be asked for; there is room for the answer.
    if unsafe { dladdr(code, info.as_mut_ptr()) } == 0 {
        return false;
    }
    // SAFETY: null pointers are values of this structure, and the call filled it.
    let info = unsafe { info.assume_init() };
    // SAFETY: null, or the path of an image that is loaded.
    let path = unsafe { libc::bytes(info.path) };
    path.is_some_and(platform::is_system_image)
}
