//! Any bytes as a deny list and as a policy: read or refused, what is read is written and read
//! again as the same, and no policy takes back what another one forbids.
#![no_main]

use compatdb::{DenyList, Policy};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(list) = DenyList::parse(data) {
        let again = serde_json::to_vec(&list).unwrap();
        assert_eq!(DenyList::parse(&again).unwrap(), list);
    }
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    // Two policies in one input: the machine's, and one more for a command.
    let (machine, more) = text.split_once("\n---\n").unwrap_or((text, ""));
    let (Ok(machine), Ok(more)) = (toml::from_str(machine), toml::from_str::<Policy>(more)) else {
        return;
    };
    let machine: Policy = machine;
    let both = machine.clone().and(more.clone());
    for one in [&machine, &more] {
        assert_eq!(both.clone().and(one.clone()), both, "{one:?} adds to {both:?}");
    }
});
