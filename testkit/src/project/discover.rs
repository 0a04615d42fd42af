//! The files of a project's tests.

use super::limits::FILES_MAX;
use sampan_app::{Language, Project};

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
            "there are no tests in {}: make a file such as {FOLDER}/app.test.{}",
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

fn is_test(path: &str) -> bool {
    let stem = path.rsplit_once('.').map_or("", |(stem, _)| stem);
    stem.ends_with(".test") && Language::of(path).is_some()
}
