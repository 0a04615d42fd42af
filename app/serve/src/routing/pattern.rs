//! Patterns of paths, `/users/:id` and `/files/*rest`, shared by routes and middleware.
//!
//! A pattern is a list of segments, compared one by one with those of a path. Paths are compared in one normal form
//! (RFC 3986 section 6.2.2): a percent-encoded character that may stand in a path as it is reads as itself, so that
//! `/%61dmin` is
//! `/admin` and `/%40me` is `/@me`, for routes, middleware and files alike. Only `%2F` never becomes a slash. `/a` and
//! `/a/` are two paths.

use sampan_host::refusals::check_pattern;
use std::borrow::Cow;

/// The most parameters that one pattern may have.
pub(crate) const PARAMS_MAX: usize = 16;

/// One part of a pattern, between two slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Matches itself; in normal form.
    Literal(String),
    /// `:name`: matches one segment that is not empty.
    Param(String),
    /// `*name`, or a bare `*`, whose name is `*`: matches all that is left, also nothing.
    Rest(String),
}

/// A pattern, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// In the order of the path.
    pub segments: Vec<Segment>,
}

/// The relation between a pattern and the paths that another one matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Covers {
    /// All of them.
    Always,
    /// None of them.
    Never,
    /// The answer depends on the path.
    Perhaps,
}

impl Pattern {
    /// The pattern of all paths.
    pub fn all() -> Self {
        Self {
            segments: vec![Segment::Rest("*".into())],
        }
    }

    /// Takes a pattern apart. The error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::all());
        }
        check_pattern(text).map_err(|error| error.message().to_owned())?;
        let inner = &text[1..];
        let mut segments = Vec::new();
        let mut parts = inner.split('/').peekable();
        while let Some(part) = parts.next() {
            let segment = if let Some(name) = part.strip_prefix(':') {
                Segment::Param(param_name(name, text)?)
            } else if let Some(name) = part.strip_prefix('*') {
                if parts.peek().is_some() {
                    return Err(format!(
                        "in the pattern {text:?}, '*' must be the last part"
                    ));
                }
                Segment::Rest(if name.is_empty() {
                    "*".into()
                } else {
                    param_name(name, text)?
                })
            } else {
                if part.is_empty() && parts.peek().is_some() {
                    return Err(format!(
                        "the pattern {text:?} has an empty part: write one '/' instead of two"
                    ));
                }
                check_literal(part, text)?;
                Segment::Literal(literal(part))
            };
            segments.push(segment);
        }
        let pattern = Self { segments };
        let names: Vec<&str> = pattern.params().collect();
        if names.len() > PARAMS_MAX {
            return Err(format!(
                "the pattern {text:?} has more than {PARAMS_MAX} parameters"
            ));
        }
        match names
            .iter()
            .enumerate()
            .find(|(index, name)| names[..*index].contains(name))
        {
            Some((_, name)) => Err(format!(
                "the pattern {text:?} has two parameters called {name:?}"
            )),
            None => Ok(pattern),
        }
    }

    /// The names of the parameters, in order.
    pub fn params(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Param(name) | Segment::Rest(name) => Some(name.as_str()),
            Segment::Literal(_) => None,
        })
    }

    /// Reports whether it matches all that is left of a path.
    pub fn ends_in_rest(&self) -> bool {
        matches!(self.segments.last(), Some(Segment::Rest(_)))
    }

    /// Reports whether the pattern matches a path in normal form, as middleware does it: `/admin/*` is `/admin` and all
    /// below it.
    pub fn wraps(&self, path: &str) -> bool {
        let mut left = path.strip_prefix('/');
        for segment in &self.segments {
            let part = match (segment, left) {
                (Segment::Rest(_), _) => return true,
                (_, None) => return false,
                (_, Some(left)) => left.split('/').next().unwrap_or_default(),
            };
            let fits = match segment {
                Segment::Literal(literal) => literal == part,
                _ => !part.is_empty(),
            };
            if !fits {
                return false;
            }
            left = left.and_then(|left| left.get(part.len() + 1..));
        }
        left.is_none()
    }

    /// Reports whether an exception from a check covers a path in normal form. Unlike [`Pattern::wraps`], `/hooks/*`
    /// covers what is below
    /// `/hooks/` alone: an exception covers no more than its words say.
    pub fn excepts(&self, path: &str) -> bool {
        let is_above = self.ends_in_rest()
            && path.split('/').count() <= self.segments.len()
            && self.segments.len() > 1;
        !is_above && self.wraps(path)
    }

    /// Reports whether this pattern of a middleware wraps the paths of a route.
    pub(crate) fn covers(&self, route: &Self) -> Covers {
        let mut sure = true;
        let mut theirs = route.segments.iter();
        for ours in &self.segments {
            match (ours, theirs.next()) {
                (Segment::Rest(_), _) => {
                    return if sure {
                        Covers::Always
                    } else {
                        Covers::Perhaps
                    };
                }
                (_, None) => return Covers::Never,
                (_, Some(Segment::Rest(_))) => return Covers::Perhaps,
                (Segment::Literal(a), Some(Segment::Literal(b))) if a != b => return Covers::Never,
                (Segment::Param(_), Some(Segment::Literal(b))) if b.is_empty() => {
                    return Covers::Never;
                }
                (Segment::Literal(a), Some(Segment::Param(_))) if a.is_empty() => {
                    return Covers::Never;
                }
                (Segment::Literal(_), Some(Segment::Param(_))) => sure = false,
                _ => {}
            }
        }
        match theirs.next() {
            None if sure => Covers::Always,
            None => Covers::Perhaps,
            // What is left of the route matches at least one more segment, be it empty.
            Some(_) => Covers::Never,
        }
    }
}

fn param_name(name: &str, pattern: &str) -> Result<String, String> {
    if !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Ok(name.to_owned());
    }
    Err(format!(
        "in the pattern {pattern:?}, a parameter is a whole part and its name is made of letters, digits and '_'"
    ))
}

/// Refuses what no request's path has, or none that a client means.
fn check_literal(part: &str, pattern: &str) -> Result<(), String> {
    let fault = if part.contains('?') {
        "has a '?': a pattern matches the path only, and the query is in req.query"
    } else if part.contains('#') {
        "has a '#': clients do not send what follows it"
    } else if part.contains(char::is_control) {
        "has a control character"
    } else if part.contains('*') {
        "has a '*' inside of a part: it stands alone or before a name, as in /files/*rest"
    } else if matches!(part, "." | "..") {
        "has a part '.' or '..': clients resolve it before they ask"
    } else if part
        .split('%')
        .skip(1)
        .any(|after| decoded(after.as_bytes()).is_none())
    {
        "has a '%' without two hexadecimal digits: write the character itself, or %25 for '%'"
    } else {
        return Ok(());
    };
    Err(format!("the pattern {pattern:?} {fault}"))
}

/// A part of a pattern as it stands in paths: what a path cannot hold is percent-encoded.
fn literal(part: &str) -> String {
    normal_form(part).into_owned()
}

/// For each byte whether a path in normal form has it as it is: `pchar` of RFC 3986 section 3.3, and the slash.
static PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(byte as u8,
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'\'' | b'('
            | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@' | b'/');
        byte += 1;
    }
    table
};

/// A path in the form in which paths are compared; most are in it already, and nothing is copied then.
pub fn normal_form(path: &str) -> Cow<'_, str> {
    if path.bytes().all(|byte| PLAIN[usize::from(byte)]) {
        return Cow::Borrowed(path);
    }
    let mut out = String::with_capacity(path.len() + 8);
    let mut left = path.as_bytes();
    while let [byte, after @ ..] = left {
        left = after;
        match decoded(after).filter(|_| *byte == b'%') {
            Some(meant) => {
                if PLAIN[usize::from(meant)] && meant != b'/' {
                    out.push(char::from(meant));
                } else {
                    push_encoded(&mut out, meant);
                }
                left = &after[2..];
            }
            // Some clients send é or { as they are.
            None if PLAIN[usize::from(*byte)] => out.push(char::from(*byte)),
            // A '%' without digits means itself, and is then written as elsewhere.
            None => push_encoded(&mut out, *byte),
        }
    }
    Cow::Owned(out)
}

/// A path in normal form as an application may read it that decodes slashes and merges them: `//admin/x` and
/// `/admin%2Fx` are `/admin/x`.
/// `None` where that is the path itself.
pub(crate) fn merged_slashes(path: &str) -> Option<String> {
    if !path.contains("//") && !path.contains("%2F") {
        return None;
    }
    let mut read = path.replace("%2F", "/");
    while read.contains("//") {
        read = read.replace("//", "/");
    }
    Some(read)
}

/// The byte that the two hexadecimal digits at the front stand for.
fn decoded(digits: &[u8]) -> Option<u8> {
    let digit = |index: usize| digits.get(index).and_then(|&b| char::from(b).to_digit(16));
    Some((digit(0)? * 16 + digit(1)?) as u8)
}

fn push_encoded(out: &mut String, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    out.push(char::from(HEX[usize::from(byte >> 4)]));
    out.push(char::from(HEX[usize::from(byte & 15)]));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text).expect("a pattern")
    }

    #[test]
    fn an_exception_covers_what_is_below_only() {
        for (text, yes, no) in [
            (
                "/hooks/*",
                &["/hooks/a", "/hooks/a/b", "/hooks/"][..],
                &["/hooks", "/hooksa"][..],
            ),
            ("/hooks", &["/hooks"], &["/hooks/", "/hooks/a"]),
            ("/*", &["/", "/a"], &[]),
            ("/a/:b/*", &["/a/b/c"], &["/a/b", "/a"]),
        ] {
            let pattern = Pattern::parse(text).unwrap();
            assert!(yes.iter().all(|path| pattern.excepts(path)), "{text}");
            assert!(!no.iter().any(|path| pattern.excepts(path)), "{text}");
        }
    }

    #[test]
    fn slashes_are_merged_as_applications_read_them() {
        for (path, read) in [
            ("/admin/x", None),
            ("//admin/x", Some("/admin/x")),
            ("/admin%2Fx", Some("/admin/x")),
            ("/admin//x/%2F", Some("/admin/x/")),
        ] {
            assert_eq!(merged_slashes(path).as_deref(), read, "{path}");
        }
    }

    #[test]
    fn faulty_patterns_are_named() {
        for (text, message) in [
            ("users", "must begin with '/'"),
            ("", "must begin with '/'"),
            ("/a/*rest/b", "'*' must be the last part"),
            ("/:", "whole part"),
            ("/:id.json", "whole part"),
            ("/:a/:a", "two parameters called \"a\""),
            ("/a//b", "an empty part"),
            ("//", "an empty part"),
            ("/a?x=1", "has a '?'"),
            ("/a#b", "has a '#'"),
            ("/a\tb", "control character"),
            ("/a*/b", "'*' inside of a part"),
            ("/a/../b", "'.' or '..'"),
            ("/.", "'.' or '..'"),
            ("/%zz", "two hexadecimal digits"),
            ("/50%", "two hexadecimal digits"),
        ] {
            let error = Pattern::parse(text).expect_err(text);
            assert!(error.contains(message), "{text}: {error}");
        }
        let many: String = (0..17).map(|n| format!("/:p{n}")).collect();
        assert!(
            Pattern::parse(&many)
                .expect_err("too many")
                .contains("more than 16")
        );
    }

    #[test]
    fn middleware_patterns_wrap_paths() {
        for (text, yes, no) in [
            ("*", &["/", "/a", "/a/b"][..], &[][..]),
            ("/*", &["/", "/a", "/a/b"], &[]),
            (
                "/admin",
                &["/admin"],
                &["/admin/", "/admin/x", "/administrator", "/"],
            ),
            (
                "/admin/*",
                &["/admin", "/admin/", "/admin/x/y"],
                &["/administrator", "/", "/x/admin"],
            ),
            (
                "/u/:id/edit",
                &["/u/7/edit"],
                &["/u//edit", "/u/7", "/u/7/edit/", "/u/7/8/edit"],
            ),
            ("/", &["/"], &["/a"]),
        ] {
            for path in yes {
                assert!(pattern(text).wraps(path), "{text} wraps {path}");
            }
            for path in no {
                assert!(!pattern(text).wraps(path), "{text} does not wrap {path}");
            }
        }
    }

    #[test]
    fn what_can_be_decided_at_start_is_decided() {
        use Covers::{Always, Never, Perhaps};
        for (middleware, route, expected) in [
            ("*", "/a/:id", Always),
            ("/a/*", "/a", Always),
            ("/a/*", "/a/:id/x", Always),
            ("/a/*", "/b", Never),
            ("/a/*", "/:x", Perhaps),
            ("/a", "/a", Always),
            ("/a", "/a/b", Never),
            ("/a/b", "/a", Never),
            ("/:x", "/a", Always),
            ("/:x", "/", Never),
            ("/:x/b", "/:y/*rest", Perhaps),
            ("/a", "/a/*rest", Never),
            ("/a/", "/a/*rest", Perhaps),
            ("/", "/:x", Never),
            ("/a/*", "/*rest", Perhaps),
        ] {
            assert_eq!(
                pattern(middleware).covers(&pattern(route)),
                expected,
                "{middleware} over {route}"
            );
        }
    }

    #[test]
    fn paths_have_one_normal_form() {
        assert!(matches!(normal_form("/plain/path"), Cow::Borrowed(_)));
        assert_eq!(
            normal_form("/%61dmin/%7euser%2fx%zz%"),
            "/admin/~user%2Fx%25zz%25"
        );
        // Encoded or not: what a pattern may hold is compared as it is written there.
        let held = "@!$&'()*+,;=:";
        let encoded: String = held.bytes().map(|byte| format!("%{byte:02x}")).collect();
        assert_eq!(normal_form(&encoded), held);
        for path in ["/%2540me", "/%25zz", "/%2e%2F%5C%7B"] {
            let once = normal_form(path).into_owned();
            assert_eq!(
                normal_form(&once),
                once,
                "{path} is in normal form after one step"
            );
        }
        assert_eq!(normal_form("/%e2%82%AC"), "/%E2%82%AC");
        assert_eq!(normal_form("/é/{x}"), "/%C3%A9/%7Bx%7D");
        assert!(matches!(
            normal_form("/users/@me/a:b;c=d,e"),
            Cow::Borrowed(_)
        ));
        assert_eq!(
            pattern("/café au lait").segments,
            [Segment::Literal("caf%C3%A9%20au%20lait".into())]
        );
    }
}
