//! Help is what a newcomer reads first.

use crate::{User, snapshot};

#[test]
fn help_of_the_commands_and_of_all() {
    let user = User::new();
    for (name, line) in [
        ("help-run", "run --help"),
        ("help-enable", "enable --help"),
        ("help-disable", "disable --help"),
        ("help-status", "status --help"),
    ] {
        let ended = user.types(line);
        assert_eq!((ended.code, ended.err.as_str()), (0, ""));
        snapshot(name, &user, &ended);
    }
    let version = user.types("--version");
    assert!(
        version.out.contains("unsigned development database, seq "),
        "{}",
        version.out
    );
}
