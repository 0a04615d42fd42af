//! `sampan build`, with what it needs to know of the capabilities' settings and files.

use crate::capabilities;
use crate::migrations::migrations_of;
use sampan_host::capability::{ProjectCheck, ProjectSettings};
use sampan_project::Project;
use sampan_project::build::{BuildFlags, Built, PackedSettings};
use sampan_project::config::{FILE, read_file};
use sampan_serve::files;

/// Writes an executable with a project in it.
///
/// # Errors
/// The fault of the project, with its place; or why the file cannot be written.
pub fn build(flags: &BuildFlags) -> Result<Built, String> {
    sampan_project::build::build(flags, check)
}

/// Looks for what would keep the project from starting anywhere. Variables of the environment have no values: those of
/// the machine that serves it count.
fn check(project: &Project) -> Result<PackedSettings, String> {
    let (all, has_variables) = read_file(project.root(), capabilities::sections())?;
    let settings = ProjectSettings {
        all: &all,
        root: project.root(),
        scratch: None,
    };
    let mut check = ProjectCheck::new(settings, project.sources());
    check.has_variables = has_variables;
    capabilities::ordered().for_each(|one| (one.check)(&mut check));
    if let Some(fault) = check.faults.into_iter().next() {
        return Err(fault);
    }
    let migrations = migrations_of(project)?;
    sampan_db::migrate::check(&migrations).map_err(|error| error.to_string())?;
    let folder = all.of(&files::SECTION);
    Ok(PackedSettings {
        static_folder: folder.text("folder").trim_end_matches('/').to_owned(),
        written: capabilities::ordered()
            .flat_map(|one| (one.folders)(&settings))
            .map(|folder| folder.path)
            .collect(),
        database: all.of(&sampan_db::SECTION).text("path").to_owned(),
        warnings: capabilities::ordered()
            .flat_map(|one| (one.packing)(&all, FILE))
            .collect(),
    })
}
