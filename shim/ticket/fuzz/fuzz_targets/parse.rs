//! Any bytes, as they are and behind a right hash: an answer, never a crash, and what parses is
//! written again byte for byte.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metalshim_ticket::{MAX_LEN, Ticket};

fn check(bytes: &[u8]) {
    if let Ok(ticket) = Ticket::parse(bytes) {
        let mut out = [0; MAX_LEN];
        let len = ticket.write(&mut out).expect("what was read can be written");
        assert_eq!(&out[..len], bytes);
        assert!((1001..=1009).contains(&ticket.apple_family_max));
        assert!(ticket.max_threadgroup_memory <= 65_536);
    }
}

fuzz_target!(|data: &[u8]| {
    check(data);
    let mut sealed = b"metalshim-ticket 1\n".to_vec();
    sealed.extend_from_slice(data);
    let digest = hmac_sha256::Hash::hash(&sealed);
    sealed.extend_from_slice(b"sha256=");
    for byte in digest {
        sealed.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
    sealed.push(b'\n');
    check(&sealed);
});
