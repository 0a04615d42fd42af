//! The length of source files.

use super::tree::Tree;
use crate::error::Error;

/// The most lines of a source file that is part of the product or of a tool.
const SOURCE_LINES_MAX: usize = 400;

/// The most lines of any other file that is written by hand: tests, and files with an exception.
const FILE_LINES_MAX: usize = 800;

/// The folder of files that `cargo xtask codegen` writes is as long as the tables are.
const GENERATED_FOLDER: &str = "types/";

/// The reason of files that were longer before the rule: split them when they change.
const OLD: &str = "longer before the rule";

/// Source files that may be longer, and the reasons.
#[rustfmt::skip]
const EXCEPTIONS: &[(&str, &str)] = &[
    ("app/runtime/src/worker/loader.rs", OLD),
    ("bench/src/report/mod.rs", OLD),
    ("bench/src/routes/mod.rs", "the table of all measured routes"),
    ("capabilities/db/src/migrate/files.rs", OLD),
    ("capabilities/files/src/storage.rs", OLD),
    ("capabilities/i18n/src/catalog.rs", OLD),
    ("capabilities/log/src/logger.rs", OLD),
    ("capabilities/session/src/session.rs", OLD),
    ("capabilities/template/src/compile/survey.rs", OLD),
    ("capabilities/template/src/vm/loops.rs", OLD),
    ("capabilities/template/src/vm/mod.rs", "one loop over all instructions"),
    ("capabilities/validate/src/schema.rs", OLD),
    ("engine/host/src/request/multipart.rs", OLD),
    ("engine/http/src/response.rs", OLD),
    ("engine/js/src/vm/error.rs", OLD),
    ("engine/js_modules/src/resolve.rs", OLD),
    ("engine/lua/src/request/call.rs", OLD),
    ("engine/lua/src/request/object.rs", OLD),
    ("engine/lua/src/values/reader.rs", OLD),
    ("engine/napi/src/sys/mod.rs", "the border to Node-API, function by function"),
    ("faces/c/src/requests.rs", "functions of the C interface, with their contracts"),
    ("faces/c/src/scripts.rs", "functions of the C interface, with their contracts"),
    ("faces/c/src/server.rs", "functions of the C interface, with their contracts"),
    ("testkit/src/project/requests.rs", OLD),
    ("testkit/src/runner.rs", OLD),
    ("xtask/src/tidy/crates.rs", OLD),
];

/// No source file that is written by hand is longer than [`SOURCE_LINES_MAX`], but for those with a reason; and none of
/// these stays on the list without need.
pub(super) fn lengths(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    let exception = |path: &str| EXCEPTIONS.iter().find(|(name, _)| *name == path);
    for path in tree.with_extension(&["rs", "lua", "js", "mjs", "ts"]) {
        let lines = tree.text(path)?.lines().count();
        let is_source = path.ends_with(".rs") && path.contains("src/") && !is_of_tests(path);
        let lines_max = match exception(path) {
            None if is_source => SOURCE_LINES_MAX,
            _ => FILE_LINES_MAX,
        };
        if lines > lines_max && !path.starts_with(GENERATED_FOLDER) {
            complaints.push(format!(
                "{path} has {lines} lines, of which there may be {lines_max}: split it"
            ));
        }
        if lines <= SOURCE_LINES_MAX
            && let Some((_, reason)) = exception(path)
        {
            complaints.push(format!(
                "{path} has {lines} lines and needs no exception any more ({reason})"
            ));
        }
    }
    let gone = EXCEPTIONS
        .iter()
        .filter(|(name, _)| tree.has("Cargo.lock") && !tree.has(name));
    complaints.extend(
        gone.map(|(name, _)| format!("{name} is gone: take it from the list of long files")),
    );
    Ok(complaints)
}

/// Reports whether a file holds tests only.
fn is_of_tests(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::*;

    #[test]
    fn long_files_are_found_but_tests_may_be_longer() {
        let lines = "// a\n".repeat(SOURCE_LINES_MAX + 1);
        let (_scratch, tree) = tree(&[("a/src/long.rs", &lines), ("a/tests/long.rs", &lines)]);
        let found = lengths(&tree).expect("readable");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("a/src/long.rs has 401 lines"),
            "{found:?}"
        );
    }
}
