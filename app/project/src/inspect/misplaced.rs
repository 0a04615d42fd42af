//! Folders and files that are not read, because those that are read have another name.

use super::finding::Finding;
use super::unused::names;
use crate::files::Project;
use std::fs;
use std::path::Path;

/// The folder of texts.
const LOCALES: &str = "locales";

/// The endings of files of texts elsewhere.
const TEXT_ENDINGS: [&str; 7] = ["json", "yaml", "yml", "po", "ini", "properties", "xml"];

/// Folders that projects elsewhere have, and the things that lie in one of ours.
const FOLDERS: [(&str, &str, &str); 8] = [
    ("migration", "migrations", "migrations"),
    ("template", "templates", "templates"),
    ("views", "templates", "templates"),
    ("locale", LOCALES, "texts"),
    ("i18n", LOCALES, "texts"),
    ("static", "public", "static files"),
    ("test", "tests", "tests"),
    ("spec", "tests", "tests"),
];

/// Warns of folders beside the program that nothing reads, where the folder that would be read is missing, and of files
/// of texts in another form. `static_folder` is the folder of static files, `skipped` are folders of other things,
/// `scripts` the scripts with their texts.
pub fn findings(
    project: &Project,
    static_folder: &str,
    skipped: &[&str],
    scripts: &[(String, String)],
) -> Vec<Finding> {
    let root = project.root();
    let is_named = |folder: &str| scripts.iter().any(|(_, text)| names(text, folder));
    let unread = FOLDERS.into_iter().filter_map(|(name, right, what)| {
        let right = match right {
            "public" => static_folder,
            right => right,
        };
        let is_free = name != right && !skipped.contains(&name);
        let is_unread = is_free && has_files(&root.join(name)) && !root.join(right).exists();
        (is_unread && !is_named(name)).then(|| {
            let text = format!("it is not read: {what} are in {right}/");
            Finding::warning(&format!("{name}/"), None, text)
        })
    });
    let texts = project.sources().list(LOCALES);
    let texts = texts.iter().filter_map(|path| {
        let (stem, ending) = path.rsplit_once('.')?;
        let is_elsewhere = TEXT_ENDINGS
            .iter()
            .any(|known| ending.eq_ignore_ascii_case(known));
        let name = path.rsplit('/').next().unwrap_or(path);
        (is_elsewhere && !is_named(name) && !is_named(LOCALES)).then(|| {
            let text = format!("it is not read: texts are in TOML files, such as {stem}.toml");
            Finding::warning(path, None, text)
        })
    });
    unread.chain(texts).collect()
}

/// Reports whether there is a folder with something in it.
fn has_files(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}
