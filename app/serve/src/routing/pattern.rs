//! Patterns of paths, `/users/:id` and `/files/*rest`, shared by routes and middleware.
//!
//! A pattern is a list of segments, compared one by one with those of a path in normal form. `/a` and `/a/` are two
//! paths. A pattern of routes may have a host in front of its path, `api.example.org/users/:id`, and matches requests
//! to that host alone; or hosts, `:tenant.example.org/users/:id`.

use super::covers::Covers;
use super::host_pattern::HostPattern;
use super::segment::Segment;
use super::spans::PARAMS_MAX;
use sampan_host::refusals::check_pattern;

/// A pattern, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The only hosts.
    pub host: Option<HostPattern>,
    /// In the order of the path.
    pub segments: Vec<Segment>,
}

impl Pattern {
    /// The pattern of all paths.
    pub fn all() -> Self {
        Self {
            host: None,
            segments: vec![Segment::Rest("*".into())],
        }
    }

    /// Takes a pattern apart that may have a host. The error says what is wrong with it.
    pub fn parse_with_host(text: &str) -> Result<Self, String> {
        match text.find('/') {
            None | Some(0) => Self::parse(text),
            Some(at) => {
                let (host, path) = text.split_at(at);
                let pattern = Self {
                    host: Some(HostPattern::parse(host)?),
                    ..Self::parse(path)?
                };
                pattern.check_params(text)?;
                Ok(pattern)
            }
        }
    }

    /// Takes a pattern of paths apart. The error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::all());
        }
        check_pattern(text).map_err(|error| error.message().to_owned())?;
        let mut segments = Vec::new();
        let mut parts = text[1..].split('/').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_some() && part.starts_with('*') {
                return Err(format!(
                    "in the pattern {text:?}, '*' must be the last part"
                ));
            }
            if parts.peek().is_some() && part.is_empty() {
                return Err(format!(
                    "the pattern {text:?} has an empty part: write one '/' instead of two"
                ));
            }
            segments.push(Segment::parse(part, text)?);
        }
        let pattern = Self {
            host: None,
            segments,
        };
        pattern.check_params(text)?;
        Ok(pattern)
    }

    /// Refuses too many parameters, and two of one name.
    fn check_params(&self, text: &str) -> Result<(), String> {
        let names: Vec<&str> = self.params().collect();
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
            None => Ok(()),
        }
    }

    /// The names of the parameters, in the order of the path; that of the host is the last.
    pub fn params(&self) -> impl Iterator<Item = &str> {
        let of_path = self.segments.iter().flat_map(Segment::params);
        of_path.chain(self.host_param())
    }

    /// The name of the parameter in its host.
    pub(crate) fn host_param(&self) -> Option<&str> {
        self.host.as_ref().and_then(HostPattern::param)
    }

    /// Reports whether it matches all that is left of a path.
    pub fn ends_in_rest(&self) -> bool {
        matches!(self.segments.last(), Some(Segment::Rest(_)))
    }

    /// Reports whether the pattern wraps a path of a host in normal form. `None` stands for a host that is not known.
    pub(crate) fn wraps_at(&self, host: Option<&str>, path: &str) -> bool {
        let matches = |ours: &HostPattern| host.is_some_and(|host| ours.matches(host));
        self.host.as_ref().is_none_or(matches) && self.wraps(path)
    }

    /// Reports whether the pattern matches a path in normal form of its hosts, as middleware does it: `/admin/*` is
    /// `/admin` and all below it.
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
                Segment::Mixed(mixed) => mixed.matches(part),
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
    /// covers what is below `/hooks/` alone: an exception covers no more than its words say.
    pub fn excepts(&self, path: &str) -> bool {
        let is_above = self.ends_in_rest()
            && path.split('/').count() <= self.segments.len()
            && self.segments.len() > 1;
        !is_above && self.wraps(path)
    }

    /// Reports whether this pattern of a middleware wraps the paths of a route.
    pub(crate) fn covers(&self, route: &Self) -> Covers {
        let mut sure = match (&self.host, &route.host) {
            (None, _) => true,
            // Requests to the host come to the route where the host has none.
            (Some(_), None) => false,
            (Some(ours), Some(theirs)) => match ours.covers(theirs) {
                Covers::Always => true,
                Covers::Perhaps => false,
                Covers::Never => return Covers::Never,
            },
        };
        let mut theirs = route.segments.iter();
        for ours in &self.segments {
            match (ours, theirs.next()) {
                (Segment::Rest(_), _) if sure => return Covers::Always,
                (Segment::Rest(_), _) => return Covers::Perhaps,
                (_, None) => return Covers::Never,
                (_, Some(Segment::Rest(_))) => return Covers::Perhaps,
                (Segment::Literal(a), Some(Segment::Literal(b))) if a != b => return Covers::Never,
                (Segment::Param(_), Some(Segment::Literal(b))) if b.is_empty() => {
                    return Covers::Never;
                }
                (Segment::Literal(a), Some(Segment::Param(_))) if a.is_empty() => {
                    return Covers::Never;
                }
                (Segment::Mixed(a), Some(Segment::Literal(b))) if !a.matches(b) => {
                    return Covers::Never;
                }
                (Segment::Literal(a), Some(Segment::Mixed(b))) if !b.matches(a) => {
                    return Covers::Never;
                }
                (Segment::Mixed(a), Some(Segment::Mixed(b))) if a.order(b).is_eq() => {}
                (Segment::Mixed(a), Some(Segment::Mixed(b))) if !a.may_meet(b) => {
                    return Covers::Never;
                }
                (
                    Segment::Literal(_) | Segment::Mixed(_),
                    Some(Segment::Param(_) | Segment::Mixed(_)),
                ) => {
                    sure = false;
                }
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
    fn faulty_patterns_are_named() {
        for (text, message) in [
            ("users", "must begin with '/'"),
            ("", "must begin with '/'"),
            ("/a/*rest/b", "'*' must be the last part"),
            ("/:", "letters, digits and '_'"),
            ("/:a.:a", "two parameters called \"a\""),
            ("/:a/x-:a", "two parameters called \"a\""),
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
        let mixed: String = (0..17).map(|n| format!("/:p{n}.")).collect();
        let in_one: String = (0..17).map(|n| format!(":p{n}.")).collect();
        for many in [many, mixed, format!("/{in_one}")] {
            let error = Pattern::parse(&many).expect_err("too many");
            assert!(error.contains("more than 16"), "{error}");
        }
    }

    #[test]
    fn hosts_stand_in_front_of_paths() {
        use Covers::{Always, Never, Perhaps};
        let parse = |text| Pattern::parse_with_host(text).expect(text);
        assert_eq!(parse("A.example./x"), parse("a.example/x"));
        assert_eq!(parse("a.example/x").segments, pattern("/x").segments);
        assert_eq!(parse("/x"), pattern("/x"));
        assert_eq!(parse("*"), Pattern::all());
        let of_tenants = parse(":t.example/:x/*y");
        assert!(of_tenants.params().eq(["x", "y", "t"]));
        for text in [
            "a.example",
            "a.example//x",
            "a:80/x",
            "http://a/x",
            "*/x",
            ":t.example",
            ":x.example/:x",
        ] {
            Pattern::parse_with_host(text).expect_err(text);
        }
        Pattern::parse("a.example/x").expect_err("no host here");
        for (middleware, route, expected) in [
            ("a.example/*", "a.example/x", Always),
            ("a.example/*", "b.example/x", Never),
            ("a.example/*", "/x", Perhaps),
            ("a.example/y", "/x", Never),
            ("/x", "a.example/x", Always),
            ("*", "a.example/x", Always),
            ("a.example/y", "a.example/:x", Perhaps),
            ("*.example/*", "a.example/x", Always),
            ("*.example/y", "a.example/x", Never),
            ("*.example/*", ":t.example/x", Always),
            ("a.example/*", ":t.example/x", Perhaps),
            (":t.example/*", "*.example/*rest", Perhaps),
            (":t.example/*", "/x", Perhaps),
            ("/*", ":t.example/x", Always),
        ] {
            let covers = parse(middleware).covers(&parse(route));
            assert_eq!(covers, expected, "{middleware} over {route}");
        }
        let wraps = |text, host| parse(text).wraps_at(host, "/x");
        assert!(wraps("a.example/x", Some("a.example")) && wraps("/x", Some("b")));
        assert!(wraps("/x", None) && !wraps("a.example/x", None));
        assert!(!wraps("a.example/x", Some("b")) && !wraps("a.example/y", Some("a.example")));
        assert!(wraps(":t.example/x", Some("a.example")) && !wraps(":t.example/x", None));
        assert!(!wraps(":t.example/x", Some("a.b.example")));
    }

    #[test]
    fn literals_are_in_normal_form() {
        assert_eq!(
            pattern("/café au lait").segments,
            [Segment::Literal("caf%C3%A9%20au%20lait".into())]
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
            (
                "/@:user/*",
                &["/@me", "/@me/", "/@me/x"],
                &["/@", "/me", "/@/x"],
            ),
            (
                "/r/:id.pdf",
                &["/r/7.pdf"],
                &["/r/.pdf", "/r/7.pdf/", "/r/7"],
            ),
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
            ("/a.b", "/:x.b", Perhaps),
            ("/a.c", "/:x.b", Never),
            ("/", "/:x.b", Never),
            ("/:x.b", "/a.b", Always),
            ("/:x.b", "/.b", Never),
            ("/:x.b", "/", Never),
            ("/:x.b", "/:y.b", Always),
            ("/:x.b", "/a-:y", Perhaps),
            ("/:x.b", "/:y", Perhaps),
            ("/:x", "/:y.b", Always),
            ("/:x.b", "/*rest", Perhaps),
            ("/:x.b/*", "/:x.b/c", Always),
        ] {
            assert_eq!(
                pattern(middleware).covers(&pattern(route)),
                expected,
                "{middleware} over {route}"
            );
        }
    }
}
