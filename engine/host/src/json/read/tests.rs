//! The values read from JSON texts, and the positions of faults.

use super::*;

fn read(text: &str) -> Result<Vec<Token>, JsonError> {
    let mut tape = Tape::default();
    tape.read(text.as_bytes(), 4)
        .map(|()| tape.tokens().to_vec())
}

#[test]
fn a_document_becomes_a_tape() {
    use Token::*;
    let tokens = read(r#" {"a": [1, -2.5, "x\n"], "b": null} "#).expect("valid");
    let expected = [
        Object(2),
        Text(3..4),
        Array(3),
        Int(1),
        Float(-2.5),
        Unescaped(0..2),
        End,
        Text(26..27),
        Null,
        End,
    ];
    assert_eq!(tokens, expected);
    assert_eq!(read("9223372036854775807").expect("valid"), [Int(i64::MAX)]);
    assert_eq!(
        read("9223372036854775808").expect("valid"),
        [Float(9_223_372_036_854_775_808.0)]
    );
    assert_eq!(read(r#""🛶\ud83d\udef6""#).map(|t| t.len()), Ok(1));
}

#[test]
fn faults_are_named_with_their_place() {
    for (text, message) in [
        ("", "the text ends where a value should be"),
        ("{", "expected a member name in quotes"),
        ("[1 2]", "expected ',' or ']'"),
        ("[1,]", "expected a value"),
        ("{\"a\":1,}", "expected a member name in quotes"),
        ("{\"a\" 1}", "expected ':'"),
        ("01", "malformed number"),
        ("1.", "malformed number"),
        ("-", "malformed number"),
        ("1e", "malformed number"),
        ("1e999", "number out of range"),
        ("\"\\x\"", "unknown escape"),
        ("\"\\ud800\"", "lone surrogate"),
        ("\"\\udc00\"", "lone surrogate"),
        ("\"a\nb\"", "control character in a string"),
        ("\"a", "the text ends inside a string"),
        ("[[[[[]]]]]", "nested too deeply"),
        ("1 2", "something after the value"),
        ("nul", "expected a value"),
        ("NaN", "expected a value"),
    ] {
        assert_eq!(read(text).map_err(|e| e.message), Err(message), "{text}");
    }
    let error = read("{\n  \"a\": ?").expect_err("not JSON");
    assert_eq!((error.line, error.column), (2, 8));
}
