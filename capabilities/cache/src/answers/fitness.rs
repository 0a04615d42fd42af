//! The rules that keep an answer from other clients than the one that it was made for (RFC 9111 section 3).

use crate::limits::ANSWER_BYTES_MAX;
use sampan_host::request::KeptHead;

/// The treatment of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fitness {
    /// Keep the answer.
    Kept,
    /// Do not keep the answer; the next one may be kept.
    Passing,
    /// Do not keep the answer, and let no request wait for those that follow.
    Refused,
}

/// The fields by which every answer may vary: requests that differ in them are not answered alike.
const FIELDS: [&str; 2] = ["accept", "cookie"];

/// Decides about an answer; `vary` has the header fields of requests that belong to its key, in lower case.
pub(super) fn of(head: KeptHead<'_>, vary: &[String]) -> Fitness {
    let answer = head.answer;
    if !matches!(answer.status, 200 | 301 | 404) {
        return Fitness::Passing;
    }
    let has_room = head
        .body_bytes
        .is_some_and(|body| body.saturating_add(answer.bytes()) <= ANSWER_BYTES_MAX);
    if head.is_personal || !has_room || answer.values("set-cookie").next().is_some() {
        return Fitness::Refused;
    }
    // The server chooses a coding for each client, unless the handler has chosen one.
    let is_encoded = answer.values("content-encoding").next().is_some();
    let is_known = |name: &str| {
        FIELDS.contains(&name)
            || (name == "accept-encoding" && !is_encoded)
            || vary.iter().any(|field| field == name)
    };
    if !words(answer.values("vary")).all(|name| is_known(&name)) {
        return Fitness::Refused;
    }
    // A directive may have a value: `private="set-cookie"`.
    let forbids = |directive: String| {
        let name = directive.split('=').next().unwrap_or_default().trim_end();
        matches!(name, "private" | "no-store" | "no-cache")
    };
    match words(answer.values("cache-control")).any(forbids) {
        true => Fitness::Refused,
        false => Fitness::Kept,
    }
}

/// The members of lists, in lower case.
fn words<'a>(lines: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = String> {
    lines.flat_map(|line| {
        let line = String::from_utf8_lossy(line).to_ascii_lowercase();
        let words = line.split(',').map(|word| word.trim().to_owned());
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::request::WholeAnswer;

    fn answer(status: u16, fields: &[(&str, &str)]) -> WholeAnswer {
        let field =
            |(name, value): &(&str, &str)| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        WholeAnswer {
            status,
            fields: fields.iter().map(field).collect(),
            content_type: None,
            body: Vec::new(),
        }
    }

    fn fitness(status: u16, fields: &[(&str, &str)]) -> Fitness {
        let answer = answer(status, fields);
        let head = KeptHead {
            answer: &answer,
            body_bytes: Some(2),
            is_personal: false,
        };
        of(head, &["x-tenant".to_owned()])
    }

    #[test]
    fn answers_for_one_client_are_refused() {
        for (name, value) in [
            ("Set-Cookie", "a=b"),
            ("Cache-Control", "private"),
            ("cache-control", "max-age=60, PRIVATE"),
            ("Cache-Control", "private=\"set-cookie\""),
            ("Cache-Control", "no-store"),
            ("Cache-Control", "no-cache"),
            ("Vary", "*"),
            ("Vary", "Accept, User-Agent"),
            ("Vary", "Origin"),
        ] {
            assert_eq!(
                fitness(200, &[(name, value)]),
                Fitness::Refused,
                "{name}: {value}"
            );
        }
        let lines = [("Cache-Control", "public"), ("Cache-Control", "no-store")];
        assert_eq!(fitness(200, &lines), Fitness::Refused);
    }

    #[test]
    fn an_answer_that_its_handler_has_encoded_is_for_those_who_take_that() {
        let encoded = ("Content-Encoding", "br");
        let fields = [encoded, ("Vary", "Accept-Encoding")];
        assert_eq!(fitness(200, &fields), Fitness::Refused);
        // It is the same for all.
        assert_eq!(fitness(200, &[encoded]), Fitness::Kept);
    }

    #[test]
    fn answers_for_all_are_kept() {
        for status in [200, 301, 404] {
            let fields = [
                ("Vary", "Accept-Encoding, accept,X-Tenant"),
                ("Cache-Control", "public"),
            ];
            assert_eq!(fitness(status, &fields), Fitness::Kept, "{status}");
        }
        for status in [201, 204, 206, 302, 304, 400, 401, 403, 429, 500, 503] {
            assert_eq!(fitness(status, &[]), Fitness::Passing, "{status}");
        }
    }

    #[test]
    fn streams_sessions_and_large_answers_are_refused() {
        let answer = answer(200, &[]);
        let head = |body_bytes, is_personal| KeptHead {
            answer: &answer,
            body_bytes,
            is_personal,
        };
        assert_eq!(of(head(None, false), &[]), Fitness::Refused);
        assert_eq!(of(head(Some(2), true), &[]), Fitness::Refused);
        assert_eq!(of(head(Some(ANSWER_BYTES_MAX), false), &[]), Fitness::Kept);
        assert_eq!(
            of(head(Some(ANSWER_BYTES_MAX + 1), false), &[]),
            Fitness::Refused
        );
        assert_eq!(of(head(Some(usize::MAX), false), &[]), Fitness::Refused);
    }
}
