//! Whether a program that this process starts gets the library and the ticket.
//!
//! Two questions, both pure: is it wanted (the ticket's `follow`, or it is the process's own next
//! image), and can it load the library. A program that cannot must not be told to: on macOS it
//! would be ended by the dynamic linker. Whatever is not understood cannot.

#[cfg(not(target_os = "macos"))]
pub(crate) mod elf;
#[cfg(not(target_os = "macos"))]
pub(crate) use elf as format;
#[cfg(target_os = "macos")]
pub(crate) mod macho;
#[cfg(target_os = "macos")]
pub(crate) use macho as format;

/// What the file system says of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The device that the file is on.
    pub(crate) device: u64,
    /// The file's number there.
    pub(crate) inode: u64,
    /// Type and permissions.
    pub(crate) mode: u32,
    /// The owner's id.
    pub(crate) owner: u32,
    /// `SF_RESTRICTED`: the system strips the inserting variables from it.
    pub(crate) restricted: bool,
}

impl Program {
    /// Whether the file as such may be followed: a regular file, executable, not set-uid or
    /// set-gid, not restricted.
    pub(crate) fn may_be_followed(&self) -> bool {
        const TYPE: u32 = 0o170_000;
        const REGULAR: u32 = 0o100_000;
        const SET_ID: u32 = 0o6_000;
        const EXECUTABLE: u32 = 0o111;
        self.mode & TYPE == REGULAR
            && self.mode & EXECUTABLE != 0
            && self.mode & SET_ID == 0
            && !self.restricted
    }

    /// Whether both are the same file.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        self.device == other.device && self.inode == other.inode
    }
}

/// Whether `follow` names a child of this base name.
pub(crate) fn is_wanted(follow: &[u8], name: &[u8], same_executable: bool) -> bool {
    follow != b"none"
        && follow.split(|b| *b == b',').any(|entry| match entry {
            b"all" => true,
            b"self" => same_executable,
            other => other == name,
        })
}

/// A part of a file, read as far as it is needed: 2,048 bytes at a time, on the stack.
pub(crate) struct Window<R> {
    read: R,
    start: u64,
    len: usize,
    bytes: [u8; 2048],
}

impl<R: FnMut(u64, &mut [u8]) -> usize> Window<R> {
    /// `read` fills a buffer from an offset and says how much of it.
    pub(crate) fn new(read: R) -> Self {
        Self {
            read,
            start: 0,
            len: 0,
            bytes: [0; 2048],
        }
    }

    /// `N` bytes from `offset`, if the file has them.
    pub(crate) fn at<const N: usize>(&mut self, offset: u64) -> Option<[u8; N]> {
        if let Some(found) = self.held(offset) {
            return Some(found);
        }
        self.start = offset;
        self.len = (self.read)(offset, &mut self.bytes);
        self.held(offset)
    }

    fn held<const N: usize>(&self, offset: u64) -> Option<[u8; N]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        let bytes = self.bytes.get(..self.len)?;
        bytes.get(from..)?.first_chunk::<N>().copied()
    }

    pub(crate) fn little32(&mut self, offset: u64) -> Option<u32> {
        self.at(offset).map(u32::from_le_bytes)
    }

    #[cfg_attr(not(target_os = "macos"), allow(dead_code))]
    pub(crate) fn big32(&mut self, offset: u64) -> Option<u32> {
        self.at(offset).map(u32::from_be_bytes)
    }
}
