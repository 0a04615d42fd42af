//! A folder, on this machine or mounted.

use super::{Claim, Target, TargetFault};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file whose lock the writing process has.
const OWNER: &str = "owner";

/// A folder of objects. The copy has everything that the database has, so only this user can read it.
pub(crate) struct FileTarget {
    root: PathBuf,
    /// The locked file, in the process that writes.
    owner: Option<File>,
}

impl FileTarget {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, owner: None }
    }

    fn failed(&self, what: &str, error: &io::Error) -> TargetFault {
        let advice = match error.kind() {
            // Rights of the sandbox belong to the disk that was mounted when the server started.
            ErrorKind::PermissionDenied => {
                ": this user must be allowed to write there; if the disk was mounted again, restart the server, whose \
                 sandbox knows the disk of before only"
            }
            _ => "",
        };
        TargetFault::Failed(format!("{what} {}: {error}{advice}", self.root.display()))
    }

    /// Reports whether the file that this process has locked is still the one with the name.
    fn is_still_own(&self) -> bool {
        let identity = |data: fs::Metadata| (data.dev(), data.ino());
        let own = self.owner.as_ref().and_then(|file| file.metadata().ok());
        let named = fs::metadata(self.root.join(OWNER)).ok();
        own.is_some() && own.map(identity) == named.map(identity)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.root.join(name);
        let folder = path.parent().unwrap_or(&self.root);
        if !folder.is_dir() {
            make_folder(folder, &self.root)?;
        }
        // It gets its name when it is on the disk.
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        let part = folder.join(format!(".{file_name}.part"));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, &path)?;
        File::open(folder)?.sync_all()
    }
}

/// Creates a folder and those above it, up to `root`, which must exist; each name lasts. That of `root` does unless
/// this process may not open the folder above it, as one that is confined.
fn make_folder(folder: &Path, root: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    for made in folder.ancestors() {
        let is_root = made == root;
        if let Some(above) = made.parent() {
            match File::open(above).and_then(|above| above.sync_all()) {
                Err(error) if is_root && error.kind() == ErrorKind::PermissionDenied => {}
                synced => synced?,
            }
        }
        if is_root {
            break;
        }
    }
    Ok(())
}

impl Target for FileTarget {
    fn claim(&mut self, note: &str) -> Result<Claim, TargetFault> {
        if self.is_still_own() {
            return Ok(Claim::Own);
        }
        self.owner = None;
        let cannot =
            |target: &Self, error: &io::Error| target.failed("cannot write to the folder", error);
        let above = self
            .root
            .parent()
            .filter(|above| !above.as_os_str().is_empty());
        if !self.root.is_dir() && above.is_none_or(Path::is_dir) {
            // A folder that is missing with all above it is a disk that is not there.
            let made = fs::DirBuilder::new().mode(0o700).create(&self.root);
            made.map_err(|error| cannot(self, &error))?;
        }
        if let Some(above) = above
            && !above.is_dir()
        {
            let missing = format!(
                "there is no folder {}: create it, or mount it",
                above.display()
            );
            return Err(cannot(self, &io::Error::other(missing)));
        }
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.root.join(OWNER));
        let mut file = opened.map_err(|error| cannot(self, &error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut other = String::new();
                let _ = file.read_to_string(&mut other);
                return Ok(Claim::Other(other.trim().to_owned()));
            }
            Err(error) => return Err(cannot(self, &error.into())),
        }
        let noted = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(note.as_bytes()));
        noted.map_err(|error| cannot(self, &error))?;
        self.owner = Some(file);
        Ok(Claim::New)
    }

    fn release(&mut self) {
        self.owner = None;
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), TargetFault> {
        let there = self.get(name)?;
        match there {
            Some(there) if there == bytes => return Ok(()),
            Some(_) => return Err(TargetFault::Taken(name.to_owned())),
            None => {}
        }
        let written = self.write(name, bytes);
        written.map_err(|error| self.failed(&format!("cannot write {name} to"), &error))
    }

    fn get(&mut self, name: &str) -> Result<Option<Vec<u8>>, TargetFault> {
        match fs::read(self.root.join(name)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(&format!("cannot read {name} of"), &error)),
        }
    }

    fn list(&mut self, folder: &str) -> Result<Vec<String>, TargetFault> {
        let mut names = Vec::new();
        let listed = collect(&self.root, folder, &mut names);
        listed.map_err(|error| self.failed("cannot read the folder", &error))?;
        names.sort();
        Ok(names)
    }

    fn folders(&mut self) -> Result<Vec<String>, TargetFault> {
        let read = || -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in fs::read_dir(&self.root)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    names.extend(entry.file_name().into_string());
                }
            }
            Ok(names)
        };
        // A folder that is missing with all above it is a disk that is not there.
        if !self.root.exists() && self.root.parent().is_some_and(Path::is_dir) {
            return Ok(Vec::new());
        }
        let mut names = read().map_err(|error| self.failed("cannot read the folder", &error))?;
        names.sort();
        Ok(names)
    }

    fn remove(&mut self, name: &str) -> Result<(), TargetFault> {
        let path = self.root.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(self.failed(&format!("cannot remove {name} of"), &error));
            }
            _ => {}
        }
        // Folders that are empty by now.
        for folder in path.ancestors().skip(1) {
            if folder == self.root || fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// Adds the names of the files below `folder` to `names`.
fn collect(root: &Path, folder: &str, names: &mut Vec<String>) -> io::Result<()> {
    let entries = match fs::read_dir(root.join(folder)) {
        Err(error) if error.kind() == ErrorKind::NotFound && !folder.is_empty() => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if name.starts_with('.') {
            continue;
        }
        let name = match folder {
            "" => name,
            folder => format!("{folder}/{name}"),
        };
        match entry.file_type()?.is_dir() {
            true => collect(root, &name, names)?,
            false => names.push(name),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denied_permission_tells_of_the_sandbox() {
        let target = FileTarget::new("/mnt/copies".into());
        let told = |kind: ErrorKind| target.failed("cannot write to", &kind.into()).text();
        let denied = told(ErrorKind::PermissionDenied);
        assert!(denied.contains("restart the server"), "{denied}");
        assert!(!told(ErrorKind::StorageFull).contains("restart"));
    }
}
