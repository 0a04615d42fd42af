//! The JSON reader never panics, accepts what serde_json accepts and nothing else, and what it read and wrote
//! again reads the same.

use sampan_host::json::{Tape, Token, write_f64, write_i64, write_string};

/// Below serde_json's own limit of 128.
const DEPTH_MAX: usize = 100;

pub(crate) fn run(bytes: &[u8]) {
    let mut tape = Tape::default();
    let theirs = serde_json::from_slice::<serde_json::Value>(bytes);
    if let Err(error) = tape.read(bytes, DEPTH_MAX) {
        assert!(error.line >= 1 && error.column >= 1);
        let is_ours_alone = error.message.contains("deep")
            || error.message.contains("range")
            || error.message.contains("large");
        assert!(theirs.is_err() || is_ours_alone, "refused: {error}");
        return;
    }
    if let Err(error) = theirs {
        // It reads numbers beyond the range of a double as errors.
        assert!(
            error.to_string().contains("out of range"),
            "accepted: {error}"
        );
        return;
    }
    let mut written = Vec::new();
    let mut tokens = tape.tokens().iter();
    assert!(value(&mut written, &tape, bytes, &mut tokens));
    let mut again = Tape::default();
    again
        .read(&written, DEPTH_MAX)
        .expect("what was written is JSON");
    let texts = |tape: &Tape, source: &[u8]| -> Vec<(Vec<u8>, String)> {
        tape.tokens()
            .iter()
            .map(|token| match token {
                Token::Text(_) | Token::Unescaped(_) => {
                    (tape.text(token, source).to_vec(), "text".to_owned())
                }
                // A whole double may come back as an integer; its value is the same.
                Token::Int(number) => (Vec::new(), format!("{:?}", *number as f64)),
                Token::Float(number) => (Vec::new(), format!("{number:?}")),
                other => (Vec::new(), format!("{other:?}")),
            })
            .collect()
    };
    assert_eq!(texts(&tape, bytes), texts(&again, &written));
}

/// Writes the next value of the tape; false at its end.
fn value<'a>(
    out: &mut Vec<u8>,
    tape: &Tape,
    source: &[u8],
    tokens: &mut impl Iterator<Item = &'a Token>,
) -> bool {
    let Some(token) = tokens.next() else {
        return false;
    };
    match token {
        Token::Null => out.extend_from_slice(b"null"),
        Token::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Token::Int(number) => write_i64(out, *number),
        Token::Float(number) => assert!(write_f64(out, *number), "only finite numbers are read"),
        Token::Text(_) | Token::Unescaped(_) => assert!(
            write_string(out, tape.text(token, source)),
            "only UTF-8 is read"
        ),
        Token::Array(count) => {
            out.push(b'[');
            for index in 0..*count {
                separate(out, index);
                assert!(value(out, tape, source, tokens));
            }
            assert_eq!(tokens.next(), Some(&Token::End));
            out.push(b']');
        }
        Token::Object(count) => {
            out.push(b'{');
            for index in 0..*count {
                separate(out, index);
                assert!(value(out, tape, source, tokens));
                out.push(b':');
                assert!(value(out, tape, source, tokens));
            }
            assert_eq!(tokens.next(), Some(&Token::End));
            out.push(b'}');
        }
        Token::End => panic!("an end without a start"),
    }
    true
}

fn separate(out: &mut Vec<u8>, index: u32) {
    if index > 0 {
        out.push(b',');
    }
}
