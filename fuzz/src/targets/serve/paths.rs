//! The normal form of a path means the same as the path, has one spelling, and does not lead out of the root. The tree
//! of routes finds the route that a plain search through the list of patterns finds, and the middleware of a route's
//! pattern wraps every path that the route answers.
//!
//! The first line of an input is the target of a request. Each other line is a method and a pattern.

use percent_encoding::percent_decode_str;
use sampan_http::{Method, Request};
use sampan_serve::routing::mixed::MixedPart;
use sampan_serve::routing::normal_form::normal_form;
use sampan_serve::routing::pattern::Pattern;
use sampan_serve::routing::routes::{RouteMatch, Routes, verb};
use sampan_serve::routing::segment::Segment;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Pieces of targets and patterns.
#[rustfmt::skip]
pub(crate) const WORDS: &[&[u8]] = &[
    b"/", b"//", b"%2f", b"%2F", b"%2e", b"..", b"/../", b"%5c", b"\\", b"%25", b"%", b"%4", b"%61", b"%C3%A9", b"\xc3\xa9", b"{", b"}", b"|",
    b"~", b"%7e", b"?", b"?a=b", b"#", b"*", b"/*", b"/*rest", b"/:id", b"/:page", b"/users", b"/users/new", b"http://h/", b"http://h", b";", b"=",
    b"@", b"\nGET /", b"\nPOST /", b"\nALL /", b"\nPUT /:a/:b", b"\nDELETE /*", b" ", b"a", b"\0",
    b":b", b"{:c}", b"{:", b"/@:user", b"/:id.a", b"/:a.:b", b"\nGET /:a.{:b}2{:c}", b"\nPOST /a{:x}", b"/a.a", b"2",
    b".",
];

/// The methods that a request is tried with.
const METHODS: [Method; 5] = [
    Method::Get,
    Method::Head,
    Method::Post,
    Method::Delete,
    Method::Other,
];

/// More patterns are left out.
const PATTERNS_MAX: usize = 24;

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut lines = text.split('\n');
    let target = lines.next().unwrap_or_default();
    check_form(target);
    let head = format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n");
    let Ok(request) = Request::from_bytes(head.as_bytes()) else {
        return;
    };
    // Clients turn it into a slash. An encoded one is a character like others.
    assert!(!request.path().contains('\\'), "{target}");
    let path = normal_form(request.path()).into_owned();
    let decoded: Vec<_> = path
        .split('/')
        .map(|part| percent_decode_str(part).collect::<Vec<u8>>())
        .collect();
    for part in &decoded {
        assert!(
            !matches!(&part[..], b"." | b".."),
            "{path} leaves its folder"
        );
    }
    let mut tree = Routes::default();
    let mut list: Vec<ListedRoute> = Vec::new();
    for line in lines.take(PATTERNS_MAX) {
        let Some((method, written)) = line.split_once(' ') else {
            continue;
        };
        let verb = verb(method);
        let Ok(pattern) = Pattern::parse(written) else {
            continue;
        };
        check_pattern(&pattern);
        let index = list.len();
        let taken = list
            .iter()
            .position(|other| other.verb == verb && other.shape() == shape(&pattern));
        let inserted = tree.insert(verb, &pattern, index);
        assert_eq!(inserted.err(), taken, "{method} {written} in {text:?}");
        if taken.is_none() {
            list.push(ListedRoute { verb, pattern });
        }
    }
    for method in METHODS {
        compare(&tree, &list, method, &path);
    }
}

/// The normal form of any text.
fn check_form(path: &str) {
    let form = normal_form(path);
    assert_eq!(
        normal_form(&form),
        form,
        "the form of {path:?} has another form"
    );
    let meaning = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
    assert_eq!(meaning(&form), meaning(path), "{path:?} became {form:?}");
    let slashes = |text: &str| text.matches('/').count();
    assert_eq!(slashes(&form), slashes(path), "{path:?} became {form:?}");
    let mut rest = form.bytes();
    while let Some(byte) = rest.next() {
        assert!(byte.is_ascii_graphic(), "{form:?}");
        if byte == b'%' {
            let digits = [rest.next(), rest.next()];
            let is_digit = |digit: &Option<u8>| {
                digit.is_some_and(|digit| matches!(digit, b'0'..=b'9' | b'A'..=b'F'))
            };
            assert!(digits.iter().all(is_digit), "{form:?}");
        }
    }
}

/// A literal of a pattern is in the form in which paths are compared.
fn check_pattern(pattern: &Pattern) {
    for segment in &pattern.segments {
        let texts: Vec<&str> = match segment {
            Segment::Literal(literal) => vec![literal],
            Segment::Mixed(part) => texts(part),
            Segment::Param(_) | Segment::Rest(_) => Vec::new(),
        };
        for text in texts {
            assert_eq!(normal_form(text), text, "text in no normal form");
            assert!(!text.contains('/'), "{text:?}");
        }
    }
}

/// A route in a list.
struct ListedRoute {
    /// The place of its method; none stands for all.
    verb: Option<usize>,
    pattern: Pattern,
}

/// The texts of a part: that in front of the parameters, and those behind each.
fn texts(part: &MixedPart) -> Vec<&str> {
    let behind = part.params().map(|(_, text)| text);
    std::iter::once(part.head()).chain(behind).collect()
}

/// The part of a pattern that tells it from others: its kind, for more text in a part and more in front of it a smaller
/// number, and its texts. The names of parameters do not matter.
type Shape<'a> = (u8, Reverse<usize>, Reverse<usize>, usize, Vec<&'a str>);

fn shape(pattern: &Pattern) -> Vec<Shape<'_>> {
    let whole = |kind, texts| (kind, Reverse(0), Reverse(0), 0, texts);
    let segments = pattern.segments.iter();
    segments
        .map(|segment| match segment {
            Segment::Literal(literal) => whole(0, vec![literal.as_str()]),
            Segment::Mixed(part) => {
                let texts = texts(part);
                let length = texts.iter().map(|text| text.len()).sum();
                (
                    1,
                    Reverse(length),
                    Reverse(part.head().len()),
                    texts.len(),
                    texts,
                )
            }
            Segment::Param(_) => whole(2, Vec::new()),
            Segment::Rest(_) => whole(3, Vec::new()),
        })
        .collect()
}

/// Splits a path into the characters that it means: a percent-encoded one is one.
fn characters(part: &str) -> Vec<&str> {
    let mut characters = Vec::new();
    let mut left = part;
    while !left.is_empty() {
        let (one, behind) = left.split_at(if left.starts_with('%') { 3 } else { 1 });
        characters.push(one);
        left = behind;
    }
    characters
}

/// The values of a part, by trying all places of each text: those with the longest value first. `failed` has the counts
/// of texts and characters that were left where nothing fitted.
fn tried(
    texts: &[&str],
    part: &[&str],
    failed: &mut BTreeSet<(usize, usize)>,
) -> Option<Vec<String>> {
    let (text, behind) = texts.split_first()?;
    let left = part.strip_prefix(&characters(text)[..])?;
    if behind.is_empty() {
        return left.is_empty().then(Vec::new);
    }
    if failed.contains(&(texts.len(), part.len())) {
        return None;
    }
    for length in (1..=left.len()).rev() {
        if let Some(values) = tried(behind, &left[length..], failed) {
            let mut all = vec![left[..length].concat()];
            all.extend(values);
            return Some(all);
        }
    }
    failed.insert((texts.len(), part.len()));
    None
}

impl ListedRoute {
    fn shape(&self) -> Vec<Shape<'_>> {
        shape(&self.pattern)
    }

    /// The values of its parameters, if it has this path.
    fn matched(&self, path: &str) -> Option<Vec<String>> {
        let mut left = Some(path.strip_prefix('/')?);
        let mut values = Vec::new();
        for segment in &self.pattern.segments {
            let here = left?;
            if let Segment::Rest(_) = segment {
                values.push(here.to_owned());
                return Some(values);
            }
            let (part, behind) = match here.split_once('/') {
                Some((part, behind)) => (part, Some(behind)),
                None => (here, None),
            };
            match segment {
                Segment::Literal(literal) if literal == part => {}
                Segment::Mixed(mixed) => {
                    let found = tried(&texts(mixed), &characters(part), &mut BTreeSet::new());
                    values.extend(found?);
                }
                Segment::Param(_) if !part.is_empty() => values.push(part.to_owned()),
                _ => return None,
            }
            left = behind;
        }
        left.is_none().then_some(values)
    }
}

/// Literals come before text with parameters, that before parameters and those before a rest, from left to right; the
/// method's own route comes before that of all methods.
fn compare(tree: &Routes, list: &[ListedRoute], method: Method, path: &str) {
    let own = match method {
        Method::Get | Method::Head => verb("GET"),
        Method::Post => verb("POST"),
        Method::Delete => verb("DELETE"),
        _ => None,
    };
    let matching = list
        .iter()
        .enumerate()
        .filter(|(_, route)| route.matched(path).is_some());
    let answering = matching
        .clone()
        .filter(|(_, route)| route.verb.is_none() || route.verb == own);
    let best = answering.min_by_key(|(_, route)| (route.shape(), route.verb.is_none()));
    match (tree.find(method, path), best) {
        (RouteMatch::Route(found, spans), Some((index, route))) => {
            assert_eq!(found, index, "{method:?} {path}");
            let values = route.matched(path).unwrap_or_default();
            for (at, value) in values.iter().enumerate() {
                assert_eq!(
                    spans.of(path, at),
                    Some(value.as_str()),
                    "{method:?} {path}: parameter {at}"
                );
            }
            assert_eq!(
                spans.of(path, values.len()),
                None,
                "{method:?} {path}: too many parameters"
            );
            assert!(
                route.pattern.wraps(path),
                "{:?} does not wrap {path}",
                route.pattern
            );
            assert!(
                route.pattern.excepts(path),
                "{:?} does not except {path}",
                route.pattern
            );
        }
        (RouteMatch::Nothing(allow), None) => {
            let verbs: Vec<_> = matching.filter_map(|(_, route)| route.verb).collect();
            assert_eq!(allow.is_empty(), verbs.is_empty(), "{method:?} {path}");
            let allowed = allow.field_value();
            for name in ["GET", "POST", "PUT", "DELETE"] {
                let is_there = verb(name).is_some_and(|verb| verbs.contains(&verb));
                assert_eq!(
                    allowed.split(", ").any(|one| one == name),
                    is_there,
                    "{path}: {allowed}"
                );
            }
        }
        (found, best) => panic!(
            "{method:?} {path}: {found:?}, and a plain search: {:?}",
            best.map(|(index, _)| index)
        ),
    }
}
