//! The order of middleware around guards that answer in the place of handlers: what they leave out is declared behind
//! them, and is no guard.

use crate::routing::pattern::{Covers, Pattern};
use sampan_host::{Error, ErrorKind, Place, Program};

/// Checks the declarations of a project.
///
/// # Errors
/// A guard that answers in the place of handlers is declared behind middleware of the script, or before another guard
/// of its paths, which may refuse requests or add fields that are for one request.
pub(crate) fn check(program: &Program) -> Result<(), Error> {
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
            ("a.example/*", "/news"),
        ] {
            assert!(may_meet(one, other), "{one} {other}");
            assert!(may_meet(other, one), "{other} {one}");
        }
        for (one, other) in [
            ("/a/*", "/b/*"),
            ("/a", "/a/b"),
            ("/:a", "/b/c"),
            ("a.example/*", "b.example/*"),
        ] {
            assert!(!may_meet(one, other), "{one} {other}");
            assert!(!may_meet(other, one), "{other} {one}");
        }
    }
}
