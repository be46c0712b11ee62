//! The functions that stand in the methods' places. They ask what stood there before, and answer:
//! no lock, no allocation, no log, no look at the environment.

use super::objc::{Imp, Object, Selector};
use super::{install, report};
use crate::answers::{self, FirstMemory};
use crate::state::Reason;
use core::ffi::c_void;
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// What stood in the methods' places. Stored before the method is changed.
pub(crate) static INIT: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
pub(crate) static FAMILY: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
pub(crate) static MEMORY: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// The highest family to say yes to, and the memory to answer; both 0 means stock.
static CEILING: AtomicU32 = AtomicU32::new(0);
static RAISED: AtomicU32 = AtomicU32::new(0);
/// The stock memory that the ticket names, and whether the device's own answer was seen to be it.
static RECORDED: AtomicU32 = AtomicU32::new(0);
static COMPARED: AtomicBool = AtomicBool::new(false);

/// From here on the answers are the ticket's.
pub(crate) fn raise(family: u16, memory: u32, recorded_memory: u32) {
    RECORDED.store(recorded_memory, Ordering::Relaxed);
    RAISED.store(memory, Ordering::Release);
    CEILING.store(family.into(), Ordering::Release);
}

/// From here on the answers are stock.
pub(crate) fn lower() {
    CEILING.store(0, Ordering::Release);
    RAISED.store(0, Ordering::Release);
}

/// `-[_MTLDevice initGPUFamilySupport]`: as it was, and then a look at the device. Whatever it
/// returns, in one register or none, is passed on.
pub(crate) extern "C" fn init(device: Object, selector: Selector) -> usize {
    let before = INIT.load(Ordering::Acquire);
    if before.is_null() {
        return 0;
    }
    // SAFETY: the implementation that this one replaced, whose types were compared.
    let call =
        unsafe { transmute::<*mut c_void, extern "C" fn(Object, Selector) -> usize>(before) };
    let result = call(device, selector);
    install::first_device(device);
    result
}

/// `-supportsFamily:`
pub(crate) extern "C" fn supports_family(device: Object, selector: Selector, asked: isize) -> u8 {
    let before = FAMILY.load(Ordering::Acquire);
    if before.is_null() {
        return 0;
    }
    let stock = ask_family(before, device, selector, asked);
    answers::family(stock, asked, CEILING.load(Ordering::Relaxed))
}

/// Asks an implementation of `supportsFamily:`.
pub(crate) fn ask_family(imp: Imp, device: Object, selector: Selector, asked: isize) -> u8 {
    type Family = extern "C" fn(Object, Selector, isize) -> u8;
    // SAFETY: an implementation of `supportsFamily:`, whose types were compared.
    let call = unsafe { transmute::<Imp, Family>(imp) };
    call(device, selector, asked)
}

/// `-maxThreadgroupMemoryLength`. The device's first own answer is compared with the ticket's; a
/// device that is still being set up answers 0, which passes.
pub(crate) extern "C" fn threadgroup_memory(device: Object, selector: Selector) -> usize {
    let before = MEMORY.load(Ordering::Acquire);
    if before.is_null() {
        return 0;
    }
    // SAFETY: the implementation that this one replaced, whose types were compared.
    let call =
        unsafe { transmute::<*mut c_void, extern "C" fn(Object, Selector) -> usize>(before) };
    let stock = call(device, selector);
    let raised = RAISED.load(Ordering::Acquire);
    if raised != 0 && !COMPARED.load(Ordering::Relaxed) {
        match answers::first_memory(stock, RECORDED.load(Ordering::Relaxed)) {
            FirstMemory::NotYet => return stock,
            FirstMemory::AsRecorded => COMPARED.store(true, Ordering::Relaxed),
            FirstMemory::Other => {
                lower();
                report::refuse(Reason::DriftMemory);
                return stock;
            }
        }
    }
    answers::memory(stock, raised)
}
