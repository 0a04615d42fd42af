//! Modules: files of the project and its packages, JSON files, and `sampan`. `sampan-js-modules` finds and transforms
//! them.

mod commonjs;
mod places;
pub(crate) mod stacks;

pub(crate) use places::hanging;

use crate::values::json_read;
use crate::vm::error;
use crate::vm::isolate::Core;
use crate::vm::sys::{Cx, Failure, RawValue, Thrown, Val};
use rquickjs::qjs;
use sampan_host::{Error, ErrorKind, Place};
use sampan_js_modules::{Asked, Kind, Script};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Lets the runtime load modules through the core.
pub(crate) fn install(cx: Cx<'_>) {
    let core: *const Core = cx.core();
    // SAFETY: the runtime is alive; the functions find the core through the context.
    unsafe {
        qjs::JS_SetModuleLoaderFunc2(
            cx.runtime(),
            Some(normalize),
            Some(load),
            Some(check_attributes),
            core.cast_mut().cast::<c_void>(),
        );
    }
}

/// Runs a callback that returns a pointer: a failure is thrown, a panic too.
fn guarded<'a, T>(cx: Cx<'a>, body: impl FnOnce(Cx<'a>) -> Result<*mut T, Failure>) -> *mut T {
    let failure = match catch_unwind(AssertUnwindSafe(|| body(cx))) {
        Ok(Ok(pointer)) => return pointer,
        Ok(Err(failure)) => failure,
        Err(_) => Error::new(ErrorKind::Internal, "the module loader panicked").into(),
    };
    cx.throw(failure);
    std::ptr::null_mut()
}

/// # Safety
/// The pointer must be a terminated string that lives as long as the call.
unsafe fn text<'a>(pointer: *const c_char) -> std::borrow::Cow<'a, str> {
    // SAFETY: the caller promises a terminated string that lives as long as the call.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy()
}

// SAFETY: called by QuickJS alone, with a live context and terminated names.
unsafe extern "C" fn normalize(
    ctx: *mut qjs::JSContext,
    base: *const c_char,
    name: *const c_char,
    _: *mut c_void,
) -> *mut c_char {
    // SAFETY: QuickJS calls this with a context that is alive until it returns.
    let cx = unsafe { Cx::from_raw(ctx) };
    guarded(cx, |cx| {
        // SAFETY: QuickJS passes two strings that end with NUL, and keeps them until this function returns.
        let (base, name) = unsafe { (text(base), text(name)) };
        let core = cx.core();
        let found = resolve(core, &base, &name, Asked::Import)
            .map_err(|why| missing(core, &base, &name, &why))?;
        let found = CString::new(found).map_err(|_| Error::script("a module's name has a NUL"))?;
        // SAFETY: the text is terminated; the copy belongs to QuickJS.
        Ok(unsafe { qjs::js_strdup(cx.raw(), found.as_ptr()) })
    })
}

/// The path of the module that `base` calls `name`.
fn resolve(core: &Core, base: &str, name: &str, asked: Asked) -> Result<String, String> {
    if name == "sampan" {
        return Ok(name.to_owned());
    }
    core.scripts.resolve(base, name, asked)
}

/// An error about an import, at the line of it.
fn missing(core: &Core, base: &str, name: &str, why: &str) -> Failure {
    // JSX is imported by no line of the source.
    let place = places::import_place(core, base, name);
    let at = place.map_or_else(|| format!("{base}:1"), |place| place.to_string());
    Error::new(
        ErrorKind::Load,
        format!("{at}: cannot import \"{name}\": {why}"),
    )
    .into()
}

// SAFETY: called by QuickJS alone, with a live context and a live value.
unsafe extern "C" fn check_attributes(
    ctx: *mut qjs::JSContext,
    _: *mut c_void,
    attributes: qjs::JSValue,
) -> c_int {
    // SAFETY: QuickJS passes a live context and a live value.
    let (cx, attributes) = unsafe { (Cx::from_raw(ctx), RawValue::from_js(attributes)) };
    let checked = catch_unwind(AssertUnwindSafe(|| -> Result<(), Failure> {
        for name in crate::values::property_names::PropertyNames::of(cx, attributes)?.iter() {
            let name = cx.text(cx.name(name)?.raw())?;
            if name != "type" {
                return Err(Error::script(format!("unknown import attribute \"{name}\"")).into());
            }
        }
        Ok(())
    }));
    match checked {
        Ok(Ok(())) => 0,
        Ok(Err(failure)) => {
            cx.throw(failure);
            -1
        }
        Err(_) => -1,
    }
}

// SAFETY: called by QuickJS alone, with a live context and a terminated name.
unsafe extern "C" fn load(
    ctx: *mut qjs::JSContext,
    name: *const c_char,
    _: *mut c_void,
    attributes: qjs::JSValue,
) -> *mut qjs::JSModuleDef {
    // SAFETY: QuickJS calls this with a context that is alive until it returns, and holds the value as long.
    let (cx, attributes) = unsafe { (Cx::from_raw(ctx), RawValue::from_js(attributes)) };
    guarded(cx, |cx| {
        // SAFETY: QuickJS passes a string that ends with NUL, and keeps it until this function returns.
        let name = unsafe { text(name) };
        if name == "sampan" {
            return sampan(cx);
        }
        let wanted = wanted_type(cx, attributes)?;
        let script = cx.core().scripts.load(&name)?;
        match (wanted.as_deref(), script.kind) {
            (Some("json"), _) | (None, Kind::Json) => json(cx, &name, &script.code),
            (None, Kind::Esm) => Ok(compile(cx, &name, &script)?.1),
            (None, Kind::CommonJs) => commonjs::module(cx, &name),
            (Some(other), _) => Err(Error::new(
                ErrorKind::Load,
                format!("{name}: unknown module type \"{other}\""),
            )
            .into()),
        }
    })
}

fn wanted_type(cx: Cx<'_>, attributes: RawValue<'_>) -> Result<Option<String>, Thrown> {
    if !crate::vm::sys::is_object(attributes) {
        return Ok(None);
    }
    let wanted = cx.get(attributes, c"type")?;
    if crate::vm::sys::is_nothing(wanted.raw()) {
        Ok(None)
    } else {
        cx.text(wanted.raw()).map(Some)
    }
}

/// Compiles a module. The value is the module itself, ready to be run.
pub(crate) fn compile(
    cx: Cx<'_>,
    name: &str,
    script: &Arc<Script>,
) -> Result<(Val, *mut qjs::JSModuleDef), Failure> {
    cx.core().compiled.borrow_mut().push(name.to_owned());
    stacks::keep(cx, name, script)?;
    let nul = |_| Error::new(ErrorKind::Load, format!("{name}: the file has a NUL byte"));
    let source = CString::new(&*script.code).map_err(nul)?;
    let file = CString::new(name).map_err(nul)?;
    let flags = (qjs::JS_EVAL_TYPE_MODULE | qjs::JS_EVAL_FLAG_COMPILE_ONLY) as c_int;
    let length = source.as_bytes().len();
    // SAFETY: both texts are terminated. A compiled module is kept by the context, so the pointer stays good without a
    // reference.
    unsafe {
        let module = cx.check(qjs::JS_Eval(
            cx.raw(),
            source.as_ptr(),
            length as _,
            file.as_ptr(),
            flags,
        ))?;
        let definition = qjs::JS_VALUE_GET_PTR(module.js()).cast::<qjs::JSModuleDef>();
        Ok((module, definition))
    }
}

/// A module whose default export is the value of a JSON file.
fn json(cx: Cx<'_>, name: &str, source: &[u8]) -> Result<*mut qjs::JSModuleDef, Failure> {
    let value = json_read::json(cx, source).map_err(|failure| match failure {
        Failure::Error(error) => {
            Error::new(ErrorKind::Load, format!("{name}: {}", error.message())).into()
        }
        thrown => thrown,
    })?;
    let module = c_module(cx, name, export_json)?;
    // SAFETY: the module has just been made and takes the value's reference.
    unsafe {
        if qjs::JS_AddModuleExport(cx.raw(), module, c"default".as_ptr()) < 0
            || qjs::JS_SetModulePrivateValue(cx.raw(), module, value.into_raw()) < 0
        {
            return Err(Failure::Thrown);
        }
    }
    Ok(module)
}

// SAFETY: called by QuickJS alone, while it makes the module.
unsafe extern "C" fn export_json(ctx: *mut qjs::JSContext, module: *mut qjs::JSModuleDef) -> c_int {
    // SAFETY: QuickJS passes the module that is being made; the export takes the reference.
    unsafe {
        let value = qjs::JS_GetModulePrivateValue(ctx, module);
        qjs::JS_SetModuleExport(ctx, module, c"default".as_ptr(), value)
    }
}

type FillModule = unsafe extern "C" fn(*mut qjs::JSContext, *mut qjs::JSModuleDef) -> c_int;

fn c_module(cx: Cx<'_>, name: &str, fill: FillModule) -> Result<*mut qjs::JSModuleDef, Failure> {
    let name = CString::new(name).map_err(|_| Error::script("a module's name has a NUL"))?;
    // SAFETY: `name` is a `CString`, which ends with NUL and lives during the call. The context is alive and owns the
    // module.
    let module = unsafe { qjs::JS_NewCModule(cx.raw(), name.as_ptr(), Some(fill)) };
    if module.is_null() {
        Err(Failure::Thrown)
    } else {
        Ok(module)
    }
}

/// The module `sampan`, with what the prelude exports.
fn sampan(cx: Cx<'_>) -> Result<*mut qjs::JSModuleDef, Failure> {
    let module = c_module(cx, "sampan", export_sampan)?;
    for name in export_names(cx)? {
        // SAFETY: the module has just been made, the name is terminated.
        if unsafe { qjs::JS_AddModuleExport(cx.raw(), module, name.as_ptr()) } < 0 {
            return Err(Failure::Thrown);
        }
    }
    Ok(module)
}

fn export_names(cx: Cx<'_>) -> Result<Vec<CString>, Failure> {
    let mut names = Vec::new();
    for atom in
        crate::values::property_names::PropertyNames::of(cx, cx.core().tables()?.exports.raw())?
            .iter()
    {
        let name = cx.name(atom)?;
        names.push(
            CString::new(cx.text(name.raw())?)
                .map_err(|_| Error::script("an export's name has a NUL"))?,
        );
    }
    Ok(names)
}

// SAFETY: called by QuickJS alone, while it makes the module.
unsafe extern "C" fn export_sampan(
    ctx: *mut qjs::JSContext,
    module: *mut qjs::JSModuleDef,
) -> c_int {
    // SAFETY: QuickJS passes a live context and the module that is being made; each export takes its reference.
    let cx = unsafe { Cx::from_raw(ctx) };
    let filled = catch_unwind(AssertUnwindSafe(|| -> Result<(), Failure> {
        for name in export_names(cx)? {
            let value = cx.get(cx.core().tables()?.exports.raw(), &name)?;
            // SAFETY: the module is the one that is being made, the name is terminated, and the value's reference is
            // taken.
            if unsafe { qjs::JS_SetModuleExport(ctx, module, name.as_ptr(), value.into_raw()) } < 0
            {
                return Err(Failure::Thrown);
            }
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

/// The pending exception as an error of loading.
pub(crate) fn load_error(cx: Cx<'_>) -> Error {
    let error = error::take(cx);
    let missing = places::missing_export(cx.core(), error.message(), || own_names(cx));
    as_load_error(&missing.unwrap_or(error))
}

/// Returns the names that the module `sampan` exports.
fn own_names(cx: Cx<'_>) -> Vec<String> {
    match export_names(cx) {
        Ok(names) => names
            .into_iter()
            .filter_map(|name| name.into_string().ok())
            .collect(),
        Err(failure) => {
            if let Failure::Thrown = failure {
                drop(cx.exception());
            }
            Vec::new()
        }
    }
}

/// Returns the error as one of loading. Errors about imports carry their place in front of the message.
pub(crate) fn as_load_error(error: &Error) -> Error {
    let load = error.clone().with_kind(ErrorKind::Load);
    match front_place(error.message()) {
        Some((place, message)) => load.at(Some(place)).with_message(message),
        None => load,
    }
}

/// `app.js:3: cannot import ...` as place and message.
fn front_place(message: &str) -> Option<(Place, &str)> {
    let (front, rest) = message
        .split_once(": ")
        .filter(|(_, rest)| rest.starts_with("cannot import "))?;
    let (file, line) = front.rsplit_once(':')?;
    Some((
        Place {
            file: file.to_owned(),
            line: line.parse().ok()?,
        },
        rest,
    ))
}
