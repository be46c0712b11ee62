//! The Objective-C runtime: the few calls that are needed, found when they are needed.

use super::cell::Once;
use super::libc;
use core::ffi::{CStr, c_char, c_void};
use core::mem::transmute;

/// A class, an object, a selector, a method, an implementation: the runtime's own pointers.
pub(crate) type Class = *mut c_void;
pub(crate) type Object = *mut c_void;
pub(crate) type Selector = *const c_void;
pub(crate) type Method = *mut c_void;
pub(crate) type Imp = *const c_void;

/// The calls, all there. Same names and types in Apple's runtime and in GNU's.
pub(crate) struct Runtime {
    look_up_class: unsafe extern "C" fn(*const c_char) -> Class,
    superclass: unsafe extern "C" fn(Class) -> Class,
    instance_method: unsafe extern "C" fn(Class, Selector) -> Method,
    implementation: unsafe extern "C" fn(Method) -> Imp,
    set_implementation: unsafe extern "C" fn(Method, Imp) -> Imp,
    type_encoding: unsafe extern "C" fn(Method) -> *const c_char,
    add_method: unsafe extern "C" fn(Class, Selector, Imp, *const c_char) -> u8,
    register_name: unsafe extern "C" fn(*const c_char) -> Selector,
    class_name: unsafe extern "C" fn(Object) -> *const c_char,
}

macro_rules! call {
    ($name:literal) => {{
        let found = libc::find($name);
        if found.is_null() {
            return None;
        }
        // The field that this is for says the type.
        #[allow(clippy::missing_transmute_annotations)]
        // SAFETY: the runtime's function of this name has the type of the field it is for.
        let call = unsafe { transmute::<*mut c_void, _>(found) };
        call
    }};
}

impl Runtime {
    /// All calls, looked up once; `None` when one is missing. By one thread at a time: whoever
    /// hooks, then the one that makes the first device.
    pub(crate) fn find() -> Option<&'static Self> {
        static FOUND: Once<Runtime> = Once::new();
        FOUND.get().or_else(|| FOUND.set(Self::look_up()?))
    }

    fn look_up() -> Option<Self> {
        Some(Self {
            look_up_class: call!(c"objc_lookUpClass"),
            superclass: call!(c"class_getSuperclass"),
            instance_method: call!(c"class_getInstanceMethod"),
            implementation: call!(c"method_getImplementation"),
            set_implementation: call!(c"method_setImplementation"),
            type_encoding: call!(c"method_getTypeEncoding"),
            add_method: call!(c"class_addMethod"),
            register_name: call!(c"sel_registerName"),
            class_name: call!(c"object_getClassName"),
        })
    }

    /// The class of this name, if there is one. `name` must end with a zero byte.
    pub(crate) fn class(&self, name: &[u8]) -> Option<Class> {
        let name = libc::terminated(name)?;
        // SAFETY: a string that ends with a zero byte.
        let class = unsafe { (self.look_up_class)(name) };
        (!class.is_null()).then_some(class)
    }

    /// The name of the object's class.
    pub(crate) fn name_of(&self, object: Object) -> &'static [u8] {
        // SAFETY: an object that the runtime itself called a method of.
        let name = unsafe { (self.class_name)(object) };
        // SAFETY: the runtime keeps the names of classes.
        unsafe { libc::bytes(name) }.unwrap_or_default()
    }

    /// The selector of this name.
    pub(crate) fn selector(&self, name: &CStr) -> Selector {
        // SAFETY: a string that ends with a zero byte.
        unsafe { (self.register_name)(name.as_ptr()) }
    }

    /// The method that instances of the class answer with, own or inherited.
    pub(crate) fn method(&self, class: Class, selector: Selector) -> Option<Found> {
        // SAFETY: a class and a selector of the runtime.
        let method = unsafe { (self.instance_method)(class, selector) };
        if method.is_null() {
            return None;
        }
        // SAFETY: a class of the runtime.
        let parent = unsafe { (self.superclass)(class) };
        // SAFETY: a class or nil, of which the runtime says that it has no methods.
        let above = unsafe { (self.instance_method)(parent, selector) };
        Some(Found {
            method,
            own: method != above,
            // SAFETY: a method of the runtime.
            implementation: unsafe { (self.implementation)(method) },
            // SAFETY: a method of the runtime.
            encoding: unsafe { (self.type_encoding)(method) },
        })
    }

    /// Puts `new` in the method's place, unless somebody else did since `old` was read.
    pub(crate) fn swap(&self, method: Method, old: Imp, new: Imp) -> bool {
        // SAFETY: a method of the runtime, and an implementation of its type.
        let before = unsafe { (self.set_implementation)(method, new) };
        if before == old {
            return true;
        }
        // SAFETY: as above: what was there goes back.
        unsafe { (self.set_implementation)(method, before) };
        false
    }

    /// Adds a method to a class that does not have it itself.
    pub(crate) fn add(&self, class: Class, selector: Selector, new: Imp, like: &Found) -> bool {
        // SAFETY: a class, a selector, an implementation of this type, and the runtime's own
        // encoding, which it keeps.
        unsafe { (self.add_method)(class, selector, new, like.encoding) != 0 }
    }
}

/// A method of a class.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) method: Method,
    /// The class itself has it, and not a class above it.
    pub(crate) own: bool,
    pub(crate) implementation: Imp,
    encoding: *const c_char,
}

impl Found {
    /// The types, as the compiler wrote them.
    pub(crate) fn encoding(&self) -> &'static [u8] {
        // SAFETY: null, or a string that the runtime keeps as long as the method.
        unsafe { libc::bytes(self.encoding) }.unwrap_or_default()
    }
}
