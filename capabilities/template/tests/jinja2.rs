//! Renders the templates of Jinja2's own tests and compares with what Jinja2 printed.
//!
//! `jinja2/cases.json` was recorded by `jinja2/record.py` from the tests of Jinja2 3.1.6 (BSD-3-Clause,
//! `jinja2/LICENSE.txt`): every rendering whose data is plain and whose environment has the default syntax.
//! `jinja2/differences.txt` lists those that differ, with the reason. Left out are: data with Python objects, other
//! syntax or whitespace options, own filters, sandbox, native types, `random`, policies.

#[allow(dead_code, reason = "the oracle uses the rest")]
mod support;

use minijinja::{UndefinedBehavior, Value};
use sampan_template::Templates;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::Path;
use support::{MemoryReader, by_us};

/// The smallest count of equal renderings.
const EQUAL_MIN: usize = 560;

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::from(whole),
            None => Value::from(number.as_f64()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => items.iter().map(value).collect(),
        Json::Object(members) => Value::from_pairs(
            members
                .iter()
                .map(|(name, member)| (Value::from(name.as_str()), value(member)))
                .collect::<Vec<_>>(),
        ),
    }
}

/// The text with the characters that both escape, each in its own way.
fn plain_escapes(text: &str) -> String {
    text.replace("&#x27;", "&#39;")
        .replace("&quot;", "&#34;")
        .replace("&#x2f;", "/")
}

fn render(case: &Json) -> Result<String, String> {
    let mut files = Vec::new();
    for (name, text) in case["templates"].as_object().into_iter().flatten() {
        files.push((name.clone(), text.as_str().unwrap_or_default().to_owned()));
    }
    // A template that Jinja2 has not loaded may be wrong.
    files.retain(|file| {
        let alone = Templates::compile([(file.0.clone(), file.1.clone().into_bytes())]);
        alone.is_ok() || case["main"] == file.0.as_str()
    });
    let main = match (case["main"].as_str(), &case["autoescape"]) {
        (Some(main), _) => main,
        (None, Json::Bool(true)) => "the main template.html",
        (None, _) => "the main template",
    };
    if let Some(source) = case["source"].as_str() {
        files.push((main.to_owned(), source.to_owned()));
    }
    let undefined = match case["undefined"].as_str() {
        Some("strict") => UndefinedBehavior::Strict,
        Some("chainable") => UndefinedBehavior::Chainable,
        _ => UndefinedBehavior::Lenient,
    };
    let data = match &case["context"] {
        Json::Null => Value::from_pairs(Vec::<(Value, Value)>::new()),
        context => value(context),
    };
    by_us(&files, main, &MemoryReader::new(data), undefined)
}

#[test]
fn renders_as_jinja2_renders_its_own_tests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jinja2");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a data file");
    let cases: Vec<Json> = serde_json::from_str(&read("cases.json")).expect("JSON");
    let differences = read("differences.txt");
    let known: BTreeMap<&str, &str> = differences
        .lines()
        .filter_map(|line| line.split_once(" | "))
        .collect();
    let (mut equal, mut surprises) = (0, Vec::new());
    for case in &cases {
        let name = case["test"].as_str().unwrap_or_default();
        let name = name.replace('\n', "\\n");
        let ours = render(case);
        let is_equal = match (case["output"].as_str(), &ours) {
            (Some(wanted), Ok(ours)) => plain_escapes(wanted) == plain_escapes(ours),
            (None, Err(_)) => true,
            _ => false,
        };
        equal += usize::from(is_equal);
        if is_equal == known.contains_key(name.as_str()) {
            surprises.push(format!("{name}\n  {case}\n  ours: {ours:?}"));
        }
    }
    let told = format!("{equal} of {} are equal", cases.len());
    assert!(
        surprises.is_empty(),
        "{told}; these differ and are not in differences.txt, or do not differ and are:\n{}",
        surprises.join("\n")
    );
    assert!(equal >= EQUAL_MIN, "{told}");
}
