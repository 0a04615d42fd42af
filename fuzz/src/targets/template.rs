//! Templates: our renderer prints what minijinja prints, and fails where it fails.
//!
//! An input is the text of a template, and behind lines of `=== name` those of further ones.

#[path = "../../../capabilities/template/tests/support/mod.rs"]
mod support;

use crate::unless_it_panics;
use minijinja::UndefinedBehavior;
use support::{MemoryReader, by_minijinja, by_us, data};

const DATA: &str = r#"{"name": "A<b>\"'/&", "n": 42, "f": 1.5, "t": true, "no": false, "nothing": none, "empty": "", "xs": [3, 1, 2], "words":
    ["b", "a", "<c>"], "user": {"name": "Ada", "age": 36, "tags": ["x"]}, "users": [{"name": "Ada", "on": true}, {"name": "B<", "on": false}],
    "map": {"z": 1, "a": 2}, "tree": [{"n": "r", "kids": [{"n": "x", "kids": []}]}], "html": "<i>&amp;</i>"}"#;

/// The features that differ or would take long: `is sameas` of values that are read where they lie, what shows the
/// machine itself.
const LEFT_OUT: [&str; 5] = ["sameas", "debug", "lipsum", "**", "pprint"];
/// Jumps out of these leave minijinja with frames that are not its own.
const JUMPED_OUT_OF: [&str; 6] = [
    "with",
    "endset",
    "autoescape",
    "endfilter",
    "call",
    "import",
];

/// The words by which a value becomes markup: minijinja forgets that it is where `~` or `+` joins it.
const MARKUP: [&str; 13] = [
    "safe", "escape", "|e", "| e", "macro", "caller", "endset", "loop(", "super", "self",
    "xmlattr", "tojson", "urlize",
];

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let jumps = text.contains("continue") || text.contains("break");
    let is_large = |text: &str| {
        let mut numbers = text.split(|one: char| !one.is_ascii_digit());
        numbers.any(|digits| digits.len() > 2 || digits > "42" && digits.len() == 2)
    };
    let joins = text.contains(['~', '+']);
    if LEFT_OUT.iter().any(|word| text.contains(word))
        || joins && MARKUP.iter().any(|word| text.contains(word))
        || jumps && JUMPED_OUT_OF.iter().any(|word| text.contains(word))
        || is_large(text)
    {
        return;
    }
    let mut files = Vec::new();
    for (at, part) in text.split("\n=== ").enumerate() {
        let (name, text) = match at {
            0 => ("main.html", part),
            _ => part.split_once('\n').unwrap_or((part, "")),
        };
        files.push((name.to_owned(), text.to_owned()));
    }
    let behaviors = [
        UndefinedBehavior::SemiStrict,
        UndefinedBehavior::Lenient,
        UndefinedBehavior::Strict,
        UndefinedBehavior::Chainable,
    ];
    let undefined = behaviors[bytes.len() % behaviors.len()];
    let data = data(DATA);
    // A few templates make minijinja panic; there is nothing to compare with then.
    let wanted = unless_it_panics(|| by_minijinja(&files, "main.html", &data, undefined));
    let Some(wanted) = wanted else {
        return;
    };
    // What took too long, and the syntax that Jinja2 has beside minijinja: a sign `+`, blocks in macros, attributes that
    // are whole numbers.
    let takes_attribute = ["attr", "join", "sum"]
        .iter()
        .any(|word| text.contains(word));
    let is_left_out = |fault: &String| {
        fault.contains("engine ran out of fuel")
            || fault.contains("syntax error")
            || takes_attribute && fault.contains("value is not a string")
    };
    if wanted.as_ref().is_err_and(is_left_out) {
        return;
    }
    let ours = by_us(&files, "main.html", &MemoryReader::new(data), undefined);
    match (wanted, ours) {
        (Ok(wanted), Ok(ours)) => assert_eq!(ours, wanted, "{undefined:?}"),
        (Ok(wanted), Err(ours)) => panic!("{undefined:?}: {ours}; minijinja prints {wanted:?}"),
        (Err(wanted), Ok(ours)) => {
            panic!("{undefined:?}: prints {ours:?}; minijinja: {wanted}")
        }
        (Err(_), Err(_)) => {}
    }
}
