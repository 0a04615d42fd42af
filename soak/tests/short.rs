//! The soak for some seconds, so that it does not rot: the app as it is holds, and an app with a fault is found out.
//!
//! The executable is the one of the same build, or that of `SAMPAN_EXECUTABLE`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The app's files.
const FILES: [&str; 3] = ["app.lua", "app.js", "sampan.toml"];
/// The app's only migration.
const MIGRATION: &str = "migrations/0001_soak.sql";

/// Faults for the app: a text in both languages, and the text in its place.
struct Break {
    lua: (&'static str, &'static str),
    js: (&'static str, &'static str),
}

fn executable() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_BIN_EXE_sampan-soak")).with_file_name("sampan");
    let program = std::env::var_os("SAMPAN_EXECUTABLE").map_or(beside, PathBuf::from);
    if !program.exists() {
        println!("SKIPPED: {} is not built", program.display());
        return None;
    }
    Some(program)
}

/// Runs the soak on the app, or on one with a fault. Returns whether all held, and what was printed.
fn soak(minutes: &str, broken: Option<&Break>) -> Option<(bool, String)> {
    let program = executable()?;
    let app = tempfile::tempdir().expect("a folder");
    copy(&app, broken);
    let temporary = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_sampan-soak"))
        .args(["--seed", "7", "--minutes", minutes, "--program"])
        .arg(program)
        .arg("--app")
        .arg(app.path())
        // What a failed run keeps goes with the test.
        .env("TMPDIR", temporary.path())
        .output()
        .expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8_lossy(&output.stdout);
    Some((output.status.success(), format!("{text}{errors}")))
}

fn copy(to: &TempDir, broken: Option<&Break>) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/soak");
    fs::create_dir(to.path().join("migrations")).expect("a folder");
    for file in FILES.into_iter().chain([MIGRATION]) {
        let mut text = fs::read_to_string(from.join(file)).expect("a file of the app");
        let edit = broken.and_then(|broken| match file {
            "app.lua" => Some(broken.lua),
            "app.js" => Some(broken.js),
            _ => None,
        });
        if let Some((old, new)) = edit {
            assert!(text.contains(old), "{file} has no {old:?}");
            text = text.replace(old, new);
        }
        fs::write(to.path().join(file), text).expect("a file");
    }
}

/// Makes sure that a fault is found, and told with these words.
fn finds(broken: &Break, words: &str) {
    let Some((held, text)) = soak("0.04", Some(broken)) else {
        return;
    };
    assert!(!held && text.contains("did not hold"), "{text}");
    assert!(text.contains(words), "no {words:?} in\n{text}");
}

#[test]
fn the_app_holds() {
    if let Some((held, text)) = soak("0.15", None) {
        assert!(held && text.contains("all held"), "{text}");
        assert!(!text.contains(" 0 kills"), "{text}");
    }
}

#[test]
fn finds_a_write_that_is_lost() {
    finds(
        &Break {
            lua: (
                "  db.exec(INSERT, { writer, seq, value })\n",
                "  if seq % 5 > 0 then db.exec(INSERT, { writer, seq, value }) end\n",
            ),
            js: (
                "  db.exec(INSERT, [writer, seq, value]);\n",
                "  if (seq % 5) db.exec(INSERT, [writer, seq, value]);\n",
            ),
        },
        "was Acknowledged: 0 of 1 rows are there",
    );
}

#[test]
fn finds_half_a_batch() {
    finds(
        &Break {
            lua: (
                "for at = seq, seq + ROWS - 1 do db.exec",
                "for at = seq, seq + 4 do db.exec",
            ),
            js: (
                "at < seq + ROWS; at++) db.exec",
                "at < seq + 5; at++) db.exec",
            ),
        },
        "was Acknowledged: 5 of 10 rows are there",
    );
}

#[test]
fn finds_the_session_of_another() {
    finds(
        &Break {
            lua: (
                "local function session(req) return { name = req.session.name or \"\"",
                "local last\nlocal function session(req) last = last or req.session.name; return { name = last or \"\"",
            ),
            js: (
                "const session = (req) => ({ name: req.session.name ?? \"\"",
                "let last;\nconst session = (req) => ({ name: (last ??= req.session.name) ?? \"\"",
            ),
        },
        "\"name\":\"browser-",
    );
}

#[test]
fn finds_the_answer_of_another() {
    finds(
        &Break {
            lua: (
                "  time.sleep(0.002)\n  return { token = req.params.token",
                "  token = req.params.token\n  time.sleep(0.002)\n  return { token = token",
            ),
            js: (
                "  await time.sleep(0.002);\n  return { token: req.params.token",
                "  globalThis.token = req.params.token;\n  await time.sleep(0.002);\n  return { token: globalThis.token",
            ),
        },
        "GET /echo/",
    );
}

#[test]
fn finds_a_file_that_is_another() {
    finds(
        &Break {
            lua: (
                "app.file(req.params.id,",
                "app.file(tostring(math.max(1, req.params.id - 1)),",
            ),
            js: (
                "file(req.params.id,",
                "file(String(Math.max(1, req.params.id - 1)),",
            ),
        },
        "upload ",
    );
}

#[test]
fn finds_a_message_that_reaches_too_many() {
    finds(
        &Break {
            lua: ("text:find(\"^echo\")", "text:find(\"^none\")"),
            js: ("text.startsWith(\"echo\")", "text.startsWith(\"none\")"),
        },
        "socket: wanted",
    );
}

#[test]
fn finds_errors_in_answers_and_in_the_log() {
    let broken = Break {
        lua: (
            "return { value = row and row.value or \"\" }",
            "error(\"a fault\")",
        ),
        js: (
            "return { value: row?.value ?? \"\" };",
            "throw new Error(\"a fault\");",
        ),
    };
    finds(&broken, ": 500: ");
    finds(&broken, "the log has: ");
}
