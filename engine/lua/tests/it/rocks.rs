//! Libraries from LuaRocks load in an isolate and pass their own specs, as far as these go.
//!
//! The sources are not part of the project. They are taken from the folder that `SAMPAN_ROCKS` names, or from
//! `../shared/peers/rocks.tar.gz` beside the checkout; where there are none, these tests say that they are skipped.
//! Left out, with the reason:
//!
//! - The specs of etlua and tableshape are written in MoonScript, whose compiler needs LPeg, a library in C. Cases of
//!   our own stand for them.
//! - Penlight and inspect come without specs. Cases of our own stand for them.
//! - `pl.path` needs LuaFileSystem, a library in C; `pl.app`, `pl.config`, `pl.dir`, `pl.file`, `pl.test` and `pl` as a
//!   whole need `pl.path`.
//! - Four cases of middleclass: two need `collectgarbage()` to collect at once, two a metatable of the server's own.
//! - middleclass tests `__gc` of tables and other metamethods of Lua 5.3 only where there is `string.unpack`.

mod own_specs;

use crate::support::{get, load, load_files};
use sampan_host::ScriptLimits;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const BUSTED: &str = include_str!("rocks/busted.lua");
const LIBRARIES: &str = "lua_modules/share/lua/5.1/";

/// The folder of the rocks, or none and a line that says so.
fn rocks() -> Option<&'static Path> {
    static ROCKS: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = ROCKS.get_or_init(|| {
        if let Some(named) = std::env::var_os("SAMPAN_ROCKS") {
            let folder = PathBuf::from(named);
            assert!(
                folder.is_dir(),
                "SAMPAN_ROCKS names no folder: {}",
                folder.display()
            );
            return Some(folder);
        }
        let archive =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/peers/rocks.tar.gz");
        if !archive.is_file() {
            return None;
        }
        let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rocks");
        std::fs::create_dir_all(&into).expect("a folder");
        let mut tar = Command::new("tar");
        tar.arg("xzf").arg(&archive).arg("-C").arg(&into);
        let unpacked = tar.status().is_ok_and(|status| status.success());
        assert!(unpacked, "cannot unpack {}", archive.display());
        Some(into.join("rocks"))
    });
    if found.is_none() {
        // Past the test harness, which hides what a passing test prints.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: there are no rocks; SAMPAN_ROCKS can name a folder of them"
        );
    }
    found.as_deref()
}

/// All Lua files below `folder`, each with its path below `folder` behind `prefix`.
fn collect(folder: &Path, prefix: &str, into: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            collect(&path, &format!("{prefix}{name}/"), into);
        } else if name.ends_with(".lua") {
            let text = String::from_utf8_lossy(&std::fs::read(&path).expect("a file")).into_owned();
            into.push((format!("{prefix}{name}"), text));
        }
    }
}

/// Loads the libraries of `folder` and runs `specs`, whose texts are given or lie in the folder `spec` of the rock. So
/// many cases pass, and none fails but those that `failing` names.
#[track_caller]
fn passes(
    (rock, folder): (&str, &str),
    specs: &[(&str, Option<&str>)],
    count: usize,
    failing: &[&str],
) {
    let Some(rocks) = rocks() else { return };
    let mut files = Vec::new();
    collect(&rocks.join(rock).join(folder), LIBRARIES, &mut files);
    if rocks.join(rock).join("spec").is_dir() {
        collect(&rocks.join(rock).join("spec"), "spec/", &mut files);
    }
    files.push((format!("{LIBRARIES}busted.lua"), BUSTED.to_owned()));
    for (name, text) in specs {
        files.extend(text.map(|text| (format!("spec/{name}.lua"), text.to_owned())));
    }
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let mut source = "local app = require 'sampan' local busted = require 'busted'
        describe, it, before_each, assert = busted.describe, busted.it, busted.before_each, busted.assert\n"
        .to_owned();
    for (name, _) in specs {
        source.push_str(&format!("require 'spec.{name}' busted.run()\n"));
    }
    source.push_str("app.get('/', function() return { passed = busted.passed, failed = app.json.array(busted.failed) \
     } end)");
    let limits = ScriptLimits {
        script_millis_max: 20_000,
        ..ScriptLimits::default()
    };
    let rig = load_files(&source, &files, limits)
        .unwrap_or_else(|error| panic!("{rock}: {error}\n{}", error.stack().unwrap_or_default()));
    let answer = rig.nth(0, get("/path")).expect("an answer").text();
    let answer: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
    let failed = answer["failed"].as_array().expect("a list");
    let failed: Vec<_> = failed
        .iter()
        .filter_map(serde_json::Value::as_str)
        .collect();
    assert_eq!(
        failed.len(),
        failing.len(),
        "{rock}:\n{}",
        failed.join("\n\n")
    );
    for (failed, expected) in failed.iter().zip(failing) {
        assert!(failed.contains(expected), "{rock}: {failed}");
    }
    assert_eq!(answer["passed"], count, "{rock}");
}

#[test]
fn middleclass() {
    let specs = [
        "class_spec",
        "classes_spec",
        "default_methods_spec",
        "instances_spec",
        "metamethods_spec",
        "mixins_spec",
    ];
    let failing = [
        "Custom Metamethods: implements __mode: ",
        "Custom Metamethods: instance should have a table __index if not overrided: ",
        "Inherited Metamethods: implements __mode: ",
        "Inherited Metamethods: instance should also have a table __index if not overrided: ",
    ];
    passes(
        ("middleclass", "."),
        &specs.map(|name| (name, None)),
        114,
        &failing,
    );
}

#[test]
fn lustache() {
    let specs = ["context_spec", "parse_spec", "render_spec"];
    passes(
        ("lustache", "src"),
        &specs.map(|name| (name, None)),
        77,
        &[],
    );
}

#[test]
fn etlua() {
    let spec = include_str!("rocks/etlua_spec.lua");
    passes(("etlua", "."), &[("etlua", Some(spec))], 10, &[]);
}

#[test]
fn tableshape() {
    let spec = include_str!("rocks/tableshape_spec.lua");
    passes(("tableshape", "."), &[("tableshape", Some(spec))], 7, &[]);
}

#[test]
fn inspect() {
    let spec = include_str!("rocks/inspect_spec.lua");
    passes(("inspect", "."), &[("inspect", Some(spec))], 6, &[]);
}

#[test]
fn penlight() {
    let spec = include_str!("rocks/penlight_spec.lua");
    passes(("penlight", "."), &[("penlight", Some(spec))], 11, &[]);
}

#[test]
fn the_shim_notices_what_is_wrong() {
    let source = format!(
        "package.preload.busted = function() {BUSTED} end
         local app, busted = require 'sampan', require 'busted'
         local assert = busted.assert
         busted.describe('d', function()
           local n = 0
           busted.before_each(function() n = n + 1 end)
           busted.it('passes', function() assert.are.same({{ 1, {{ 2 }} }}, {{ 1, {{ 2 }} }}) assert.equal(n, 1) \
            assert.is_not_nil(n) end)
           for _, case in ipairs {{
             function() assert.equal(1, 2) end, function() assert.same({{ 1 }}, {{ 1, 2 }}) end, function() \
              assert.is_true(1) end,
             function() assert.has_error(function() end) end, function() assert.is_not_true(true) end, function() \
              assert(false) end,
             function() assert.no.error(error) end, function() assert.unknown(1) end,
           }} do busted.it('fails', case) end
         end)
         app.get('/', function() busted.run() return {{ busted.passed, #busted.failed }} end)"
    );
    assert_eq!(
        load(&source)
            .wrapped(get("/path"))
            .expect("an answer")
            .text(),
        "[1,8]"
    );
}
