//! ES modules: files of the project, JSON files, and `sampan`.

use crate::values::json_read;
use crate::vm::error;
use crate::vm::isolate::Core;
use crate::vm::source_text::{import_line, top_level_awaits};
use crate::vm::sys::{Cx, Failure, RawValue, Thrown, Val};
use rquickjs::qjs;
use sampan_host::{Error, ErrorKind, Place};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

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
fn guarded<T>(
    ctx: *mut qjs::JSContext,
    body: impl FnOnce(Cx<'_>) -> Result<*mut T, Failure>,
) -> *mut T {
    // SAFETY: QuickJS passes a live context.
    let cx = unsafe { Cx::from_raw(ctx) };
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
    // SAFETY: as promised by the caller.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy()
}

// SAFETY: called by QuickJS alone, with a live context and terminated names.
unsafe extern "C" fn normalize(
    ctx: *mut qjs::JSContext,
    base: *const c_char,
    name: *const c_char,
    _: *mut c_void,
) -> *mut c_char {
    guarded(ctx, |cx| {
        // SAFETY: QuickJS passes terminated strings.
        let (base, name) = unsafe { (text(base), text(name)) };
        let core = cx.core();
        let found = resolve(&base, &name).map_err(|why| missing(core, &base, &name, &why))?;
        // Looked for here, where it is known who imports it.
        if found != "sampan" && core.sources.read(&found).is_none() {
            return Err(missing(
                core,
                &base,
                &name,
                &format!("there is no file {found}"),
            ));
        }
        let found = CString::new(found).map_err(|_| Error::script("a module's name has a NUL"))?;
        // SAFETY: the text is terminated; the copy belongs to QuickJS.
        Ok(unsafe { qjs::js_strdup(cx.raw(), found.as_ptr()) })
    })
}

/// The path of the module that `base` calls `name`.
fn resolve(base: &str, name: &str) -> Result<String, String> {
    if name == "sampan" {
        return Ok(name.to_owned());
    }
    let relative = name.starts_with("./") || name.starts_with("../");
    if !relative && !name.starts_with('/') {
        return Err("there is no package manager here: bundle packages into the project, and import project files by \"./\"".to_owned());
    }
    let mut parts: Vec<&str> = Vec::new();
    if relative {
        parts.extend(base.split('/'));
        parts.pop();
    }
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.is_empty() => return Err("it lies outside the project".to_owned()),
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

/// An error about an import, at the line of it.
fn missing(core: &Core, base: &str, name: &str, why: &str) -> Failure {
    let place = import_place(core, base, name);
    let at = place.map_or_else(|| base.to_owned(), |place| place.to_string());
    Error::new(
        ErrorKind::Load,
        format!("{at}: cannot import \"{name}\": {why}"),
    )
    .into()
}

/// QuickJS does not say where an import stands, so the line that names the module is looked for.
fn import_place(core: &Core, base: &str, name: &str) -> Option<Place> {
    let source = core.sources.read(base)?;
    let source = String::from_utf8_lossy(&source);
    let names = [format!("\"{name}\""), format!("'{name}'")];
    let index = source
        .lines()
        .position(|line| names.iter().any(|name| line.contains(name.as_str())))?;
    Some(Place {
        file: base.to_owned(),
        line: index as u32 + 1,
    })
}

// SAFETY: called by QuickJS alone, with a live context and a live value.
unsafe extern "C" fn check_attributes(
    ctx: *mut qjs::JSContext,
    _: *mut c_void,
    attributes: RawValue,
) -> c_int {
    // SAFETY: QuickJS passes a live context.
    let cx = unsafe { Cx::from_raw(ctx) };
    let checked = catch_unwind(AssertUnwindSafe(|| -> Result<(), Failure> {
        for name in crate::values::value::PropertyNames::of(cx, attributes)?.iter() {
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
    attributes: RawValue,
) -> *mut qjs::JSModuleDef {
    guarded(ctx, |cx| {
        // SAFETY: QuickJS passes a terminated string.
        let name = unsafe { text(name) };
        if name == "sampan" {
            return sampan(cx);
        }
        let wanted = wanted_type(cx, attributes)?;
        let Some(source) = cx.core().sources.read(&name) else {
            return Err(Error::new(ErrorKind::Load, format!("there is no file {name}")).into());
        };
        match wanted.as_deref() {
            Some("json") => json(cx, &name, &source),
            None if name.ends_with(".json") => json(cx, &name, &source),
            None => Ok(compile(cx, &name, source)?.1),
            Some(other) => Err(Error::new(
                ErrorKind::Load,
                format!("{name}: unknown module type \"{other}\""),
            )
            .into()),
        }
    })
}

fn wanted_type(cx: Cx<'_>, attributes: RawValue) -> Result<Option<String>, Thrown> {
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
    source: Vec<u8>,
) -> Result<(Val, *mut qjs::JSModuleDef), Failure> {
    cx.core().compiled.borrow_mut().push(name.to_owned());
    let nul = |_| Error::new(ErrorKind::Load, format!("{name}: the file has a NUL byte"));
    let source = CString::new(source).map_err(nul)?;
    let file = CString::new(name).map_err(nul)?;
    let flags = (qjs::JS_EVAL_TYPE_MODULE | qjs::JS_EVAL_FLAG_COMPILE_ONLY) as c_int;
    let length = source.as_bytes().len();
    // SAFETY: both texts are terminated. A compiled module is kept by the context, so the pointer stays good without a reference.
    unsafe {
        let module = cx.check(qjs::JS_Eval(
            cx.raw(),
            source.as_ptr(),
            length as _,
            file.as_ptr(),
            flags,
        ))?;
        let definition = qjs::JS_VALUE_GET_PTR(module.raw()).cast::<qjs::JSModuleDef>();
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
    // SAFETY: the name is terminated.
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
        crate::values::value::PropertyNames::of(cx, cx.core().tables()?.exports.raw())?.iter()
    {
        let name = cx.name(atom)?;
        names.push(
            CString::new(cx.text(name.raw())?)
                .map_err(|_| Error::script("an export's name has a NUL"))?,
        );
    }
    Ok(names)
}

unsafe extern "C" fn export_sampan(
    ctx: *mut qjs::JSContext,
    module: *mut qjs::JSModuleDef,
) -> c_int {
    // SAFETY: QuickJS passes a live context and the module that is being made; each export takes its reference.
    let cx = unsafe { Cx::from_raw(ctx) };
    let filled = catch_unwind(AssertUnwindSafe(|| -> Result<(), Failure> {
        for name in export_names(cx)? {
            let value = cx.get(cx.core().tables()?.exports.raw(), &name)?;
            // SAFETY: see above.
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
    as_load_error(&missing_export(cx.core(), error.message()).unwrap_or(error))
}

/// An error about a name that a module does not export, at the line that imports it; QuickJS tells only the two names.
fn missing_export(core: &Core, message: &str) -> Option<Error> {
    let (_, rest) = message.split_once("Could not find export '")?;
    let (name, rest) = rest.split_once("' in module '")?;
    let module = rest.strip_suffix('\'')?;
    let place = core.compiled.borrow().iter().find_map(|file| {
        let source = core.sources.read(file)?;
        let is_from = |specifier: &str| resolve(file, specifier).as_deref() == Ok(module);
        let line = import_line(&String::from_utf8_lossy(&source), name, is_from)?;
        Some(Place {
            file: file.clone(),
            line,
        })
    });
    let text = format!("cannot import \"{name}\": {module} has no export of that name");
    Some(Error::new(ErrorKind::Load, text).at(place))
}

/// An error about a module that awaits, at its top level, what does not settle while it loads.
pub(crate) fn hanging(core: &Core, entry: &str) -> Error {
    const PLACES_MAX: usize = 4;
    let compiled = core.compiled.borrow();
    let mut places = compiled.iter().flat_map(|file| {
        let source = core.sources.read(file).unwrap_or_default();
        let lines = top_level_awaits(&String::from_utf8_lossy(&source));
        lines.into_iter().map(|line| Place {
            file: file.clone(),
            line,
        })
    });
    let first = places.next().unwrap_or_else(|| Place {
        file: entry.to_owned(),
        line: 1,
    });
    let others: Vec<String> = places
        .take(PLACES_MAX)
        .map(|place| place.to_string())
        .collect();
    let mut text =
        "cannot wait here: an await at the top level of a module did not settle while it loaded"
            .to_owned();
    if !others.is_empty() {
        text.push_str(&format!(" (it may also be {})", others.join(", ")));
    }
    Error::new(ErrorKind::Load, text).at(Some(first))
}

/// The same error as one of loading. Errors about imports carry their place in front of the message.
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

#[cfg(test)]
mod tests;
