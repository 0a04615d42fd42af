//! What the author of a script may have meant: a few words behind the message of an error that nobody caught.

use crate::values::value::PropertyNames;
use crate::vm::sys::{Cx, Thrown, is_object};
use std::ffi::CString;

/// Globals of other runtimes, and what there is here.
const GLOBALS: &[(&str, &str)] = &[
    ("fetch", "Sampan has no HTTP client yet"),
    ("require", "this file is a module: write import"),
    ("module", "this file is a module: write export"),
    ("exports", "this file is a module: write export"),
    (
        "Buffer",
        "this is not Node.js: use Uint8Array, TextEncoder and the module codec",
    ),
    (
        "__dirname",
        "paths are relative to the project's folder: files.read(path, { from: \"project\" })",
    ),
    (
        "__filename",
        "paths are relative to the project's folder: files.read(path, { from: \"project\" })",
    ),
    ("setImmediate", "use setTimeout(fn, 0)"),
    ("window", "this runs on the server"),
    ("document", "this runs on the server"),
    (
        "localStorage",
        "this runs on the server: use req.session or db",
    ),
];

/// Functions of other frameworks and runtimes.
const FUNCTIONS: &[(&str, &str)] = &[
    (
        "app.listen",
        "the server listens by itself, where --listen or [server] listen says",
    ),
    ("app.set", "settings are in sampan.toml"),
];

/// What to say about a name that is not defined, from QuickJS's message about it.
pub(super) fn of_global(message: &str) -> Option<&'static str> {
    let name = message.strip_suffix(" is not defined")?.trim_matches('\'');
    let found = GLOBALS.iter().find(|(known, _)| *known == name);
    found.map(|(_, advice)| *advice)
}

/// What to say about a name that was called and is no function.
pub(super) fn of_function(cx: Cx<'_>, callee: &str) -> Option<String> {
    if let Some((_, advice)) = FUNCTIONS.iter().find(|(known, _)| *known == callee) {
        return Some((*advice).to_owned());
    }
    let (owner, name) = callee.split_once('.')?;
    if owner == "process" {
        return Some("of Node.js's process there is env.NODE_ENV alone".to_owned());
    }
    let nearest = nearest(cx, owner, name).unwrap_or_else(|Thrown| {
        drop(cx.exception());
        None
    });
    nearest.map(|found| format!("did you mean {owner}.{found}?"))
}

/// The function of one of our own objects whose name is most like this one.
fn nearest(cx: Cx<'_>, owner: &str, name: &str) -> Result<Option<String>, Thrown> {
    let (Ok(tables), Ok(owner)) = (cx.core().tables(), CString::new(owner)) else {
        return Ok(None);
    };
    let object = cx.get(tables.exports.raw(), &owner)?;
    if !is_object(object.raw()) {
        return Ok(None);
    }
    let mut known = Vec::new();
    for atom in PropertyNames::of(cx, object.raw())?.iter() {
        known.push(cx.text(cx.name(atom)?.raw())?);
    }
    Ok(most_like(name, known))
}

fn most_like(name: &str, known: Vec<String>) -> Option<String> {
    const START_MIN: usize = 3;
    let most = if name.chars().count() <= 4 { 1 } else { 2 };
    let far = |other: &String| {
        let is_start =
            |long: &str, short: &str| short.len() >= START_MIN && long.starts_with(short);
        match is_start(name, other) || is_start(other, name) {
            true => 1,
            false => distance(name, other),
        }
    };
    let known = known.into_iter().map(|other| (far(&other), other));
    let near = known.filter(|(far, _)| *far <= most);
    near.min_by_key(|(far, _)| *far).map(|(_, other)| other)
}

/// How many letters have to be changed, added, left out or swapped with the next.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for at in 1..=one.len() {
        let mut row = vec![at];
        for to in 1..=other.len() {
            let changed = usize::from(one[at - 1] != other[to - 1]);
            let mut least = (rows[at - 1][to - 1] + changed)
                .min(rows[at - 1][to] + 1)
                .min(row[to - 1] + 1);
            let is_swapped =
                at > 1 && to > 1 && one[at - 1] == other[to - 2] && one[at - 2] == other[to - 1];
            if is_swapped {
                least = least.min(rows[at - 2][to - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found() {
        let known = || ["get", "put", "use", "warn", "onError", "validate"].map(str::to_owned);
        let found = |name| most_like(name, known().to_vec());
        for (name, expected) in [
            ("gte", Some("get")),
            ("warning", Some("warn")),
            ("onErorr", Some("onError")),
            ("validates", Some("validate")),
            ("listen", None),
            ("x", None),
        ] {
            assert_eq!(found(name).as_deref(), expected, "{name}");
        }
    }
}
