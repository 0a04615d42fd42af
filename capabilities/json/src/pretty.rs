//! JSON for people to read.

/// Returns JSON that an engine has written, without spaces, with each member and each item on a line of its own, as
/// `JSON.stringify(value, null, 2)` has it; `None` if the text would have more than `bytes_max` bytes, or if the script
/// has to stop.
pub(crate) fn indented(
    json: &str,
    bytes_max: usize,
    must_stop: impl Fn() -> bool,
) -> Option<String> {
    let mut text = String::with_capacity(json.len().saturating_mul(2).min(bytes_max));
    let (mut depth, mut rest) = (0, json);
    while let Some(at) = rest.find(['"', '{', '}', '[', ']', ',', ':']) {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let mut taken = 1;
        match from.as_bytes()[0] {
            b'"' => {
                taken = string_bytes(from);
                text.push_str(&from[..taken]);
            }
            open @ (b'{' | b'[') => {
                text.push(char::from(open));
                match from.as_bytes().get(1) {
                    Some(close @ (b'}' | b']')) => {
                        taken = 2;
                        text.push(char::from(*close));
                    }
                    _ => {
                        depth += 1;
                        begin_line(&mut text, depth);
                    }
                }
            }
            close @ (b'}' | b']') => {
                depth = depth.saturating_sub(1);
                begin_line(&mut text, depth);
                text.push(char::from(close));
            }
            b',' => {
                text.push(',');
                begin_line(&mut text, depth);
            }
            _ => text.push_str(": "),
        }
        if text.len() > bytes_max || must_stop() {
            return None;
        }
        rest = &from[taken..];
    }
    text.push_str(rest);
    (text.len() <= bytes_max).then_some(text)
}

fn begin_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth));
}

/// Returns the length of the string with which JSON begins, with its quotes.
fn string_bytes(json: &str) -> usize {
    let mut is_escaped = false;
    let end = json.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(json.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of `JSON.stringify(value, null, 2)`.
    #[test]
    fn json_is_indented_as_javascript_does() {
        for (json, expected) in [
            ("1.5", "1.5"),
            ("null", "null"),
            (r#""a,b: [c] {\"d\\""#, r#""a,b: [c] {\"d\\""#),
            ("[]", "[]"),
            ("{}", "{}"),
            ("[[],{}]", "[\n  [],\n  {}\n]"),
            (
                r#"{"a":1,"b":[true,"x\\",{"":null}],"ü":{"c":{}}}"#,
                r#"{
  "a": 1,
  "b": [
    true,
    "x\\",
    {
      "": null
    }
  ],
  "ü": {
    "c": {}
  }
}"#,
            ),
        ] {
            assert_eq!(
                indented(json, 1_000, || false).as_deref(),
                Some(expected),
                "{json}"
            );
        }
    }

    #[test]
    fn a_text_that_becomes_too_large_is_refused() {
        let nested = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        let text = indented(&nested, 100_000, || false).expect("room");
        assert!(text.len() > 100 * nested.len() / 2);
        assert!(indented(&nested, text.len(), || false).is_some());
        assert!(indented(&nested, text.len() - 1, || false).is_none());
        assert!(indented("123456", 5, || false).is_none());
        assert!(indented(&nested, text.len(), || true).is_none());
    }
}
