//! The support bundle holds nothing personal, is shown first, and harms no file.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use metalshim_guest::FactsFile;

use super::User;

fn user(home: &str, name: &str) -> User {
    let mut user = User::on(FactsFile::sample().with("host.model", "C02XG0FDH7JY"));
    let folder = tempfile::Builder::new().prefix(home).tempdir().unwrap();
    user.home = folder;
    let secret = user.home.path().join("secret.toml");
    user.with("USER", name)
        .with("LOGNAME", name)
        .with("HOSTNAME", format!("{name}s-mac.example"))
        .with("LUME_METAL_TOKEN", "hunter2-of-mine")
        .with(
            "METALSHIM_REPOSITORY",
            format!("file://{}", secret.display()),
        )
}

#[test]
fn nothing_personal_leaves_in_a_bundle() {
    for (home, name) in [
        ("zoe-adams", "zoe-adams"),
        ("ada", "ad"),
        ("metal", "metal"),
        ("ünï x", "ünï"),
    ] {
        let user = user(home, name);
        // Findings that name files of this user.
        fs::create_dir_all(user.state()).unwrap();
        fs::write(user.state().join("device.json"), "{").unwrap();
        let path = user.home.path().join("bundle.json");
        let ended = user.run(["doctor", "--yes", "--bundle", path.to_str().unwrap()]);
        assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(ended.out, text, "what is written is what was shown");
        let home = user.home.path().file_name().unwrap().to_string_lossy();
        let boot = FactsFile::sample().text("guest.boot_session").to_owned();
        for personal in [&*home, "hunter2", "C02XG0FDH7JY", &boot, "s-mac.example"] {
            assert!(!text.contains(personal), "{personal}: {text}");
        }
        // A name is a word of its own, or a part of one where it is long enough.
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
        assert!(
            name.contains('-') || !words.contains(&name),
            "{name}: {text}"
        );
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["schema"], "metalshim.bundle/1");
        assert_eq!(json["facts"]["guest"]["build"], "25F84");
        assert_eq!(json["shim"]["sha256"].as_str().unwrap().len(), 64);
        assert!(json["doctor"]["findings"].as_array().unwrap().len() > 18);
        let variables = json["variables"].to_string();
        assert!(
            variables.contains("_TOKEN") && !variables.contains("hunter"),
            "{variables}"
        );
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn without_yes_it_is_shown_and_nothing_is_written() {
    let user = user("somebody", "somebody");
    let path = user.home.path().join("bundle.json");
    let ended = user.run(["doctor", "--bundle", path.to_str().unwrap()]);
    assert_eq!(ended.code, 2);
    assert!(ended.out.contains("metalshim.bundle/1"), "{}", ended.out);
    assert!(ended.err.contains("--yes"), "{}", ended.err);
    assert!(!path.exists());
}

#[test]
fn a_file_that_is_there_stays_as_it_is() {
    let user = user("somebody", "somebody");
    let path = user.home.path().join("bundle.json");
    fs::write(&path, "mine").unwrap();
    let ended = user.run(["doctor", "--yes", "--bundle", path.to_str().unwrap()]);
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    // A name without a folder counts from here.
    let ended = user.run(["doctor", "--yes", "--bundle", "new.json"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(user.home.path().join("new.json").exists());
}
