//! `sampan build`, with what it needs to know of the capabilities' settings and files.

use crate::capabilities::SECTIONS;
use crate::migrations::migrations_of;
use crate::process_parts::{catalogs_of, templates_of};
use sampan_i18n::I18nSettings;
use sampan_project::Project;
use sampan_project::build::{BuildFlags, Built, PackedSettings};
use sampan_project::config::{FILE, read_file};
use sampan_serve::files;

/// Writes an executable with a project in it.
///
/// # Errors
/// What is wrong with the project, with its place; or why the file cannot be written.
pub fn build(flags: &BuildFlags) -> Result<Built, String> {
    sampan_project::build::build(flags, check)
}

/// Looks for what would keep the project from starting anywhere. Variables of the environment have no values: those of
/// the machine that serves it count.
fn check(project: &Project) -> Result<PackedSettings, String> {
    let (all, has_variables) = read_file(project.root(), SECTIONS)?;
    templates_of(project)?;
    if !has_variables {
        let i18n = I18nSettings::from_settings(&all.of(&sampan_i18n::SECTION));
        catalogs_of(project, &i18n)?;
    }
    let migrations = migrations_of(project)?;
    sampan_db::migrate::check(&migrations).map_err(|error| error.to_string())?;
    let mut warnings = Vec::new();
    if !all.of(&sampan_crypto::SECTION).list("keys").is_empty() {
        warnings.push(format!(
            "{FILE} has secret keys, which everybody can read who has the built file: SAMPAN_SECRETS_KEYS keeps them \
             out of it"
        ));
    }
    let folder = all.of(&files::SECTION);
    Ok(PackedSettings {
        static_folder: folder.text("folder").trim_end_matches('/').to_owned(),
        storage: all.of(&sampan_files::SECTION).text("storage").to_owned(),
        database: all.of(&sampan_db::SECTION).text("path").to_owned(),
        warnings,
    })
}
