//! Checks that a script, with any use of the functions of all modules, in either language, takes nothing from others: a
//! plain request to the same isolate is answered, and the server finds no fault of its own.
//!
//! The scripts are those of the test of the same name in `faces/cli`. The bytes of an input are their choices; the first
//! one chooses the language.

use crate::mutate::hash;
use sampan::Scripts;
use std::cell::RefCell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const JS: &str = include_str!("../../../../faces/cli/tests/random_scripts/app.js");
const LUA: &str = include_str!("../../../../faces/cli/tests/random_scripts/app.lua");

/// The most times as long as usual that scripts may run under a sanitizer: each that loops holds the others up so long.
const SLOWNESS_MAX: u32 = 5;

/// Words in the log that tell of a fault of the server.
const FAULTS: [&str; 3] = ["fault of the server", "panicked", "Assertion"];

/// The inputs after which the script is loaded anew, so that an input that fails depends on few others.
const INPUTS_MAX: u32 = 200;

/// A project, and what its log says about faults.
struct Project {
    scripts: Scripts,
    faults: Arc<Mutex<Vec<String>>>,
    inputs: u32,
    _folder: tempfile::TempDir,
}

thread_local! {
    static PROJECTS: RefCell<[Option<Project>; 2]> = const { RefCell::new([None, None]) };
}

pub(crate) fn run(bytes: &[u8]) {
    let [language, rest @ ..] = bytes else {
        return;
    };
    PROJECTS.with_borrow_mut(|projects| {
        let project =
            projects[usize::from(language & 1)].get_or_insert_with(|| match language & 1 {
                0 => load("app.js", JS),
                _ => load("app.lua", LUA),
            });
        project.inputs += 1;
        if project.inputs.is_multiple_of(INPUTS_MAX) {
            project.scripts.reload().expect("it loads again");
        }
        let target = format!("/run/{}", hash(rest) as u32 >> 1);
        // What it answers is the script's own matter.
        let time_max = Some(Duration::from_secs(10));
        let _ = project
            .scripts
            .handle_blocking("POST", &target, &[], rest, time_max);
        let plain = project
            .scripts
            .handle_blocking("GET", "/plain", &[], b"", None);
        let plain = plain.expect("an answer");
        let body = String::from_utf8_lossy(&plain.body);
        assert!(
            plain.status == 200 && body.contains("\"kept\":true"),
            "{} {body}",
            plain.status
        );
        let faults = project.faults.lock().expect("no panic before");
        assert!(faults.is_empty(), "{faults:#?}");
    });
}

/// Returns the configuration: a script that loops or fills its memory is stopped soon.
fn config() -> String {
    let slowness = sampan_rig::slowness().min(SLOWNESS_MAX);
    let (script, handler) = (200 * slowness, 1000 * slowness);
    format!(
        "[limits]\nscript_millis_max = {script}\nhandler_millis_max = {handler}\ncleanup_millis_max = {script}\n\
         memory_bytes_max = \"256 MB\"\n[log]\nlevel = \"warn\"\n"
    )
}

fn load(name: &str, text: &str) -> Project {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("public")).expect("made");
    let config = config();
    for (name, text) in [
        (name, text),
        ("sampan.toml", &*config),
        ("public/a.txt", "a"),
    ] {
        std::fs::write(at(name), text).expect("written");
    }
    let faults = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&faults);
    let take = move |_, line: &str| {
        if FAULTS.iter().any(|fault| line.contains(fault)) {
            told.lock().expect("no panic before").push(line.to_owned());
        }
    };
    let scripts = Scripts::file(folder.path()).workers(1).log(take).load();
    Project {
        scripts: scripts.expect("the script loads"),
        faults,
        inputs: 0,
        _folder: folder,
    }
}
