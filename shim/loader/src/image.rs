//! The header: is this a file for us at all?

use crate::Problem;
use crate::bytes::Bytes;

/// A processor the loader knows, as Mach-O numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cpu {
    /// `CPU_TYPE_X86_64`
    X86_64,
    /// `CPU_TYPE_ARM64`, plain: `CPU_SUBTYPE_ARM64_ALL`
    Arm64,
}

impl Cpu {
    /// The processor this program was built for, if it is one of the two.
    pub fn host() -> Option<Cpu> {
        if cfg!(target_arch = "x86_64") {
            Some(Cpu::X86_64)
        } else if cfg!(target_arch = "aarch64") {
            Some(Cpu::Arm64)
        } else {
            None
        }
    }
}

const MAGIC_64: u32 = 0xfeed_facf;
const TYPE_DYLIB: u32 = 6;
const TYPE_BUNDLE: u32 = 8;
/// `MH_TWOLEVEL`: each imported name says which library it comes from.
pub(crate) const FLAG_TWOLEVEL: u32 = 0x80;
/// Size of `mach_header_64`.
pub(crate) const HEADER_SIZE: u64 = 32;

/// The fields of `mach_header_64` that matter here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) cpu: Cpu,
    pub(crate) commands: u32,
    pub(crate) commands_size: u32,
    pub(crate) flags: u32,
}

impl Header {
    pub(crate) fn read(file: Bytes<'_>) -> Result<Header, Problem> {
        let magic = file.u32(0)?;
        match magic {
            MAGIC_64 => {}
            0xbeba_feca | 0xbfba_feca => {
                return Err(Problem::Kind(
                    "a fat file with several processors in it; take one out with lipo -thin".into(),
                ));
            }
            0xfeed_face => return Err(Problem::Kind("a 32-bit Mach-O file".into())),
            0xcefa_edfe | 0xcffa_edfe => {
                return Err(Problem::Kind("a big-endian Mach-O file".into()));
            }
            other => {
                return Err(Problem::Kind(format!(
                    "not a Mach-O file (it starts with 0x{other:08x})"
                )));
            }
        }
        let (cpu_type, sub_type) = (file.u32(4)?, file.u32(8)?);
        let cpu = match cpu_type {
            0x0100_0007 => Cpu::X86_64,
            // The upper byte carries capabilities (the pointer authentication version).
            0x0100_000c if sub_type & 0x00ff_ffff == 0 => Cpu::Arm64,
            0x0100_000c => {
                return Err(Problem::Kind(format!(
                    "an arm64 file of sub-type {} (arm64e is 2); only plain arm64 is loaded",
                    sub_type & 0x00ff_ffff
                )));
            }
            other => return Err(Problem::Kind(format!("processor type 0x{other:x}"))),
        };
        let file_type = file.u32(12)?;
        if file_type != TYPE_DYLIB && file_type != TYPE_BUNDLE {
            return Err(Problem::Kind(format!(
                "a Mach-O file of type {file_type}; only dylibs (6) and bundles (8) are loaded"
            )));
        }
        Ok(Header {
            cpu,
            commands: file.u32(16)?,
            commands_size: file.u32(20)?,
            flags: file.u32(24)?,
        })
    }
}
