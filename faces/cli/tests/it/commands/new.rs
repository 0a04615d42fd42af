//! `sampan new`: each project passes its tests and the checks of types at once.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Each language with each template that it has.
const PROJECTS: [(&str, &str); 11] = [
    ("lua", "web"),
    ("lua", "api"),
    ("lua", "chat"),
    ("js", "web"),
    ("js", "api"),
    ("js", "chat"),
    ("js", "hono"),
    ("ts", "web"),
    ("ts", "api"),
    ("ts", "chat"),
    ("ts", "hono"),
];

fn sampan(args: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
    command.args(args).current_dir(folder).env_remove("CI");
    command.output().expect("the command starts")
}

/// Returns the output of a command that ends in good order prints.
fn done(args: &[&str], folder: &Path) -> String {
    let output = sampan(args, folder);
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {out}{errors}");
    out
}

/// Returns the error of a command that fails.
fn refused(args: &[&str], folder: &Path) -> String {
    let output = sampan(args, folder);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

/// Reports whether npm could do it: where it, or its registry, is not there, what needs it is left out.
fn npm(args: &[&str], folder: &Path) -> bool {
    let quiet = [
        "--ignore-scripts",
        "--no-package-lock",
        "--no-audit",
        "--no-fund",
    ];
    let mut command = Command::new("npm");
    command.args(args).args(quiet).current_dir(folder);
    command.args(["--fetch-retries=1", "--loglevel=error"]);
    command.status().is_ok_and(|status| status.success())
}

/// The compiler of TypeScript, which is kept below the target folder.
fn compiler() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-test");
    fs::create_dir_all(&folder).expect("a folder below target");
    fs::write(folder.join("package.json"), "{ \"private\": true }").expect("written");
    let is_there = npm(&["install", "typescript@5.9.3"], &folder);
    is_there.then(|| folder.join("node_modules/typescript/bin/tsc"))
}

#[test]
fn projects_pass_their_tests_and_checks_at_once() {
    let scratch = tempfile::tempdir().expect("a folder");
    let compiler = compiler();
    if compiler.is_none() {
        // Past the test harness, which hides what a passing test prints.
        let said =
            "SKIPPED: npm is not available: nothing is made with Hono, and no types are checked";
        let _ = writeln!(std::io::stderr(), "{said}");
    }
    for (language, template) in PROJECTS {
        let name = format!("{language}-{template}");
        let args = ["new", &name, "--lang", language, "--template", template];
        let out = done(&args, scratch.path());
        assert!(out.contains(&format!("  cd {name}\n")), "{out}");
        let folder = scratch.path().join(&name);
        if template == "hono" {
            assert!(out.contains("  npm install\n"), "{out}");
            if compiler.is_none() || !npm(&["install", "--omit=dev"], &folder) {
                continue;
            }
        }
        let readme = fs::read_to_string(folder.join("README.md")).expect("a text");
        let has_packages = language == "ts" || template == "hono";
        assert_eq!(readme.contains("npm install"), has_packages, "{readme}");
        let out = done(&["test"], &folder);
        assert!(out.contains("2 passed, 0 failed"), "{name}: {out}");
        for entry in fs::read_dir(&folder).expect("a project") {
            let path = entry.expect("an entry").path();
            let text = fs::read_to_string(&path).unwrap_or_default();
            let is_filled = !text.contains("{{name") && !text.contains("_line}}");
            assert!(is_filled, "{}: {text}", path.display());
        }
        if let Some(compiler) = compiler.as_ref().filter(|_| language != "lua") {
            let mut command = Command::new("node");
            command.arg(compiler).args(["--project", "."]);
            let output = command.current_dir(&folder).output().expect("node runs");
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{name}:\n{said}");
            if name == "ts-api" {
                // Names of browsers are errors: the types bring what Sampan has of the Web.
                fs::write(folder.join("wrong.ts"), "document.title = \"x\";\n").expect("written");
                let output = command.output().expect("node runs");
                let said = String::from_utf8_lossy(&output.stdout);
                assert!(
                    said.contains("wrong.ts(1,1)") && said.contains("'document'"),
                    "{said}"
                );
            }
        }
        if language == "lua" {
            lua_types_hold(&folder);
        }
    }
}

/// Checks the types of a project in Lua, and that a wrong name is seen, where `emmylua_check` is installed.
fn lua_types_hold(folder: &Path) {
    let check = || {
        let mut command = Command::new("emmylua_check");
        let output = command
            .args(["--warnings-as-errors", "."])
            .current_dir(folder);
        let output = output.output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        Some((output.status.success(), said))
    };
    let Some((is_clean, said)) = check() else {
        let said = "SKIPPED: emmylua_check is not installed: types of Lua projects are not checked";
        let _ = writeln!(std::io::stderr(), "{said}");
        return;
    };
    assert!(is_clean, "{said}");
    let wrong = "local app = require \"sampan\"\napp.get(\"/x\", function(req) return app.txt(req.ip) end)\n";
    fs::write(folder.join("wrong.lua"), wrong).expect("written");
    let (is_clean, said) = check().expect("it ran before");
    assert!(!is_clean && said.contains("txt"), "{said}");
}

#[test]
fn a_folder_that_is_not_empty_is_left_alone() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path().join("mine");
    fs::create_dir(&folder).expect("a folder");
    done(&["new", "mine"], scratch.path());
    let before = fs::read_dir(&folder).expect("a folder").count();
    fs::write(folder.join("app.lua"), "-- mine").expect("written");
    let said = refused(&["new", "mine", "--lang", "js"], scratch.path());
    assert_eq!(said, "sampan: mine is not empty: name another folder\n");
    let kept = fs::read_to_string(folder.join("app.lua")).expect("there");
    assert_eq!(kept, "-- mine");
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), before);
    // A hidden file alone is something, too.
    fs::create_dir_all(scratch.path().join("hidden/.github")).expect("a folder");
    let said = refused(&["new", "hidden"], scratch.path());
    assert!(said.contains("hidden is not empty"), "{said}");
}

#[test]
fn a_new_repository_takes_a_project() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path().join("cloned");
    fs::create_dir_all(folder.join(".git")).expect("a folder");
    done(&["new", "."], &folder);
    let ignored = fs::read_to_string(folder.join(".gitignore")).expect("there");
    assert!(ignored.contains("data.db.before-reset-*\n"), "{ignored}");
}

#[test]
fn names_and_templates_that_cannot_be_are_refused() {
    let scratch = tempfile::tempdir().expect("a folder");
    fs::write(scratch.path().join("file"), "").expect("written");
    let said = |args: &[&str]| refused(args, scratch.path());
    assert!(said(&["new", "file"]).contains("file is a file"));
    assert!(said(&["new", "a b"]).contains("a b is no name for a project"));
    assert!(said(&["new", "file/inside"]).contains("file/inside is below a file"));
    let hono = said(&["new", "x", "--template", "hono", "--lang", "lua"]);
    assert!(hono.contains("use --lang ts or --lang js"), "{hono}");
    assert!(!scratch.path().join("x").exists());
}

#[test]
fn the_current_folder_gives_its_name() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path().join("here");
    fs::create_dir(&folder).expect("a folder");
    let out = done(&["new", ".", "--template", "api"], &folder);
    assert!(
        out.starts_with("here is made.") && !out.contains("cd "),
        "{out}"
    );
    let page = fs::read_to_string(folder.join("README.md")).expect("there");
    assert!(page.starts_with("# here\n"), "{page}");
}
