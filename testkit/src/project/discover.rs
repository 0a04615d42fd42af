//! The files of a project's tests.

use super::limits::FILES_MAX;
use sampan_project::{Language, Project};
use std::path::{Path, PathBuf};

/// The folder that they are in.
const FOLDER: &str = "tests";

/// The files below `tests/` whose name ends in `.test.` and the ending of a language that the engines load, sorted.
///
/// # Errors
/// There are none.
pub(super) fn files(project: &Project) -> Result<Vec<String>, String> {
    let mut files = project.sources().list(FOLDER);
    files.retain(|path| is_test(path));
    if files.is_empty() {
        return Err(format!(
            "there are no tests in {}: make a file such as {FOLDER}/app.test.{}; only files called *.test.lua, \
             *.test.js, *.test.ts or the like are run",
            project.root().join(FOLDER).display(),
            project.entry().rsplit('.').next().unwrap_or("lua"),
        ));
    }
    if files.len() > FILES_MAX {
        return Err(format!(
            "there are {} files of tests; at most {FILES_MAX} are run",
            files.len()
        ));
    }
    Ok(files)
}

/// The project that `path` names, and the file of its tests that is to be run alone, where it names one.
///
/// # Errors
/// It is a file below `tests/` that is none of tests, or there is no project above it.
pub fn locate(path: &Path) -> Result<(PathBuf, Option<String>), String> {
    let whole = match path.canonicalize() {
        Ok(whole) if whole.is_file() => whole,
        // The folder of the tests stands for all of them.
        Ok(whole) if whole.ends_with(FOLDER) && Project::find(&whole).is_err() => {
            let root = whole.parent().filter(|root| Project::find(root).is_ok());
            return Ok((root.unwrap_or(path).to_owned(), None));
        }
        // What is wrong with it is told when the project is looked for.
        _ => return Ok((path.to_owned(), None)),
    };
    let shown = path.display();
    let is_named_test = is_test(&whole.to_string_lossy());
    let folders = whole.ancestors().skip(1);
    let mut roots = folders
        .filter(|folder| folder.ends_with(FOLDER))
        .filter_map(Path::parent);
    let Some(root) = roots.find(|root| Project::find(root).is_ok()) else {
        return match is_named_test {
            true => Err(format!(
                "{shown} is in no folder {FOLDER}/ of a project: name the project's folder, and what to run with \
                 --filter"
            )),
            false => Ok((path.to_owned(), None)),
        };
    };
    if !is_named_test {
        return Err(format!(
            "{shown} is no file of tests: its name must end in .test.lua, .test.js, .test.ts or the like"
        ));
    }
    let file = whole.strip_prefix(root).unwrap_or(&whole);
    Ok((root.to_owned(), Some(file.to_string_lossy().into_owned())))
}

fn is_test(path: &str) -> bool {
    let stem = path.rsplit_once('.').map_or("", |(stem, _)| stem);
    stem.ends_with(".test") && Language::of(path).is_some()
}
