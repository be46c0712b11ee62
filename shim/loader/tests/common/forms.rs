//! The forms of the shim that are run here: this system's own, and macOS libraries under the
//! loader. A run is described once, for this system's own form, and translated for the others.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use metalshim_guest::{Outcome, built};

use crate::common::script;

/// One form of the shim.
pub(crate) struct Form {
    /// For tables: `linux`, `arm64 qemu`, ..
    pub(crate) name: String,
    /// How a program is started: nothing, or an emulator and its arguments.
    launcher: Vec<OsString>,
    guest: PathBuf,
    /// The loader and the library; `None` for this system's own form.
    mach_o: Option<(PathBuf, PathBuf)>,
}

/// Every form that can be run on this machine, this system's own first. A form that cannot is
/// named on stderr.
pub(crate) fn all() -> Vec<Form> {
    let own = Form {
        name: "linux".into(),
        launcher: Vec::new(),
        guest: built().guest_dir().to_owned(),
        mach_o: None,
    };
    let mut forms = vec![own];
    for (arch, linker) in [
        ("aarch64", "zig"),
        ("x86_64", "zig"),
        ("x86_64", "lld"),
        ("aarch64", "lld"),
    ] {
        let native = arch == std::env::consts::ARCH;
        // The second linker's are for the loader's chained fixups, the same on every processor.
        if linker == "lld" && !native {
            continue;
        }
        let mut launcher = Vec::new();
        if !native {
            if arch != "aarch64" {
                eprintln!("skipped: nothing here runs programs for {arch}");
                continue;
            }
            script(".ci/need", &["qemu-aarch64"]);
            launcher.extend(["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"].map(OsString::from));
        }
        forms.push(Form {
            name: format!("{arch}{}", if linker == "lld" { " chained" } else { "" }),
            launcher,
            guest: script("shim/loader/build-guest", &[arch]).into(),
            mach_o: Some((
                script("shim/loader/build-preload", &[arch]).into(),
                script("shim/macos/build", &[arch, linker]).into(),
            )),
        });
    }
    forms
}

impl Form {
    /// Whether this is the form that the others are compared with.
    pub(crate) fn is_own(&self) -> bool {
        self.mach_o.is_none()
    }

    /// Whether an emulator stands between, which opens descriptors of its own.
    pub(crate) fn is_emulated(&self) -> bool {
        !self.launcher.is_empty()
    }

    /// The path of this form's copy of a file of the simulated guest; any other path is kept.
    fn place(&self, path: &OsStr) -> OsString {
        match Path::new(path).strip_prefix(built().guest_dir()) {
            Ok(rest) => self.guest.join(rest).into_os_string(),
            Err(_) => path.to_owned(),
        }
    }

    /// What has to be in the environment in the place of an `LD_PRELOAD` of this system's form.
    /// `spelled`: the list that the library finds, with SHIM for itself.
    fn inserted(&self, list: &OsStr, spelled: &str) -> Vec<(&'static str, OsString)> {
        let shim = built().shim();
        let Some((loader, dylib)) = &self.mach_o else {
            return vec![("LD_PRELOAD", list.to_owned())];
        };
        let (mut preload, mut found) = (Vec::new(), false);
        for entry in std::env::split_paths(list) {
            if entry == shim {
                preload.push(loader.clone().into_os_string());
                found = true;
            } else {
                preload.push(self.place(entry.as_os_str()));
            }
        }
        let mut variables = vec![("LD_PRELOAD", preload.join(OsStr::new(":")))];
        if found {
            variables.push(("METALSHIM_LOADER_DYLIB", dylib.clone().into_os_string()));
            let insert = spelled.replace("SHIM", &dylib.display().to_string());
            variables.push(("DYLD_INSERT_LIBRARIES", insert.into()));
        }
        variables
    }

    /// The command for this form.
    pub(crate) fn translate(&self, own: &Command) -> Command {
        self.translate_inserted(own, "SHIM")
    }

    fn translate_inserted(&self, own: &Command, spelled: &str) -> Command {
        let mut variables: Vec<(OsString, OsString)> = Vec::new();
        for (name, value) in own.get_envs() {
            match value {
                Some(list) if name == "LD_PRELOAD" => {
                    variables.extend(
                        self.inserted(list, spelled)
                            .into_iter()
                            .map(|(n, v)| (n.into(), v)),
                    );
                }
                Some(value) => variables.push((name.to_owned(), value.to_owned())),
                None => {}
            }
        }
        let mut command;
        if let Some((program, arguments)) = self.launcher.split_first() {
            command = Command::new(program);
            command.args(arguments);
            // The emulator hands its own environment on. What would be preloaded into the
            // emulator itself goes by its option, which splits values at commas: for paths only.
            for (name, value) in variables {
                if name == "LD_PRELOAD" {
                    let mut pair = name;
                    pair.push("=");
                    pair.push(value);
                    command.arg("-E").arg(pair);
                } else {
                    command.env(name, value);
                }
            }
            command.arg(self.place(own.get_program()));
        } else {
            command = Command::new(self.place(own.get_program()));
            command.envs(variables);
        }
        command.args(own.get_args().map(|argument| self.place(argument)));
        for (name, value) in own.get_envs() {
            if value.is_none() {
                command.env_remove(name);
            }
        }
        // Cargo's, for the tests themselves.
        command.env_remove("LD_LIBRARY_PATH").stdin(Stdio::null());
        command
    }

    /// Runs a command that is described for this system's own form.
    pub(crate) fn run(&self, own: &Command) -> Outcome {
        self.run_inserted(own, "SHIM")
    }

    /// The same, where the library's variable is this list (SHIM stands for the library).
    pub(crate) fn run_inserted(&self, own: &Command, spelled: &str) -> Outcome {
        let mut command = self.translate_inserted(own, spelled);
        let output = command
            .output()
            .unwrap_or_else(|why| panic!("{command:?}: {why}"));
        Outcome {
            stdout: self.neutral(&String::from_utf8_lossy(&output.stdout)),
            stderr: self.neutral(&String::from_utf8_lossy(&output.stderr)),
            code: output.status.code(),
        }
    }

    /// Text without what differs between the forms by their nature: paths, and the name of the
    /// variable that inserts.
    pub(crate) fn neutral(&self, text: &str) -> String {
        let (shim, variable) = match &self.mach_o {
            Some((_, dylib)) => (dylib.as_path(), "DYLD_INSERT_LIBRARIES"),
            None => (built().shim(), "LD_PRELOAD"),
        };
        let shim = shim.display().to_string();
        let text = text.replace(&format!("{variable}={shim}"), "INSERT=SHIM");
        text.replace(&shim, "SHIM")
            .replace(&self.guest.display().to_string(), "GUEST")
    }
}
