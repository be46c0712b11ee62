//! What the shim's codes mean, in a sentence each; docs/shim.md lists them all.

/// What a code of a status line means; none for one that this build does not know.
pub fn meaning(code: &str) -> Option<&'static str> {
    Some(match code {
        "ticket-path" => "the ticket's path is empty, not absolute, or too long",
        "ticket-gone" => "the ticket's file is no longer there",
        "ticket-link" => "the ticket's file is a link",
        "ticket-not-regular" => "the ticket is no regular file",
        "ticket-owner" => "the ticket belongs to another user than the process",
        "ticket-mode" => "others may write to the ticket",
        "ticket-unreadable" => "the ticket cannot be read",
        "facts-missing" => "the system does not tell its build, its boot or whether it is a VM",
        "other-build" => "the ticket is for another build of macOS",
        "other-boot" => "the ticket is from another boot",
        "not-a-vm" => "this is no virtual machine",
        "runtime-missing" => "Metal is there, and the Objective-C runtime is not",
        "watch-missing" => "the dynamic linker does not tell of later images",
        "device-earlier" => "a Metal device may have been asked before the shim could hook",
        "other-shim" => "somebody else's code stands on one of the methods already",
        "install-failed" => "the runtime did not take an override; all was put back",
        "drift-class" => "Metal is there, and its device class is not",
        "drift-init" => "the method in which devices are set up is not as expected",
        "drift-device" => "the first device is of another class than recorded",
        "drift-method" => "one of the two methods is not there",
        "drift-types" => "one of the two methods has other types",
        "drift-family" => "the device's own family is another than recorded",
        "drift-memory" => "the device's own threadgroup memory is another than recorded",
        "drift-metal-uuid" => "Metal's image is another than recorded",
        "drift-driver-uuid" => "the driver's image is another than recorded",
        code if code.starts_with("ticket-") => {
            "the ticket's content is not one that the shim takes"
        }
        code if code.starts_with("drift-") => "this guest's Metal is not as recorded",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_that_is_documented_has_a_meaning() {
        let manual = include_str!("../../docs/shim.md");
        let table = manual.split("### Reasons").nth(1).unwrap();
        let table = table.split("\n### ").next().unwrap();
        let mut codes = 0;
        for row in table.lines().filter(|line| line.starts_with("| `")) {
            let cell = row.split('|').nth(1).unwrap();
            for code in cell.split('`').skip(1).step_by(2) {
                assert!(meaning(code).is_some(), "{code}");
                codes += 1;
            }
        }
        assert!(codes > 30, "{codes}");
        assert_eq!(meaning("nosuch"), None);
    }
}
