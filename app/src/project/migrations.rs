//! The migrations of a project: the files in a folder of its own, or in an archive.

use sampan_db::migrate::Migrations;
use sampan_host::Sources;
use sampan_project::archive::Archive;
use std::path::Path;

/// The folder in a project's folder that has its migrations.
pub(crate) const FOLDER: &str = "migrations";

/// The migrations in the folder of a project, of which there need be none.
///
/// # Errors
/// There is a file in the place of their folder.
pub(crate) fn migrations_of(root: &Path) -> Result<Migrations, String> {
    let folder = root.join(FOLDER);
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
    let names = archive.list(FOLDER);
    let files = names.into_iter().filter_map(|path| {
        let name = path.strip_prefix(FOLDER)?.strip_prefix('/')?;
        let text = archive.read(&path)?;
        (!name.contains('/')).then(|| (name.to_owned(), text))
    });
    Migrations::packed(FOLDER, files.collect())
}
