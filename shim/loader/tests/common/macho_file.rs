//! Reading Mach-O files by the `object` crate, independently of our own reader.

use object::Endianness;
use object::macho::{LoadCommandType, MachHeader64, Section64};
use object::read::macho::{LoadCommandVariant, MachHeader, Segment};

pub(crate) const LE: Endianness = Endianness::Little;

pub(crate) fn header(file: &[u8]) -> &MachHeader64<Endianness> {
    MachHeader64::parse(file, 0).expect("a Mach-O file")
}

/// Every load command, by its kind.
pub(crate) fn commands(file: &[u8]) -> Vec<(LoadCommandType, LoadCommandVariant<'_, Endianness>)> {
    let mut all = Vec::new();
    let mut commands = header(file)
        .load_commands(LE, file, 0)
        .expect("load commands");
    while let Some(command) = commands.next().expect("load command") {
        all.push((command.cmd(), command.variant().expect("load command")));
    }
    all
}

pub(crate) fn names(file: &[u8], kind: LoadCommandType) -> Vec<&str> {
    let mut found = Vec::new();
    let mut commands = header(file)
        .load_commands(LE, file, 0)
        .expect("load commands");
    while let Some(command) = commands.next().expect("load command") {
        let dylib = match command.variant().expect("load command") {
            LoadCommandVariant::Dylib(dylib) | LoadCommandVariant::IdDylib(dylib) => dylib,
            _ => continue,
        };
        if command.cmd() == kind {
            let name = command.string(LE, dylib.dylib.name).expect("name");
            found.push(std::str::from_utf8(name).expect("text"));
        }
    }
    found
}

pub(crate) fn sections(file: &[u8]) -> Vec<&Section64<Endianness>> {
    let mut all = Vec::new();
    let mut commands = header(file)
        .load_commands(LE, file, 0)
        .expect("load commands");
    while let Some(command) = commands.next().expect("load command") {
        if let Some((segment, data)) = command.segment_64().expect("segment") {
            all.extend(segment.sections(LE, data).expect("sections"));
        }
    }
    all
}
