//! The folders of a project on the disk: the project itself, to read, and its storage folder, to keep things in.
//! Nothing outside of them is reached: every path is opened by `cap-std`, which asks the system to stay below the
//! folder (`openat2` with `RESOLVE_BENEATH`). The files of a project may lie in an archive instead of a folder
//! ([`PackedFiles`]).

use crate::limits::{FormLimits, INLINE_BYTES_MAX, LIST_MAX};
use crate::packed::FileStatus;
use crate::path::{self, OWN_FOLDER};
use crate::temp;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;
use sampan_host::sources::{FileReader, PackedFiles};
use sampan_host::{Error, ErrorKind};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The point at which a change of a file is reported as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The moment at which it is on the disk.
    Full,
    /// At once; the last moments may be lost with the power.
    Normal,
}

/// The folders of files, as the configuration says.
#[derive(Clone, Debug)]
pub struct FilesConfig {
    /// The project's folder; empty for a project that has none.
    pub project: PathBuf,
    /// The files of the project, where they are not in that folder.
    pub packed: Option<Arc<dyn PackedFiles>>,
    /// The storage folder. It is made when it is needed.
    pub storage: PathBuf,
    /// The folder of files without a name; below the storage folder unless given.
    pub temp: Option<PathBuf>,
    /// The point at which a change is reported as done.
    pub durability: Durability,
    /// The limits of forms with files.
    pub forms: FormLimits,
}

/// The root of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    Storage,
    Project,
}

/// The folders, opened when they are first needed. All workers of a process share them.
#[derive(Debug)]
pub struct Storage {
    config: FilesConfig,
    storage: OnceLock<Dir>,
    /// The folder of what is not complete, below the storage folder.
    own: OnceLock<Dir>,
    project: OnceLock<Dir>,
    temp: OnceLock<Dir>,
}

impl Storage {
    /// The folders of a project.
    pub fn new(config: FilesConfig) -> Self {
        Self {
            config,
            storage: OnceLock::new(),
            own: OnceLock::new(),
            project: OnceLock::new(),
            temp: OnceLock::new(),
        }
    }

    /// Removes what a process left behind that was killed between two steps of a write.
    pub fn clean(&self) {
        let folders = [self.own_path(), self.temp_path()];
        let entries = folders
            .into_iter()
            .filter_map(|path| std::fs::read_dir(path).ok());
        for entry in entries.flatten().filter_map(Result::ok) {
            if entry.file_name().to_string_lossy().starts_with(".sampan-") {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Removes all files.
    pub fn empty(&self) {
        let entries = std::fs::read_dir(&self.config.storage);
        for entry in entries.into_iter().flatten().flatten() {
            // The folder of what is not complete stays: it is open.
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = entry.path();
            let _ = match path.is_dir() {
                true => std::fs::remove_dir_all(path),
                false => std::fs::remove_file(path),
            };
        }
    }

    pub(crate) fn forms(&self) -> &FormLimits {
        &self.config.forms
    }

    fn own_path(&self) -> PathBuf {
        self.config.storage.join(OWN_FOLDER)
    }

    fn temp_path(&self) -> PathBuf {
        let temp = self.config.temp.clone();
        temp.unwrap_or_else(|| self.own_path())
    }

    fn open<'a>(cell: &'a OnceLock<Dir>, path: &Path, is_made: bool) -> io::Result<&'a Dir> {
        if let Some(dir) = cell.get() {
            return Ok(dir);
        }
        if path.as_os_str().is_empty() {
            return Err(io::Error::other("this project has no folder"));
        }
        if is_made {
            std::fs::create_dir_all(path)?;
        }
        let dir = Dir::open_ambient_dir(path, ambient_authority())?;
        Ok(cell.get_or_init(|| dir))
    }

    /// The archive that has the files below a root.
    fn packed(&self, root: Root) -> Option<&dyn PackedFiles> {
        let packed = self.config.packed.as_deref();
        packed.filter(|_| root == Root::Project)
    }

    /// The folder to read below.
    fn root(&self, root: Root) -> io::Result<&Dir> {
        match root {
            Root::Storage => Self::open(&self.storage, &self.config.storage, false),
            Root::Project => Self::open(&self.project, &self.config.project, false),
        }
    }

    /// The storage folder, which is made.
    fn storage(&self) -> io::Result<&Dir> {
        let path = &self.config.storage;
        let is_new = self.storage.get().is_none() && !path.exists();
        let storage = Self::open(&self.storage, path, true)?;
        if is_new && self.config.durability == Durability::Full {
            sync_folder(&Dir::open_ambient_dir(
                path.join(".."),
                ambient_authority(),
            )?)?;
        }
        Ok(storage)
    }

    fn own(&self) -> io::Result<&Dir> {
        self.storage()?;
        Self::open(&self.own, &self.own_path(), true)
    }

    fn temp(&self) -> io::Result<&Dir> {
        self.storage()?;
        Self::open(&self.temp, &self.temp_path(), true)
    }

    /// A file without a name.
    pub(crate) fn unnamed(&self) -> Result<File, Error> {
        let made = self.temp().and_then(temp::unnamed);
        made.map_err(|error| fault("a temporary file", &error))
    }

    /// Opens a file to be read, and says how long it is.
    pub(crate) fn open_file(&self, root: Root, path: &str) -> Result<(FileReader, u64), Error> {
        let path = path::check(path)?;
        if let Some(files) = self.packed(root) {
            let absent = || match files.names(path) {
                Some(_) => io::ErrorKind::IsADirectory,
                None => io::ErrorKind::NotFound,
            };
            let opened = files.open(path);
            return opened.ok_or_else(|| fault(path, &absent().into()));
        }
        let open = || {
            let mut options = OpenOptions::new();
            // A pipe would wait for its other end.
            let flags = OFlags::NONBLOCK.bits() as i32;
            options.read(true).custom_flags(flags);
            let file = self.root(root)?.open_with(path, &options)?;
            let metadata = file.metadata()?;
            if !metadata.is_file() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            let reader: FileReader = Box::new(file.into_std());
            Ok((reader, metadata.len()))
        };
        open().map_err(|error| fault(path, &error))
    }

    /// The bytes of a file.
    pub(crate) fn read(&self, root: Root, path: &str, bytes_max: u64) -> Result<Vec<u8>, Error> {
        let (file, length) = self.open_file(root, path)?;
        if length > bytes_max {
            return Err(too_large(path, length, bytes_max));
        }
        let mut bytes = Vec::with_capacity(length as usize);
        // It may grow meanwhile.
        let read = file.take(bytes_max + 1).read_to_end(&mut bytes);
        read.map_err(|error| fault(path, &error))?;
        if bytes.len() as u64 > bytes_max {
            return Err(too_large(path, bytes.len() as u64, bytes_max));
        }
        Ok(bytes)
    }

    /// Replaces a file, or makes it, with its folders.
    pub(crate) fn write(&self, path: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = path::check(path)?;
        let mut file = self.unnamed()?;
        let written = file.write_all(bytes);
        written.map_err(|error| fault(path, &error))?;
        self.publish(&mut file, bytes.len() as u64, path)
    }

    /// Gives the first `length` bytes of a file of [`Storage::unnamed`] a name.
    pub(crate) fn publish(&self, file: &mut File, length: u64, path: &str) -> Result<(), Error> {
        let path = path::check(path)?;
        let (parent, name) = path::split(path);
        let mut publish = || {
            let (own, folder) = (self.own()?, self.made_folder(parent)?);
            temp::publish(file, length, own, &folder, name, self.config.durability)
        };
        publish().map_err(|error| fault(path, &error))
    }

    /// A folder below the storage folder.
    fn folder(&self, path: &str) -> io::Result<Dir> {
        match path {
            "" => self.storage()?.try_clone(),
            path => self.storage()?.open_dir(path),
        }
    }

    /// Returns the folder, which is created if it is missing.
    fn made_folder(&self, path: &str) -> io::Result<Dir> {
        match self.folder(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        // One by one: the name of each has to be on the disk in the one above.
        let ends = path.match_indices('/').map(|(at, _)| at);
        for end in ends.chain([path.len()]) {
            match self.storage()?.create_dir(&path[..end]) {
                Ok(()) => self.sync_parent(&path[..end])?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        self.folder(path)
    }

    /// Adds to the end of a file, which is made, with its folders.
    pub(crate) fn append(&self, path: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = path::check(path)?;
        let (parent, name) = path::split(path);
        let append = || {
            let folder = self.made_folder(parent)?;
            let is_new = !folder.try_exists(name)?;
            let mut options = OpenOptions::new();
            let flags = OFlags::NONBLOCK.bits() as i32;
            options.append(true).create(true).custom_flags(flags);
            let mut file = folder.open_with(name, &options)?.into_std();
            if !file.metadata()?.is_file() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            file.write_all(bytes)?;
            if self.config.durability == Durability::Full {
                file.sync_data()?;
                if is_new {
                    sync_folder(&folder)?;
                }
            }
            Ok(())
        };
        append().map_err(|error| fault(path, &error))
    }

    /// Returns the entry at a path; `None` if there is nothing.
    pub(crate) fn stat(&self, root: Root, path: &str) -> Result<Option<FileStatus>, Error> {
        let path = path::check(path)?;
        if let Some(files) = self.packed(root) {
            return Ok(FileStatus::packed(files, path));
        }
        match self.root(root).and_then(|dir| dir.metadata(path)) {
            Ok(metadata) => Ok(Some(FileStatus::of(&metadata))),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(fault(path, &error)),
        }
    }

    /// The names in a folder, sorted; those of folders end with `/`. The empty path is the storage folder itself.
    pub(crate) fn list(&self, root: Root, path: &str) -> Result<Vec<String>, Error> {
        let shown = if path.is_empty() {
            "the folder"
        } else {
            path::check(path)?
        };
        let list = || {
            if let Some(files) = self.packed(root) {
                let names = files.names(path);
                return names.ok_or_else(|| match files.open(path) {
                    Some(_) => io::ErrorKind::NotADirectory.into(),
                    None => io::ErrorKind::NotFound.into(),
                });
            }
            let dir = self.root(root)?;
            let entries = match path {
                "" => dir.entries()?,
                path => dir.read_dir(path)?,
            };
            let mut names = Vec::new();
            for entry in entries {
                let entry = entry?;
                let Ok(mut name) = entry.file_name().into_string() else {
                    continue;
                };
                if path.is_empty() && root == Root::Storage && name == OWN_FOLDER {
                    continue;
                }
                if entry.file_type()?.is_dir() {
                    name.push('/');
                }
                names.push(name);
                if names.len() > LIST_MAX {
                    let text = format!("it has more than {LIST_MAX} names");
                    return Err(io::Error::other(text));
                }
            }
            names.sort();
            Ok(names)
        };
        match list() {
            // It is made by the first write.
            Err(error) if path.is_empty() && is_absent(&error) => Ok(Vec::new()),
            listed => listed.map_err(|error| fault(shown, &error)),
        }
    }

    /// Removes a file or an empty folder. Tells whether there was one.
    pub(crate) fn remove(&self, path: &str) -> Result<bool, Error> {
        let path = path::check(path)?;
        let remove = || {
            let dir = self.storage()?;
            match dir.symlink_metadata(path)?.is_dir() {
                true => dir.remove_dir(path)?,
                false => dir.remove_file(path)?,
            }
            self.sync_parent(path)
        };
        match remove() {
            Ok(()) => Ok(true),
            Err(error) if is_absent(&error) => Ok(false),
            Err(error) => Err(fault(path, &error)),
        }
    }

    /// Gives a file or folder another path. A file that is there is replaced.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        let (from, to) = (path::check(from)?, path::check(to)?);
        let rename = || {
            let dir = self.storage()?;
            dir.symlink_metadata(from)?;
            let (parent, name) = path::split(to);
            dir.rename(from, &self.made_folder(parent)?, name)?;
            self.sync_parent(from)?;
            self.sync_parent(to)
        };
        rename().map_err(|error| fault(from, &error))
    }

    /// Makes a folder, and those around it.
    pub(crate) fn mkdir(&self, path: &str) -> Result<(), Error> {
        let path = path::check(path)?;
        let made = self.made_folder(path);
        made.map(drop).map_err(|error| fault(path, &error))
    }

    /// Has on the disk what the folder around a path says of it.
    fn sync_parent(&self, path: &str) -> io::Result<()> {
        if self.config.durability == Durability::Normal {
            return Ok(());
        }
        match self.folder(path::split(path).0) {
            // Another process has removed it meanwhile.
            Err(error) if is_absent(&error) => Ok(()),
            folder => sync_folder(&folder?),
        }
    }
}

/// Has the names in a folder on the disk.
pub(crate) fn sync_folder(folder: &Dir) -> io::Result<()> {
    #[cfg(test)]
    tests::note_sync(folder);
    folder.open(".")?.sync_all()
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// An error of the system in the words of the user, with a code.
#[cold]
pub(crate) fn fault(path: &str, error: &io::Error) -> Error {
    use io::ErrorKind as Kind;
    let (what, code) = match error.kind() {
        Kind::NotFound => ("it does not exist".to_owned(), "not_found"),
        Kind::AlreadyExists => ("it is there already".to_owned(), "exists"),
        Kind::IsADirectory => ("it is no file".to_owned(), "not_a_file"),
        Kind::NotADirectory => ("it is no folder".to_owned(), "not_a_folder"),
        Kind::DirectoryNotEmpty => ("the folder is not empty".to_owned(), "not_empty"),
        Kind::StorageFull | Kind::QuotaExceeded => ("the disk is full".to_owned(), "full"),
        Kind::FileTooLarge => ("the system allows no larger file".to_owned(), "full"),
        Kind::PermissionDenied => ("access is denied".to_owned(), "denied"),
        _ => (error.to_string(), "io"),
    };
    let kind = match code {
        "full" => ErrorKind::Status(507),
        _ => ErrorKind::Script,
    };
    Error::new(kind, format!("{path}: {what}")).with_code(code)
}

#[cold]
fn too_large(path: &str, length: u64, bytes_max: u64) -> Error {
    // A script that can wait does so instead.
    let (kind, advice) = match bytes_max {
        INLINE_BYTES_MAX => (ErrorKind::TooLong, "too large to be read without waiting"),
        _ => (
            ErrorKind::Script,
            "larger than memory_bytes_max allows: read it in pieces",
        ),
    };
    let text = format!("{path}: {length} bytes are {advice}");
    Error::new(kind, text).with_code("too_large")
}

#[cfg(test)]
mod tests;
