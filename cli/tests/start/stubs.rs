//! Stand-ins for programs of macOS, in a folder at the front of `PATH`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::User;

/// What a host's own tools say: a Mac13,2 with an M1 Ultra, unless `VM` is set.
const HOST: [(&str, &str); 3] = [
    (
        "sw_vers",
        "case $1 in -buildVersion) echo 25G76;; -productVersion) echo 26.6.1;; esac",
    ),
    (
        "sysctl",
        "case $2 in
hw.model) echo Mac13,2;;
machdep.cpu.brand_string) echo Apple M1 Ultra;;
kern.bootsessionuuid) echo 0B1D5C3A-0000-4000-8000-000000000001;;
kern.hv_vmm_present) echo ${VM:-0};;
*) echo unknown oid >&2; exit 1;;
esac",
    ),
    // As macOS has it: one domain and key, a value with its kind.
    (
        "defaults",
        "file=$HOME/defaults
[ \"$2 $3\" = 'com.apple.gpusw.ParavirtualizedGraphics ForceUnrestrictedDeviceFeatureLevel' ] || exit 9
none() { echo \"The domain/default pair of ($2, $3) does not exist\" >&2; exit 1; }
case $1 in
read) [ -f $file ] || none \"$@\"; cut -d' ' -f2 $file;;
read-type) [ -f $file ] || none \"$@\"; echo Type is $(cut -d' ' -f1 $file);;
delete) [ -f $file ] || none \"$@\"; rm $file;;
write) case $4 in -bool) kind=boolean;; -int) kind=integer;; -string) kind=string;; *) exit 8;; esac
case $5 in true) value=1;; false) value=0;; *) value=$5;; esac
echo $kind $value >$file;;
esac",
    ),
];

/// As `launchctl` in a login session, or without one where `NO_GUI` is set: what is loaded is a
/// file each, what was typed a line each.
const LAUNCHCTL: &str = "
echo \"$@\" >>$HOME/launchctl.log
loaded=$HOME/loaded; mkdir -p $loaded
name() { echo \"$1\" | tr / _; }
case $1 in
print) case $2 in
  gui/*/*|user/*/*|system/*) [ -f $loaded/$(name $2) ] || { echo Could not find service >&2; exit 113; };;
  gui/*) [ -z \"$NO_GUI\" ] || { echo Domain does not support specified action >&2; exit 125; };;
  esac;;
enable) ;;
bootstrap) [ -f \"$3\" ] || { echo no file >&2; exit 5; }
  [ -z \"$REFUSES\" ] || { echo Bootstrap failed: 5: Input/output error >&2; exit 5; }
  label=$(basename \"$3\" .plist); touch $loaded/$(name $2/$label);;
bootout) rm $loaded/$(name $2) || { echo not loaded >&2; exit 3; };;
*) exit 64;;
esac";

impl User {
    /// With these programs at the front of `PATH`; each is the text of a shell script.
    pub(crate) fn with_programs<'a>(
        self,
        programs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let folder = self.home.path().join("bin");
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in programs {
            let path = folder.join(name);
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = format!("{}:/usr/bin:/bin", folder.display());
        self.with("PATH", path)
    }

    /// A Mac that runs virtual machines.
    pub(crate) fn on_host() -> Self {
        Self::new().with_programs(HOST.into_iter().chain([("launchctl", LAUNCHCTL)]))
    }

    /// A guest with launchd.
    pub(crate) fn with_launchd(self) -> Self {
        self.with_programs([("launchctl", LAUNCHCTL)])
    }

    /// A folder in the home, made.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let folder = self.home.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// The content of a file in the home; empty where there is none.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.home.path().join(name)).unwrap_or_default()
    }
}
