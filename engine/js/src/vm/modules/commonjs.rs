//! Packages in CommonJS, as ECMAScript modules import them.
//!
//! A file is run when it is first imported, before the modules that import it are linked. So the names that it exports
//! are those that its `module.exports` really has. The default export is `module.exports`, or its `default` where the
//! file was made from an ECMAScript module (`__esModule`), as bundlers have it.

use super::{c_module, places, resolve, stacks};
use crate::values::json_read;
use crate::values::property_names::PropertyNames;
use crate::vm::sys::{
    Cx, Failure, RawValue, Thrown, UNDEFINED, Val, boolean, entry, is_object, is_true,
};
use rquickjs::qjs;
use sampan_host::{Details, Error, ErrorKind};
use sampan_js_modules::{Asked, Kind};
use std::ffi::{CStr, CString, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The text around the source of a file, on the line where it begins.
const OPENING: &str = "(function (exports, require, module, __filename, __dirname, global) {";
const CLOSING: &str = "\n})";

/// The index of the first name in the list that a module keeps its names begin; before them are the default export and
/// the others.
const FIRST_NAME: u32 = 2;

/// Runs the file at a path, if that was not done before, and makes a module of what it exports.
pub(super) fn module(cx: Cx<'_>, path: &str) -> Result<*mut qjs::JSModuleDef, Failure> {
    let name = cx.string(path)?;
    let loaded = cx.call(loader(cx)?.raw(), UNDEFINED, &[name.raw()])?;
    let exports = cx.get(loaded.raw(), c"exports")?;
    let mut names = Vec::new();
    if is_object(exports.raw()) {
        for atom in PropertyNames::of(cx, exports.raw())?.iter() {
            let name = cx.text(cx.name(atom)?.raw())?;
            if name != "default" {
                names.push(name);
            }
        }
    }
    let default = default_export(cx, &exports)?;
    let mut kept = vec![default, exports];
    for name in &names {
        kept.push(cx.string(name)?);
    }
    let kept = cx.array(kept)?;
    let module = c_module(cx, path, export)?;
    // SAFETY: the module has just been made, the names are terminated, and the list's reference is taken.
    unsafe {
        names.push("default".to_owned());
        for name in names {
            // A name with a NUL cannot be imported by anybody.
            let Ok(name) = CString::new(name) else {
                continue;
            };
            if qjs::JS_AddModuleExport(cx.raw(), module, name.as_ptr()) < 0 {
                return Err(Failure::Thrown);
            }
        }
        if qjs::JS_SetModulePrivateValue(cx.raw(), module, kept.into_raw()) < 0 {
            return Err(Failure::Thrown);
        }
    }
    Ok(module)
}

fn default_export(cx: Cx<'_>, exports: &Val) -> Result<Val, Thrown> {
    if is_object(exports.raw()) && is_true(cx.get(exports.raw(), c"__esModule")?.raw()) {
        let default = cx.get(exports.raw(), c"default")?;
        if !crate::vm::sys::is_undefined(default.raw()) {
            return Ok(default);
        }
    }
    Ok(cx.dup(exports.raw()))
}

// SAFETY: called by QuickJS alone, with a live context and the module that is being made.
unsafe extern "C" fn export(ctx: *mut qjs::JSContext, module: *mut qjs::JSModuleDef) -> c_int {
    // SAFETY: QuickJS passes a context that is alive, with its core.
    let cx = unsafe { Cx::from_raw(ctx) };
    let set = |name: &CStr, value: Val| {
        // SAFETY: the name is terminated, and the value's reference is taken.
        match unsafe { qjs::JS_SetModuleExport(cx.raw(), module, name.as_ptr(), value.into_raw()) }
        {
            0.. => Ok(()),
            _ => Err(Failure::Thrown),
        }
    };
    let filled = catch_unwind(AssertUnwindSafe(|| -> Result<(), Failure> {
        // SAFETY: the module has such a value since it was made. The reference that comes back is owned.
        let kept = unsafe { cx.own(qjs::JS_GetModulePrivateValue(cx.raw(), module)) };
        set(c"default", cx.at(kept.raw(), 0)?)?;
        let exports = cx.at(kept.raw(), 1)?;
        for index in FIRST_NAME..u32::try_from(cx.length(kept.raw())?).unwrap_or(0) {
            let name = cx.text(cx.at(kept.raw(), index)?.raw())?;
            let Ok(name) = CString::new(name) else {
                continue;
            };
            set(&name, cx.get(exports.raw(), &name)?)?;
        }
        Ok(())
    }));
    match filled {
        Ok(Ok(())) => 0,
        Ok(Err(failure)) => {
            cx.throw(failure);
            -1
        }
        Err(_) => -1,
    }
}

/// The function of `commonjs.js`, made when it is first needed.
fn loader(cx: Cx<'_>) -> Result<&Val, Failure> {
    const SOURCE: &CStr =
        match CStr::from_bytes_with_nul(concat!(include_str!("commonjs.js"), "\0").as_bytes()) {
            Ok(source) => source,
            Err(_) => panic!("the source has a NUL"),
        };
    let kept = &cx.core().commonjs;
    if let Some(loader) = kept.get() {
        return Ok(loader);
    }
    let native = cx.object()?;
    cx.define(
        native.raw(),
        c"find",
        cx.function(c"find", 2, 0, entry(find))?,
    )?;
    cx.define(
        native.raw(),
        c"open",
        cx.function(c"open", 1, 0, entry(open))?,
    )?;
    let sampan = cx.dup(cx.core().tables()?.exports.raw());
    cx.define(native.raw(), c"sampan", sampan)?;
    let made = cx.eval(SOURCE, c"sampan:commonjs.js")?;
    let loader = cx.call(made.raw(), UNDEFINED, &[native.raw()])?;
    Ok(kept.get_or_init(|| loader))
}

/// `find(path, name)`: the path of what the file at `path` requires.
fn find(cx: Cx<'_>, _: RawValue<'_>, args: &[RawValue<'_>]) -> Result<Val, Failure> {
    let [path, name, ..] = args else {
        return Err(Error::script("require: needs a name").into());
    };
    let (path, name) = (cx.text(*path)?, cx.text(*name)?);
    let core = cx.core();
    match resolve(core, &path, &name, Asked::Require) {
        Ok(found) => Ok(cx.string(&found)?),
        Err(why) => {
            let place = places::import_place(core, &path, &name);
            let at = place.map_or_else(|| path.clone(), |place| place.to_string());
            let error = Error::script(format!("{at}: cannot import \"{name}\": {why}"));
            Err(error
                .with_details(Details {
                    code: "MODULE_NOT_FOUND".into(),
                    ..Details::default()
                })
                .into())
        }
    }
}

/// `open(path)`: `[true, function]` of a script, `[false, value]` of JSON.
fn open(cx: Cx<'_>, _: RawValue<'_>, args: &[RawValue<'_>]) -> Result<Val, Failure> {
    let path = cx.text(args.first().copied().unwrap_or(UNDEFINED))?;
    let script = cx.core().scripts.load(&path)?;
    let value = match script.kind {
        Kind::Json => json_read::json(cx, &script.code)?,
        Kind::CommonJs => {
            cx.core().compiled.borrow_mut().push(path.clone());
            stacks::keep(cx, &path, &script)?;
            function(cx, &path, &script.code)?
        }
        Kind::Esm => {
            let text =
                format!("{path} is an ECMAScript module: it can be imported, but not required");
            return Err(Error::new(ErrorKind::Load, text).into());
        }
    };
    let is_code = cx.dup(boolean(script.kind == Kind::CommonJs));
    Ok(cx.array(vec![is_code, value])?)
}

/// The text of a file as a function.
fn function(cx: Cx<'_>, path: &str, code: &[u8]) -> Result<Val, Failure> {
    let nul = |_| Error::new(ErrorKind::Load, format!("{path}: the file has a NUL byte"));
    // `#!/usr/bin/env node` would be in the middle of a line.
    let front = if code.starts_with(b"#!") { "//" } else { "" };
    let text = [
        OPENING.as_bytes(),
        front.as_bytes(),
        code,
        CLOSING.as_bytes(),
    ]
    .concat();
    let (text, file) = (
        CString::new(text).map_err(nul)?,
        CString::new(path).map_err(nul)?,
    );
    let length = text.as_bytes().len();
    let flags = qjs::JS_EVAL_TYPE_GLOBAL as c_int;
    // SAFETY: both texts are terminated. The reference that comes back is owned.
    Ok(unsafe {
        cx.check(qjs::JS_Eval(
            cx.raw(),
            text.as_ptr(),
            length as _,
            file.as_ptr(),
            flags,
        ))
    }?)
}
