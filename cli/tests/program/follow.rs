//! From a path to the program that would really run.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use compatdb::facts::Sip;
use metalshim_cli::program::{Code, Context, Launcher, Preflight, Start, System, preflight};
use tempfile::TempDir;

use crate::build::{MachO, Sig, plain};

/// A folder with programs in it, and what is asked about them.
struct Place {
    folder: TempDir,
    system: System,
    launchers: Vec<Launcher>,
}

impl Place {
    fn new(system: System) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            system,
            launchers: Vec::new(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Writes an executable file.
    fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Writes a program that can be injected on any system.
    fn program(&self, name: &str) -> PathBuf {
        self.put(name, plain().build())
    }

    /// Asks about `path`; the folder `bin` alone is on `PATH`.
    fn ask(&self, path: impl AsRef<Path>, args: &[&str]) -> Preflight {
        let context = Context {
            system: self.system,
            sip: Sip::Enabled,
            folder: self.path(""),
            variables: [
                ("PATH".into(), self.path("bin").into_os_string()),
                ("NAME".into(), "value".into()),
            ]
            .into(),
            launchers: &self.launchers,
        };
        let args: Vec<OsString> = args.iter().map(Into::into).collect();
        preflight(path.as_ref(), &args, &context)
    }

    /// Asks about a script of this text, which has to be followed to the end.
    fn start(&self, script: &str, args: &[&str]) -> Start {
        let path = self.put("script", script);
        let answer = self.ask(path, args);
        assert!(answer.injectable, "{}", answer.says);
        answer.runs.unwrap().start.unwrap()
    }

    /// The code of a script of this text.
    fn code(&self, script: &str) -> Code {
        let path = self.put("script", script);
        self.ask(path, &[]).code
    }
}

fn words(all: &[OsString]) -> Vec<&str> {
    all.iter().map(|word| word.to_str().unwrap()).collect()
}

#[test]
fn a_script_runs_its_interpreter() {
    for system in [System::Mac, System::Linux] {
        let place = Place::new(system);
        let python = place.program("python3");
        let start = place.start(&format!("#!{} -u\n", python.display()), &["a", "b c"]);
        let script = place.path("script");
        assert_eq!(start.program, python);
        assert_eq!(start.arg0, python.as_os_str());
        assert_eq!(
            words(&start.args),
            ["-u", script.to_str().unwrap(), "a", "b c"]
        );
        assert!(!start.clear && start.unset.is_empty() && start.set.is_empty());
    }
}

#[test]
fn the_two_systems_read_the_rest_of_the_line_differently() {
    let line = |place: &Place| format!("#! {}  -a  -b # c \n", place.program("it").display());
    let mac = Place::new(System::Mac);
    assert_eq!(words(&mac.start(&line(&mac), &[]).args)[..2], ["-a", "-b"]);
    let linux = Place::new(System::Linux);
    assert_eq!(
        words(&linux.start(&line(&linux), &[]).args)[0],
        "-a  -b # c"
    );
}

#[test]
fn env_is_followed_along_path() {
    for system in [System::Mac, System::Linux] {
        let place = Place::new(system);
        let python = place.program("bin/python3");
        let start = place.start("#!/usr/bin/env python3\n", &["x"]);
        assert_eq!(start.program, python);
        assert_eq!(start.arg0, "python3");
        let script = place.path("script");
        assert_eq!(words(&start.args), [script.to_str().unwrap(), "x"]);
    }
}

#[test]
fn options_of_env_become_changes_of_the_environment() {
    let place = Place::new(System::Linux);
    let tool = place.program("bin/tool");
    let other = place.program("other/tool");
    let script = place.path("script").into_os_string().into_string().unwrap();
    let start = place.start(
        "#!/usr/bin/env -S -u A -uB C=1 D=x=y tool '-o p' ${NAME}\\_z #t\n",
        &["q"],
    );
    assert_eq!(start.program, tool);
    assert_eq!(words(&start.args), ["-o p", "value", "z", &script, "q"]);
    assert_eq!(words(&start.unset), ["A", "B"]);
    assert_eq!(
        start.set,
        [("C".into(), "1".into()), ("D".into(), "x=y".into())]
    );
    assert!(!start.clear);

    // Without PATH the search is where the system says, so the path has to be there.
    let line = format!(
        "#!/usr/bin/env -S -i PATH={} A=1 tool\n",
        place.path("other").display()
    );
    let start = place.start(&line, &[]);
    assert!(start.clear);
    assert_eq!(start.program, other);
    assert_eq!(
        place.code("#!/usr/bin/env -S -i tool\n"),
        Code::InterpreterMissing
    );
    assert_eq!(
        place.code("#!/usr/bin/env -S -u PATH tool\n"),
        Code::InterpreterMissing
    );

    for line in [
        format!("-S - {}", tool.display()),
        format!("-iS {}", tool.display()),
        format!("--split-string=--ignore-environment -- {}", tool.display()),
    ] {
        assert!(
            place.start(&format!("#!/usr/bin/env {line}\n"), &[]).clear,
            "{line}"
        );
    }
    let line = format!("-S -P {} tool", place.path("other").display());
    assert_eq!(
        place
            .start(&format!("#!/usr/bin/env {line}\n"), &[])
            .program,
        other
    );
    assert_eq!(
        place.start("#!/usr/bin/env -S --argv0=x tool\n", &[]).arg0,
        "x"
    );
    assert_eq!(
        place.start("#!/usr/bin/env -S --unset=A tool\n", &[]).unset,
        ["A"]
    );
}

#[test]
fn what_env_cannot_be_spared_for() {
    let place = Place::new(System::Linux);
    place.program("bin/tool");
    for line in [
        "-S -C / tool",
        "-S --chdir=/ tool",
        "-S --ignore-signal=INT tool",
        "-v tool",
        "-S tool 'open",
        "-S tool $NAME",
        "-S tool \\q",
    ] {
        assert_eq!(
            place.code(&format!("#!/usr/bin/env {line}\n")),
            Code::EnvOption,
            "{line}"
        );
    }
    // Linux hands the rest of the line over as one word.
    assert_eq!(
        place.code("#!/usr/bin/env tool -u\n"),
        Code::InterpreterMissing
    );
    let mac = Place::new(System::Mac);
    mac.program("bin/tool");
    assert_eq!(
        words(&mac.start("#!/usr/bin/env tool -u\n", &[]).args)[0],
        "-u"
    );
}

#[test]
fn relative_interpreters_count_from_the_working_folder() {
    let place = Place::new(System::Mac);
    let tool = place.program("tool");
    for line in ["#!./tool\n", "#!tool\n"] {
        let start = place.start(line, &[]);
        assert_eq!(start.program.canonicalize().unwrap(), tool, "{line}");
    }
    let start = place.start("#!./tool\n", &[]);
    assert_eq!(start.arg0, "./tool");
}

#[test]
fn lines_that_lead_nowhere() {
    for system in [System::Mac, System::Linux] {
        let place = Place::new(system);
        let tool = place.program("tool").display().to_string();
        assert_eq!(place.code("#!/no/such/thing\n"), Code::InterpreterMissing);
        assert_eq!(
            place.code("#!/no/such/env tool\n"),
            Code::InterpreterMissing
        );
        assert_eq!(
            place.code("#!/usr/bin/env nothing\n"),
            Code::InterpreterMissing
        );
        assert_eq!(place.code("#!/usr/bin/env -S A=1\n"), Code::ShebangLoop);
        assert_eq!(
            place.code(&format!("#!{tool}\r\nprint()\r\n")),
            Code::ShebangCrlf
        );
        assert_eq!(place.code("#!/usr/bin/env python3\r\n"), Code::ShebangCrlf);
        assert_eq!(place.code("#!\n"), Code::ShebangBad);
        assert_eq!(place.code("#! \t \n"), Code::ShebangBad);
        assert_eq!(place.code(&format!("#!{tool} \0\n")), Code::ShebangBad);
        let limit = if system == System::Mac { 512 } else { 256 };
        let line = |length: usize| format!("#!{tool} {}\n", "x".repeat(length - tool.len() - 4));
        assert_eq!(place.code(&line(limit)), Code::Injectable);
        assert_eq!(place.code(&line(limit + 1)), Code::ShebangTooLong);
    }
    // A script that is its first line, without an end.
    let linux = Place::new(System::Linux);
    assert_eq!(
        linux.code(&format!("#!{}", linux.program("tool").display())),
        Code::Injectable
    );
    let mac = Place::new(System::Mac);
    assert_eq!(
        mac.code(&format!("#!{}", mac.program("tool").display())),
        Code::ShebangBad
    );
}

#[test]
fn scripts_in_front_of_scripts() {
    for system in [System::Mac, System::Linux] {
        let place = Place::new(system);
        let tool = place.program("tool");
        let inner = place.put("inner", format!("#!{} -i\n", tool.display()));
        let outer = place.put("outer", format!("#!{} -o\n", inner.display()));
        let answer = place.ask(&outer, &["x"]);
        if system == System::Mac {
            assert_eq!(answer.code, Code::InterpreterIsScript);
        } else {
            let start = answer.runs.unwrap().start.unwrap();
            let [inner, outer] = [&inner, &outer].map(|path| path.to_str().unwrap());
            assert_eq!(start.program, tool);
            assert_eq!(words(&start.args), ["-i", inner, "-o", outer, "x"]);
        }
        // `env` starts anything, on both.
        place.put("bin/shim", format!("#!{}\n", tool.display()));
        let start = place.start("#!/usr/bin/env shim\n", &[]);
        assert_eq!(start.program, tool);
        let itself = place.path("loop");
        place.put("loop", format!("#!/usr/bin/env {}\n", itself.display()));
        assert_eq!(place.ask(&itself, &[]).code, Code::ShebangLoop);
    }
}

#[test]
fn a_shell_that_only_stands_in_front_of_an_interpreter_is_left_out() {
    let place = Place::new(System::Mac);
    let python = place.program("a folder/python3");
    for text in [
        format!(
            "#!/bin/sh\n'''exec' \"{}\" \"$0\" \"$@\"\n' '''\nimport sys\n",
            python.display()
        ),
        format!(
            "#!/bin/sh\n'''exec' \"{}\" \"$0\" \"$@\" #'''\nimport sys\n",
            python.display()
        ),
    ] {
        let start = place.start(&text, &["x"]);
        assert_eq!(start.program, python);
        let script = place.path("script");
        assert_eq!(words(&start.args), [script.to_str().unwrap(), "x"]);
    }
    let text = format!(
        "#!/bin/sh\n'''exec' \"{}\" -q \"$0\" \"$@\"\n' '''\n",
        python.display()
    );
    let path = place.put("other", text);
    assert_eq!(
        place.ask(path, &[]).runs.unwrap().program.file_name(),
        Path::new("/bin/sh").canonicalize().unwrap().file_name()
    );
}

#[test]
fn a_wrapper_is_answered_with_the_program_it_starts() {
    let place = Place::new(System::Mac);
    // A shell that is part of macOS, as far as its signature goes.
    let sig = Sig {
        platform: 14,
        ..Sig::default()
    };
    let shell = place.put(
        "bash",
        MachO {
            signature: Some(sig),
            ..plain()
        }
        .build(),
    );
    let text = format!(
        "#!{}\nA=\"b\" exec \"/opt/cellar/my tool\" -x \"$@\"\n",
        shell.display()
    );
    let path = place.put("wrapper", text);
    let answer = place.ask(&path, &[]);
    assert_eq!(answer.code, Code::PlatformBinary);
    assert_eq!(
        answer.remedies[0].command.as_deref(),
        Some("metalshim run -- '/opt/cellar/my tool'")
    );
    assert!(
        answer
            .says
            .starts_with(&format!("{} is a script for", path.display())),
        "{}",
        answer.says
    );
}

#[test]
fn links_are_followed_and_told() {
    let place = Place::new(System::Mac);
    let tool = place.program("cellar/tool");
    symlink(&tool, place.path("link")).unwrap();
    let answer = place.ask(place.path("link"), &[]);
    assert!(answer.injectable);
    let runs = answer.runs.unwrap();
    assert_eq!((runs.program, runs.start), (tool.clone(), None));
    assert_eq!(place.ask(&tool, &[]).runs, None);
    // An interpreter tells its environment by the link it is started by.
    symlink(&tool, place.path("python")).unwrap();
    let start = place.start(&format!("#!{}\n", place.path("python").display()), &[]);
    assert_eq!(start.program, place.path("python"));
    symlink("round", place.path("round")).unwrap();
    assert_eq!(place.ask(place.path("round"), &[]).code, Code::Unreadable);
}

#[test]
fn what_is_no_file() {
    let place = Place::new(System::Mac);
    assert_eq!(place.ask(place.path("nothing"), &[]).code, Code::NotFound);
    let tool = place.program("tool");
    assert_eq!(place.ask(tool.join("x"), &[]).code, Code::NotFound);
    fs::create_dir_all(place.path("My.app/Contents/MacOS")).unwrap();
    let answer = place.ask(place.path("My.app"), &[]);
    assert_eq!(answer.code, Code::NotAFile);
    let inside = place.path("My.app/Contents/MacOS");
    assert_eq!(
        answer.remedies[0].command,
        Some(format!("ls {}", inside.display()))
    );
    // Nothing waits for the other end of a pipe.
    assert_eq!(place.ask("/dev/null", &[]).code, Code::NotAFile);
    let made = std::process::Command::new("mkfifo")
        .arg(place.path("pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    assert_eq!(place.ask(place.path("pipe"), &[]).code, Code::NotAFile);
}

#[test]
fn a_script_that_nobody_may_execute() {
    let place = Place::new(System::Mac);
    let path = place.put("script", format!("#!{}\n", place.program("tool").display()));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(place.ask(path, &[]).code, Code::NoPermission);
}

#[test]
fn a_framework_python_is_judged_by_the_program_it_becomes() {
    let place = Place::new(System::Mac);
    let version = "Python.framework/Versions/3.14";
    let stub = place.program(&format!("{version}/bin/python3.14"));
    assert_eq!(place.ask(&stub, &[]).runs, None);
    let app = format!("{version}/Resources/Python.app/Contents/MacOS/Python");
    let real = place.program(&app);
    let answer = place.ask(&stub, &[]);
    assert!(answer.injectable);
    assert_eq!(answer.runs.unwrap().program, real);
    place.put(
        &app,
        MachO {
            signature: Some(Sig::hardened()),
            ..plain()
        }
        .build(),
    );
    assert_eq!(place.ask(&stub, &[]).code, Code::Hardened);
    let start = place.start(&format!("#!{}\n", place.program("x").display()), &[]);
    assert_eq!(start.program, place.path("x"));
}

#[test]
fn launchers_get_the_advice_of_their_client_row() {
    let mut place = Place::new(System::Mac);
    place.launchers = vec![Launcher {
        names: vec!["ollama".into()],
        formula: Some("ollama".into()),
        advice: Some("Start the server: metalshim run -- ollama serve. It starts the rest.".into()),
    }];
    let tool = place.program("ollama");
    for args in [&[][..], &["run", "model"], &["server"]] {
        let answer = place.ask(&tool, args);
        assert!(answer.injectable);
        assert!(answer.notes[0].says.contains("ollama serve"), "{args:?}");
    }
    assert_eq!(place.ask(&tool, &["serve"]).notes, []);
    // The app is another build of the same program.
    let hardened = MachO {
        signature: Some(Sig::hardened()),
        ..plain()
    }
    .build();
    let app = place.put("Ollama.app/Contents/Resources/helper", hardened);
    let answer = place.ask(app, &["serve"]);
    assert_eq!(answer.code, Code::Hardened);
    assert_eq!(
        answer.remedies[0].command.as_deref(),
        Some("brew install ollama")
    );
}

#[test]
fn the_json_has_the_three_fields_that_scripts_read_first() {
    let place = Place::new(System::Mac);
    let path = place.put("lib.so", MachO { kind: 8, ..plain() }.build());
    let json = serde_json::to_value(place.ask(&path, &[])).unwrap();
    assert_eq!(json["path"], path.to_str().unwrap());
    assert_eq!(json["injectable"], false);
    assert_eq!(json["code"], "not-executable");
    let json = serde_json::to_value(place.ask(place.program("tool"), &[])).unwrap();
    assert_eq!(json["injectable"], true);
    assert_eq!(json["code"], "injectable");
    // A path that is no text is shown as far as it is.
    use std::os::unix::ffi::OsStringExt;
    let odd = PathBuf::from(OsString::from_vec(b"/no/\xff".to_vec()));
    assert_eq!(
        serde_json::to_value(place.ask(odd, &[])).unwrap()["path"],
        "/no/\u{fffd}"
    );
}

#[test]
fn no_remedy_weakens_the_system_or_signs_anew() {
    use crate::build::{ARM64, DYLD, xml};
    let place = Place::new(System::Mac);
    let one = |image: MachO| place.put("it", image.build());
    let sig = |flags| {
        Some(Sig {
            flags,
            ..Sig::default()
        })
    };
    let mut seen = 0;
    for image in [
        MachO {
            signature: sig(0x800),
            ..plain()
        },
        MachO {
            signature: sig(0x2000),
            ..plain()
        },
        MachO {
            signature: sig(0x1_0000),
            ..plain()
        },
        MachO {
            signature: Some(Sig {
                xml: Some(xml(&[(DYLD, true)])),
                ..Sig::hardened()
            }),
            ..plain()
        },
        MachO {
            signature: Some(Sig {
                platform: 1,
                ..Sig::default()
            }),
            ..plain()
        },
        MachO {
            restrict_segment: true,
            ..plain()
        },
        MachO {
            cpu: ARM64,
            subtype: 2,
            ..plain()
        },
        MachO { cpu: 7, ..plain() },
        MachO {
            dynamic: false,
            ..plain()
        },
        MachO { kind: 6, ..plain() },
    ] {
        let answer = place.ask(one(image), &[]);
        assert!(
            !answer.injectable && !answer.remedies.is_empty(),
            "{}",
            answer.says
        );
        for remedy in &answer.remedies {
            let all = format!("{} {:?}", remedy.says, remedy.command).to_lowercase();
            for word in [
                "csrutil",
                "codesign",
                "re-sign",
                "resign",
                "integrity",
                "amfi",
                "ldid",
            ] {
                assert!(!all.contains(word), "{all}");
            }
            seen += 1;
        }
    }
    assert!(seen >= 10);
}

/// What the system makes of a first line is what is made of it here: the same program with the
/// same name, arguments and variables.
#[cfg(target_os = "linux")]
#[test]
fn a_direct_start_is_the_start_that_linux_makes() {
    use std::process::Command;
    let place = Place::new(System::here());
    let show = r#"tr \\0 \\n </proc/$$/cmdline; export -p'"#;
    let lines = [
        "#!/bin/echo".to_owned(),
        "#!/bin/echo a  b # c".to_owned(),
        "#! \t /bin/echo\t-n x \t".to_owned(),
        "#!/usr/bin/env echo".to_owned(),
        "#!/usr/bin/env -S echo -n 'a b' \"c ${NAME} d\" e\\_f \\# g\\th #i".to_owned(),
        "#!/usr/bin/env -S echo \"a\\_b\" 'c\\_d' ''".to_owned(),
        format!("#!/usr/bin/env -S sh -c '{show}"),
        format!("#!/usr/bin/env -S -i A=1 PATH=/usr/bin:/bin sh -c '{show}"),
        format!("#!/usr/bin/env -S -i sh -c '{show}"),
        format!("#!/usr/bin/env -S -u NAME -uHOME B=x=y A=1 A=2 sh -c '{show}"),
        format!("#!/usr/bin/env -S A=1 -u sh -c '{show}"),
        format!("#!/usr/bin/env -S -iu NAME sh -c '{show}"),
        format!("#!/usr/bin/env --split-string=--unset=NAME sh -c '{show}"),
    ];
    for line in lines {
        let script = place.put("script", format!("{line}\n"));
        let variables = [
            ("PATH", "/usr/bin:/bin"),
            ("NAME", "some thing"),
            ("HOME", "/h"),
        ];
        let context = Context {
            system: System::Linux,
            sip: Sip::Enabled,
            folder: "/".into(),
            variables: variables.map(|(a, b)| (a.into(), b.into())).into(),
            launchers: &[],
        };
        let system = Command::new(&script)
            .args(["x", "y z"])
            .env_clear()
            .envs(variables)
            .current_dir("/")
            .output()
            .unwrap();
        let answer = preflight(&script, &["x".into(), "y z".into()], &context);
        if !system.status.success() {
            assert!(!answer.injectable, "{line}: {answer:?}");
            continue;
        }
        assert!(answer.injectable, "{line}: {}", answer.says);
        let start = answer.runs.unwrap().start.unwrap();
        let mut direct = Command::new(&start.program);
        use std::os::unix::process::CommandExt;
        direct
            .arg0(&start.arg0)
            .args(&start.args)
            .env_clear()
            .current_dir("/");
        if !start.clear {
            direct.envs(variables);
        }
        for name in &start.unset {
            direct.env_remove(name);
        }
        direct.envs(start.set.iter().cloned());
        let direct = direct.output().unwrap();
        let text = |output: &std::process::Output| {
            let mut lines: Vec<_> = String::from_utf8_lossy(&output.stdout)
                .lines()
                .map(str::to_owned)
                .collect();
            // The shell shows the command that env was; that is not the program's to see.
            lines.retain(|line| !line.starts_with("export _="));
            lines
        };
        assert_eq!(text(&direct), text(&system), "{line}");
    }
}
