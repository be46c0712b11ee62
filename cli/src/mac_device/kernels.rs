//! The other end of `canary/channel.rs` on a Mac: libraries compiled from their text, kernels
//! run on the default device.
//!
//! **Contract.** It does what its stdin says until that ends, and judges nothing. Whoever started
//! it has the time limit: nothing here waits for less than the GPU takes. Each pipeline is made
//! anew: a canary is no benchmark.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::ptr::NonNull;
use std::time::Instant;

use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::{AnyObject, ProtocolObject};
use objc2_foundation::{NSError, NSString};
use objc2_metal::{
    MTLBuffer, MTLCommandBuffer, MTLCommandBufferStatus, MTLCommandEncoder, MTLCommandQueue,
    MTLComputeCommandEncoder, MTLComputePipelineState, MTLCreateSystemDefaultDevice, MTLDevice,
    MTLLibrary, MTLResourceOptions, MTLSize,
};
use rustix::mm::{MapFlags, ProtFlags};

use super::Device;
use crate::canary::channel::HEADER;
use crate::error::{Error, plain};

/// A SIMD-group of every GPU that the kernels are for.
const WIDTH: usize = 32;
/// No text and no buffer of the pipe is longer.
const MAX_BYTES: usize = 1 << 30;

type Library = Retained<ProtocolObject<dyn MTLLibrary>>;
type Buffer = Retained<ProtocolObject<dyn MTLBuffer>>;

/// How many microseconds it took, and what goes back.
type Results = (u128, Vec<Vec<u8>>);

/// Why there is no result.
enum Not {
    /// A compiler does not take it.
    Refused(String),
    /// The device or its driver says that it went wrong.
    Failed(String),
}

/// Answers stdin until it ends.
///
/// # Errors
/// A pipe broke, or a request cannot be read.
pub(super) fn serve() -> Result<(), Error> {
    let mut stdin = io::stdin().lock();
    let mut stdout = io::stdout().lock();
    let failed = |e: io::Error| Error::machine(format!("the canary's pipe broke: {}", plain(&e)));
    autoreleasepool(|_| {
        let Some(device) = MTLCreateSystemDefaultDevice() else {
            let none = format!("{HEADER}\ndevice=none\n");
            return stdout.write_all(none.as_bytes()).map_err(failed);
        };
        let mut gpu = Gpu {
            device,
            libraries: BTreeMap::new(),
        };
        gpu.hello(&mut stdout).map_err(failed)?;
        let mut line = String::new();
        while stdin.read_line(&mut line).map_err(failed)? > 0 {
            autoreleasepool(|_| gpu.answer(&line, &mut stdin, &mut stdout)).map_err(failed)?;
            line.clear();
        }
        Ok(())
    })
}

struct Gpu {
    device: Retained<Device>,
    libraries: BTreeMap<String, Library>,
}

/// A buffer of a launch, and how many of its bytes go back.
struct Bound {
    buffer: Buffer,
    back: Option<usize>,
}

fn bad(says: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, says.to_owned())
}

fn next<T: std::str::FromStr>(words: &mut std::str::SplitWhitespace<'_>) -> io::Result<T> {
    let value = words.next().and_then(|word| word.parse().ok());
    value.ok_or_else(|| bad("a request lacks a value"))
}

fn bytes(from: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    if length > MAX_BYTES {
        return Err(bad("a length is beyond all bounds"));
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn said(error: &NSError) -> String {
    error.localizedDescription().to_string()
}

impl Gpu {
    fn hello(&self, out: &mut impl Write) -> io::Result<()> {
        let object: &AnyObject = (*self.device).as_ref();
        writeln!(
            out,
            "{HEADER}\ndevice={} apple_family={} max_threadgroup_memory={} max_buffer_length={} recommended_working_set={}",
            object.class().name().to_string_lossy(),
            super::apple_family(&self.device),
            self.device.maxThreadgroupMemoryLength(),
            self.device.maxBufferLength(),
            self.device.recommendedMaxWorkingSetSize()
        )?;
        out.flush()
    }

    fn answer(
        &mut self,
        line: &str,
        from: &mut impl BufRead,
        to: &mut impl Write,
    ) -> io::Result<()> {
        let mut words = line.split_whitespace();
        let done = match words.next() {
            Some("library") => {
                let name: String = next(&mut words)?;
                let length = next(&mut words)?;
                let source = bytes(from, length)?;
                self.library(name, &String::from_utf8_lossy(&source))
            }
            Some("run") => self.run(&mut words, from)?,
            _ => return Err(bad("it is no request")),
        };
        match done {
            Ok((took, results)) => {
                writeln!(to, "ok {took}")?;
                for result in results {
                    to.write_all(&result)?;
                }
            }
            Err(Not::Refused(says)) => write!(to, "refused {}\n{says}", says.len())?,
            Err(Not::Failed(says)) => write!(to, "failed {}\n{says}", says.len())?,
        }
        to.flush()
    }

    fn library(&mut self, name: String, source: &str) -> Result<Results, Not> {
        let begun = Instant::now();
        let source = NSString::from_str(source);
        let made = self
            .device
            .newLibraryWithSource_options_error(&source, None);
        let library = made.map_err(|e| Not::Refused(said(&e)))?;
        self.libraries.insert(name, library);
        Ok((begun.elapsed().as_micros(), Vec::new()))
    }

    /// Reads the whole request before anything can fail, so that the next one is found.
    fn run(
        &self,
        words: &mut std::str::SplitWhitespace<'_>,
        from: &mut impl BufRead,
    ) -> io::Result<Result<Results, Not>> {
        let (library, kernel): (String, String) = (next(words)?, next(words)?);
        let mut size = || -> io::Result<MTLSize> {
            Ok(MTLSize {
                width: next(words)?,
                height: next(words)?,
                depth: next(words)?,
            })
        };
        let (groups, threads) = (size()?, size()?);
        let (memory, arguments): (usize, usize) = (next(words)?, next(words)?);
        let mut bound = Vec::new();
        for _ in 0..arguments {
            let mut line = String::new();
            from.read_line(&mut line)?;
            bound.push(self.bind(&line, from)?);
        }
        let bound: Result<Vec<Bound>, Not> = bound.into_iter().collect();
        Ok(bound.and_then(|bound| self.launch(&library, &kernel, groups, threads, memory, &bound)))
    }

    fn bind(&self, line: &str, from: &mut impl BufRead) -> io::Result<Result<Bound, Not>> {
        let mut words = line.split_whitespace();
        let kind: String = next(&mut words)?;
        let length: usize = next(&mut words)?;
        if kind == "file" {
            let path: String = next(&mut words)?;
            return Ok(self.over_file(&path, length));
        }
        let content = bytes(from, length)?;
        let options = MTLResourceOptions::StorageModeShared;
        let buffer = self
            .device
            .newBufferWithLength_options(length.max(16), options);
        let made =
            buffer.ok_or_else(|| Not::Failed(format!("no buffer of {length} bytes was made")));
        Ok(made.map(|buffer| {
            let to = buffer.contents().cast::<u8>().as_ptr();
            // SAFETY: the buffer is new, shared with the CPU and at least as long as the content,
            // and no command uses it yet.
            unsafe { std::ptr::copy_nonoverlapping(content.as_ptr(), to, length) };
            Bound {
                buffer,
                back: (kind == "out").then_some(length),
            }
        }))
    }

    /// A buffer over the file's pages, as programs make one over a model's weights. The pages
    /// stay mapped until this process ends.
    fn over_file(&self, path: &str, length: usize) -> Result<Bound, Not> {
        let failed =
            |what: &str, e: &io::Error| Not::Failed(format!("{what} {path}: {}", plain(e)));
        let file = File::open(path).map_err(|e| failed("could not open", &e))?;
        // SAFETY: a new mapping at an address that the system chooses aliases nothing of ours.
        let mapped = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ,
                MapFlags::SHARED,
                &file,
                0,
            )
        };
        let mapped = mapped.map_err(|e| failed("could not map", &e.into()))?;
        let start = NonNull::new(mapped.cast::<c_void>())
            .ok_or_else(|| Not::Failed("a file was mapped to nowhere".to_owned()))?;
        // SAFETY: the pages are there for as long as this process, so the buffer needs no
        // deallocator; the length is a multiple of the page size.
        let buffer = unsafe {
            self.device
                .newBufferWithBytesNoCopy_length_options_deallocator(
                    start,
                    length,
                    MTLResourceOptions::StorageModeShared,
                    None,
                )
        };
        // Both happened in public reports.
        let buffer = buffer.filter(|buffer| buffer.length() == length);
        let buffer = buffer.ok_or_else(|| {
            Not::Failed(format!("no buffer was made over a file of {length} bytes"))
        })?;
        Ok(Bound { buffer, back: None })
    }

    fn launch(
        &self,
        library: &str,
        kernel: &str,
        groups: MTLSize,
        threads: MTLSize,
        memory: usize,
        bound: &[Bound],
    ) -> Result<Results, Not> {
        let failed = |says: &str| Not::Failed(format!("{kernel}: {says}"));
        let library = self.libraries.get(library);
        let function = library.and_then(|l| l.newFunctionWithName(&NSString::from_str(kernel)));
        let function = function.ok_or_else(|| failed("the library has no such kernel"))?;
        let pipeline = self
            .device
            .newComputePipelineStateWithFunction_error(&function)
            .map_err(|e| Not::Refused(said(&e)))?;
        if pipeline.threadExecutionWidth() != WIDTH {
            return Err(failed("a SIMD-group does not have 32 lanes here"));
        }
        if pipeline.maxTotalThreadsPerThreadgroup() < threads.width {
            return Err(failed("fewer threads than it needs fit a threadgroup here"));
        }
        let queue = self
            .device
            .newCommandQueue()
            .ok_or_else(|| failed("no command queue"))?;
        let commands = queue
            .commandBuffer()
            .ok_or_else(|| failed("no command buffer"))?;
        let encoder = commands
            .computeCommandEncoder()
            .ok_or_else(|| failed("no encoder"))?;
        encoder.setComputePipelineState(&pipeline);
        for (index, bound) in bound.iter().enumerate() {
            // SAFETY: the buffers live until the commands have completed, below; they are as
            // long as the kernel's case says, and there are at most as many as it has.
            unsafe { encoder.setBuffer_offset_atIndex(Some(&bound.buffer), 0, index) };
        }
        if memory > 0 {
            // SAFETY: a multiple of 16 bytes, at the only index that the kernels have. That it may
            // be more than the hardware bears is what the canary is there to find out.
            unsafe { encoder.setThreadgroupMemoryLength_atIndex(memory, 0) };
        }
        encoder.dispatchThreadgroups_threadsPerThreadgroup(groups, threads);
        encoder.endEncoding();
        let begun = Instant::now();
        commands.commit();
        commands.waitUntilCompleted();
        let took = begun.elapsed().as_micros();
        if commands.status() != MTLCommandBufferStatus::Completed {
            let error = commands.error();
            return Err(failed(
                &error.map_or("it did not complete".to_owned(), |e| said(&e)),
            ));
        }
        let results = bound.iter().filter_map(|bound| {
            let from = bound.buffer.contents().cast::<u8>().as_ptr();
            // SAFETY: the commands have completed, so nothing writes to the buffer, and it is at
            // least that long.
            bound
                .back
                .map(|length| unsafe { std::slice::from_raw_parts(from, length) }.to_vec())
        });
        Ok((took, results.collect()))
    }
}
