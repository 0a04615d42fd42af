//! The files of a project, wherever they are kept.

use std::fmt;
use std::io::Read;

/// The code of the error that scripts have as many files open as the process may have.
pub const FILES_FULL: &str = "files_full";

/// The files of a project, by their path relative to the project folder, with `/` between its parts.
pub trait Sources: Send + Sync {
    /// The bytes of a file; `None` if there is none, or if the path leads out of the project.
    fn read(&self, path: &str) -> Option<Vec<u8>>;

    /// The bytes of a script that is about to be loaded; what [`read`](Self::read) gives. Wrappers may note it.
    fn read_script(&self, path: &str) -> Option<Vec<u8>> {
        self.read(path)
    }

    /// The path of the file that `path` is, links followed; `None` where [`read`](Self::read) gives none.
    fn find(&self, path: &str) -> Option<String> {
        self.read(path).map(|_| path.to_owned())
    }

    /// The paths of all files below a folder, sorted. Hidden ones do not count. None where files cannot be listed.
    fn list(&self, _folder: &str) -> Vec<String> {
        Vec::new()
    }

    /// The names of the files in a folder, without those of folders in it; empty for the project's own. Hidden ones do
    /// not count. None where files cannot be listed.
    fn names_in(&self, _folder: &str) -> Vec<String> {
        Vec::new()
    }
}

/// The files of a project that lie in an archive. They do not change while the process runs.
pub trait PackedFiles: fmt::Debug + Send + Sync {
    /// The bytes of a file, and how many there are. `None` if there is none.
    fn open(&self, path: &str) -> Option<(FileReader, u64)>;

    /// The names in a folder, sorted; those of folders end with `/`. `None` if there is none.
    fn names(&self, folder: &str) -> Option<Vec<String>>;
}

/// A file that is read from its beginning.
pub type FileReader = Box<dyn Read + Send>;
