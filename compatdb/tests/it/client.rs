//! Which client a program is.

use compatdb::client::{By, Told};
use compatdb::{Program, recognise};

use crate::samples::{llama, mlx};

fn who(name: &str, path: &str, libraries: &[&str], told: Option<&str>) -> Vec<(String, String)> {
    let told = told.map(|t| t.parse::<Told>().unwrap());
    let program = Program {
        name: name.into(),
        resolved_path: path.into(),
        libraries: libraries.iter().map(|&l| l.to_owned()).collect(),
    };
    recognise(&[llama(), mlx()], &program, told.as_ref())
        .unwrap()
        .into_iter()
        .map(|m| (m.client.id, m.version.unwrap_or_default()))
        .collect()
}

fn one(id: &str, version: &str) -> Vec<(String, String)> {
    vec![(id.to_owned(), version.to_owned())]
}

#[test]
fn by_name_by_formula_by_library_and_as_told() {
    let cellar = "/opt/homebrew/Cellar/llama.cpp/10359_1/bin";
    let ggml = "/opt/homebrew/Cellar/ggml/0.24.0/lib/libggml-metal.0.dylib";
    assert_eq!(
        who("llama-cli", "/usr/local/bin/llama-cli", &[], None),
        one("llama.cpp", "")
    );
    assert_eq!(
        who("llama-cli", &format!("{cellar}/llama-cli"), &[], None),
        one("llama.cpp", "10359_1")
    );
    assert_eq!(
        who("llama-new", &format!("{cellar}/llama-new"), &[], None),
        one("llama.cpp", "10359_1")
    );
    assert_eq!(
        who("x", "/x", &["/usr/lib/libSystem.B.dylib", ggml], None),
        one("llama.cpp", "ggml 0.24.0")
    );
    assert_eq!(
        who("x", "/x", &["@rpath/libggml-metal.dylib"], None),
        one("llama.cpp", "")
    );
    assert_eq!(who("x", "/x", &[], None), []);
    assert_eq!(
        who(
            "llama-cli",
            &format!("{cellar}/llama-cli"),
            &[],
            Some("mlx")
        ),
        one("mlx", "")
    );
    assert_eq!(
        who("x", "/x", &[], Some("llama.cpp@b1")),
        one("llama.cpp", "b1")
    );
    assert_eq!(
        who("x", "/x", &[], Some("llama-server")),
        one("llama.cpp", "")
    );
}

#[test]
fn a_link_is_recognised_by_what_it_leads_to() {
    assert_eq!(
        who("llm", "/opt/bin/llama-cli", &[], None),
        one("llama.cpp", "")
    );
}

#[test]
fn a_program_that_links_two_is_under_the_limits_of_both() {
    let both = who("x", "/x", &["libmlx.dylib", "libggml-metal.dylib"], None);
    assert_eq!(both.len(), 2);
}

#[test]
fn an_interpreter_is_no_client_unless_the_user_says_so() {
    for name in ["python3", "python3.13", "Python", "node", "env", "zsh"] {
        assert_eq!(
            who(name, "/usr/bin/x", &["libmlx.dylib"], None),
            [],
            "{name}"
        );
        assert_eq!(
            who("x", &format!("/usr/bin/{name}"), &["libmlx.dylib"], None),
            []
        );
    }
    assert_eq!(
        who("python3", "/p/python3", &[], Some("mlx")),
        one("mlx", "")
    );
}

#[test]
fn the_ggml_in_it_says_the_client_and_its_version() {
    for told in ["ggml@0.24.0", "GGML@0.24.0"] {
        let found = who("x", "/x", &[], Some(told));
        assert_eq!(found.len(), 1, "{told}");
        assert_eq!(found[0].0, "llama.cpp");
        assert!(found[0].1.eq_ignore_ascii_case("ggml 0.24.0"), "{found:?}");
    }
    let told: Told = "ggml".parse().unwrap();
    let clients = [llama(), mlx()];
    assert!(recognise(&clients, &Program::default(), Some(&told)).is_err());
    // Two clients that count by the same part: neither is meant.
    let clients = [llama(), llama()];
    let told: Told = "ggml@0.24.0".parse().unwrap();
    assert!(recognise(&clients, &Program::default(), Some(&told)).is_err());
}

#[test]
fn a_client_that_no_row_knows_is_an_error_that_names_those_it_knows() {
    let told: Told = "lama@1".parse().unwrap();
    let error = recognise(&[llama(), mlx()], &Program::default(), Some(&told)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the database knows no client \"lama\"; it knows llama.cpp, mlx"
    );
    assert!("@1".parse::<Told>().is_err() && "x@".parse::<Told>().is_err());
    let by: By = recognise(
        &[llama()],
        &Program {
            name: "llama-cli".into(),
            ..Program::default()
        },
        None,
    )
    .unwrap()[0]
        .by;
    assert_eq!(by, By::Name);
}
