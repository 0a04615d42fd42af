//! The files of one worker, by their paths in `public/` and by the names that handlers give.

use crate::files::answer::{self, Freshness, ServedFile};
use crate::files::cache::{CacheLimits, FileCache, Found};
use crate::files::folder::Folder;
use crate::files::paths;
use crate::files::settings::{FOLDER, StaticSettings};
use crate::files::stored::StoredFile;
use crate::routing::normal_form::normal_form;
use sampan_host::{Error, ErrorKind};
use sampan_http::{Answer, Request};
use sampan_project::Archive;
use sampan_project::media::SIBLINGS;
use std::cell::{Cell, OnceCell};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// The value that lets clients keep a file for ever.
const FOREVER: &str = "max-age=31536000, immutable";

/// The parameter of a URL that names the version of a file.
const VERSION: &str = "v=";

/// The prefix of paths of files begin with that scripts have kept.
pub const STORAGE: &str = "storage";

/// Between a folder that a script names and the path of a file below it, where both are one text. No path has it.
const BELOW: &str = "//";

/// The files of one worker.
pub struct StaticFiles {
    settings: StaticSettings,
    /// The folder of those that are served by their paths, if the project has one, and those that are known.
    public: Option<Folder>,
    of_public: FileCache,
    /// The folders of those that handlers name, and those that are known.
    project: Option<Folder>,
    storage: OnceCell<Folder>,
    storage_path: PathBuf,
    named: FileCache,
    /// The project's folder, empty if it has none.
    root: PathBuf,
    /// The file of the database.
    database: PathBuf,
    /// True if the database is below the folder of the files that are served by their paths.
    is_database_public: bool,
    /// True if it has been said why a path that a script named is not sent.
    has_warned: Cell<bool>,
    /// The time of the worker's last tick.
    now_millis: Cell<u64>,
}

/// A file in `public/`, or a folder that has a page.
pub(crate) enum Served {
    File(Rc<StoredFile>),
    /// The page for browsers where nothing is.
    Fallback(Rc<StoredFile>),
    Folder,
}

impl StaticFiles {
    /// The files of a project in an archive or in the folder `root`, and of its storage folder, which need not exist
    /// yet; none where a path is empty. Files of the database are not among them.
    ///
    /// # Errors
    /// A folder cannot be read: one line that says which.
    pub fn open(
        root: &Path,
        archive: Option<&Arc<Archive>>,
        storage: &Path,
        database: &Path,
        settings: StaticSettings,
    ) -> Result<Rc<Self>, Error> {
        let limits = CacheLimits {
            check_millis: settings.check_millis,
            file_bytes_max: settings.file_bytes_max,
            cache_bytes_max: settings.cache_bytes_max,
            makes_forms: settings.compress,
        };
        // A script sees what it has just written.
        let always_checked = CacheLimits {
            check_millis: 0,
            makes_forms: false,
            ..limits
        };
        let open = |path: &Path| {
            Folder::open(path).map_err(|error| {
                let text = format!("cannot open the folder {}: {error}", path.display());
                Error::new(ErrorKind::Load, text)
            })
        };
        let (mut public, mut project) = (None, None);
        if let Some(archive) = archive {
            public = Folder::packed(archive, &settings.folder);
            project = Folder::packed(archive, "");
        } else if !root.as_os_str().is_empty() {
            public = open(&root.join(&settings.folder))?;
            project = open(root)?;
        }
        let is_database_public = matches!(public, Some(Folder::Disk(_)))
            && paths::leads_below(database, &root.join(&settings.folder));
        let files = Self {
            settings,
            public,
            of_public: FileCache::new(SIBLINGS, limits),
            project,
            storage: OnceCell::new(),
            storage_path: storage.to_owned(),
            named: FileCache::new(&[], always_checked),
            root: root.to_owned(),
            database: database.to_owned(),
            is_database_public,
            has_warned: Cell::new(false),
            now_millis: Cell::new(0),
        };
        files.check_not_found()?;
        Ok(Rc::new(files))
    }

    /// Takes note of the time, on any clock that goes on.
    pub(crate) fn tick(&self, now_millis: u64) {
        self.now_millis.set(now_millis);
        self.of_public.close_files();
        self.named.close_files();
    }

    /// Finds the file for a path in normal form names in `public/`.
    ///
    /// # Errors
    /// It is there, but cannot be read at the moment.
    #[inline]
    pub(crate) fn find(&self, path: &str) -> io::Result<Option<Served>> {
        match &self.public {
            None => Ok(None),
            Some(public) => self.find_in(public, path),
        }
    }

    fn find_in(&self, public: &Folder, path: &str) -> io::Result<Option<Served>> {
        if self.is_database_public
            && let Some(file) = paths::of_url(path)
            && paths::is_of_database(
                &self.root.join(&self.settings.folder).join(file),
                &self.database,
            )
        {
            return Ok(None);
        }
        let now = self.now_millis.get();
        let files = &self.of_public;
        let found = files.find(public, path, now, || paths::of_url(path))?;
        Ok(match found {
            Found::File(file) => Some(Served::File(file)),
            Found::Folder => Some(Served::Folder),
            Found::Nothing => None,
        })
    }

    /// The answer to a request for a file that no middleware wraps.
    pub(crate) fn answer(&self, file: &StoredFile, request: &Request, how: Freshness) -> Answer {
        answer::answer(file, request, how, Some(self.cache_control(how)))
    }

    /// Answers a request by a file of the folder alone: no route, guard or middleware is asked. `None` if its path is
    /// that of no file.
    ///
    /// # Errors
    /// The file is there, but cannot be read at the moment.
    pub fn answer_by_path(&self, request: &Request) -> io::Result<Option<Answer>> {
        let path = normal_form(request.path());
        Ok(match self.find(&path)? {
            Some(Served::File(file)) => {
                Some(self.answer(&file, request, self.freshness(&file, request, &path)))
            }
            Some(Served::Fallback(_) | Served::Folder) | None => None,
        })
    }

    /// A file that middleware wraps, for the end of their chain. Only the client may keep it: they may depend on
    /// who asks.
    pub(crate) fn wrapped(&self, file: Rc<StoredFile>, freshness: Freshness) -> ServedFile {
        ServedFile {
            path: format!("{}/{}", self.settings.folder, file.path),
            file,
            cache_control: Some(answer::private(self.cache_control(freshness))),
            freshness,
        }
    }

    /// The longest time for which a client may keep a file that was asked for by a path in normal form.
    pub(crate) fn freshness(&self, file: &StoredFile, request: &Request, path: &str) -> Freshness {
        let asked = request
            .query()
            .and_then(|query| query.strip_prefix(VERSION));
        let is_version = asked.is_some_and(|version| version == file.plain.version());
        let is_immutable = match &self.settings.immutable {
            Some(patterns) => patterns.iter().any(|pattern| pattern.wraps(path)),
            None => paths::has_hash(&file.path),
        };
        if is_version || is_immutable {
            Freshness::Forever
        } else {
            Freshness::Ordinary
        }
    }

    fn cache_control(&self, freshness: Freshness) -> &str {
        match freshness {
            Freshness::Ordinary | Freshness::Fallback => &self.settings.cache_control,
            Freshness::Forever => FOREVER,
        }
    }

    /// The folder whose files are served, relative to the project's.
    pub(super) fn folder(&self) -> &str {
        &self.settings.folder
    }

    /// Reports whether nothing has been said yet about a path that a script named and that is not sent.
    pub(super) fn warns_first(&self) -> bool {
        !self.has_warned.replace(true)
    }

    /// Reports whether any file is served by its path.
    pub fn has_public(&self) -> bool {
        self.public.is_some()
    }

    /// The folder whose files are served, if it was named and is not there.
    pub fn missing_folder(&self) -> Option<&str> {
        let is_missing = self.public.is_none() && self.project.is_some();
        let is_named = self.settings.folder != FOLDER;
        (is_missing && is_named).then_some(&*self.settings.folder)
    }

    /// The file with a name that [`name_in`] made, or one relative to the project's folder; `storage/` is the storage
    /// folder, wherever that is. `None` if there is none.
    ///
    /// # Errors
    /// The path leads out of the folder, or the file cannot be read at the moment.
    pub(crate) fn named(&self, name: &str) -> Result<Option<ServedFile>, Error> {
        let (folder, path) = match name.split_once(BELOW) {
            Some((folder, path)) => (Some(folder), path),
            None => (None, name),
        };
        if let Some(wrong) = folder
            .into_iter()
            .chain([path])
            .find(|path| !paths::is_below(path))
        {
            return Err(Error::script(format!(
                "{wrong:?} is no path of a file below the project's folder: it has no '..', no hidden names and no \
                 '/' in front"
            )));
        }
        match self.find_named(folder, path, name) {
            Ok(Found::File(file)) => Ok(Some(ServedFile {
                path: name.to_owned(),
                file,
                cache_control: None,
                freshness: Freshness::Ordinary,
            })),
            Ok(_) => Ok(None),
            Err(error) => Err(unreadable(path, &error)),
        }
    }

    /// The name of a file that may be sent wherever its path comes from: one of `public/`, out of which no link leads,
    /// or of the storage folder.
    pub(super) fn open_name(&self, path: &str) -> Option<String> {
        let (folder, _) = path.split_once('/')?;
        let public = path.strip_prefix(&*self.settings.folder);
        match public.and_then(|rest| rest.strip_prefix('/')) {
            Some(rest) => name_in(&self.settings.folder, rest),
            None => (folder == STORAGE && paths::is_below(path)).then(|| path.to_owned()),
        }
    }

    /// The folder whose files are served, if the database is in it or below it.
    pub fn folder_with_database(&self) -> Option<&str> {
        self.is_database_public.then_some(&*self.settings.folder)
    }

    /// Reports whether a name is that of the database, of what SQLite keeps beside it, or of one that was moved away:
    /// `data.db-wal`.
    pub(super) fn is_of_database(&self, name: &str) -> bool {
        let name = name.replace(BELOW, "/");
        let path = match name.split_once('/') {
            Some((STORAGE, below)) => self.storage_path.join(below),
            _ => self.root.join(&name),
        };
        paths::is_of_database(&path, &self.database)
    }

    fn find_named(&self, folder: Option<&str>, path: &str, name: &str) -> io::Result<Found> {
        let whole = folder.unwrap_or(path);
        let (root, below) = match whole.split_once('/').unwrap_or((whole, "")) {
            (STORAGE, below) => (self.storage()?, below),
            _ => (self.project.as_ref(), whole),
        };
        let (root, below) = match folder {
            // The same folder that URLs name, wherever it is.
            Some(folder) if *folder == *self.settings.folder => (self.public.as_ref(), ""),
            _ => (root, below),
        };
        let Some(root) = root else {
            return Ok(Found::Nothing);
        };
        let opened;
        let (root, path) = match folder {
            None => (root, below),
            Some(_) if below.is_empty() => (root, path),
            Some(_) => match root.below(below)? {
                None => return Ok(Found::Nothing),
                Some(folder) => {
                    opened = folder;
                    (&opened, path)
                }
            },
        };
        let now = self.now_millis.get();
        let file = || Some(path.to_owned());
        self.named.find(root, name, now, file)
    }

    /// The storage folder, once there is one.
    fn storage(&self) -> io::Result<Option<&Folder>> {
        if self.storage.get().is_none()
            && !self.storage_path.as_os_str().is_empty()
            && let Some(opened) = Folder::open(&self.storage_path)?
        {
            return Ok(Some(self.storage.get_or_init(|| opened)));
        }
        Ok(self.storage.get())
    }

    /// The URL of a file in `public/`, with the version of its content.
    ///
    /// # Errors
    /// There is no such file.
    pub fn asset(&self, name: &str) -> Result<String, Error> {
        let folder = &self.settings.folder;
        let mut url = paths::to_url(name.strip_prefix('/').unwrap_or(name));
        match self.find(&normal_form(&url)) {
            Ok(Some(Served::File(file))) => {
                let version = file.plain.version();
                url.reserve_exact(1 + VERSION.len() + version.len());
                url.push('?');
                url.push_str(VERSION);
                url.push_str(version);
                Ok(url)
            }
            Ok(_) => Err(Error::script(format!(
                "there is no file {name:?} in the folder {folder}"
            ))),
            Err(error) => Err(unreadable(name, &error)),
        }
    }
}

/// The name of a file that is in a folder and that no link takes out of it. `None` where the path can be none below it:
/// a client may have sent it.
pub(super) fn name_in(folder: &str, path: &str) -> Option<String> {
    paths::is_below(path).then(|| format!("{folder}{BELOW}{path}"))
}

/// The error for a file that is there and cannot be read.
pub(crate) fn unreadable(path: &str, error: &io::Error) -> Error {
    let text = format!("cannot read the file {path}: {error}");
    Error::new(ErrorKind::Unavailable, text)
}

mod pages;
