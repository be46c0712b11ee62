//! The decision about a Mach-O file: which of its slices would run, and what that one says
//! against the library.

use compatdb::facts::Sip;

use super::bytes::{Bytes, Damage, Window};
use super::code::Code;
use super::judge::{Judge, SliceDetails};
use super::{macho, signature};

impl Judge<'_> {
    pub(super) fn mach_o(&mut self, bytes: &dyn Bytes, magic: macho::Magic) -> Result<(), Damage> {
        let slices = macho::slices(bytes, magic)?;
        let name = |slice: &macho::Slice| macho::arch_name(slice.cpu, slice.subtype);
        self.result.details.slices = slices
            .iter()
            .map(|slice| SliceDetails {
                arch: name(slice),
                kind: macho::kind_name(slice.kind),
            })
            .collect();
        // Every 64-bit slice is read: a cut one has to be an error whichever runs.
        let mut images = Vec::new();
        for slice in &slices {
            let readable = [macho::ARM64, macho::X86_64].contains(&slice.cpu);
            let image = match (readable, slice.kind) {
                (true, Some(_)) => Some(macho::image(bytes, slice)?),
                _ => None,
            };
            images.push(image);
        }
        let arm64 = |subtypes: &[u32]| {
            let wanted = |slice: &macho::Slice| {
                slice.cpu == macho::ARM64
                    && (subtypes.is_empty() || subtypes.contains(&slice.subtype))
            };
            slices.iter().position(wanted)
        };
        let unknown = slices
            .iter()
            .position(|s| s.cpu == macho::ARM64 && s.subtype > 2);
        // The order in which an arm64 Mac prefers them.
        let taken = unknown.or(arm64(&[2])).or(arm64(&[0, 1]));
        let shown = taken.unwrap_or(0);
        if let Some(image) = images.get_mut(shown).and_then(Option::as_mut) {
            self.result.libraries = std::mem::take(&mut image.libraries);
        }
        self.result.details.runs_as = taken.and_then(|taken| slices.get(taken)).map(name);

        let Some(slice) = slices.get(shown) else {
            return Ok(());
        };
        if slice.kind != Some(macho::EXECUTE) {
            let says = format!(
                "is no program but {}: a program loads it, and that one can be started",
                match macho::kind_name(slice.kind) {
                    kind @ ("executable" | "object" | "archive") => format!("an {kind}"),
                    kind => format!("a {kind}"),
                }
            );
            self.add(Code::NotExecutable, says);
        }
        match (taken, slice.subtype) {
            (Some(_), 0 | 1) => {}
            (Some(_), 2) => self.add(
                Code::Arm64e,
                if slices.len() > 1 && arm64(&[0, 1]).is_some() {
                    "runs as arm64e, the slice that an arm64 Mac prefers, and an arm64e \
                     program ends at once when told to load a plain arm64 library"
                } else {
                    "is arm64e, and an arm64e program ends at once when told to load a plain \
                     arm64 library"
                },
            ),
            (Some(_), other) => self.add(
                Code::UnknownSubtype,
                format!("has a slice of arm64 sub-type {other}, which is not known here"),
            ),
            (None, _) if slices.iter().any(|slice| slice.cpu == macho::X86_64) => self.add(
                Code::X86Only,
                "is for Intel processors only and runs under Rosetta; the library is arm64",
            ),
            (None, _) => {
                let all: Vec<String> = slices.iter().map(name).collect();
                self.add(Code::OtherCpu, format!("is for {} only", all.join(", ")));
            }
        }
        if magic == macho::Magic::Fat64 && slice.kind == Some(macho::EXECUTE) {
            let says = "has a 64-bit fat header, which the macOS kernel is not known to start";
            self.result.notes.push(says.into());
        }
        let signatures = slices.iter().zip(&images).map(|(slice, image)| {
            let Some((at, size)) = image.as_ref().and_then(|image| image.signature) else {
                return Ok(None);
            };
            let window = Window::new(bytes, slice.offset, slice.size)?;
            signature::read(&window, at, size).map(Some)
        });
        let mut signatures = signatures.collect::<Result<Vec<_>, Damage>>()?;
        self.result.details.signature = signatures.get_mut(shown).and_then(Option::take);
        if slice.kind == Some(macho::EXECUTE)
            && let Some(Some(image)) = images.get(shown)
        {
            self.image(image);
        }
        Ok(())
    }

    /// What one executable image says against it.
    fn image(&mut self, image: &macho::Image) {
        if image.restrict_segment {
            self.add(
                Code::RestrictSegment,
                "has a segment __RESTRICT: it starts without the variables that load a library",
            );
        }
        if !image.dynamic {
            self.add(
                Code::Static,
                "names no dynamic linker: nothing in it loads libraries",
            );
        }
        let Some(signature) = self.result.details.signature.clone() else {
            if self.result.details.runs_as.is_some() {
                let says = "is not signed: macOS starts no arm64 program without a signature";
                self.result.notes.push(says.into());
            }
            return;
        };
        let has = |flag: u32| signature.flags & flag != 0;
        let entitlements = signature.entitlements;
        let team = match &signature.team {
            Some(team) => format!(" (team {team})"),
            None => String::new(),
        };
        if signature.platform != 0 && self.sip != Sip::Disabled {
            self.add(
                Code::PlatformBinary,
                "is signed as a part of macOS: it starts without the variables that load a \
                 library",
            );
        }
        if has(signature::RESTRICT) {
            let says = format!(
                "is signed with the flag restrict{team}: it starts without the variables that \
                 load a library"
            );
            self.add(Code::RestrictFlag, says);
        }
        let stated = |value: Option<bool>| match value {
            Some(true) => "true",
            Some(false) => "false",
            None => "absent",
        };
        let allowed = entitlements.allow_dyld_environment_variables;
        if has(signature::RUNTIME) && allowed != Some(true) {
            let says = format!(
                "is hardened{team}, and its entitlement allow-dyld-environment-variables is {}: \
                 it starts without the variables that load a library",
                stated(allowed)
            );
            self.add(Code::Hardened, says);
        }
        // The flag itself counts whatever the entitlements say: whether they lift it is not
        // documented, and a wrong yes ends the program at its start.
        let any = entitlements.disable_library_validation;
        if has(signature::LIBRARY_VALIDATION) || (has(signature::RUNTIME) && any != Some(true)) {
            let says = if has(signature::LIBRARY_VALIDATION) {
                format!(
                    "is signed with the flag library-validation{team}: it loads libraries of \
                     its own team and Apple's only"
                )
            } else {
                format!(
                    "is hardened{team}, and its entitlement disable-library-validation is {}: \
                     it loads libraries of its own team and Apple's only",
                    stated(any)
                )
            };
            self.add(Code::LibraryValidation, says);
        }
    }
}
