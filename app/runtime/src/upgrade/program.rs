//! The command that a process was started with, so that it can be started again.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The command that this process was started with.
#[derive(Clone, Debug)]
pub struct StartedProgram {
    path: PathBuf,
    arguments: Vec<OsString>,
}

impl StartedProgram {
    /// Reads the command. To be called early: the path is that of a file which may be replaced later.
    ///
    /// # Errors
    /// The system does not say which file it is.
    pub fn of_process() -> Result<Self, String> {
        let file = env::current_exe();
        let file =
            file.map_err(|error| format!("cannot find the executable of this process: {error}"))?;
        let mut arguments = env::args_os();
        let called = arguments.next();
        let path = called.and_then(|called| path_as_called(&called, &file));
        Ok(Self {
            path: path.unwrap_or(file),
            arguments: arguments.collect(),
        })
    }

    /// The program at a path, with the arguments of this process.
    pub(super) fn at(path: PathBuf) -> Self {
        Self {
            path,
            arguments: env::args_os().skip(1).collect(),
        }
    }

    /// Returns the command, for another process.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments);
        command
    }

    /// Returns the executable's path: the one by which it was called, which may lead to another version later.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Returns the path by which the caller named the executable. It may be a symbolic link that will lead to another
/// version. `None` if it does not lead to `file`.
fn path_as_called(called: &OsStr, file: &Path) -> Option<PathBuf> {
    let leads_there = |path: &PathBuf| path.canonicalize().is_ok_and(|path| path == file);
    if called.as_encoded_bytes().contains(&b'/') {
        let path = env::current_dir().ok()?.join(called);
        return Some(path).filter(leads_there);
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders)
        .map(|folder| folder.join(called))
        .find(|path| path.is_file())
        .filter(leads_there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_kept_and_another_program_is_not_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("sampan-1");
        std::fs::write(&file, "").expect("a file");
        let file = file.canonicalize().expect("a path");
        let link = folder.path().join("sampan");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        assert_eq!(path_as_called(link.as_os_str(), &file), Some(link));
        assert_eq!(path_as_called(OsStr::new("/bin/sh"), &file), None);
        assert_eq!(path_as_called(OsStr::new("sh"), &file), None);
    }
}
