//! The names that a script may have meant where it called or indexed a field that is nil: a few words behind the
//! message of an error that was not caught.
//!
//! LuaJIT's message names the field alone. Its owner is read off the line of the project's file, and looked up where
//! the function of that line sees it. Owners that cannot be found so, such as a parameter, are known by their names.

use crate::request::object::METHODS;
use crate::vm::isolate::{Core, current};
use crate::vm::stack::{push_field, push_upvalue};
use crate::vm::state::{State, text_at};
use mlua_sys::lua51::*;
use sampan_host::names::{foreign_function, nearest_name};
use sampan_host::request::FIELDS;
use sampan_host::{Error, Function, Sources};
use std::ffi::{CStr, CString, c_int};

/// The number of calls of the stack that are searched for the function of a line.
const CALLS_MAX: c_int = 20;
/// The number of members of a table that are looked at.
const MEMBERS_MAX: usize = 1_000;
/// The folders in which `require` looks for modules of the project.
const FOLDERS: [&str; 2] = ["", "lib/"];
/// The longest name of a module that is compared with others, in bytes.
const MODULE_BYTES_MAX: usize = 200;
/// Names under which handlers know their request.
const REQUESTS: [&str; 3] = ["req", "request", "r"];

/// Returns the error with the name behind its message that the script may have meant. `thread` is the one that failed;
/// its stack is as it was.
///
/// # Safety
/// The thread must be alive, and nothing may run in it.
#[cold]
pub(super) unsafe fn advised(thread: State, error: Error) -> Error {
    if let Some(module) = missing_module(error.message()) {
        let near = nearest_module(&*current().sources, module);
        let message = near.map(|near| format!("{}\n\tdid you mean '{near}'?", error.message()));
        return match message {
            Some(message) => error.with_message(message),
            None => error,
        };
    }
    let Some(missing) = Missing::read(error.message()) else {
        return error;
    };
    // SAFETY: reads what lies on the stack of a thread that does not run, as the caller promises, and pops what is
    // pushed. Nothing allocates in Lua.
    match unsafe { advice(thread, &error, missing) } {
        Some(advice) => {
            let message = format!("{}: {advice}", error.message());
            error.with_message(message)
        }
        None => error,
    }
}

/// Returns the name of the module that `require` has not found, as `modules.lua` tells it.
fn missing_module(message: &str) -> Option<&str> {
    let (name, _) = message
        .strip_prefix("module '")?
        .split_once("' not found:")?;
    Some(name)
}

/// Returns the name, as `require` takes it, of a file beside the one that a misspelt name means.
fn nearest_module(sources: &dyn Sources, name: &str) -> Option<String> {
    if name.len() > MODULE_BYTES_MAX {
        return None;
    }
    let start = name.rfind(['.', '/']).map_or(0, |last| last + 1);
    let within = name[..start].replace('.', "/");
    let mut known = Vec::new();
    for folder in FOLDERS {
        let folder = format!("{folder}{within}");
        for file in sources.names_in(folder.trim_end_matches('/')) {
            let module = file.strip_suffix(".lua");
            known.extend(module.map(|module| format!("{}{module}", &name[..start])));
        }
    }
    known.sort_unstable();
    nearest_name(name, known)
}

/// A name that LuaJIT's message says is nil.
#[derive(Clone, Copy)]
struct Missing<'a> {
    name: &'a str,
    is_global: bool,
    is_call: bool,
}

impl<'a> Missing<'a> {
    /// Reads `attempt to call field 'x' (a nil value)`, and the same of methods, of globals and of what is indexed.
    fn read(message: &'a str) -> Option<Self> {
        let rest = message.strip_prefix("attempt to ")?;
        let (doing, rest) = rest.split_once(' ')?;
        let (kind, rest) = rest.split_once(" '")?;
        let name = rest.strip_suffix("' (a nil value)")?;
        let is_known =
            matches!(doing, "call" | "index") && matches!(kind, "field" | "method" | "global");
        is_known.then_some(Self {
            name,
            is_global: kind == "global",
            is_call: doing == "call",
        })
    }
}

/// Returns the name with its owner that is meant, as the script would write it, or the advice for a function of other
/// frameworks.
unsafe fn advice(thread: State, error: &Error, missing: Missing<'_>) -> Option<String> {
    let core = current();
    let place = error.place()?;
    // SAFETY: the thread does not run, so its stack may be read. Room is made for what is pushed, and the height of the
    // stack is restored.
    unsafe {
        if lua_checkstack(thread, 32) == 0 {
            return None;
        }
        let top = lua_gettop(thread);
        let has_function = push_function(thread, &place.file, place.line);
        let found = if missing.is_global {
            has_function
                .then(|| {
                    lua_getfenv(thread, -1);
                    nearest_name(missing.name, members(thread, missing.is_call))
                })
                .flatten()
                .map(|meant| format!("did you mean {meant}?"))
        } else {
            let text = core.sources.read(&place.file)?;
            let text = String::from_utf8_lossy(&text);
            let line = text.lines().nth((place.line as usize).checked_sub(1)?)?;
            let known = |owner: &str| {
                let path: Vec<&str> = owner.split('.').collect();
                let mut known = names_of(core, &path);
                if has_function && (push_path(thread, &path) || push_module(thread, &path)) {
                    known.extend(members(thread, missing.is_call));
                }
                nearest_name(missing.name, known)
            };
            owner_of(line, missing.name).and_then(|(owner, mark)| {
                match foreign_function(owner, missing.name).filter(|_| missing.is_call) {
                    Some(advice) => Some(advice.to_owned()),
                    None => Some(format!("did you mean {owner}{mark}{}?", known(owner)?)),
                }
            })
        };
        lua_settop(thread, top);
        found
    }
}

/// Returns what stands before `.name` or `:name` in a line of Lua, and the mark between them.
fn owner_of<'a>(line: &'a str, name: &str) -> Option<(&'a str, char)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    line.match_indices(name).find_map(|(at, _)| {
        let (before, behind) = (&line[..at], &line[at + name.len()..]);
        let mark = before
            .chars()
            .next_back()
            .filter(|mark| matches!(mark, '.' | ':'))?;
        let before = &before[..before.len() - 1];
        let start = before
            .rfind(|c| !is_part(c) && c != '.')
            .map_or(0, |last| last + 1);
        let owner = &before[start..];
        let is_whole = !behind.starts_with(is_part)
            && owner.starts_with(|c: char| is_part(c) && !c.is_ascii_digit());
        is_whole.then_some((owner, mark))
    })
}

/// Pushes the function on the stack of `thread` that a line of a file belongs to.
unsafe fn push_function(thread: State, file: &str, line: u32) -> bool {
    // SAFETY: `lua_getinfo` pushes a function for `f`; the source belongs to its prototype.
    unsafe {
        let mut record: lua_Debug = std::mem::zeroed();
        for level in 0..CALLS_MAX {
            if lua_getstack(thread, level, &raw mut record) == 0
                || lua_getinfo(thread, c"Sf".as_ptr(), &raw mut record) == 0
            {
                return false;
            }
            let source = CStr::from_ptr(record.source).to_bytes();
            let lines = record.linedefined..=record.lastlinedefined;
            if source.strip_prefix(b"@") == Some(file.as_bytes())
                && (record.linedefined == 0 || lines.contains(&(line as c_int)))
            {
                return true;
            }
            lua_pop(thread, 1);
        }
        false
    }
}

/// Pushes the table that a path such as `app.db` means to the function on top: its first name is an upvalue or a
/// global. Pushes nothing if there is none.
unsafe fn push_path(thread: State, path: &[&str]) -> bool {
    // SAFETY: the caller has made room; fields are read without making strings.
    unsafe {
        let function = lua_gettop(thread);
        let is_found = push_fields(thread, function, path) && lua_type(thread, -1) == LUA_TTABLE;
        if !is_found {
            lua_settop(thread, function);
        }
        is_found
    }
}

/// Pushes what each name of the path means, as far as there are tables.
unsafe fn push_fields(thread: State, function: c_int, path: &[&str]) -> bool {
    // SAFETY: the caller has made room, and the function lies at its place. Fields are read without making strings.
    unsafe {
        let mut names = path.iter().map(|name| CString::new(*name));
        let Some(Ok(first)) = names.next() else {
            return false;
        };
        if !push_upvalue(thread, function, &first) {
            lua_getfenv(thread, function);
            if !push_field(thread, &first) {
                return false;
            }
        }
        names.all(|name| {
            name.is_ok_and(|name| lua_type(thread, -1) == LUA_TTABLE && push_field(thread, &name))
        })
    }
}

/// Pushes what a path that begins with `app` means in the module `sampan`. A call that has failed no longer knows the
/// names of its own local variables, so `app` of the file's top level cannot be looked up.
unsafe fn push_module(thread: State, path: &[&str]) -> bool {
    let ["app", rest @ ..] = path else {
        return false;
    };
    // SAFETY: the caller has made room and pushed the function, which is all that `push_path` needs.
    unsafe { push_path(thread, &[&["package", "loaded", "sampan"], rest].concat()) }
}

/// Returns the names of the members of the table on top; of those that can be called alone where `is_call`.
unsafe fn members(thread: State, is_call: bool) -> Vec<String> {
    let mut names = Vec::new();
    // SAFETY: the caller has made room; `lua_next` is given keys of the table, so it does not raise.
    unsafe {
        lua_pushnil(thread);
        for _ in 0..MEMBERS_MAX {
            if lua_next(thread, -2) == 0 {
                break;
            }
            let is_meant = !is_call || matches!(lua_type(thread, -1), LUA_TFUNCTION | LUA_TTABLE);
            if is_meant && lua_type(thread, -2) == LUA_TSTRING {
                names.push(String::from_utf8_lossy(text_at(thread, -2)).into_owned());
            }
            lua_pop(thread, 1);
        }
    }
    names
}

/// Returns the names that modules, requests and objects have, known by what scripts call them.
fn names_of(core: &Core, path: &[&str]) -> Vec<String> {
    let owner = path.last().copied().unwrap_or_default();
    let mut names: Vec<&str> = Vec::new();
    let mut add = |rows: &'static [Function]| names.extend(rows.iter().map(|row| row.name));
    for module in core.modules {
        if module.name == owner {
            add(module.functions);
        }
        for class in module.classes {
            if class.variable == owner {
                add(class.methods);
            }
        }
        if REQUESTS.contains(&owner) {
            add(module.request_fields);
            add(module.request_methods);
        }
    }
    if REQUESTS.contains(&owner) {
        names.extend(FIELDS.iter().map(|(name, _)| *name));
        names.extend(METHODS);
        names.push("chunks");
    }
    if owner == "app" {
        names.extend(core.modules.iter().map(|module| module.name));
    }
    names.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_read_off_a_line() {
        for (line, name, expected) in [
            ("return app.jsno({})", "jsno", Some(("app", '.'))),
            ("x = app.db.querry('a')", "querry", Some(("app.db", '.'))),
            ("req:forn()", "forn", Some(("req", ':'))),
            ("local forn = req:forn()", "forn", Some(("req", ':'))),
            ("f().g()", "g", None),
            ("gg(a.g)", "g", Some(("a", '.'))),
            ("app.gets()", "get", None),
        ] {
            assert_eq!(owner_of(line, name), expected, "{line}");
        }
    }

    struct TwoFolders;

    impl Sources for TwoFolders {
        fn read(&self, _: &str) -> Option<Vec<u8>> {
            None
        }

        fn names_in(&self, folder: &str) -> Vec<String> {
            let names: &[&str] = match folder {
                "" => &["app.lua", "utils.lua", "notes.txt"],
                "lib" => &["html.lua"],
                "models" => &["user.lua"],
                _ => &[],
            };
            names.iter().map(|name| (*name).to_owned()).collect()
        }
    }

    #[test]
    fn modules_are_searched_beside_the_one_that_is_missing() {
        for (name, expected) in [
            ("utlis", Some("utils")),
            ("htlm", Some("html")),
            ("models.usr", Some("models.user")),
            ("models/usr", Some("models/user")),
            ("note", None),
            ("nope", None),
            ("", None),
            ("..", None),
        ] {
            let message = format!("module '{name}' not found:\n\tno file 'x'");
            assert_eq!(missing_module(&message), Some(name));
            let near = nearest_module(&TwoFolders, name);
            assert_eq!(near.as_deref(), expected, "{name}");
        }
        assert_eq!(missing_module("module 'x' is strange"), None);
        assert_eq!(nearest_module(&TwoFolders, &"x".repeat(201)), None);
    }
}
