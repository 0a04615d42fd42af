//! Advice for the author of a script: a few words behind the message of an uncaught error.

use crate::values::property_names::PropertyNames;
use crate::vm::source_text::{owners, uses_unawaited_next};
use crate::vm::sys::{Cx, Thrown, Val, is_object};
use sampan_host::Function;
use sampan_host::names::{camel_case, foreign_function, nearest_name};
use sampan_host::request::FIELDS;
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

/// Names under which handlers know their request.
const REQUESTS: [&str; 2] = ["req", "request"];

/// The methods of a request's body.
const BODY_METHODS: [&str; 6] = ["json", "text", "form", "bytes", "arrayBuffer", "formData"];

/// The advice where the module of that name hides the Web's `crypto`.
const WEB_CRYPTO: &str = "the import hides the Web's crypto: write globalThis.crypto";

/// Returns advice about a name that is not defined, from QuickJS's message about it.
pub(super) fn of_global(message: &str) -> Option<&'static str> {
    let name = message.strip_suffix(" is not defined")?.trim_matches('\'');
    let found = GLOBALS.iter().find(|(known, _)| *known == name);
    found.map(|(_, advice)| *advice)
}

/// Returns advice about the line of a file that reads a member of `undefined`, from QuickJS's message about it.
pub(super) fn of_undefined(cx: Cx<'_>, message: &str, source: &str, line: u32) -> Option<String> {
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    let read = source.lines().nth(index)?;
    if read.contains("crypto.subtle") && !read.contains("globalThis.crypto.subtle") {
        return Some(WEB_CRYPTO.to_owned());
    }
    if uses_unawaited_next(source, index) {
        return Some("is await missing in front of next(...)?".to_owned());
    }
    let member = message.strip_prefix("cannot read property '")?;
    let member = member.strip_suffix("' of undefined")?;
    // In a bundle all code is one line.
    let mut owners = owners(read, member).into_iter().take(4);
    owners.find_map(|read| {
        let (owner, name) = read.rsplit_once('.')?;
        nearest(cx, owner, name, true)
    })
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
    nearest(cx, owner, name, false)
}

/// Returns advice about the member of a request or of one of our own objects that a misspelt name means: a method, or
/// also a field where those are asked for.
fn nearest(cx: Cx<'_>, owner: &str, name: &str, with_fields: bool) -> Option<String> {
    let mut known = members(cx, owner).unwrap_or_else(|Thrown| {
        drop(cx.exception());
        Vec::new()
    });
    known.extend(names_of(cx, owner, with_fields));
    let found = nearest_name(name, known).filter(|found| found != name)?;
    Some(format!("did you mean {owner}.{found}?"))
}

/// Reports whether a name with its owner, such as `app.get`, is a function of one of our own objects.
pub(super) fn is_own_function(cx: Cx<'_>, callee: &str) -> bool {
    let found = callee.contains('.').then(|| export(cx, callee));
    match found {
        Some(Ok(Some(value))) => cx.is_function(value.raw()),
        Some(Err(Thrown)) => {
            drop(cx.exception());
            false
        }
        _ => false,
    }
}

/// Returns what the exports of the server's module have at a path, such as `app.get`.
fn export(cx: Cx<'_>, path: &str) -> Result<Option<Val>, Thrown> {
    let Ok(tables) = cx.core().tables() else {
        return Ok(None);
    };
    let mut found = cx.dup(tables.exports.raw());
    for part in path.split('.').map(CString::new) {
        let (Ok(part), true) = (part, is_object(found.raw())) else {
            return Ok(None);
        };
        found = cx.get(found.raw(), &part)?;
    }
    Ok(Some(found))
}

/// The names of the members of one of our own objects.
fn members(cx: Cx<'_>, owner: &str) -> Result<Vec<String>, Thrown> {
    let mut known = Vec::new();
    if let Some(object) = export(cx, owner)?.filter(|found| is_object(found.raw())) {
        for atom in PropertyNames::of(cx, object.raw())?.iter() {
            known.push(cx.text(cx.name(atom)?.raw())?);
        }
    }
    Ok(known)
}

/// Returns the names that requests and native objects have, known by what scripts call them: methods, and fields where
/// those are asked for.
fn names_of(cx: Cx<'_>, owner: &str, with_fields: bool) -> Vec<String> {
    let is_request = REQUESTS.contains(&owner);
    let variable = owner.rsplit('.').next();
    let mut names: Vec<&str> = Vec::new();
    let mut add = |rows: &'static [Function]| names.extend(rows.iter().map(|row| row.name));
    for module in cx.core().contract.modules {
        for class in module.classes {
            if variable == Some(class.variable) {
                add(class.methods);
            }
        }
        if is_request {
            add(module.request_methods);
        }
        if is_request && with_fields {
            add(module.request_fields);
        }
    }
    if is_request {
        names.extend(BODY_METHODS);
    }
    if is_request && with_fields {
        names.extend(FIELDS.iter().map(|(name, _)| *name));
    }
    names.into_iter().map(camel_case).collect()
}
