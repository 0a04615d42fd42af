//! Resolving and loading over files in memory.

use sampan_host::Sources;
use sampan_js_modules::{Asked, Kind, Modules};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Files that a test can change.
#[derive(Default)]
struct Files(Mutex<HashMap<String, String>>);

impl Sources for Files {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let files = self.0.lock().expect("unpoisoned");
        files.get(path).map(|text| text.clone().into_bytes())
    }
}

fn project(files: &[(&str, &str)]) -> (Arc<Files>, Modules) {
    let named = files
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let files = Arc::new(Files(Mutex::new(named.collect())));
    let modules = Modules::new(Arc::clone(&files) as Arc<dyn Sources>);
    (files, modules)
}

fn code(modules: &Modules, path: &str) -> String {
    let script = modules
        .load(path)
        .unwrap_or_else(|error| panic!("{path}: {error}"));
    String::from_utf8(script.code.clone()).expect("UTF-8")
}

#[test]
fn names_are_resolved_within_the_project() {
    let (_, modules) = project(&[
        ("app.ts", ""),
        ("db.js", ""),
        ("routes/users.tsx", ""),
        ("lib/index.mjs", ""),
        ("x.js", ""),
        ("x.ts", ""),
        ("secret.ts", ""),
    ]);
    for (importer, name, found) in [
        ("app.js", "./routes/users.js", "routes/users.tsx"),
        ("app.js", "./routes/users", "routes/users.tsx"),
        ("routes/users.tsx", "../db.js", "db.js"),
        ("routes/users.tsx", "..//./db", "db.js"),
        ("routes/users.tsx", "/lib", "lib/index.mjs"),
        ("app.js", "./x.js", "x.js"),
        ("app.js", "./x", "x.ts"),
    ] {
        let resolved = modules.resolve(importer, name, Asked::Import);
        assert_eq!(resolved.as_deref(), Ok(found), "{name}");
    }
    for (name, why) in [
        ("../secret.js", "it lies outside the project"),
        ("./a/../../secret", "it lies outside the project"),
        ("./none", "there is no file none"),
        ("express", "npm install express"),
        ("routes/users.js", "write \"./routes/users.js\""),
        ("@a", "no name of a package"),
        ("file:///etc/passwd", "not addresses"),
        ("data:text/javascript,1", "not addresses"),
        (
            "node:fs/promises",
            "app.js needs Node.js's module \"fs/promises\"",
        ),
        ("react/jsx-runtime", "JSX needs the package react"),
    ] {
        let fault = modules
            .resolve("app.js", name, Asked::Import)
            .expect_err(name);
        assert!(fault.contains(why), "{name}: {fault}");
    }
    let fault = modules.resolve("routes/users.tsx", "lib/index.mjs", Asked::Import);
    let fault = fault.expect_err("a path without its front");
    assert!(fault.ends_with("write \"/lib/index.mjs\""), "{fault}");
}

#[test]
fn a_package_reads_no_file_outside_of_itself() {
    let (_, modules) = project(&[
        (
            "node_modules/bad/package.json",
            r#"{"exports": {"./a": "../../secret.js", "./b": "./../../secret.js", "./*": "./*.js"}}"#,
        ),
        (
            "node_modules/old/package.json",
            r#"{"main": "../../secret.js"}"#,
        ),
        ("secret.js", ""),
    ]);
    for name in [
        "bad/a",
        "bad/b",
        "bad/../../secret",
        "old",
        "old/../../secret.js",
    ] {
        let fault = modules
            .resolve("app.js", name, Asked::Import)
            .expect_err(name);
        assert!(!fault.is_empty());
    }
}

#[test]
fn the_same_text_is_transformed_once() {
    let (files, modules) = project(&[("app.ts", "export const a: number = 1;\n")]);
    let first = modules.load("app.ts").expect("loaded");
    assert_eq!(first.kind, Kind::Esm);
    modules.begin().expect("begun");
    assert!(Arc::ptr_eq(
        &first,
        &modules.load("app.ts").expect("loaded")
    ));
    let mut changed = files.0.lock().expect("unpoisoned");
    changed.insert("app.ts".into(), "export const a: string = '2';\n".into());
    drop(changed);
    assert!(code(&modules, "app.ts").contains("2"));
    files.0.lock().expect("unpoisoned").insert(
        "tsconfig.json".into(),
        "{\"compilerOptions\": {\"jsx\": \"nonsense\", \"paths\": 1}}".into(),
    );
    assert!(modules.begin().is_err());
}

#[test]
fn settings_of_tsconfig_decide_what_jsx_becomes() {
    let source = "export const page = <p>{1}</p>;\n";
    for (config, expected) in [
        ("{}", "from \"react/jsx-runtime\""),
        (
            r#"{"compilerOptions": {"jsxImportSource": "hono/jsx"}}"#,
            "from \"hono/jsx/jsx-runtime\"",
        ),
        (
            r#"{"compilerOptions": {"jsx": "react", "jsxFactory": "h"}}"#,
            "h(\"p\"",
        ),
    ] {
        let (_, modules) = project(&[("app.tsx", source), ("tsconfig.json", config)]);
        let code = code(&modules, "app.tsx");
        assert!(code.contains(expected), "{config}: {code}");
    }
}

#[test]
fn what_is_no_typescript_is_told_with_its_place() {
    for (source, place, part) in [
        (
            "const a = 1;\nconst a = 2;\n",
            "a.ts:1",
            "already been declared",
        ),
        ("\n\nlet x: = 3;\n", "a.ts:3", "SyntaxError"),
    ] {
        let (_, modules) = project(&[("a.ts", source)]);
        let Err(error) = modules.load("a.ts") else {
            panic!("{source:?} was transformed");
        };
        let told = error.to_string();
        assert!(
            told.contains(place) && told.contains(part),
            "{source:?}: {told}"
        );
    }
    let (_, modules) = project(&[("a.node", "")]);
    assert!(modules.load("a.node").is_err());
}

#[test]
fn a_file_of_a_package_is_what_its_package_or_its_syntax_says() {
    let (_, modules) = project(&[
        ("node_modules/a/package.json", r#"{"type": "module"}"#),
        ("node_modules/a/x.js", "exports.a = 1;"),
        ("node_modules/b/package.json", "{}"),
        ("node_modules/b/x.js", "return exports.a = 1;"),
        ("node_modules/b/y.js", "import './x.js';"),
        ("node_modules/b/z.js", "console.log(import.meta);"),
        ("node_modules/b/w.cjs", ""),
        ("node_modules/c/package.json", r#"{"type": "commonjs"}"#),
        ("node_modules/c/x.js", "export {};"),
        ("lib/x.js", "exports.a = 1;"),
    ]);
    for (path, kind) in [
        ("node_modules/a/x.js", Kind::Esm),
        ("node_modules/b/x.js", Kind::CommonJs),
        ("node_modules/b/y.js", Kind::Esm),
        ("node_modules/b/z.js", Kind::Esm),
        ("node_modules/b/w.cjs", Kind::CommonJs),
        ("node_modules/c/x.js", Kind::CommonJs),
        ("lib/x.js", Kind::Esm),
    ] {
        assert_eq!(modules.load(path).expect("loaded").kind, kind, "{path}");
    }
}

#[test]
fn maps_lead_to_the_source() {
    let source = "type A = string;\n\nfunction f(a: A): never {\n  throw new Error(a);\n}\n";
    let (_, modules) = project(&[("a.ts", source)]);
    let script = modules.load("a.ts").expect("loaded");
    let text = String::from_utf8(script.code.clone()).expect("UTF-8");
    let line = text
        .lines()
        .position(|line| line.contains("throw"))
        .expect("there") as u32
        + 1;
    let place = script.source_place(line, 8).expect("mapped");
    assert_eq!((place.file.as_str(), place.line), ("a.ts", 4));
    assert_eq!(script.source_place(9_999, 1), None);
    for broken in [
        "none.map",
        "data:application/json;base64,!!",
        "https://example.com/x.map",
        "../../x.map",
    ] {
        let (_, modules) =
            project(&[("b.js", &format!("let a;\n//# sourceMappingURL={broken}\n"))]);
        let script = modules.load("b.js").expect("loaded");
        assert!(script.is_mapped());
        assert_eq!(script.source_place(1, 1), None, "{broken}");
    }
}

#[test]
fn a_map_may_name_the_last_line_and_column_that_there_can_be() {
    let last = "+/////H";
    let map = format!("{{\"version\":3,\"sources\":[\"a.ts\"],\"mappings\":\"AA{last}{last}\"}}");
    let (_, modules) = project(&[
        ("b.js", "let a;\n//# sourceMappingURL=b.js.map\n"),
        ("b.js.map", &map),
    ]);
    let script = modules.load("b.js").expect("loaded");
    let place = script.source_place(1, 1).expect("mapped");
    assert_eq!((place.line, place.column), (u32::MAX, u32::MAX));
}

#[test]
fn a_package_below_the_parent_reads_across_its_own_further_package_files() {
    let (_, modules) = project(&[
        (
            "../node_modules/zod/package.json",
            r#"{"exports": {".": "./index.js"}}"#,
        ),
        ("../node_modules/zod/index.js", ""),
        ("../node_modules/zod/core/index.js", ""),
        (
            "../node_modules/zod/mini/package.json",
            r#"{"type": "module", "main": "./index.js"}"#,
        ),
        ("../node_modules/zod/mini/index.js", ""),
        ("../node_modules/other/index.js", ""),
    ]);
    let importer = "../node_modules/zod/mini/index.js";
    let found = modules.resolve(importer, "../core/index.js", Asked::Import);
    assert_eq!(found.as_deref(), Ok("../node_modules/zod/core/index.js"));
    let fault = modules.resolve(importer, "../../other/index.js", Asked::Import);
    assert_eq!(fault, Err("it lies outside its package".to_owned()));
}

#[test]
fn packages_that_ship_their_typescript_are_loaded_from_javascript() {
    let (_, modules) = project(&[
        ("node_modules/a/package.json", r#"{"main": "./lib/a"}"#),
        ("node_modules/a/lib/a.js", ""),
        ("node_modules/a/lib/a.ts", ""),
        ("node_modules/a/data.json", "{}"),
        ("node_modules/a/data.mjs", ""),
        ("node_modules/b/index.ts", ""),
        ("node_modules/b/index.js", ""),
        ("node_modules/b/own.ts", ""),
    ]);
    for (importer, name, found) in [
        ("app.js", "a", "node_modules/a/lib/a.js"),
        ("app.js", "b", "node_modules/b/index.js"),
        ("node_modules/a/lib/b.js", "./a", "node_modules/a/lib/a.js"),
        ("node_modules/a/lib/a.js", "..", "node_modules/a/lib/a.js"),
        (
            "node_modules/a/lib/a.js",
            "../data",
            "node_modules/a/data.json",
        ),
        ("node_modules/b/index.js", "./own", "node_modules/b/own.ts"),
        ("node_modules/b/index.js", ".", "node_modules/b/index.js"),
    ] {
        let resolved = modules.resolve(importer, name, Asked::Require);
        assert_eq!(resolved.as_deref(), Ok(found), "{name} in {importer}");
    }
}

#[test]
fn modules_that_a_package_switches_off_for_browsers_are_empty() {
    let (_, modules) = project(&[
        (
            "node_modules/a/package.json",
            r#"{"main": "./a.js", "browser": {"fs": false, "./lib/node.js": false}}"#,
        ),
        ("node_modules/a/a.js", ""),
        ("node_modules/a/lib/node.js", "require('child_process')"),
    ]);
    let importer = "node_modules/a/a.js";
    for name in ["fs", "./lib/node.js", "./lib/node"] {
        let found = modules.resolve(importer, name, Asked::Require);
        let script = modules.load(&found.expect(name)).expect("loaded");
        assert_eq!(script.kind, Kind::CommonJs, "{name}");
        assert!(script.code.is_empty(), "{name}");
    }
    for name in ["fs", "sampan:empty"] {
        assert!(modules.resolve("app.js", name, Asked::Import).is_err());
    }
}

#[test]
fn packages_give_what_they_have_for_browsers() {
    let (_, modules) = project(&[
        (
            "node_modules/nanoid/package.json",
            r#"{"exports": {".": {"browser": "./index.browser.js", "default": "./index.js"}, "./*": "./*.js"},
                "browser": {"./pool.js": "./pool.browser.js", "crypto": "./own.js"}}"#,
        ),
        ("node_modules/nanoid/index.js", ""),
        ("node_modules/nanoid/index.browser.js", ""),
        ("node_modules/nanoid/pool.js", ""),
        ("node_modules/nanoid/pool.browser.js", ""),
        ("node_modules/nanoid/own.js", ""),
        (
            "node_modules/old/package.json",
            r#"{"main": "./node.js", "browser": "./web.js"}"#,
        ),
        ("node_modules/old/node.js", ""),
        ("node_modules/old/web.js", ""),
    ]);
    for (importer, name, found) in [
        ("app.js", "nanoid", "node_modules/nanoid/index.browser.js"),
        (
            "app.js",
            "nanoid/pool",
            "node_modules/nanoid/pool.browser.js",
        ),
        (
            "node_modules/nanoid/index.js",
            "crypto",
            "node_modules/nanoid/own.js",
        ),
        ("app.js", "old", "node_modules/old/web.js"),
    ] {
        let resolved = modules.resolve(importer, name, Asked::Import);
        assert_eq!(resolved.as_deref(), Ok(found), "{name}");
    }
    let fault = modules
        .resolve("app.js", "node:async_hooks", Asked::Import)
        .expect_err("not there");
    assert!(
        fault.contains("AsyncLocalStorage is not there yet"),
        "{fault}"
    );
}
