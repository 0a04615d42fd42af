//! Getting our libraries ready, and LuaJIT for Go.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::peers::install::{Installer, copy, find, run};
use crate::peers::{Installed, Peer, PeerKind};

/// The packages of Debian with LuaJIT for programs in C. They are unpacked, not installed: that would remove nginx's
/// module.
const LUAJIT: &[&str] = &["libluajit-5.1-dev", "libluajit-5.1-2"];

impl Installer {
    /// A program in Go that links LuaJIT.
    pub(super) fn go_luajit(&self, peer: &Peer) -> Result<Installed, String> {
        let folder = self.folder().join("luajit");
        let library = || find_file(&folder.join("usr/lib"), "libluajit-5.1.a");
        if library().is_none() {
            self.unpack_luajit(&folder)?;
        }
        let library = library().ok_or("Debian's LuaJIT has no static library")?;
        let library = library.parent().unwrap_or(&folder).display().to_string();
        let headers = folder.join("usr/include/luajit-2.1").display().to_string();
        let variables = [
            ("CGO_CFLAGS", format!("-O2 -I{headers}")),
            ("CGO_LDFLAGS", format!("-O2 -L{library}")),
        ];
        let installed = self.go(peer, &variables)?;
        let version = fs::read_to_string(Path::new(&headers).join("luajit.h")).unwrap_or_default();
        let version = version.lines().find_map(|line| {
            let text = line.strip_prefix("#define LUAJIT_VERSION")?.trim();
            text.strip_prefix('"')?.strip_suffix('"').map(str::to_owned)
        });
        Ok(Installed {
            version: format!("{} on {}", version.unwrap_or_default(), installed.version),
            ..installed
        })
    }

    fn unpack_luajit(&self, folder: &Path) -> Result<(), String> {
        if !self.installs {
            return Err("LuaJIT for C is not unpacked".to_owned());
        }
        println!("downloading {} with apt-get", LUAJIT.join(" and "));
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let download = || {
            let mut command = Command::new("apt-get");
            run(command
                .args(["download", "-qq"])
                .args(LUAJIT)
                .current_dir(folder))
        };
        // The lists of a fresh machine are empty; only then do they need to be fetched.
        if download().is_err() {
            run(Command::new("apt-get").args(["update", "-qq"]))?;
            download()?;
        }
        for file in fs::read_dir(folder).map_err(|error| error.to_string())? {
            let file = file.map_err(|error| error.to_string())?.path();
            if file.extension().is_some_and(|end| end == "deb") {
                run(Command::new("dpkg").arg("-x").arg(&file).arg(folder))?;
            }
        }
        Ok(())
    }

    /// A program in Go with our package, on the static library as it is released.
    pub(super) fn go_sampan(&self, peer: &Peer) -> Result<Installed, String> {
        find("go").ok_or("Go is not installed")?;
        self.xtask(&["go", "--release", "--no-tests"])?;
        let installed = self.go(peer, &[])?;
        let version = format!(
            "sampan {} on {}",
            env!("CARGO_PKG_VERSION"),
            installed.version
        );
        Ok(Installed {
            version,
            ..installed
        })
    }

    /// A `server.js` with our package of npm.
    pub(super) fn package(&self, peer: &Peer) -> Result<Installed, String> {
        let (program, runtime) = self.runtime(peer)?;
        let installed = self.script(peer, program, &runtime)?;
        self.add_package(&installed.folder)?;
        let version = format!(
            "sampan {} + {}",
            env!("CARGO_PKG_VERSION"),
            installed.version
        );
        Ok(Installed {
            version: version.replace(&format!("+ {runtime}"), &format!("on {runtime}")),
            ..installed
        })
    }

    /// The command of our package, with the file of an app.
    pub(super) fn package_run(&self, peer: &Peer) -> Result<Installed, String> {
        let installed = self.package(peer)?;
        let command = installed.folder.join("node_modules/.bin/sampan");
        let command = fs::canonicalize(&command)
            .map_err(|error| format!("{}: {error}", command.display()))?;
        // The app finds the package in the folder above it, as in any project.
        let example = peer.example(&self.root);
        let (from, file) = (example.parent(), example.file_name());
        let (from, file) = from.zip(file).ok_or("it names no file")?;
        let project = installed.folder.join(from.file_name().unwrap_or_default());
        copy(from, &project).map_err(|error| format!("{}: {error}", project.display()))?;
        Ok(Installed {
            arguments: [command, PathBuf::from("run"), project.join(file)]
                .map(|part| part.display().to_string())
                .into(),
            ..installed
        })
    }

    fn runtime(&self, peer: &Peer) -> Result<(PathBuf, String), String> {
        match peer.kind {
            PeerKind::BunSampan | PeerKind::BunRun(_) => self.bun(),
            _ => self.node(),
        }
    }

    /// Puts our package into `node_modules`.
    fn add_package(&self, folder: &Path) -> Result<(), String> {
        let npm = find("npm").ok_or("npm is not installed")?;
        self.xtask(&["npm"])?;
        let package = self.root.join("target/npm/sampan.tgz");
        let mut add = Command::new(npm);
        add.args([
            "install",
            "--no-save",
            "--no-package-lock",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        ]);
        run(add.arg(&package).current_dir(folder)).map(drop)
    }

    /// Runs another command of `cargo xtask`, once in a run of the benchmark.
    pub(super) fn xtask(&self, words: &[&str]) -> Result<(), String> {
        let mut done = self.done.borrow_mut();
        let command = words.join(" ");
        if let Some(outcome) = done.get(&command) {
            return outcome.clone();
        }
        println!("cargo xtask {command}");
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .arg("xtask")
            .args(words)
            .current_dir(&self.root)
            .stdin(Stdio::null());
        let outcome = match cargo.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(format!("`cargo xtask {command}` failed")),
            Err(error) => Err(format!("cargo: {error}")),
        };
        done.insert(command, outcome.clone());
        outcome
    }
}

/// A file of this name somewhere below a folder.
fn find_file(folder: &Path, name: &str) -> Option<PathBuf> {
    fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let path = entry.path();
        if path.is_dir() {
            find_file(&path, name)
        } else {
            (entry.file_name() == name).then_some(path)
        }
    })
}
