//! `types/sampan.d.ts`, and the types of `serve` in the npm package, as their users compile with them: `tsc --strict`
//! of two versions accepts `tests/types/right.ts` and `serve_right.ts`, and refuses each marked line of `wrong.ts` and
//! `serve_wrong.ts`.

use sampan_testkit::npm;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages of `tests/types/package.json`.
const COMPILERS: [&str; 2] = ["typescript-5", "typescript-7"];

/// A folder with the programs, the declarations and the compilers; nothing where npm or its registry is not there.
fn folder(root: &Path) -> Option<PathBuf> {
    let test = std::env::current_exe().expect("the test's path");
    let out = test
        .ancestors()
        .nth(3)
        .expect("a target folder")
        .join("types-test");
    std::fs::create_dir_all(&out).expect("a folder below target");
    let programs = ["right.ts", "wrong.ts", "serve_right.ts", "serve_wrong.ts"];
    for file in ["package.json", "tsconfig.json"]
        .into_iter()
        .chain(programs)
    {
        std::fs::copy(root.join("tests/types").join(file), out.join(file)).expect("copied");
    }
    std::fs::copy(root.join("types/sampan.d.ts"), out.join("sampan.d.ts")).expect("copied");
    // The package has both in one file; here they are two declarations of one module.
    let serve = std::fs::read_to_string(root.join("faces/node/package/serve/types.d.ts"));
    let serve = serve.expect("the types of serve");
    let serve = serve.replace("declare global", "global");
    std::fs::write(
        out.join("serve.d.ts"),
        format!("declare module \"sampan\" {{\n{serve}}}\n"),
    )
    .expect("written");
    npm::install(&out, &[])?;
    Some(out)
}

#[test]
fn typescript_accepts_what_is_right_and_refuses_what_is_wrong() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let Some(folder) = folder(&root) else {
        // Past the test harness, which hides what a passing test prints.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: npm is not available, so there is no TypeScript to check with"
        );
        return;
    };
    // With the library "dom", and without: the declarations bring what Sampan has of the Web.
    let libraries = ["es2023,dom,dom.iterable", "es2023"];
    let runs = COMPILERS
        .iter()
        .flat_map(|compiler| libraries.map(|library| (compiler, library)));
    for (compiler, library) in runs {
        let output = Command::new("node")
            .arg(folder.join("node_modules").join(compiler).join("bin/tsc"))
            .args(["--project", ".", "--lib", library])
            .current_dir(&folder)
            .output()
            .expect("node runs where npm does");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{compiler}, {library}:\n{said}");
    }
}
