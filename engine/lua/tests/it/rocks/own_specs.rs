//! Specs of further rocks, written for luassert, which runs in the isolate too.
//!
//! `SAMPAN_ROCK_SPECS` names a folder of their sources as Debian has them:
//!
//! ```sh
//! apt-get source --download-only lua-ansicolors lua-argparse lua-binaryheap lua-fifo lua-inspect lua-luassert \
//!   lua-mediator lua-moses lua-say
//! for archive in *.orig.tar.gz; do tar xzf $archive; done
//! ```
//!
//! The cases that count are those that pass in LuaJIT alone, without the server. One that fails there too tells nothing
//! about the isolate: it may expect another version of Lua, for example.

use super::{LIBRARIES, collect, rocks};
use crate::support::{get, load_files};
use std::io::Write;
use std::path::{Path, PathBuf};

const RUNNER: &str = include_str!("own_specs.lua");

/// A rock whose own specs are written for luassert.
struct OwnSpecs {
    /// The beginning of the name of its folder.
    rock: &'static str,
    /// The folder of its library, and its name there.
    library: (&'static str, &'static str),
    specs: &'static str,
    /// The cases that pass in LuaJIT alone.
    cases: usize,
    /// The cases among them that cannot pass: they open files, start programs, use `dofile` or collect garbage.
    failing: usize,
}

/// The cases of all rocks that pass in an isolate. Written beside the counts of the rocks, so that a case that moves
/// from `cases` to `failing` shows in two places.
const PASSED: usize = 895;

const OWN_SPECS: [OwnSpecs; 9] = [
    OwnSpecs {
        rock: "ansicolors",
        library: ("", "ansicolors.lua"),
        specs: "specs",
        cases: 13,
        failing: 3,
    },
    OwnSpecs {
        rock: "argparse",
        library: ("src", "argparse.lua"),
        specs: "spec",
        cases: 192,
        failing: 18,
    },
    OwnSpecs {
        rock: "binaryheap",
        library: ("src", "binaryheap.lua"),
        specs: "spec",
        cases: 60,
        failing: 0,
    },
    OwnSpecs {
        rock: "fifo",
        library: ("", "fifo.lua"),
        specs: "spec",
        cases: 5,
        failing: 0,
    },
    OwnSpecs {
        rock: "inspect",
        library: ("", "inspect.lua"),
        specs: "spec",
        cases: 46,
        failing: 1,
    },
    OwnSpecs {
        rock: "luassert",
        library: ("", ""),
        specs: "spec",
        cases: 208,
        failing: 5,
    },
    OwnSpecs {
        rock: "mediator",
        library: ("src", "mediator.lua"),
        specs: "spec",
        cases: 26,
        failing: 0,
    },
    OwnSpecs {
        rock: "Moses",
        library: ("", "moses.lua"),
        specs: "spec",
        cases: 365,
        failing: 1,
    },
    OwnSpecs {
        rock: "say",
        library: ("", ""),
        specs: "spec",
        cases: 8,
        failing: 0,
    },
];

#[test]
fn specs_of_other_rocks() {
    let Some(sources) = std::env::var_os("SAMPAN_ROCK_SPECS") else {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: SAMPAN_ROCK_SPECS names no folder with the sources of rocks"
        );
        return;
    };
    let sources = PathBuf::from(sources);
    let folder = |rock: &str| {
        let entries = std::fs::read_dir(&sources).expect("a folder");
        let mut paths = entries.map(|entry| entry.expect("an entry").path());
        let is_named = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            path.is_dir() && name.starts_with(rock)
        };
        paths.find(is_named).unwrap_or_else(|| panic!("no {rock}"))
    };
    let mut words = Vec::new();
    collect(
        &folder("luassert").join("src"),
        &format!("{LIBRARIES}luassert/"),
        &mut words,
    );
    collect(
        &folder("say").join("src/say"),
        &format!("{LIBRARIES}say/"),
        &mut words,
    );
    if let Some(rocks) = rocks() {
        collect(&rocks.join("penlight"), LIBRARIES, &mut words);
    }
    words.push((format!("{LIBRARIES}own_specs.lua"), RUNNER.to_owned()));
    let (mut all, mut passed, mut surprises) = (0, 0, Vec::new());
    for own in &OWN_SPECS {
        let (count, failed) = run_own_specs(own, &folder(own.rock), &words);
        if count != own.cases - own.failing {
            surprises.push(format!(
                "{}: {count} of {} pass:\n{}",
                own.rock,
                own.cases,
                failed.join("\n\n")
            ));
        }
        all += own.cases;
        passed += count;
    }
    let told = format!("{passed} of {all} cases of other rocks pass");
    assert!(surprises.is_empty(), "{told}\n{}", surprises.join("\n"));
    assert_eq!(passed, PASSED, "{told}");
    let _ = writeln!(std::io::stderr(), "{told}");
}

/// Runs the specs of `own` in an isolate, and returns how many cases passed, and the others.
fn run_own_specs(
    own: &OwnSpecs,
    folder: &Path,
    words: &[(String, String)],
) -> (usize, Vec<String>) {
    let mut files = words.to_vec();
    let (library, name) = own.library;
    if !name.is_empty() {
        let text = std::fs::read_to_string(folder.join(library).join(name)).expect("a library");
        files.push((format!("{LIBRARIES}{name}"), text));
    }
    let mut specs = Vec::new();
    collect(&folder.join(own.specs), "spec/", &mut specs);
    specs.sort();
    let mut source =
        "local app, own = require 'sampan', require 'own_specs' own.install(_G)\n".to_owned();
    for (name, _) in &specs {
        if let Some(module) = name.strip_suffix("_spec.lua") {
            source.push_str(&format!(
                "own.run(function() require '{}_spec' end)\n",
                module.replace('/', ".")
            ));
        }
    }
    source.push_str(
        "app.get('/', function() return { passed = own.passed, failed = app.json.array(own.failed) } end)",
    );
    files.extend(specs);
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let limits = sampan_rig::patient_limits();
    let rig = load_files(&source, &files, limits).unwrap_or_else(|error| {
        panic!(
            "{}: {error}\n{}",
            own.rock,
            error.stack().unwrap_or_default()
        )
    });
    let answer = rig.nth(0, get("/path")).expect("an answer").text();
    let answer: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
    let failed = answer["failed"].as_array().expect("a list").iter();
    let failed = failed
        .filter_map(|case| case.as_str().map(str::to_owned))
        .collect();
    (
        answer["passed"].as_u64().unwrap_or_default() as usize,
        failed,
    )
}
