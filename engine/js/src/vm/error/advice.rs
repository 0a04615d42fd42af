//! Advice for the author of a script: a few words behind the message of an uncaught error.

use crate::values::property_names::PropertyNames;
use crate::vm::source_text::uses_unawaited_next;
use crate::vm::sys::{Cx, Thrown, is_object};
use sampan_host::names::{foreign_function, nearest_name};
use std::ffi::CString;

/// Globals of other runtimes, and what there is here.
const GLOBALS: &[(&str, &str)] = &[
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
    (
        "FinalizationRegistry",
        "a collection belongs to no request: release what you hold in finally",
    ),
    ("setImmediate", "use setTimeout(fn, 0)"),
    ("window", "this runs on the server"),
    ("document", "this runs on the server"),
    (
        "localStorage",
        "this runs on the server: use req.session or db",
    ),
];

/// Functions of other frameworks and runtimes that JavaScript alone has advice for, and of Lua alone.
const FUNCTIONS: &[(&str, &str)] = &[
    ("app.gather", "write await Promise.all([...])"),
    ("db.all", "write db.query(sql, params)"),
    ("db.get", "write db.one(sql, params)"),
    ("db.run", "write db.exec(sql, params)"),
    (
        "db.prepare",
        "write db.query(sql, params): statements stay prepared",
    ),
    ("req.param", "write req.params.name"),
    ("req.query.get", "write req.query.name"),
    ("req.session.destroy", "write req.session.clear()"),
    ("req.session.save", "a session is saved by itself"),
    ("crypto.randomUUID", WEB_CRYPTO),
    ("crypto.getRandomValues", WEB_CRYPTO),
];

/// The advice where the module of that name hides the Web's `crypto`.
const WEB_CRYPTO: &str = "the import hides the Web's crypto: write globalThis.crypto";

/// Returns advice about a name that is not defined, from QuickJS's message about it.
pub(super) fn of_global(message: &str) -> Option<&'static str> {
    let name = message.strip_suffix(" is not defined")?.trim_matches('\'');
    let found = GLOBALS.iter().find(|(known, _)| *known == name);
    found.map(|(_, advice)| *advice)
}

/// Returns advice about the line of a file that reads a member of `undefined`.
pub(super) fn of_undefined(source: &str, line: u32) -> Option<&'static str> {
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    let read = source.lines().nth(index)?;
    if read.contains("crypto.subtle") && !read.contains("globalThis.crypto.subtle") {
        return Some(WEB_CRYPTO);
    }
    let is_forgotten = uses_unawaited_next(source, index);
    is_forgotten.then_some("is await missing in front of next(...)?")
}

/// Returns advice about a name that was called and is no function.
pub(super) fn of_function(cx: Cx<'_>, callee: &str) -> Option<String> {
    if let Some((_, advice)) = FUNCTIONS.iter().find(|(known, _)| *known == callee) {
        return Some((*advice).to_owned());
    }
    let (owner, name) = callee.rsplit_once('.')?;
    if let Some(advice) = foreign_function(owner, name) {
        return Some(advice.to_owned());
    }
    if callee.starts_with("process.") {
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
    let Ok(tables) = cx.core().tables() else {
        return Ok(None);
    };
    let mut path = owner.split('.').map(CString::new);
    let Some(Ok(first)) = path.next() else {
        return Ok(None);
    };
    let mut object = cx.get(tables.exports.raw(), &first)?;
    for part in path {
        let (Ok(part), true) = (part, is_object(object.raw())) else {
            return Ok(None);
        };
        object = cx.get(object.raw(), &part)?;
    }
    if !is_object(object.raw()) {
        return Ok(None);
    }
    let mut known = Vec::new();
    for atom in PropertyNames::of(cx, object.raw())?.iter() {
        known.push(cx.text(cx.name(atom)?.raw())?);
    }
    Ok(nearest_name(name, known))
}
