//! The forbidden names: capabilities the languages of the scripts, engines the capabilities.
//!
//! The rules read lines, not syntax. Comments do not count, nor what follows `mod tests {` in Rust.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::Tree;
use crate::error::Error;

const CAPABILITIES: &str = "capabilities/";
const ENGINES: &[&str] = &[
    "engine/lua/src/",
    "engine/js/src/",
    "engine/js_contract/src/",
    "engine/napi/src/",
];

/// Words that name a language or its engine wherever they stand in a longer word.
const LANGUAGES: &[&str] = &["luajit", "javascript", "quickjs", "typescript"];

/// The objects in which scripts, and so the preludes, find capabilities in.
const HOLDERS: &[&str] = &["app", "modules", "sampan"];

/// The file, the name in it, and why it is not a look-up of a capability.
type Excuse = (&'static str, &'static str, &'static str);

#[rustfmt::skip]
const EXCUSES: &[Excuse] = &[
    ("engine/lua/src/libraries/refused.lua", "app.log", "advice: what a script calls instead"),
    ("engine/lua/src/libraries/refused.lua", "app.env", "advice: what a script calls instead"),
    ("engine/lua/src/libraries/refused.lua", "app.files", "advice: what a script calls instead"),
    ("engine/lua/src/vm/load/prelude.lua", "json", "the builder of answers"),
    ("engine/lua/src/vm/load/prelude.lua", "app.json", "the builder has the functions of the module too"),
    ("engine/js_contract/src/prelude/builders.js", "json", "the builder of answers"),
    ("engine/lua/src/vm/host_table.rs", "json", "the kind of an answer"),
    ("engine/js_contract/src/describe.rs", "json", "the kind of an answer"),
    ("engine/js/src/vm/modules.rs", "json", "the extension of a file that scripts import"),
    ("engine/lua/src/request/object.rs", "json", "a method of requests"),
    ("engine/js/src/request/prototypes.rs", "json", "a method of the Web's Request"),
    ("engine/napi/src/vm/prelude/request.js", "json", "a method of the Web's Request"),
    ("engine/js/src/vm/error/advice.rs", "json", "a method of the Web's Request"),
    ("engine/js/src/request/body.rs", "json", "a method of the Web's Request"),
    ("engine/js/src/web/boot.js", "json", "a method of the Web's Request and Response"),
    ("engine/lua/src/vm/load/fetch.lua", "json", "an option, and a method of answers"),
    ("engine/js/src/web/fetch/response.js", "json", "a static method of the Web's Response"),
    ("engine/js/src/web/boot.js", "cache", "a property of the Web's Request"),
    ("engine/js/src/web/boot.js", "log", "the hook that console writes to"),
    ("engine/js/src/web/boot.js", "crypto", "a global of the Web"),
    ("engine/js/src/web/crypto.js", "crypto", "a global of the Web"),
    ("engine/js/src/web/mod.rs", "crypto", "a global of the Web"),
    ("engine/js_contract/src/prelude/upgrade.js", "ws", "the scheme of a URL"),
    ("engine/js/src/web/url.js", "password", "a part of a URL"),
    ("engine/js/src/web/url.rs", "password", "a part of a URL"),
];

/// The capabilities that scripts do not call.
const WITHOUT_FUNCTIONS: &[&str] = &["capabilities/backup"];

/// No capability names a language of the scripts, or its own functions as JavaScript spells them, in code or in a text.
pub(super) fn languages(tree: &Tree) -> Result<Vec<String>, Error> {
    let sources = sources(tree, &[CAPABILITIES], &["rs"])?;
    let all = || sources.iter().flat_map(|(path, text)| lines(path, text));
    let texts = all().flat_map(|(_, _, line)| line.split('"').skip(1).step_by(2));
    let names = texts.filter(|text| is_snake_case(text));
    let spellings: BTreeMap<String, &str> = names.map(|name| (camel_case(name), name)).collect();
    let mut complaints = Vec::new();
    for (path, number, line) in all() {
        for word in line.split(is_no_word) {
            let advice = match spellings.get(word) {
                Some(name) => format!("write {name}"),
                None if names_language(word) => "say it without the language".to_owned(),
                None => continue,
            };
            complaints.push(format!("{path}:{number}: {word}: {advice}"));
        }
    }
    Ok(complaints)
}

/// No text in an engine is the name of a capability, and nothing takes a capability from what holds them by its name.
pub(super) fn capabilities(tree: &Tree) -> Result<Vec<String>, Error> {
    named_capabilities(tree, EXCUSES)
}

fn named_capabilities(tree: &Tree, excuses: &[Excuse]) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    let mut names = BTreeSet::new();
    for (folder, name) in tables(tree)? {
        match name {
            // Functions of `app` itself: a name that engines know.
            Some(name) if name == "app" => {}
            Some(name) => drop(names.insert(name)),
            None if WITHOUT_FUNCTIONS.contains(&folder.as_str()) => {}
            None => complaints.push(format!(
                "{folder} has no table `MODULE` with a `name: \"...\"`"
            )),
        }
    }
    let mut used = BTreeSet::new();
    let sources = sources(tree, ENGINES, &["rs", "lua", "js"])?;
    for (path, number, line) in sources.iter().flat_map(|(path, text)| lines(path, text)) {
        for found in look_ups(line, &names) {
            match excuses.iter().find(|(file, name, _)| *file == path && *name == found) {
                Some(excuse) => drop(used.insert(excuse)),
                None => complaints.push(format!(
                    "{path}:{number}: {found} names a capability: let its row declare what the engine needs to know"
                )),
            }
        }
    }
    let stale = excuses.iter().filter(|excuse| !used.contains(excuse));
    complaints.extend(stale.map(|(path, name, reason)| {
        format!("xtask/src/tidy/names.rs excuses {name} in {path} ({reason}), where it is not")
    }));
    Ok(complaints)
}

/// The sources below these folders, without test files.
fn sources(
    tree: &Tree,
    folders: &[&str],
    extensions: &[&str],
) -> Result<Vec<(String, String)>, Error> {
    let is_source = |path: &&str| {
        let is_test = |part: &str| matches!(part, "test" | "tests");
        folders.iter().any(|folder| path.starts_with(folder))
            && path.contains("/src/")
            && !path.split(['/', '_', '.']).any(is_test)
    };
    tree.with_extension(extensions)
        .filter(is_source)
        .map(|path| Ok((path.to_owned(), tree.text(path)?)))
        .collect()
}

/// The lines of code of a source, each with its path and its number.
fn lines<'a>(path: &'a str, text: &'a str) -> impl Iterator<Item = (&'a str, usize, &'a str)> {
    let comment = if path.ends_with(".lua") { "--" } else { "//" };
    let code = text.split("#[cfg(test)]\nmod tests {").next();
    let numbered = code.unwrap_or_default().lines().zip(1..);
    numbered.filter_map(move |(line, number)| {
        let is_code = |part: &&str| {
            !["/*", "*"]
                .iter()
                .any(|mark| part.trim_start().starts_with(mark))
        };
        let code = line.split(comment).next().filter(is_code)?;
        Some((path, number, code))
    })
}

/// Crates beside the capabilities that one of them uses: they have no functions for scripts.
const BACKENDS: &[&str] = &["capabilities/postgres"];

/// The folder of each capability, and the name that its table gives it.
fn tables(tree: &Tree) -> Result<BTreeMap<String, Option<String>>, Error> {
    let mut tables = BTreeMap::new();
    for (path, text) in sources(tree, &[CAPABILITIES], &["rs"])? {
        let folder = path.split("/src/").next().unwrap_or_default();
        if BACKENDS.contains(&folder) {
            continue;
        }
        let found: &mut Option<String> = tables.entry(folder.to_owned()).or_default();
        let name = text.split_once("MODULE: Module = Module {\n    name: \"");
        if let Some((name, _)) = name.and_then(|(_, rest)| rest.split_once('"')) {
            *found = Some(name.to_owned());
        }
    }
    Ok(tables)
}

/// Returns the names of capabilities in a line: a whole text, or a name behind what holds capabilities.
fn look_ups(line: &str, names: &BTreeSet<String>) -> Vec<String> {
    let is_text = |name: &&String| {
        let quoted = ['"', '\'', '`'].map(|quote| format!("{quote}{name}{quote}"));
        quoted.iter().any(|text| line.contains(text.as_str()))
    };
    let texts = names.iter().filter(is_text).cloned();
    let chains = line.split(|found| is_no_word(found) && found != '.');
    let pairs = chains.flat_map(|chain| {
        let words: Vec<&str> = chain.split('.').collect();
        let pairs = words.windows(2);
        let named = pairs.filter(|pair| HOLDERS.contains(&pair[0]) && names.contains(pair[1]));
        named.map(|pair| pair.join(".")).collect::<Vec<_>>()
    });
    texts.chain(pairs).collect()
}

fn is_no_word(found: char) -> bool {
    !found.is_alphanumeric() && found != '_'
}

/// Reports whether a text is a name that JavaScript spells in another way.
fn is_snake_case(text: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_lowercase())
            && part
                .chars()
                .all(|one| one.is_ascii_lowercase() || one.is_ascii_digit())
    };
    text.contains('_') && text.split('_').all(is_part)
}

fn camel_case(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |camel, part| {
        let (initial, rest) = part.split_at(part.len().min(1));
        camel + &initial.to_uppercase() + rest
    })
}

/// Short names of languages count where they are a part of a name, as in `from_js` and `LuaError`, but not in
/// `evaluate`.
fn names_language(word: &str) -> bool {
    let word = word.replace("JSON", "").replace("Json", "");
    let lower = word.to_lowercase();
    LANGUAGES.iter().any(|language| lower.contains(language))
        || lower.split('_').any(|part| part == "lua" || part == "js")
        || ["Lua", "LUA", "Js", "JS"]
            .iter()
            .any(|name| word.contains(name))
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::*;

    const TABLE: (&str, &str) = (
        "capabilities/log/src/module.rs",
        "/// The table.\npub static MODULE: Module = Module {\n    name: \"log\",\n    functions: &[],\n};\n",
    );

    #[test]
    fn a_language_in_a_capability_is_found() {
        let found = |code: &str| {
            let (_scratch, tree) = tree(&[("capabilities/db/src/api.rs", code)]);
            languages(&tree).expect("readable")
        };
        for bad in [
            "doc: \"Waits in Lua.\"",
            "doc: \"In JavaScript it fails.\"",
            "fn from_js() {}",
            "struct LuaError;",
            "enum JSValue {}",
            "let a = luajit;",
            "use rquickjs::Value;",
            "r#\"app.lua\"#",
        ] {
            assert_eq!(found(bad).len(), 1, "{bad}: {:?}", found(bad));
        }
        for good in [
            "// Lua",
            "/// JavaScript",
            "let json = evaluate(Values, \"JSON\");",
            "#[cfg(test)]\nmod tests { const A: &str = \"app.lua\"; }",
        ] {
            assert_eq!(found(good), [""; 0], "{good}");
        }
        assert_eq!(
            found("\nfn f() {\n    \"Lua waits\"\n}"),
            ["capabilities/db/src/api.rs:3: Lua: say it without the language"]
        );
    }

    #[test]
    fn a_function_as_javascript_spells_it_is_found_in_a_capability() {
        let row = "name: \"query_async\", doc: \"See `query_async`.\"";
        let error = "Error::script(\"use db.queryAsync\")";
        let path = "capabilities/db/src/sqlite/error.rs";
        let (_scratch, tree) = tree(&[
            ("capabilities/db/src/api.rs", row),
            (path, error),
            ("capabilities/db/src/tests.rs", error),
            ("capabilities/db/src/read_test.rs", error),
            ("engine/js/src/lib.rs", error),
        ]);
        assert_eq!(
            languages(&tree).expect("readable"),
            [format!("{path}:1: queryAsync: write query_async")]
        );
    }

    #[test]
    fn a_capability_that_an_engine_names_is_found() {
        let found = |path: &str, code: &str| {
            let (_scratch, tree) = tree(&[TABLE, (path, code)]);
            named_capabilities(&tree, &[]).expect("readable")
        };
        for (path, bad) in [
            (
                "engine/js/src/vm/bind.rs",
                "if row.module.name == \"log\" {}",
            ),
            ("engine/lua/src/vm/bind.rs", "push(c\"log\")"),
            (
                "engine/lua/src/vm/load/prelude.lua",
                "if row.module == 'log' then end",
            ),
            (
                "engine/lua/src/vm/load/prelude.lua",
                "local info = app.log.info",
            ),
            (
                "engine/lua/src/vm/load/prelude.lua",
                "error('use app.log.info')",
            ),
            ("engine/js/src/vm/load/prelude.js", "modules[`log`]"),
            (
                "engine/js/src/vm/load/prelude.js",
                "const { info } = modules.log",
            ),
        ] {
            assert_eq!(found(path, bad).len(), 1, "{bad}: {:?}", found(path, bad));
        }
        for (path, good) in [
            ("engine/js/src/vm/bind.rs", "log(\"log in\") // \"log\""),
            (
                "engine/js/src/vm/bind.rs",
                "#[cfg(test)]\nmod tests { f(\"log\") }",
            ),
            ("engine/js/src/web/tests/a.rs", "f(\"log\")"),
            ("engine/js/tests/a.rs", "f(\"log\")"),
            ("engine/rig/src/modules.rs", "name: \"log\""),
            (
                "engine/lua/src/vm/load/prelude.lua",
                "console.log(app) -- app.log",
            ),
        ] {
            assert_eq!(found(path, good), [""; 0], "{good}");
        }
        assert_eq!(
            found("engine/js/src/a.js", "f(\n\"log\")"),
            [
                "engine/js/src/a.js:2: log names a capability: let its row declare what the engine needs to know"
            ]
        );
    }

    #[test]
    fn an_excuse_counts_in_its_file_alone_and_must_be_needed() {
        let excuses: &[Excuse] = &[("engine/js/src/a.js", "log", "why")];
        let found = |path: &str| {
            let (_scratch, tree) = tree(&[TABLE, (path, "f('log')")]);
            named_capabilities(&tree, excuses).expect("readable")
        };
        assert_eq!(found("engine/js/src/a.js"), [""; 0]);
        assert_eq!(
            found("engine/js/src/b.js"),
            [
                "engine/js/src/b.js:1: log names a capability: let its row declare what the engine needs to know",
                "xtask/src/tidy/names.rs excuses log in engine/js/src/a.js (why), where it is not"
            ]
        );
    }

    #[test]
    fn a_capability_whose_name_is_not_found_is_a_fault() {
        let unnamed = (
            "capabilities/time/src/lib.rs",
            "static OTHER: Module = other();",
        );
        let (_scratch, tree) = tree(&[TABLE, unnamed]);
        assert_eq!(
            named_capabilities(&tree, &[]).expect("readable"),
            ["capabilities/time has no table `MODULE` with a `name: \"...\"`"]
        );
    }
}
