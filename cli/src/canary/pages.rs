//! The file whose pages a kernel reads without a copy, as programs read the weights of a model.
//!
//! On macOS 14 guests such buffers of a few gigabytes were read wrong: whole parts of the file
//! came as they were before, or not at all. So the file is large, and the first bytes of each
//! page say which page it is.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::formats::Values;

/// What was reported wrong was 2.5 GB and more, and right at 0.8 GB.
const LARGEST: u64 = 3 << 30;
/// From here on the fault would show.
const TELLING: u64 = 5 << 29;

/// The pages of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pages {
    /// What the stamps are made from.
    pub seed: u64,
    /// How many.
    pub count: u64,
}

impl Pages {
    /// Bytes of a page on Apple silicon.
    pub const SIZE: u64 = 16 << 10;

    /// As many as a device with so many bytes can be asked to read: half of the working set that
    /// it recommends, no more than its longest buffer, than half of what is free on the disk, and
    /// than shows the fault. None where not even one fits.
    pub fn fitting(working_set: u64, longest: u64, free: u64, seed: u64) -> Option<Self> {
        let bytes = (working_set / 2).min(longest).min(free / 2).min(LARGEST);
        let count = bytes / Self::SIZE;
        (count > 0).then_some(Self { seed, count })
    }

    /// All bytes.
    pub fn len(&self) -> u64 {
        self.count * Self::SIZE
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether the fault of macOS 14 guests would show.
    pub fn telling(&self) -> bool {
        self.len() >= TELLING
    }

    /// The first four words of a page, never zero.
    pub fn stamp(&self, page: u64) -> [u32; 4] {
        let mut values = Values::new(self.seed ^ page.rotate_left(32));
        [(); 4].map(|()| values.word() | 1)
    }

    /// Makes the file in `file`, which is empty. What lies between the stamps are holes.
    ///
    /// # Errors
    /// The disk is full, or cannot be written.
    pub fn write(&self, file: &File) -> io::Result<()> {
        file.set_len(self.len())?;
        for page in 0..self.count {
            let mut bytes = [0; 16];
            for (to, word) in bytes.chunks_exact_mut(4).zip(self.stamp(page)) {
                to.copy_from_slice(&word.to_le_bytes());
            }
            file.write_all_at(&bytes, page * Self::SIZE)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_goes_by_memory_buffer_and_disk() {
        let gb = 1 << 30;
        let len = |set, longest, free| Pages::fitting(set, longest, free, 1).map(|p| p.len());
        assert_eq!(len(64 * gb, 64 * gb, 64 * gb), Some(3 * gb));
        assert_eq!(len(5 * gb, 64 * gb, 64 * gb), Some(5 * gb / 2));
        assert_eq!(len(64 * gb, gb, 64 * gb), Some(gb));
        assert_eq!(len(64 * gb, 64 * gb, gb), Some(gb / 2));
        assert_eq!(len(0, gb, gb), None);
        // A hosted runner with 7 GB, as a public report has it, is just not enough.
        let runner = Pages::fitting(5_010_800_640, 3_758_096_384, 20 * gb, 1).unwrap();
        assert!(!runner.telling());
        assert!(
            Pages::fitting(12 * gb, 12 * gb, 20 * gb, 1)
                .unwrap()
                .telling()
        );
    }

    #[test]
    fn every_page_says_which_it_is() {
        let pages = Pages { seed: 3, count: 5 };
        let file = tempfile::tempfile().unwrap();
        pages.write(&file).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 5 * Pages::SIZE);
        let mut stamps = Vec::new();
        for page in 0..5 {
            let mut bytes = [0; 16];
            file.read_exact_at(&mut bytes, page * Pages::SIZE).unwrap();
            let first = pages.stamp(page)[0].to_le_bytes();
            assert_eq!(bytes[..4], first);
            stamps.push(bytes);
        }
        stamps.sort_unstable();
        stamps.dedup();
        assert_eq!(stamps.len(), 5);
        assert_ne!(pages.stamp(0), Pages { seed: 4, ..pages }.stamp(0));
    }
}
