//! Small programs made by hand: what no registry has.

/// One Mach-O image to build.
#[derive(Clone)]
pub(crate) struct MachO {
    pub(crate) cpu: u32,
    pub(crate) subtype: u32,
    pub(crate) kind: u32,
    pub(crate) dynamic: bool,
    pub(crate) restrict_segment: bool,
    pub(crate) libraries: Vec<&'static str>,
    pub(crate) signature: Option<Sig>,
    /// Where the text ends: it is mostly zeros.
    pub(crate) text: u64,
}

pub(crate) const ARM64: u32 = 0x0100_000c;
pub(crate) const X86_64: u32 = 0x0100_0007;

/// A plain arm64 program, signed by the linker.
pub(crate) fn plain() -> MachO {
    MachO {
        cpu: ARM64,
        subtype: 0,
        kind: 2,
        dynamic: true,
        restrict_segment: false,
        libraries: vec!["/usr/lib/libSystem.B.dylib"],
        signature: Some(Sig {
            flags: 0x2_0002,
            ..Sig::default()
        }),
        text: 1024,
    }
}

/// A signature to build.
#[derive(Clone, Default)]
pub(crate) struct Sig {
    pub(crate) flags: u32,
    pub(crate) platform: u8,
    pub(crate) team: Option<&'static str>,
    /// Flags of a second code directory, with other hashes.
    pub(crate) alternate: Option<u32>,
    /// Bytes of page hashes.
    pub(crate) hashes: usize,
    pub(crate) xml: Option<String>,
    pub(crate) der: Option<Vec<u8>>,
}

impl Sig {
    /// A hardened one.
    pub(crate) fn hardened() -> Self {
        Self {
            flags: 0x1_0000,
            team: Some("ABCDE12345"),
            ..Self::default()
        }
    }
}

/// The keys of the two entitlements.
pub(crate) const DYLD: &str = "com.apple.security.cs.allow-dyld-environment-variables";
pub(crate) const LIBRARIES: &str = "com.apple.security.cs.disable-library-validation";

/// A property list of booleans.
pub(crate) fn xml(entries: &[(&str, bool)]) -> String {
    let entries: String = entries
        .iter()
        .map(|(key, value)| format!("<key>{key}</key><{value}/>"))
        .collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD \
         PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist \
         version=\"1.0\"><dict>{entries}</dict></plist>\n"
    )
}

/// One DER value.
pub(crate) fn tlv(tag: u8, value: &[u8]) -> Vec<u8> {
    let mut all = vec![tag];
    match value.len() {
        short @ 0..0x80 => all.push(short as u8),
        long @ 0x80..0x100 => all.extend([0x81, long as u8]),
        longer => all.extend([0x82, (longer >> 8) as u8, longer as u8]),
    }
    all.extend(value);
    all
}

/// The DER form of the same.
pub(crate) fn der(entries: &[(&str, bool)]) -> Vec<u8> {
    let mut list = Vec::new();
    for (key, value) in entries {
        let mut pair = tlv(0x0c, key.as_bytes());
        pair.extend(tlv(0x01, &[if *value { 0xff } else { 0 }]));
        list.extend(tlv(0x30, &pair));
    }
    let mut whole = tlv(0x02, &[1]);
    whole.extend(tlv(0xb0, &list));
    tlv(0x70, &whole)
}

fn blob(magic: u32, body: &[u8]) -> Vec<u8> {
    let mut all = magic.to_be_bytes().to_vec();
    all.extend((body.len() as u32 + 8).to_be_bytes());
    all.extend(body);
    all
}

fn directory(sig: &Sig, flags: u32) -> Vec<u8> {
    let mut directory = vec![0_u8; 88 - 8];
    let put = |into: &mut Vec<u8>, at: usize, value: u32| {
        into[at - 8..at - 4].copy_from_slice(&value.to_be_bytes());
    };
    put(&mut directory, 8, 0x2_0400);
    put(&mut directory, 12, flags);
    put(&mut directory, 20, 88);
    directory[38 - 8] = sig.platform;
    directory.extend(b"org.example.tool\0");
    if let Some(team) = sig.team {
        let at = directory.len() as u32 + 8;
        put(&mut directory, 48, at);
        directory.extend(team.as_bytes());
        directory.push(0);
    }
    directory.resize(directory.len() + sig.hashes, 0xaa);
    blob(0xfade_0c02, &directory)
}

fn superblob(sig: &Sig) -> Vec<u8> {
    let mut blobs = vec![(0_u32, directory(sig, sig.flags))];
    blobs.extend(
        sig.xml
            .as_ref()
            .map(|xml| (5, blob(0xfade_7171, xml.as_bytes()))),
    );
    blobs.extend(sig.der.as_ref().map(|der| (7, blob(0xfade_7172, der))));
    blobs.extend(sig.alternate.map(|flags| (0x1000, directory(sig, flags))));
    let mut at = 12 + 8 * blobs.len() as u32;
    let mut body = (blobs.len() as u32).to_be_bytes().to_vec();
    for (slot, blob) in &blobs {
        body.extend(slot.to_be_bytes());
        body.extend(at.to_be_bytes());
        at += blob.len() as u32;
    }
    body.extend(blobs.into_iter().flat_map(|(_, blob)| blob));
    blob(0xfade_0cc0, &body)
}

fn words(all: &[u32]) -> Vec<u8> {
    all.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn padded(text: &str, to: usize) -> Vec<u8> {
    let mut all = text.as_bytes().to_vec();
    all.resize(all.len().max(to), 0);
    all
}

fn segment(name: &str, at: u64, size: u64) -> Vec<u8> {
    let mut all = words(&[0x19, 72]);
    all.extend(padded(name, 16));
    for value in [0, size, at, size] {
        all.extend(value.to_le_bytes());
    }
    all.extend(words(&[5, 5, 0, 0]));
    all
}

/// A load command with one text behind `fixed` words.
fn named(command: u32, fixed: &[u32], name: &str) -> Vec<u8> {
    let start = 8 + 4 + fixed.len() * 4;
    let size = (start + name.len() + 1).next_multiple_of(8);
    let mut all = words(&[command, size as u32, start as u32]);
    all.extend(words(fixed));
    all.extend(padded(name, size - start));
    all
}

impl MachO {
    /// The file's bytes: header, commands, some text, the signature at the end.
    pub(crate) fn build(&self) -> Vec<u8> {
        let (mut file, tail) = self.parts();
        file.resize(self.text as usize, 0);
        file.extend(tail);
        file
    }

    /// The header and commands, and what follows the text.
    pub(crate) fn parts(&self) -> (Vec<u8>, Vec<u8>) {
        let signature = self.signature.as_ref().map(superblob);
        let mut commands = Vec::new();
        let text_end = self.text;
        commands.push(segment("__TEXT", 0, text_end));
        if self.restrict_segment {
            commands.push(segment("__RESTRICT", 0, 0));
        }
        let linkedit = signature.as_ref().map_or(16, Vec::len) as u64;
        commands.push(segment("__LINKEDIT", text_end, linkedit));
        if self.dynamic {
            commands.push(named(0xe, &[], "/usr/lib/dyld"));
        }
        for library in &self.libraries {
            commands.push(named(0xc, &[2, 1, 1], library));
        }
        if let Some(signature) = &signature {
            commands.push(words(&[0x1d, 16, text_end as u32, signature.len() as u32]));
        }
        let size: usize = commands.iter().map(Vec::len).sum();
        let mut file = words(&[
            0xfeed_facf,
            self.cpu,
            self.subtype,
            self.kind,
            commands.len() as u32,
            size as u32,
            0x20_0085,
            0,
        ]);
        file.extend(commands.concat());
        assert!(
            file.len() <= text_end as usize,
            "the commands need more room"
        );
        (file, signature.unwrap_or_else(|| vec![0; 16]))
    }
}

/// A fat file of these, by a 32- or 64-bit header.
pub(crate) fn fat(images: &[MachO], wide: bool) -> Vec<u8> {
    let entry = if wide { 32 } else { 20 };
    let mut at = (8 + images.len() * entry).next_multiple_of(64);
    let mut head = if wide { 0xcafe_babf_u32 } else { 0xcafe_babe }
        .to_be_bytes()
        .to_vec();
    head.extend((images.len() as u32).to_be_bytes());
    let built: Vec<_> = images.iter().map(MachO::build).collect();
    let mut places = Vec::new();
    for (image, file) in images.iter().zip(&built) {
        head.extend(image.cpu.to_be_bytes());
        head.extend(image.subtype.to_be_bytes());
        if wide {
            head.extend((at as u64).to_be_bytes());
            head.extend((file.len() as u64).to_be_bytes());
            head.extend([0; 8]);
        } else {
            head.extend((at as u32).to_be_bytes());
            head.extend((file.len() as u32).to_be_bytes());
            head.extend([0; 4]);
        }
        places.push(at);
        at = (at + file.len()).next_multiple_of(64);
    }
    for (file, place) in built.into_iter().zip(places) {
        head.resize(place, 0);
        head.extend(file);
    }
    head
}

/// The name of glibc's dynamic linker on one machine.
pub(crate) const GLIBC: Option<&str> = Some("/lib64/ld-linux-x86-64.so.2");

/// An ELF file for this machine.
pub(crate) struct Elf {
    pub(crate) kind: u16,
    pub(crate) interpreter: Option<&'static str>,
    pub(crate) pie: bool,
    pub(crate) machine: u16,
    pub(crate) libraries: Vec<&'static str>,
}

/// This machine's `EM_..`.
pub(crate) const OWN_MACHINE: u16 = if cfg!(target_arch = "aarch64") {
    183
} else {
    62
};

impl Elf {
    /// The file's bytes.
    pub(crate) fn build(&self) -> Vec<u8> {
        let count = 2 + u16::from(self.interpreter.is_some());
        let table = 64 + 56 * u64::from(count);
        let mut strings = vec![0_u8];
        let mut dynamic = Vec::new();
        for library in &self.libraries {
            dynamic.push((1_u64, strings.len() as u64));
            strings.extend(library.as_bytes());
            strings.push(0);
        }
        // The whole file is loaded at 0x10000.
        let base = 0x10000_u64;
        let interpreter = [self.interpreter.unwrap_or_default().as_bytes(), b"\0"].concat();
        let strings_at = table + interpreter.len() as u64;
        let dynamic_at = (strings_at + strings.len() as u64).next_multiple_of(8);
        dynamic.push((5, base + strings_at));
        dynamic.push((10, strings.len() as u64));
        dynamic.push((0x6fff_fffb, if self.pie { 0x0800_0000 } else { 0 }));
        dynamic.push((0, 0));
        let dynamic: Vec<u8> = dynamic
            .iter()
            .flat_map(|(a, b)| [a.to_le_bytes(), b.to_le_bytes()].concat())
            .collect();
        let end = dynamic_at + dynamic.len() as u64;

        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        file.extend(self.kind.to_le_bytes());
        file.extend(self.machine.to_le_bytes());
        file.extend(words(&[1]));
        for value in [base, 64, 0] {
            file.extend(value.to_le_bytes());
        }
        file.extend(words(&[0]));
        for value in [64, 56, count, 64, 0, 0] {
            file.extend(value.to_le_bytes());
        }
        let mut header = |kind: u32, at: u64, size: u64| {
            file.extend(words(&[kind, 5]));
            for value in [at, base + at, base + at, size, size, 8] {
                file.extend(value.to_le_bytes());
            }
        };
        header(1, 0, end);
        header(2, dynamic_at, dynamic.len() as u64);
        if self.interpreter.is_some() {
            header(3, table, interpreter.len() as u64);
        }
        file.extend(&interpreter);
        file.extend(strings);
        file.resize(dynamic_at as usize, 0);
        file.extend(dynamic);
        file
    }
}
