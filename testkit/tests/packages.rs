//! Packages from npm as people use them: `tests/packages` runs Hono, itty-router, zod, Preact and React, with nothing
//! bundled.

use sampan_testkit::{Case, CaseEngine, npm};
use std::path::{Path, PathBuf};

/// A folder with the project and its packages; nothing where npm or its registry is not there.
fn folder(root: &Path) -> Option<PathBuf> {
    let test = std::env::current_exe().expect("the test's path");
    let out = test
        .ancestors()
        .nth(3)
        .expect("a target folder")
        .join("packages-test");
    std::fs::create_dir_all(&out).expect("a folder below target");
    for entry in std::fs::read_dir(root.join("tests/packages")).expect("the project") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name");
        std::fs::copy(&path, out.join(name)).expect("copied");
    }
    npm::install(&out, &[])?;
    Some(out)
}

#[test]
fn packages_run_as_npm_installs_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let Some(folder) = folder(&root) else {
        println!("SKIPPED: npm is not available, so there are no packages to import");
        return;
    };
    let case = Case {
        name: "packages".to_owned(),
        folder,
    };
    if let Err(fault) = case.run(CaseEngine::Js) {
        panic!("{fault}");
    }
}
