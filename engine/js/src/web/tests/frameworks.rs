//! The Hono app of `tests/frameworks`, bundled from npm into one file, answering through `app.fetch`.

use super::{evaluate, module, report, with_web};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `bundle.sh` exits with this where npm or its registry is not there.
const NO_NPM: i32 = 3;

/// The bundle's text, or nothing where it cannot be made on this machine.
fn bundle() -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/frameworks");
    let out = target().join("frameworks");
    let status = Command::new("sh")
        .arg(folder.join("bundle.sh"))
        .arg(&out)
        .status()
        .ok()?;
    match status.code() {
        Some(0) => Some(
            std::fs::read_to_string(out.join("bundled/hono.mjs")).expect("bundle.sh made its file"),
        ),
        Some(NO_NPM) => None,
        _ => panic!("bundle.sh failed: {status}"),
    }
}

/// The target folder: this test runs from `<target>/<profile>/deps`.
fn target() -> PathBuf {
    let test = std::env::current_exe().expect("the test's path");
    test.ancestors().nth(3).expect("a target folder").to_owned()
}

#[test]
fn a_hono_app_answers() {
    let Some(source) = bundle() else {
        // Written past the capture of the test harness, which hides what a passing test prints.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: the Hono app was NOT tested: npm is not available (see above)"
        );
        return;
    };
    with_web(|ctx| {
        module(
            ctx,
            "bundle.mjs",
            &format!("{source}\nglobalThis.app = {};", default_export(&source)),
        );
        evaluate(ctx, "hono.js", include_str!("../../../tests/web/hono.js"));
        report(ctx, "hono.js", 18);
    });
}

/// The name that esbuild gives the default export: `export { NAME as default };` at the end of the file.
fn default_export(bundle: &str) -> &str {
    let (before, _) = bundle.rsplit_once(" as default").expect("a default export");
    before
        .rsplit([' ', '\n', '{', ','])
        .next()
        .expect("its name")
}
