//! Image UUIDs: as text in the ticket, as sixteen bytes in an image's load commands.

/// The bytes that a text names: 32 hexadecimal digits of either case, hyphens between them.
pub(crate) fn of_text(text: &[u8]) -> Option<[u8; 16]> {
    let mut digits = text
        .iter()
        .filter(|b| **b != b'-')
        .map(|b| char::from(*b).to_digit(16));
    let mut bytes = [0u8; 16];
    for byte in &mut bytes {
        let high = digits.next()??;
        let low = digits.next()??;
        *byte = (high << 4 | low) as u8;
    }
    digits.next().is_none().then_some(bytes)
}

/// The `LC_UUID` among the load commands of a Mach-O image.
#[cfg_attr(not(target_os = "macos"), allow(dead_code))]
pub(crate) fn of_commands(mut commands: &[u8]) -> Option<[u8; 16]> {
    const LC_UUID: u32 = 0x1b;
    while let Some((head, _)) = commands.split_first_chunk::<8>() {
        let [a, b, c, d, e, f, g, h] = *head;
        let size = u32::from_le_bytes([e, f, g, h]) as usize;
        if u32::from_le_bytes([a, b, c, d]) == LC_UUID {
            return commands.get(8..)?.first_chunk::<16>().copied();
        }
        if size < 8 {
            return None;
        }
        commands = commands.get(size..)?;
    }
    None
}
