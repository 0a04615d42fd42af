//! `sampan build`: one executable from this program and a project.
//!
//! [`build`] checks the project, collects its files (`collect`) with the modules
//! that it reaches (`reach`), compresses what is served (`compress`), and writes the executable with the archive
//! behind it (`write`). The same files give the same bytes: paths are sorted, and no time and no name of this machine
//! is kept.

mod base;
mod collect;
mod compress;
mod files;
mod lua_requires;
mod reach;
mod write;

use crate::archive::format::INDEX_BYTES_MAX;
use crate::files::Project;
use base::Base;
use std::path::{Path, PathBuf};

/// The most that the files of a project may have together, in bytes.
const ARCHIVE_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024 - INDEX_BYTES_MAX;

/// The options of `sampan build`.
#[derive(Clone, Debug)]
pub struct BuildFlags {
    /// The project: its folder, or the file to run.
    pub path: PathBuf,
    /// The file to write.
    pub output: PathBuf,
    /// True if a file of that name that is no earlier build is replaced.
    pub force: bool,
    /// The executable that the project is appended to, instead of this program.
    pub target: Option<PathBuf>,
    /// Files and folders of the project that stay out.
    pub exclude: Vec<String>,
}

/// The result of a build.
#[derive(Clone, Debug)]
pub struct Built {
    /// The length of the file.
    pub bytes: u64,
    /// The length of the archive in it.
    pub archive_bytes: u64,
    /// The number of files of the project that it has.
    pub files: usize,
    /// The number of encoded forms of static files that were made.
    pub compressed: usize,
    /// The parts of the project's folder that were left out.
    pub left_out: Vec<String>,
    /// The warnings for the developer.
    pub warnings: Vec<String>,
}

/// The settings that matter when a project is packed.
#[derive(Clone, Debug)]
pub struct PackedSettings {
    /// The folder of static files, relative to the project's.
    pub static_folder: String,
    /// The folders in which scripts and the server write, and the files of private keys.
    pub written: Vec<PathBuf>,
    /// The files of the database.
    pub databases: Vec<PathBuf>,
    /// The warnings for the developer.
    pub warnings: Vec<String>,
}

/// Returns the scripts of its own that a project reaches from the file that is run, with their texts.
///
/// # Errors
/// An import that the project cannot load without finds nothing, or a file is no JavaScript: the line, and why.
pub fn scripts(project: &Project) -> Result<Vec<(String, String)>, String> {
    reach::scripts(project)
}

/// Writes an executable with a project in it. `check` reads the settings and looks for what would keep the project from
/// starting anywhere. `load` loads the project, and gives a warning if it may load only elsewhere.
///
/// # Errors
/// The fault of the project, with its place; or why the file cannot be written. Nothing is left under its name
/// then.
pub fn build(
    flags: &BuildFlags,
    check: impl FnOnce(&Project) -> Result<PackedSettings, String>,
    load: impl FnOnce(&Project) -> Result<Option<String>, String>,
) -> Result<Built, String> {
    let project = Project::find(&flags.path)?;
    let output = write::Output::at(&flags.output, flags.force)?;
    let base = Base::open(flags.target.as_deref())?;
    let settings = check(&project)?;
    let reached = reach::reached(&project)?;
    output.check_outside(project.root(), reached.files.keys())?;
    let not_loaded = load(&project)?;
    let skipped = collect::Skipped {
        written: settings.written.clone(),
        databases: settings.databases.clone(),
        output: output.path().to_owned(),
        exclude: &flags.exclude,
    };
    let collected = collect::collect(project.root(), &settings.static_folder, &skipped)?;
    let (mut left_out, mut warnings) = (collected.left_out, settings.warnings);
    warnings.extend(reached.warnings);
    warnings.extend(not_loaded);
    for path in reached.files.keys() {
        let mut excluded = collected.excluded.iter();
        if excluded.any(|excluded| Path::new(path).starts_with(excluded)) {
            left_out.retain(|left_out| left_out != path);
            warnings.push(format!(
                "{path} is packed in spite of --exclude: the modules of the project need it"
            ));
        }
    }
    let mut files = collected.files;
    files.extend(reached.files);
    let total: u64 = files.values().map(|bytes| bytes.len() as u64).sum();
    if total > ARCHIVE_BYTES_MAX {
        return Err(format!(
            "the project has {total} bytes; an executable takes at most {ARCHIVE_BYTES_MAX}: leave files out with \
             --exclude"
        ));
    }
    let count = files.len();
    let compressed = compress::compress(
        &mut files,
        &settings.static_folder,
        &collected.stale_encodings,
    );
    let written = output.write(&base, project.entry(), &files, reached.links)?;
    Ok(Built {
        bytes: written.bytes,
        archive_bytes: written.bytes - base.len(),
        files: count,
        compressed,
        left_out,
        warnings,
    })
}
