//! Mail servers that Debian doesn't let us install beside Postfix. `tools/install` unpacks each with its libraries.
//! The server runs in a separate root (chroot(2)), with the package's paths and users, which the machine itself lacks.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

use crate::process::{Process, folder};

/// Content of the root besides the package, and the command that runs in it.
#[derive(Debug, Clone, Copy)]
pub struct Chroot<'a> {
    /// Name of the Debian package.
    pub package: &'a str,
    /// Name and id of the package's users, each with a group of the same name and id.
    pub users: &'a [(&'a str, u32)],
    /// Paths without the leading `/`, and contents; the files belong to root.
    pub files: &'a [(&'a str, String)],
    /// Paths and the ids of their owners; missing paths are created as folders.
    pub owned: &'a [(&'a str, u32)],
    /// Program, with its path in the root, and arguments; it stays in the foreground.
    pub command: &'a [&'a str],
}

impl Chroot<'_> {
    /// Starts the command, with its output in a file named after the package. Needs root or `sudo`. `prepare` may put
    /// more files into the folder that is copied into the root.
    pub fn start(&self, prepare: impl FnOnce(&Path) -> Result<()>) -> Result<Process> {
        let package = folder::tools().join(self.package);
        ensure!(package.is_dir(), "no {}: `tools/install apt` unpacks it", package.display());
        let scratch = folder::scratch(self.package)?;
        let files = scratch.join("files");
        for (path, text) in self.files.iter().chain(&self.databases()) {
            write(&files.join(path), text)?;
        }
        prepare(&files)?;
        let mut command = Command::new("sh");
        command.args(["-c", RUN]).args([scratch.join("root"), package, files]);
        command.arg(self.owned.len().to_string());
        for (path, user) in self.owned {
            command.arg(path).arg(user.to_string());
        }
        command.args(self.command);
        Process::spawn_as_root(self.package, &command, &scratch)
    }

    /// The path and the content of passwd(5) and group(5).
    fn databases(&self) -> [(&'static str, String); 2] {
        let mut passwd = "root:x:0:0:root:/:/bin/false\n".to_owned();
        let mut group = "root:x:0:\n".to_owned();
        for (name, id) in self.users {
            let _ = writeln!(passwd, "{name}:x:{id}:{id}::/var/mail:/bin/false");
            let _ = writeln!(group, "{name}:x:{id}:");
        }
        [("etc/passwd", passwd), ("etc/group", group)]
    }
}

fn write(path: &PathBuf, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

/// Arguments: the root to create, the package, the files, the number of owned paths, each path and its owner, and the
/// command. Copies belong to root and keep their mode, because Exim is setuid. `wait` returns at the signal, and again
/// when the server has ended.
const RUN: &str = r#"
cp -R --preserve=mode "$1" "$0" && cp -R "$2/." "$0" && mkdir -p "$0/dev" && : > "$0/dev/null" || exit
root=$0 owned=$3
shift 3
while [ "$owned" -gt 0 ]; do
  [ -e "$root/$1" ] || mkdir -p "$root/$1" || exit
  chown -R "$2:$2" "$root/$1" || exit
  owned=$((owned - 1))
  shift 2
done
/usr/sbin/chroot "$root" "$@" &
server=$!
trap 'kill $server' TERM
wait $server
wait $server
rm -rf "$root"
"#;
