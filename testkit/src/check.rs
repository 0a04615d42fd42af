//! Compares an answer with what is expected of it.

use crate::Answer;
use crate::scenario::Expectation;
use serde_json::Value;

/// The longest part of a body that a report shows, in characters.
const SHOWN_MAX: usize = 400;

/// Compares an answer; the error lists everything that differs.
pub(crate) fn answer(expected: &Expectation, answer: &Answer) -> Result<(), String> {
    let mut faults = Vec::new();
    if let Some(status) = expected.status.filter(|status| *status != answer.status) {
        faults.push(format!("status {} instead of {status}", answer.status));
    }
    if !expected.status_in.is_empty() && !expected.status_in.contains(&answer.status) {
        faults.push(format!(
            "status {} instead of one of {:?}",
            answer.status, expected.status_in
        ));
    }
    for (name, values) in &expected.headers {
        let (found, values) = (answer.header(name), values.all());
        if found != values {
            faults.push(format!("{name}: {found:?} instead of {values:?}"));
        }
    }
    for name in &expected.header_present {
        if answer.header(name).is_empty() {
            faults.push(format!("{name} is not there"));
        }
    }
    for name in &expected.header_absent {
        if !answer.header(name).is_empty() {
            faults.push(format!(
                "{name}: {:?}, which should not be there",
                answer.header(name)
            ));
        }
    }
    if expected.cut != answer.is_cut {
        faults.push(if answer.is_cut {
            "the answer was cut".into()
        } else {
            "the answer was not cut".to_owned()
        });
    }
    body(expected, answer, &mut faults);
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}\n    body: {}",
        faults.join("\n    "),
        shown(&answer.text())
    ))
}

fn body(expected: &Expectation, answer: &Answer, faults: &mut Vec<String>) {
    let text = answer.text();
    if let Some(wanted) = expected.text.as_ref().filter(|wanted| **wanted != text) {
        faults.push(format!("the body is not {:?}", shown(wanted)));
    }
    if let Some(wanted) = &expected.json {
        let found: Result<Value, _> = serde_json::from_slice(&answer.body);
        match (serde_json::from_str::<Value>(wanted), found) {
            (Ok(wanted), Ok(found)) if wanted == found => {}
            (_, Err(error)) => faults.push(format!("the body is no JSON ({error})")),
            _ => faults.push(format!("the body is not {}", shown(wanted))),
        }
    }
    for part in expected
        .body_contains
        .iter()
        .filter(|part| !text.contains(*part))
    {
        faults.push(format!("the body does not contain {part:?}"));
    }
    for part in expected
        .body_absent
        .iter()
        .filter(|part| text.contains(*part))
    {
        faults.push(format!("the body contains {part:?}"));
    }
    if let Some(length) = expected
        .body_bytes
        .filter(|length| *length != answer.body.len())
    {
        faults.push(format!(
            "the body has {} bytes instead of {length}",
            answer.body.len()
        ));
    }
}

/// Compares the log.
pub(crate) fn log(expected: &Expectation, lines: &str) -> Result<(), String> {
    let count = |text: &String| lines.matches(text.as_str()).count();
    for text in &expected.log_contains {
        if count(text) == 0 {
            return Err(format!("the log does not contain {text:?}"));
        }
    }
    for text in &expected.log_once {
        if count(text) != 1 {
            return Err(format!(
                "the log contains {text:?} {} times instead of once",
                count(text)
            ));
        }
    }
    for text in &expected.log_absent {
        if count(text) != 0 {
            return Err(format!("the log contains {text:?}"));
        }
    }
    Ok(())
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::OneOrMore;

    fn sample() -> Answer {
        let headers = [("X-A", "1"), ("x-a", "2"), ("X-B", "b")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        Answer {
            status: 200,
            headers: headers.into(),
            body: b"{\"a\":[1,null]}".to_vec(),
            is_cut: false,
            keeps_alive: true,
        }
    }

    #[test]
    fn what_holds_passes_and_what_does_not_is_told() {
        type Change = fn(&mut Expectation);
        let changes: [(Change, Option<&str>); 14] = [
            (|e| e.status = Some(200), None),
            (|e| e.status = Some(404), Some("status 200 instead of 404")),
            (|e| e.status_in = vec![500, 503], Some("one of")),
            (|e| e.json = Some("{ \"a\": [1, null] }".into()), None),
            (
                |e| e.json = Some("{\"a\":[1]}".into()),
                Some("the body is not"),
            ),
            (|e| e.text = Some("x".into()), Some("the body is not")),
            (|e| e.header_present = vec!["x-b".into()], None),
            (
                |e| e.header_present = vec!["x-c".into()],
                Some("x-c is not there"),
            ),
            (|e| e.header_absent = vec!["x-c".into()], None),
            (
                |e| e.header_absent = vec!["x-b".into()],
                Some("should not be there"),
            ),
            (
                |e| {
                    drop(
                        e.headers
                            .insert("x-a".into(), OneOrMore::More(vec!["1".into(), "2".into()])),
                    )
                },
                None,
            ),
            (
                |e| drop(e.headers.insert("x-a".into(), OneOrMore::One("1".into()))),
                Some("instead of [\"1\"]"),
            ),
            (|e| e.cut = true, Some("was not cut")),
            (
                |e| e.body_absent = vec!["null".into()],
                Some("contains \"null\""),
            ),
        ];
        for (index, (change, fault)) in changes.into_iter().enumerate() {
            let mut expected = Expectation::default();
            change(&mut expected);
            match (answer(&expected, &sample()), fault) {
                (Ok(()), None) => {}
                (Err(message), Some(part)) => assert!(message.contains(part), "{index}: {message}"),
                (result, _) => panic!("{index}: {result:?}"),
            }
        }
    }

    #[test]
    fn the_log_is_counted() {
        let expect = |once: &str| Expectation {
            log_once: vec![once.into()],
            ..Expectation::default()
        };
        assert!(log(&expect("a"), "a b b").is_ok());
        assert!(log(&expect("b"), "a b b").is_err());
        assert!(log(&expect("c"), "a b b").is_err());
    }
}
