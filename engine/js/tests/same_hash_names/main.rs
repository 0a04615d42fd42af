//! Texts of clients whose names share the hash by which QuickJS finds them are refused before they cost anything.

#[path = "../common/mod.rs"]
mod common;

use common::{App, get, load, post};
use sampan_host::{Error, ErrorKind};
use std::fmt::Write as _;

const REFUSAL: &str = "more than 256 names with the same hash";

/// Finds distinct names of eight letters whose hashes have the same low 16 bits. The last letter is computed.
fn same_hash(count: usize) -> Vec<String> {
    let add = |hash: u32, letter: u8| hash.wrapping_mul(263).wrapping_add(u32::from(letter));
    let letters = |number: u32, length: u32| {
        (0..length).map(move |place| b'a' + (number / 26_u32.pow(place) % 26) as u8)
    };
    let mut names = Vec::with_capacity(count);
    for start in 0.. {
        let hash = letters(start, 5).fold(1, add);
        for middle in 0..26 * 26 {
            let before = letters(middle, 2).fold(hash, add).wrapping_mul(263);
            let last = 0_u32.wrapping_sub(before) & 0xffff;
            let Some(last @ b'a'..=b'z') = u8::try_from(last).ok() else {
                continue;
            };
            let name = letters(start, 5).chain(letters(middle, 2)).chain([last]);
            names.push(name.map(char::from).collect());
            if names.len() == count {
                return names;
            }
        }
    }
    unreachable!("the numbers do not end")
}

/// Writes a JSON object with these names, each name as `write` gives it.
fn object(names: &[String], write: impl Fn(&str) -> String) -> String {
    let members = names.iter().map(|name| format!("\"{}\":1", write(name)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// Writes every letter of a name as an escape.
fn escaped(name: &str) -> String {
    name.bytes().fold(String::new(), |mut text, byte| {
        write!(text, "\\u{byte:04x}").expect("a string takes all");
        text
    })
}

fn plain(name: &str) -> String {
    name.to_owned()
}

fn ordinary(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("name{number}")).collect()
}

fn app(expression: &str) -> App {
    load(&format!(
        "import {{ app, probe }} from 'sampan'; app.post('/', async (req) => {{ const value = {expression}; \
         return String(Object.keys(value).length); }});"
    ))
}

fn refused(result: Result<sampan_rig::TestAnswer, Error>) {
    let Err(error) = result else {
        panic!("it is not refused");
    };
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::BadRequest, REFUSAL)
    );
}

#[test]
fn bodies_with_names_of_one_hash_are_refused() {
    let names = same_hash(20_000);
    let json = app("await req.json()");
    let list = format!("[{}]", object(&names, plain).replace(',', "},{"));
    let lists = format!(
        "[{}]",
        names
            .chunks(20)
            .map(|names| format!("[{}]", [object(names, plain).as_str(); 8].join(",")))
            .collect::<Vec<_>>()
            .join(",")
    );
    for text in [object(&names, plain), object(&names, escaped), list, lists] {
        refused(json.only(post("/", "application/json", &text)));
    }
    let form = app("await req.form()");
    let body = names.join("=1&");
    let kind = "application/x-www-form-urlencoded";
    refused(form.only(post("/", kind, &body)));
    let streamed = app("await req.clone().json()");
    refused(streamed.only(post("/", "application/json", &object(&names, plain))));
    assert_eq!(json.text(post("/", "application/json", r#"{"a":1}"#)), "1");
    assert_eq!(form.text(post("/", kind, "a=1")), "1");
}

#[test]
fn queries_with_names_of_one_hash_are_refused() {
    let app = app("req.query");
    let pairs = same_hash(2_000).join("&");
    refused(app.only(post(&format!("/?{pairs}"), "text/plain", "")));
}

#[test]
fn values_of_capabilities_with_names_of_one_hash_are_refused() {
    let app = app("probe.echo((await req.text()).split(' ').map((name) => ({ [name]: 1 })))");
    refused(app.only(post("/", "text/plain", &same_hash(2_000).join(" "))));
    let text = ordinary(2_000).join(" ");
    assert_eq!(app.text(post("/", "text/plain", &text)), "2000");
}

#[test]
fn ordinary_names_pass() {
    let names = ordinary(50_000);
    let text = object(&names, plain);
    for expression in ["await req.json()", "JSON.parse(await req.text())"] {
        let app = app(expression);
        let post = |text: &str| app.text(post("/", "application/json", text));
        assert_eq!(post(&text), "50000", "{expression}");
        assert_eq!(post(&object(&names, escaped)), "50000", "{expression}");
        let mut record = ordinary(40);
        record[0].push('é');
        let records = vec![object(&record, plain); 20_000].join(",");
        assert_eq!(post(&format!("[{records}]")), "20000", "{expression}");
    }
    let form = app("await req.form()");
    let body = names.join("=1&");
    let kind = "application/x-www-form-urlencoded";
    assert_eq!(form.text(post("/", kind, &body)), "50000");
}

#[test]
fn json_parse_refuses_names_of_one_hash_as_it_refuses_what_is_no_json() {
    let app = load(
        "import { app } from 'sampan'; app.post('/', async (req) => { const text = await req.text();
        const given = req.query.object ? { toString: () => text } : text;
        try { return String(JSON.parse(given, req.query.reviver && ((key, value) => value)).length); }
        catch (error) { return `${error instanceof SyntaxError} ${error.message}`; } });",
    );
    let names = same_hash(20_000);
    for text in [object(&names, plain), object(&names, escaped)] {
        for path in ["/", "/?object=1", "/?reviver=1"] {
            let answer = app.text(post(path, "text/plain", &text));
            assert_eq!(answer, format!("true {REFUSAL}"), "{path}");
        }
    }
    // No names.
    let texts = format!("[\"{}\"]", names.join("\" , \""));
    assert_eq!(app.text(post("/", "text/plain", &texts)), "20000");
}

#[test]
fn json_parse_is_as_it_was() {
    let app = load(
        "import { app } from 'sampan'; app.get('/', () => {
        const caught = (call) => { try { return call(); } catch (error) { return `${error.name}: ${error.message}`; } };
        const { get, set, value, ...flags } = Object.getOwnPropertyDescriptor(JSON, 'parse');
        const long = JSON.stringify('x'.repeat(20000));
        return [JSON.parse.name, JSON.parse.length, flags, 'prototype' in JSON.parse, caught(() => new JSON.parse('1')),
          Object.getOwnPropertyNames(JSON.parse), `${JSON.parse}`, JSON.parse.call(undefined, '[1]'),
          JSON.parse('[1,2]', function (key, value, { source }) { return Array.isArray(value) ? value : source; }),
          caught(() => JSON.parse()), caught(() => JSON.parse('{')), caught(() => JSON.parse(Symbol())),
          caught(() => JSON.parse({ toString() { throw new RangeError('no'); } })), JSON.parse(new String('5')),
          caught(() => JSON.parse('{\"a\"' + long + '}')), caught(() => JSON.parse(long + ':')),
          JSON.parse(`{\"a\": ${long}, \"b\" : 2}`).b, JSON.parse(1n), JSON.parse(null)]; });",
    );
    let expected = r#"["parse",2,{"writable":true,"enumerable":false,"configurable":true},false,
        "TypeError: not a constructor",["length","name"],"function parse() {\n    [native code]\n}",[1],["1","2"],
        "SyntaxError: unexpected token: 'undefined'",
        "SyntaxError: Expected property name or '}' in JSON at position 1 (line 1 column 2)",
        "TypeError: cannot convert symbol to string","RangeError: no",5,
        "SyntaxError: Expected ':' after property name in JSON at position 4 (line 1 column 5)",
        "SyntaxError: unexpected data at the end",2,1,null]"#;
    assert_eq!(app.text(get("/")), expected.replace("\n        ", ""));
}
