//! Serves the examples in Lua and in JavaScript, and gives the other blocks to what reads them.

use crate::tools;
use libtest_mimic::{Failed, Trial};
use sampan_testkit::docs::{Block, Chapter};
use sampan_testkit::project::{TestOptions, TestOutcome};
use sampan_testkit::{Case, CaseEngine};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

/// The page whose first example all others begin with.
const PREAMBLE: &str = "guide/project.md";

/// Asked where an example names no requests: the project must load, and an answer must come.
const DEFAULT_REQUEST: &str = "[[request]]\npath = \"/\"\n[request.expect]\nstatus_in = [200, 204, 302, 303, 401, \
 403, 404]\n";

/// The content of the comment before an example says.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct Note {
    before: Code,
    after: Code,
    in_handler: bool,
    files: BTreeMap<String, String>,
    continues: bool,
    theirs: bool,
    skip: Option<String>,
    #[serde(flatten)]
    scenario: toml::Table,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Code {
    lua: String,
    js: String,
}

impl Code {
    fn of(&self, engine: CaseEngine) -> &str {
        match engine {
            CaseEngine::Lua => &self.lua,
            CaseEngine::Js => &self.js,
        }
    }
}

/// A project that an example describes.
#[derive(Clone, Default)]
struct Example {
    note: Note,
    /// Programs by their names: those that are served, and others that are only read.
    programs: BTreeMap<CaseFile, String>,
    files: BTreeMap<String, String>,
}

/// The file of a program; it tells the language too.
type CaseFile = &'static str;

const PROGRAMS: [(&str, CaseFile); 5] = [
    ("lua", "app.lua"),
    ("js", "app.js"),
    ("ts", "app.ts"),
    ("tsx", "app.tsx"),
    ("jsx", "app.jsx"),
];

pub(crate) fn trials(chapter: &Chapter, all: &[Chapter]) -> Vec<Trial> {
    let preamble = preamble(all);
    let mut trials = Vec::new();
    let mut last = Example::default();
    for blocks in chapter.examples() {
        let name = format!("{}:{}", chapter.path, blocks[0].line);
        match read(&blocks, &preamble, &last) {
            Err(fault) => trials.push(Trial::test(name, move || Err(Failed::from(fault)))),
            Ok((example, others)) => {
                // What is typed into a shell stands between the steps of a project.
                if !example.programs.is_empty() {
                    last = example.clone();
                }
                trials.extend(of_example(&name, &example));
                for (block, theirs) in others {
                    let name = format!("{}:{}::{}", chapter.path, block.line, block.language);
                    let (language, code) = (block.language.clone(), block.code.clone());
                    trials.push(Trial::test(name, move || {
                        tools::check(&language, &code, theirs).map_err(Failed::from)
                    }));
                }
            }
        }
    }
    trials
}

/// An example whose types can be checked: where it stands, and its files of JavaScript and TypeScript.
pub(crate) struct TypedExample {
    pub(crate) place: String,
    pub(crate) files: BTreeMap<String, String>,
}

/// The examples of a chapter whose types can be checked.
pub(crate) fn typed(chapter: &Chapter, all: &[Chapter]) -> Vec<TypedExample> {
    let preamble = preamble(all);
    let mut typed = Vec::new();
    let mut last = Example::default();
    for blocks in chapter.examples() {
        // Faults are told by the trials of the examples.
        let Ok((example, _)) = read(&blocks, &preamble, &last) else {
            continue;
        };
        if example.programs.is_empty() {
            continue;
        }
        last = example.clone();
        if example.note.theirs {
            continue;
        }
        let programs = example
            .programs
            .iter()
            .map(|(name, code)| ((*name).to_owned(), code.clone()));
        let files = programs.chain(example.files);
        let files: BTreeMap<String, String> = files
            .filter(|(name, _)| {
                [".js", ".jsx", ".ts", ".tsx", ".json"]
                    .iter()
                    .any(|end| name.ends_with(end))
            })
            .filter(|(name, _)| !name.starts_with("public/") && name != "vite.config.js")
            .collect();
        typed.push(TypedExample {
            place: format!(
                "{}-{}",
                chapter.path.replace(['/', '.'], "-"),
                blocks[0].line
            ),
            files,
        });
    }
    typed
}

fn of_example(name: &str, example: &Example) -> Vec<Trial> {
    if example.note.theirs {
        return Vec::new();
    }
    let mut trials = Vec::new();
    for (&file, code) in &example.programs {
        let engine = if file == "app.lua" {
            CaseEngine::Lua
        } else {
            CaseEngine::Js
        };
        let (example, code) = (example.clone(), code.clone());
        let ending = format!(".test.{engine}");
        if example.files.keys().any(|file| file.ends_with(&ending)) {
            trials.push(Trial::test(format!("{name}::tests::{engine}"), move || {
                test(&example, file, &code, &ending).map_err(Failed::from)
            }));
        } else {
            trials.push(Trial::test(format!("{name}::{engine}"), move || {
                serve(&example, file, &code, engine).map_err(Failed::from)
            }));
        }
    }
    trials
}

/// The lines that all examples begin with.
fn preamble(all: &[Chapter]) -> BTreeMap<String, String> {
    let chapter = all.iter().find(|chapter| chapter.path == PREAMBLE);
    let blocks = chapter.map(Chapter::examples).unwrap_or_default();
    let blocks = blocks.into_iter().next().unwrap_or_default();
    blocks
        .iter()
        .map(|block| (block.language.clone(), block.code.clone()))
        .collect()
}

/// Blocks that other programs read, and whether they are those of other frameworks.
type OtherBlocks<'a> = Vec<(&'a Block, bool)>;

/// Reads the parts of an example, and the other blocks of it.
fn read<'a>(
    blocks: &[&'a Block],
    preamble: &BTreeMap<String, String>,
    last: &Example,
) -> Result<(Example, OtherBlocks<'a>), String> {
    let note: Note = match &blocks[0].note {
        Some(text) => toml::from_str(text).map_err(|fault| format!("<!-- test: {fault}"))?,
        None => Note::default(),
    };
    let mut example = Example::default();
    if note.continues {
        example.files.clone_from(&last.files);
        example.programs.clone_from(&last.programs);
    }
    example.files.extend(note.files.clone());
    let mut others = Vec::new();
    if note.skip.is_some() {
        example.note = note;
        return Ok((example, others));
    }
    for block in blocks {
        let program = PROGRAMS
            .iter()
            .find(|(language, _)| *language == block.language)
            .map(|(_, file)| *file);
        match (program, file_name(&block.code)) {
            _ if note.theirs => others.push((*block, true)),
            (Some(program), Some(name)) if name == program => {
                example.programs.insert(program, block.code.clone());
            }
            (_, Some(name)) if !name.starts_with('/') => {
                example.files.insert(name.to_owned(), block.code.clone());
            }
            (Some(program), None) => {
                let code = whole(program, &block.code, &note, preamble);
                example.programs.insert(program, code);
            }
            (None, None) if matches!(block.language.as_str(), "html" | "jinja") => {
                let name = "templates/example.html".to_owned();
                example.files.insert(name, block.code.clone());
            }
            _ => others.push((*block, false)),
        }
    }
    for (_, program) in PROGRAMS {
        if let Some(code) = example.files.remove(program) {
            example.programs.insert(program, code);
        }
    }
    if example.programs.is_empty() && !example.files.is_empty() && !note.theirs {
        let code = whole("app.lua", "", &note, preamble);
        example.programs.insert("app.lua", code);
    }
    example.note = note;
    Ok((example, others))
}

/// The file that a block says it is, in a comment on its first line.
fn file_name(code: &str) -> Option<&str> {
    let line = code.lines().next()?.trim();
    let rest = ["-- ", "// ", "# ", "<!-- ", "{# "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))?;
    let name = rest.trim_end_matches("-->").trim_end_matches("#}").trim();
    let is_name = name.contains('.')
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "._-/".contains(letter));
    is_name.then_some(name)
}

/// The program of a block: what all examples begin with, what the comment adds, and a handler around it if need be.
fn whole(
    program: CaseFile,
    code: &str,
    note: &Note,
    preamble: &BTreeMap<String, String>,
) -> String {
    let (language, engine) = if program == "app.lua" {
        ("lua", CaseEngine::Lua)
    } else {
        ("js", CaseEngine::Js)
    };
    let begins_itself = match engine {
        CaseEngine::Lua => code.contains("require \"sampan\""),
        CaseEngine::Js => code.contains("from \"sampan\""),
    };
    // An own `app` would be a second one.
    let begins_itself = begins_itself || code.contains("const app =");
    let before = match preamble.get(language) {
        Some(text) if !begins_itself => text,
        _ => "",
    };
    let (first, last) = match (note.in_handler, engine) {
        (false, _) => ("", ""),
        (true, CaseEngine::Lua) => ("app.all(\"/try\", function(req)\n", "end)\n"),
        (true, CaseEngine::Js) => ("app.all(\"/try\", async (req) => {\n", "});\n"),
    };
    let (above, below) = (note.before.of(engine), note.after.of(engine));
    if note.in_handler {
        return format!("{before}\n{above}\n{first}{code}\n{below}\n{last}");
    }
    format!("{before}\n{above}\n{code}\n{below}\n")
}

/// A folder with the program and the files that `is_wanted` names.
fn project(
    example: &Example,
    program: &str,
    code: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<TempDir, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let files = example.files.iter().filter(|(name, _)| is_wanted(name));
    let files = files.map(|(name, text)| (name.as_str(), text.as_str()));
    for (name, text) in files.chain([(program, code)]) {
        write(folder.path(), name, text)?;
    }
    Ok(folder)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), String> {
    let path = folder.join(name);
    let parent = path.parent().unwrap_or(folder);
    std::fs::create_dir_all(parent)
        .and_then(|()| std::fs::write(&path, text))
        .map_err(|error| format!("{name}: {error}"))
}

/// Runs the tests of a project, as `sampan test` does.
fn test(example: &Example, program: &str, code: &str, ending: &str) -> Result<(), String> {
    // The time that a test sets is that of the process.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_wanted = |name: &str| !name.contains(".test.") || name.ends_with(ending);
    let folder = project(example, program, code, is_wanted)?;
    let options = TestOptions {
        db: None,
        path: folder.path().join(program),
        only: None,
        config: None,
        filter: None,
        update: false,
        test_time_max: Duration::from_secs(10),
        scratch: std::env::temp_dir(),
    };
    let mut faults = Vec::new();
    let mut tell = |outcome: &TestOutcome| {
        if let Some(failure) = &outcome.failure {
            faults.push(format!("{}\n{}", failure.text, failure.log));
        }
    };
    let summary = sampan_testkit::project::run(&options, &mut tell)?;
    match summary.passed {
        _ if !faults.is_empty() => Err(faults.join("\n")),
        0 => Err("it has no tests".to_owned()),
        _ => Ok(()),
    }
}

fn serve(example: &Example, file: &str, code: &str, engine: CaseEngine) -> Result<(), String> {
    let folder = project(example, file, code, |name| !name.contains(".test."))?;
    let mut scenario = example.note.scenario.clone();
    if let Some(text) = example.files.get("sampan.toml") {
        let config: toml::Table = toml::from_str(text).map_err(|fault| fault.to_string())?;
        scenario.insert("config".to_owned(), toml::Value::Table(config));
    }
    let mut text = toml::to_string(&scenario).map_err(|error| error.to_string())?;
    if !scenario.contains_key("request") && !scenario.contains_key("load_error") {
        text = format!("{text}\n{DEFAULT_REQUEST}");
    }
    write(folder.path(), "expect.toml", &text)?;
    let case = Case {
        name: "docs".to_owned(),
        folder: folder.path().to_owned(),
    };
    case.run(engine)
        .map_err(|fault| format!("{fault}\n    {file}:\n{code}"))
}
