//! The migrations of a project: the files in a folder of its own, or in an archive.

use sampan_db::migrate::Migrations;
use sampan_host::Sources;
use sampan_project::Project;
use sampan_project::archive::Archive;
use sampan_project::files::MIGRATIONS;
use std::path::Path;

/// The migrations in the folder of a project, of which there need be none.
///
/// # Errors
/// There is a file in the place of their folder.
pub fn migrations_in(root: &Path) -> Result<Migrations, String> {
    let folder = root.join(MIGRATIONS);
    if folder.exists() && !folder.is_dir() {
        return Err(format!(
            "{} is a file: make it a folder with a file such as 0001_users.sql for each migration",
            folder.display()
        ));
    }
    Ok(Migrations::in_folder(folder))
}

/// The migrations in an archive.
pub(crate) fn packed_migrations(archive: &Archive) -> Migrations {
    let names = archive.list(MIGRATIONS);
    let files = names.into_iter().filter_map(|path| {
        let name = path.strip_prefix(MIGRATIONS)?.strip_prefix('/')?;
        let text = archive.read(&path)?;
        (!name.contains('/')).then(|| (name.to_owned(), text))
    });
    Migrations::packed(MIGRATIONS, files.collect())
}

/// The migrations of a project, of which there need be none.
///
/// # Errors
/// There is a file in the place of their folder.
pub(crate) fn migrations_of(project: &Project) -> Result<Migrations, String> {
    match project.archive() {
        Some(archive) => Ok(packed_migrations(archive)),
        None => migrations_in(project.root()),
    }
}
