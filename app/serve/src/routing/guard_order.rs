//! The order of middleware around guards that answer in the place of handlers: what they leave out is declared behind
//! them, and is no guard. And routes that no ready middleware around them may have.

use crate::routing::covers::Covers;
use crate::routing::pattern::Pattern;
use sampan_host::{Error, ErrorKind, Place, Program};

/// Checks the declarations of a project.
///
/// # Errors
/// A guard that answers in the place of handlers is declared behind middleware of the script, or before another guard
/// of its paths, which may refuse requests or add fields that are for one request. Or a route reads its bodies as they
/// come within middleware that needs them whole.
pub(crate) fn check(program: &Program) -> Result<(), Error> {
    check_streams(program)?;
    for (at, def) in program.guards.iter().enumerate() {
        let Some(name) = def.guard.replaces_handlers() else {
            continue;
        };
        let fault = |text: String| Error::new(ErrorKind::Load, text).at(def.place.clone());
        let mut before = program.middleware.iter().take(def.behind);
        if let Some(left_out) = before.find(|other| may_meet(&other.pattern, &def.pattern)) {
            let other = told(&left_out.pattern, left_out.place.as_ref());
            return Err(fault(format!(
                "{name} answers without the middleware {other}, which is declared before it: if that decides who may \
                 read these paths, leave {name} out; else declare {name} before it"
            )));
        }
        let mut behind = program.guards.iter().skip(at + 1);
        let left_out = behind.find(|other| {
            other.guard.replaces_handlers().is_none() && may_meet(&other.pattern, &def.pattern)
        });
        if let Some(left_out) = left_out {
            let other = told(&left_out.pattern, left_out.place.as_ref());
            return Err(fault(format!(
                "{name} would answer requests that the middleware {other} has not seen: declare {name} behind it"
            )));
        }
    }
    Ok(())
}

/// Refuses routes with `stream` all of whose paths are within middleware that needs whole bodies. Where that depends on
/// the path, the middleware refuses requests.
fn check_streams(program: &Program) -> Result<(), Error> {
    let may_change = |method: Option<&str>| !matches!(method, Some("GET" | "HEAD" | "OPTIONS"));
    let routes = program.routes.iter();
    for route in routes.filter(|def| def.body.stream && may_change(def.method.as_deref())) {
        for around in &program.middleware {
            let Some(name) = around.needs_whole_bodies else {
                continue;
            };
            if !always_wraps(&around.pattern, &route.pattern) {
                continue;
            }
            let text = format!(
                "the route {} reads bodies as they come (stream), and {name} {} needs them whole: declare {name} for \
                 other paths",
                route.pattern,
                told(&around.pattern, around.place.as_ref())
            );
            return Err(Error::new(ErrorKind::Load, text).at(route.place.clone()));
        }
    }
    Ok(())
}

/// Reports whether middleware of a pattern wraps all paths of a route.
fn always_wraps(pattern: &str, route: &str) -> bool {
    let parse = Pattern::parse_with_host;
    // The fault of a pattern is an error of its own.
    matches!((parse(pattern), parse(route)), (Ok(pattern), Ok(route)) if pattern.covers(&route) == Covers::Always)
}

/// Reports whether there may be a path that both patterns wrap.
fn may_meet(one: &str, other: &str) -> bool {
    let parse = Pattern::parse_with_host;
    let (Ok(one), Ok(other)) = (parse(one), parse(other)) else {
        // The fault of the pattern is an error of its own.
        return false;
    };
    one.covers(&other) != Covers::Never || other.covers(&one) != Covers::Never
}

fn told(pattern: &str, place: Option<&Place>) -> String {
    match place {
        Some(place) => format!("of {pattern} at {place}"),
        None => format!("of {pattern}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_meet_where_a_path_may_have_both() {
        for (one, other) in [
            ("*", "/news"),
            ("/admin", "/admin/*"),
            ("/:a/b", "/c/:d"),
            ("/news/*", "/news/:id"),
            ("/a/:x.pdf", "/a/de-:x"),
            ("/a/:x.gz", "/a/:x.tar.gz"),
            ("a.example/*", "/news"),
            ("*.example/*", "a.example/news"),
            ("*.example/*", ":t.b.example/*"),
        ] {
            assert!(may_meet(one, other), "{one} {other}");
            assert!(may_meet(other, one), "{other} {one}");
        }
        for (one, other) in [
            ("/a/*", "/b/*"),
            ("/a", "/a/b"),
            ("/:a", "/b/c"),
            ("/a/:x.pdf", "/a/:x.doc"),
            ("/a/:x.pdf", "/a/:name.:ext.doc"),
            ("/a/de-:x", "/a/en-:x/*"),
            ("a.example/*", "b.example/*"),
        ] {
            assert!(!may_meet(one, other), "{one} {other}");
            assert!(!may_meet(other, one), "{other} {one}");
        }
    }
}
