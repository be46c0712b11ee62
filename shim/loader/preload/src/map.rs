//! Carries a plan out: maps the segments, writes the words, runs the initialisers.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use metalshim_loader::{FixupKind, Plan, Segment};

use crate::symbols;

/// What a constructor is given: the arguments of `main`.
pub(crate) type Arguments = (c_int, *const *const c_char, *const *const c_char);

/// The library inside this process. It is never unmapped: its code may be called
/// until the process ends.
pub(crate) struct Image {
    /// Address of the header.
    pub(crate) base: usize,
    /// Bytes of address space.
    pub(crate) span: usize,
    /// The path it was loaded from.
    pub(crate) name: CString,
}

static LOADED: OnceLock<Image> = OnceLock::new();

/// The library, once it is mapped.
pub(crate) fn loaded() -> Option<&'static Image> {
    LOADED.get()
}

unsafe extern "C" {
    /// From the compiler's own library: makes written code visible to the processor.
    fn __clear_cache(start: *mut c_char, end: *mut c_char);
}

impl Image {
    /// Maps and binds the library. No code of it runs yet.
    pub(crate) fn map(file: &[u8], plan: &Plan, name: CString) -> Result<&'static Image, String> {
        let page = page_size();
        let span = (plan.commands.span as usize).next_multiple_of(page);
        // SAFETY: an anonymous mapping at a place of the system's choosing touches
        // nothing that exists.
        let base = unsafe {
            libc::mmap(
                ptr::null_mut(),
                span,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(format!(
                "mapping {span} bytes: {}",
                std::io::Error::last_os_error()
            ));
        }
        let image = Image {
            base: base as usize,
            span,
            name,
        };
        for segment in &plan.commands.segments {
            image.fill(file, segment)?;
        }
        for fixup in &plan.fixups {
            let word = match &fixup.kind {
                FixupKind::Rebase { target, top } => {
                    (image.base as u64 + target) | u64::from(*top) << 56
                }
                FixupKind::Bind {
                    symbol,
                    addend,
                    weak,
                } => match symbols::resolve(symbol) {
                    Ok(address) => (address as u64).wrapping_add_signed(*addend),
                    Err(_) if *weak => 0,
                    Err(why) => return Err(why),
                },
            };
            let at = (image.base + fixup.offset as usize) as *mut u64;
            // SAFETY: the plan's offsets lie inside the image with all 8 bytes, and
            // the whole mapping is still writable. Words need not be aligned.
            unsafe { at.write_unaligned(word) };
        }
        for segment in &plan.commands.segments {
            image.protect(segment, page)?;
        }
        LOADED
            .set(image)
            .map_err(|_| "a library has been loaded already".to_owned())?;
        LOADED
            .get()
            .ok_or_else(|| "the library vanished".to_owned())
    }

    fn fill(&self, file: &[u8], segment: &Segment) -> Result<(), String> {
        let start = segment.file_offset as usize;
        let contents = file
            .get(start..start + segment.file_size as usize)
            .ok_or_else(|| format!("segment {} is not in the file", segment.name))?;
        let to = (self.base + segment.offset as usize) as *mut u8;
        // SAFETY: the plan holds `offset + size` within the span and `file_size`
        // within `size`; the mapping is fresh, so nothing else refers to it.
        unsafe { ptr::copy_nonoverlapping(contents.as_ptr(), to, contents.len()) };
        Ok(())
    }

    fn protect(&self, segment: &Segment, page: usize) -> Result<(), String> {
        let size = (segment.size as usize).next_multiple_of(page);
        let start = self.base + segment.offset as usize;
        if size == 0 {
            return Ok(());
        }
        if !start.is_multiple_of(page) {
            return Err(format!(
                "segment {} does not start on one of this system's pages of {page} bytes",
                segment.name
            ));
        }
        // Mach-O and Linux number the three protections alike.
        let protection = if segment.read_only_after_fixups {
            libc::PROT_READ
        } else {
            segment.protection as c_int
        };
        if protection & libc::PROT_EXEC != 0 {
            // SAFETY: the range is inside the mapping.
            unsafe { __clear_cache(start as *mut c_char, (start + size) as *mut c_char) };
        }
        // SAFETY: the range is whole pages of our own mapping, and no reference to
        // its contents exists.
        if unsafe { libc::mprotect(start as *mut c_void, size, protection) } != 0 {
            return Err(format!(
                "protecting segment {}: {}",
                segment.name,
                std::io::Error::last_os_error()
            ));
        }
        Ok(())
    }

    /// Runs the initialisers in order.
    pub(crate) fn initialise(&self, plan: &Plan, (argc, argv, envp): Arguments) {
        type Initialiser =
            extern "C" fn(c_int, *const *const c_char, *const *const c_char, *const *const c_char);
        // dyld's fourth argument, strings of the kernel's; nothing here needs one.
        let apple: [*const c_char; 1] = [ptr::null()];
        for offset in &plan.initialisers {
            let address = self.base + *offset as usize;
            // SAFETY: the plan says that code is there, and the section it came
            // from that it is a function of this type.
            let run = unsafe { core::mem::transmute::<usize, Initialiser>(address) };
            run(argc, argv, envp, apple.as_ptr());
        }
    }

    /// Whether an address belongs to the library.
    pub(crate) fn holds(&self, address: usize) -> bool {
        (self.base..self.base + self.span).contains(&address)
    }
}

fn page_size() -> usize {
    // SAFETY: asks for a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}
