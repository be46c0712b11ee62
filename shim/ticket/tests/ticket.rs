//! The ticket's form, held by examples, by every mutation of one ticket, and by properties.

#![allow(clippy::unwrap_used)]

use metalshim_ticket::{Key, MAX_LEN, Problem, Ticket};
use proptest::prelude::*;

const SAMPLE: Ticket<'static> = Ticket {
    guest_build: "25F84",
    boot_session: "3F0C6E1A-7B52-4C1D-9A55-0123456789AB",
    device_class: "AppleParavirtDevice",
    stock_apple_family: 1005,
    stock_max_threadgroup_memory: 32_768,
    apple_family_max: 1009,
    max_threadgroup_memory: 65_536,
    metal_uuid: Some("11111111-2222-3333-4444-555555555555"),
    driver_uuid: None,
    record: "P0001",
    database: "7:0123456789abcdef",
    follow: "none",
};

fn text(ticket: &Ticket<'_>) -> Vec<u8> {
    let mut out = [0; MAX_LEN];
    let len = ticket.write(&mut out).unwrap();
    out[..len].to_vec()
}

/// Puts a right hash under a changed body, so that the rule behind the hash is what is tested.
fn seal(body: &str) -> Vec<u8> {
    use std::fmt::Write;
    let digest = hmac_sha256::Hash::hash(body.as_bytes());
    let mut sealed = format!("{body}sha256=");
    for byte in digest {
        write!(sealed, "{byte:02x}").unwrap();
    }
    sealed.push('\n');
    sealed.into_bytes()
}

fn body() -> String {
    let whole = String::from_utf8(text(&SAMPLE)).unwrap();
    whole[..whole.find("sha256=").unwrap()].to_owned()
}

#[test]
fn the_form_is_the_documented_one() {
    assert_eq!(
        body(),
        "metalshim-ticket 1\n\
         guest_build=25F84\n\
         boot_session=3F0C6E1A-7B52-4C1D-9A55-0123456789AB\n\
         device_class=AppleParavirtDevice\n\
         stock_apple_family=1005\n\
         stock_max_threadgroup_memory=32768\n\
         apple_family_max=1009\n\
         max_threadgroup_memory=65536\n\
         metal_uuid=11111111-2222-3333-4444-555555555555\n\
         record=P0001\n\
         database=7:0123456789abcdef\n\
         shim_abi=1\n\
         follow=none\n"
    );
    assert_eq!(text(&SAMPLE), seal(&body()));
    assert_eq!(Ticket::parse(&text(&SAMPLE)), Ok(SAMPLE));
}

#[test]
fn every_cut_is_refused() {
    let whole = text(&SAMPLE);
    assert_eq!(Ticket::parse(b""), Err(Problem::Empty));
    for len in 1..whole.len() {
        assert_eq!(
            Ticket::parse(&whole[..len]),
            Err(Problem::Incomplete),
            "{len}"
        );
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    let whole = text(&SAMPLE);
    for bit in 0..whole.len() * 8 {
        let mut other = whole.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        assert!(Ticket::parse(&other).is_err(), "bit {bit}");
    }
}

#[test]
fn each_cause_has_its_code() {
    let long = {
        let mut t = text(&SAMPLE);
        t.resize(MAX_LEN + 1, b'\n');
        t
    };
    let hash = {
        let mut t = text(&SAMPLE);
        let at = t.len() - 2;
        t[at] = if t[at] == b'0' { b'1' } else { b'0' };
        t
    };
    let cases: [(&str, Vec<u8>); 12] = [
        ("ticket-empty", vec![]),
        ("ticket-too-long", long),
        (
            "ticket-not-ascii",
            seal(&body().replace("P0001", "P\u{e9}")),
        ),
        (
            "ticket-version",
            seal(&body().replace("ticket 1", "ticket 2")),
        ),
        (
            "ticket-incomplete",
            [text(&SAMPLE), b"\n".to_vec()].concat(),
        ),
        ("ticket-hash", hash),
        ("ticket-line", seal(&(body() + "\n"))),
        ("ticket-key-unknown", seal(&(body() + "feature_level=1\n"))),
        ("ticket-key-doubled", seal(&(body() + "follow=none\n"))),
        (
            "ticket-key-order",
            seal(&(body().replace("record=P0001\n", "") + "record=P0001\n")),
        ),
        (
            "ticket-key-missing",
            seal(&body().replace("record=P0001\n", "")),
        ),
        (
            "ticket-shim-abi",
            seal(&body().replace("shim_abi=1", "shim_abi=2")),
        ),
    ];
    for (code, bytes) in cases {
        assert_eq!(Ticket::parse(&bytes).map_err(Problem::code), Err(code));
    }
}

#[test]
fn values_beyond_the_two_answers_are_refused() {
    let cases = [
        (
            Key::GuestBuild,
            vec!["", "25", "25f84", "25F", "25F123456", "25F8 4", "26.5.2"],
        ),
        (
            Key::BootSession,
            vec![
                "",
                "3F0C",
                "3F0C6E1A-7B52-4C1D-9A55-0123456789A",
                "3F0C6E1A_7B52-4C1D-9A55-0123456789AB",
            ],
        ),
        (Key::DeviceClass, vec!["", "1Device", "Apple Device", "A.B"]),
        (
            Key::StockAppleFamily,
            vec!["", "0", "1000", "1010", "5001", "01005", "+1005"],
        ),
        (
            Key::StockMaxThreadgroupMemory,
            vec!["", "0", "-1", "65537", "4294967297"],
        ),
        (
            Key::AppleFamilyMax,
            vec!["", "1000", "1010", "3003", "5001", "1009 "],
        ),
        (Key::MaxThreadgroupMemory, vec!["", "0", "65537", "0x8000"]),
        (Key::MetalUuid, vec!["", "none"]),
        (Key::DriverUuid, vec!["", "0"]),
        (Key::Record, vec!["", "P 1", "P/1", "a,b"]),
        (
            Key::Database,
            vec![
                "",
                "7",
                "7:0123",
                ":0123456789abcdef",
                "7:0123456789ABCDEF",
                "7:0123456789abcdef:1",
            ],
        ),
        (
            Key::Follow,
            vec!["", ",", "a,", "none,all", "all,self", "a/b", "none,"],
        ),
    ];
    for (key, bad) in cases {
        let old = body();
        let line = old
            .lines()
            .find(|l| l.starts_with(&format!("{}=", key.name())))
            .map(|l| format!("{l}\n"));
        for value in bad {
            let new = format!("{}={value}\n", key.name());
            let changed = match &line {
                Some(line) => old.replace(line.as_str(), &new),
                // The sample leaves driver_uuid out; its place is before the record.
                None => old.replace("record=", &format!("{new}record=")),
            };
            assert_eq!(
                Ticket::parse(&seal(&changed)),
                Err(Problem::Value(key)),
                "{}={value:?}",
                key.name()
            );
        }
    }
}

#[test]
fn what_could_not_be_read_is_not_written() {
    let mut out = [0; MAX_LEN];
    let mut write = |t: Ticket<'_>| t.write(&mut out).map_err(Problem::code);
    let long = "a".repeat(MAX_LEN);
    assert_eq!(
        write(Ticket {
            follow: &long,
            ..SAMPLE
        }),
        Err("ticket-too-long")
    );
    assert_eq!(
        write(Ticket {
            apple_family_max: 1010,
            ..SAMPLE
        }),
        Err("ticket-value")
    );
    assert_eq!(
        write(Ticket {
            follow: "none\nfollow=all",
            ..SAMPLE
        }),
        Err("ticket-key-doubled")
    );
    assert_eq!(
        write(Ticket {
            boot_session: "3F0C",
            ..SAMPLE
        }),
        Err("ticket-value")
    );
    let hidden = "25F84\nboot_session=3F0C6E1A-7B52-4C1D-9A55-0123456789AB";
    assert!(
        write(Ticket {
            guest_build: hidden,
            ..SAMPLE
        })
        .is_err()
    );
}

#[test]
fn every_key_is_named_once() {
    for (i, key) in Key::ALL.into_iter().enumerate() {
        assert_eq!(key as usize, i);
        assert_eq!(
            Key::ALL
                .into_iter()
                .filter(|k| k.name() == key.name())
                .count(),
            1
        );
        assert_eq!(
            key.is_optional(),
            key.name().ends_with("l_uuid") || key == Key::DriverUuid
        );
    }
}

prop_compose! {
    fn strings()(
        build in "[0-9]{2}[A-Z][0-9]{1,5}[a-z]?",
        boot in "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
        class in "[A-Za-z_][A-Za-z0-9_]{0,127}",
        metal in proptest::option::of("[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}"),
        driver in proptest::option::of("[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}"),
        record in "[A-Za-z0-9._:-]{1,128}",
        database in "[0-9]{1,19}:[0-9a-f]{16}",
        follow in "none|all|self|self,[a-z_. -]{5,40}|[A-Z]{1,9}(,[ -+0-9]{5,30}){0,9}",
    ) -> [Option<String>; 8] {
        [Some(build), Some(boot), Some(class), metal, driver, Some(record), Some(database), Some(follow)]
    }
}

proptest! {
    #[test]
    fn written_and_read_again_is_the_same(
        s in strings(), families in (1001u16..=1009, 1001u16..=1009), memory in (1u32..=65_536, 1u32..=65_536),
    ) {
        let get = |i: usize| s[i].as_deref();
        let ticket = Ticket {
            guest_build: get(0).unwrap(),
            boot_session: get(1).unwrap(),
            device_class: get(2).unwrap(),
            stock_apple_family: families.0,
            stock_max_threadgroup_memory: memory.0,
            apple_family_max: families.1,
            max_threadgroup_memory: memory.1,
            metal_uuid: get(3),
            driver_uuid: get(4),
            record: get(5).unwrap(),
            database: get(6).unwrap(),
            follow: get(7).unwrap(),
        };
        let bytes = text(&ticket);
        prop_assert_eq!(Ticket::parse(&bytes), Ok(ticket));
    }

    /// Whatever parses is canonical, and within what the shim may ever tell.
    #[test]
    fn edits_behind_a_right_hash_parse_only_to_themselves(
        at in 0usize..2000, insert in "[ -~\n]{0,12}", remove in 0usize..12,
    ) {
        let mut changed = body();
        let at = at % changed.len();
        let end = (at + remove).min(changed.len());
        changed.replace_range(at..end, &insert);
        let bytes = seal(&changed);
        if let Ok(ticket) = Ticket::parse(&bytes) {
            prop_assert!((1001..=1009).contains(&ticket.apple_family_max));
            prop_assert!(ticket.max_threadgroup_memory <= 65_536);
            prop_assert_eq!(text(&ticket), bytes);
        }
    }

    #[test]
    fn any_bytes_get_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..5000)) {
        prop_assert!(Ticket::parse(&bytes).is_err());
    }
}
