//! The rights that a confined process keeps.

use std::path::{Path, PathBuf};

/// The access to a file, or to a folder and everything below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// To remove files, such as the one of a Unix socket.
    Remove,
    /// To read files and list folders.
    Read,
    /// To make, write, read and remove files, and not to list them: for folders that all programs share.
    Temporary,
    /// To read, write, make and remove files and folders.
    Write,
}

impl Access {
    /// Returns the verb for people.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Remove => "remove files",
            Self::Read => "read",
            Self::Temporary => "temporary files",
            Self::Write => "read and write",
        }
    }
}

/// A path, the access to it, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathGrant {
    /// The path. One that does not exist grants nothing.
    pub path: PathBuf,
    /// The access.
    pub access: Access,
    /// The reason, for people.
    pub reason: String,
}

/// The TCP connections that the process may begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Connections {
    /// To any port.
    #[default]
    Any,
    /// To these ports.
    Ports(Vec<u16>),
}

/// The rights that a confined process keeps. It may always use the files and sockets that it has open, and it may not
/// bind TCP ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// The paths.
    pub paths: Vec<PathGrant>,
    /// The TCP connections.
    pub connections: Connections,
    /// True if abstract Unix sockets of other processes may be reached.
    pub reaches_abstract_sockets: bool,
}

impl Grants {
    /// Adds a path. One that is there with the same or more access stays as it is.
    pub fn path(&mut self, path: impl AsRef<Path>, access: Access, reason: &str) {
        let path = path.as_ref();
        let is_covered = |one: &PathGrant| {
            one.path == path && (one.access == access || one.access == Access::Write)
        };
        if path.as_os_str().is_empty() || self.paths.iter().any(is_covered) {
            return;
        }
        self.paths.push(PathGrant {
            path: path.to_owned(),
            access,
            reason: reason.to_owned(),
        });
    }

    /// Adds a file that may be replaced by another of its name, and the links that lead to it: the folders of all of
    /// them, unless the whole system keeps its files there. Then the file is granted alone, as it is now.
    pub fn replaceable_file(&mut self, file: impl AsRef<Path>, reason: &str) {
        let Ok(file) = std::path::absolute(file) else {
            return;
        };
        self.file_or_folder(&file, reason);
        if let Ok(whole) = file.canonicalize()
            && whole != file
        {
            self.file_or_folder(&whole, reason);
        }
    }

    fn file_or_folder(&mut self, file: &Path, reason: &str) {
        let folder = file.parent().and_then(|folder| folder.canonicalize().ok());
        match folder.filter(|folder| !is_shared(folder)) {
            Some(folder) => self.path(folder, Access::Read, reason),
            None => self.path(file, Access::Read, reason),
        }
    }
}

/// Folders that hold files of many programs.
const SHARED: [&str; 16] = [
    "/", "/boot", "/dev", "/etc", "/home", "/opt", "/proc", "/root", "/run", "/srv", "/sys",
    "/tmp", "/usr", "/var", "/var/lib", "/var/tmp",
];
/// The folders with the homes of users.
const HOMES: [&str; 2] = ["/home", "/var/home"];

/// Reports whether a folder holds files of many programs: a folder of the system, or the home of a user. Others at the
/// top of the file system were made for one purpose, as `/certs` in a container.
fn is_shared(folder: &Path) -> bool {
    let is_one_of =
        |folders: &[&str], folder: &Path| folders.iter().any(|one| folder == Path::new(one));
    let is_home = folder
        .parent()
        .is_some_and(|above| is_one_of(&HOMES, above));
    is_home || is_one_of(&SHARED, folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(grants: &Grants) -> Vec<&str> {
        let paths = grants.paths.iter().map(|one| one.path.to_str());
        paths.map(|path| path.expect("UTF-8")).collect()
    }

    #[test]
    fn the_folder_of_a_file_is_granted_unless_it_is_the_systems() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("a path");
        let (live, archive) = (folder.join("live"), folder.join("archive"));
        std::fs::create_dir(&live).expect("a folder");
        std::fs::create_dir(&archive).expect("a folder");
        std::fs::write(archive.join("cert1.pem"), "").expect("a file");
        std::os::unix::fs::symlink("../archive/cert1.pem", live.join("cert.pem")).expect("a link");
        let mut grants = Grants::default();
        grants.replaceable_file(live.join("cert.pem"), "the certificate");
        let wanted = [live.to_str(), archive.to_str()].map(Option::unwrap_or_default);
        assert_eq!(paths(&grants), wanted);
        let mut grants = Grants::default();
        grants.replaceable_file("/etc/hostname", "a name");
        assert_eq!(paths(&grants), ["/etc/hostname"]);
        for (folder, shared) in [
            ("/", true),
            ("/etc", true),
            ("/home/me", true),
            ("/root", true),
            ("/run", true),
            ("/var/lib", true),
            ("/etc/app", false),
            ("/home/me/app", false),
            ("/certs", false),
            ("/mnt", false),
        ] {
            assert_eq!(is_shared(Path::new(folder)), shared, "{folder}");
        }
    }

    #[test]
    fn a_path_stands_once() {
        let mut grants = Grants::default();
        grants.path("/a", Access::Write, "one");
        grants.path("/a", Access::Read, "two");
        grants.path("/b", Access::Read, "two");
        grants.path("/b", Access::Read, "three");
        grants.path("", Access::Read, "nothing");
        assert_eq!(paths(&grants), ["/a", "/b"]);
    }
}
