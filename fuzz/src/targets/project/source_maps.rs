//! A place in a script leads to the place that its map has for it, as a search through all of the map finds it. Places
//! in what a transformation made lie within the source, and JavaScript that it made can be read again. Reading a map
//! reads no file outside of the project.
//!
//! The first byte of an input says where the map comes from: a `data:` URL, a file beside the script, TypeScript.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oxc_sourcemap::SourceMap;
use sampan_host::Sources;
use sampan_js_modules::{Modules, SourcePlace};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Pieces of maps and of TypeScript.
#[rustfmt::skip]
pub(crate) const WORDS: &[&[u8]] = &[
    b"\0", b"\x01", b"\x02", b"\x03", b"{\"version\":3,\"sources\":[\"a.ts\"],\"mappings\":\"", b"\"}", b"\",\"names\":[]", b"\"sourcesContent\":[\"x\",null]",
    b"\"sourceRoot\":\"src/\"", b"AAAA", b"AACA", b"AAAAA", b"A", b";", b",", b"CAAC", b"D", b"gB", b"+/////D", b"\"../b.ts\"", b"\"webpack://app/./c.ts\"",
    b"\"/etc/passwd\"", b"../", b"./", b"maps/app.js.map", b"data:application/json;base64,", b"http://", b"const a: number = 1;\n", b"enum E { A }\n",
    b"class C<T> { constructor(private x: T) {} }\n", b"type T = string;\n", b"function f(a?: string): void {}\n", b"namespace N { export const a = 1 }\n",
    b"export {};\n", b"import type { A } from 'a';\n", b"\xe2\x80\xa8", b"\xf0\x9f\x98\x80", b"\r\n", b"@d ", b"<T>x", b" as any", b"!", b"?.", b"`${a}`",
];

/// Files in memory, with the paths that were read.
struct Files {
    files: HashMap<String, Vec<u8>>,
    read: Mutex<Vec<String>>,
}

impl Sources for Files {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.read
            .lock()
            .expect("no panic before")
            .push(path.to_owned());
        self.files.get(path).cloned()
    }

    fn find(&self, path: &str) -> Option<String> {
        self.files.contains_key(path).then(|| path.to_owned())
    }
}

pub(crate) fn run(bytes: &[u8]) {
    let [way, rest @ ..] = bytes else {
        return;
    };
    let code = "one\n  two();\n\nfour;\n";
    match way % 3 {
        0 => {
            let url = format!("data:application/json;base64,{}", STANDARD.encode(rest));
            by_map(&format!("{code}//# sourceMappingURL={url}"), &[], rest);
        }
        1 => {
            // The URL, and the file that it may mean.
            let text = String::from_utf8_lossy(rest);
            let (url, map) = text.split_once('\n').unwrap_or((&text, ""));
            if !url.starts_with("data:") {
                let files =
                    ["maps/app.js.map", "app.js.map", "../app.js.map"].map(|path| (path, map));
                by_map(
                    &format!("{code}//# sourceMappingURL={url}"),
                    &files,
                    map.as_bytes(),
                );
            }
        }
        _ => {
            typescript(rest);
            printed_again(rest);
        }
    }
}

fn modules(files: &[(&str, &[u8])]) -> (Arc<Files>, Modules) {
    let files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.to_vec()));
    let files = Arc::new(Files {
        files: files.collect(),
        read: Mutex::default(),
    });
    let modules = Modules::new(Arc::clone(&files) as Arc<dyn Sources>);
    (files, modules)
}

fn by_map(code: &str, beside: &[(&str, &str)], map: &[u8]) {
    let mut all = vec![("app.js", code.as_bytes())];
    all.extend(beside.iter().map(|(path, text)| (*path, text.as_bytes())));
    let (files, modules) = modules(&all);
    let script = modules.load("app.js").expect("a script");
    let places: Vec<_> = (1..7)
        .flat_map(|line| (1..12).map(move |column| (line, column)))
        .collect();
    let found: Vec<_> = places
        .iter()
        .map(|&(line, column)| script.source_place(line, column))
        .collect();
    let read = files.read.lock().expect("no panic before").clone();
    assert!(
        read.iter().all(|path| !path.starts_with("../")),
        "read: {read:?}"
    );
    let text = std::str::from_utf8(map).ok();
    let map = text.and_then(|text| SourceMap::from_json_string(text).ok());
    let is_beside = |path: &String| beside.iter().any(|(known, _)| known == path);
    let read = read.into_iter().find(is_beside);
    let is_read = beside.is_empty() || read.is_some();
    let read = read.unwrap_or_default();
    let folder = read.rsplit_once('/').map_or("", |(folder, _)| folder);
    let Some(map) = map.filter(|_| is_read) else {
        assert!(
            found.iter().all(Option::is_none),
            "places out of nothing: {found:?}"
        );
        return;
    };
    for (place, found) in places.iter().zip(&found) {
        let expected = plainly(&map, *place);
        let here = found.as_ref().map(|place| (place.line, place.column));
        assert_eq!(
            here,
            expected.as_ref().map(|(_, line, column)| (*line, *column)),
            "{place:?}"
        );
        let (Some(found), Some((source, ..))) = (found, expected) else {
            continue;
        };
        check_file(found, &source, &map, folder);
    }
}

/// The last stretch that begins on the line and not behind the place, or else the first of the line.
fn plainly(map: &SourceMap<'_>, (line, column): (u32, u32)) -> Option<(String, u32, u32)> {
    let here = || {
        map.get_tokens()
            .filter(|token| token.get_dst_line() == line - 1)
    };
    let before = here().filter(|token| token.get_dst_col() < column);
    let token = before.max_by_key(|token| token.get_dst_col());
    let token = token.or_else(|| here().min_by_key(|token| token.get_dst_col()))?;
    let source = map.get_source(token.get_source_id()?)?;
    let (line, column) = (token.get_src_line(), token.get_src_col());
    Some((
        source.to_owned(),
        line.saturating_add(1),
        column.saturating_add(1),
    ))
}

/// A source without a root and without dots is a file beside its map.
fn check_file(found: &SourcePlace, source: &str, map: &SourceMap<'_>, folder: &str) {
    let parts = found.file.split('/');
    let mut inner = parts.skip_while(|part| *part == "..");
    assert!(inner.all(|part| !matches!(part, "." | "..")), "{found:?}");
    let is_plain = !source.contains([':', '/', '.', '\\']) && !source.is_empty();
    if is_plain && map.get_source_root().unwrap_or_default().is_empty() {
        let file = if folder.is_empty() {
            source.to_owned()
        } else {
            format!("{folder}/{source}")
        };
        assert_eq!(found.file, file);
    }
}

fn typescript(source: &[u8]) {
    let (files, modules) = modules(&[("app.ts", source)]);
    let Ok(script) = modules.load("app.ts") else {
        return;
    };
    let code = std::str::from_utf8(&script.code).expect("code is text");
    let source = String::from_utf8_lossy(source);
    let lines = source.split(['\n', '\r', '\u{2028}', '\u{2029}']).count() as u32;
    for (at, line) in code.lines().enumerate() {
        for column in [1, 2, line.len() as u32 / 2 + 1, line.len() as u32 + 1] {
            if let Some(place) = script.source_place(at as u32 + 1, column) {
                assert_eq!(place.file, "app.ts");
                assert!(
                    place.line <= lines && place.column as usize <= source.len() + 1,
                    "{place:?} of {lines} lines"
                );
            }
        }
    }
    assert!(
        files
            .read
            .lock()
            .expect("no panic before")
            .iter()
            .all(|path| !path.starts_with("../"))
    );
}

/// JavaScript that was printed is JavaScript again. This cannot be said of TypeScript, whose parser leaves some faults
/// to the engine.
fn printed_again(source: &[u8]) {
    let printed = |source: &[u8]| {
        let (_, modules) = modules(&[("app.jsx", source)]);
        modules.load("app.jsx")
    };
    if let Ok(script) = printed(source) {
        assert!(
            printed(&script.code).is_ok(),
            "{:?} became {:?}, which is refused",
            String::from_utf8_lossy(source),
            String::from_utf8_lossy(&script.code)
        );
    }
}
