//! Stacks that name lines of the source, where the code that runs was made from it.
//!
//! `Error.prototype.stack` is an accessor, which runs when a stack is read. From the first such script on it is one of
//! ours around it, so that scripts, the log and error pages see the same. Isolates without such scripts keep
//! QuickJS's own.

use crate::vm::sys::{
    Cx, Failure, RawValue, Thrown, UNDEFINED, Val, entry, is_string, is_undefined,
};
use rquickjs::qjs;
use sampan_js_modules::{Script, SourcePlace};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::Arc;

/// The scripts whose lines stand for lines of a source.
#[derive(Default)]
pub(crate) struct Stacks {
    scripts: RefCell<HashMap<String, Arc<Script>>>,
    own: OnceCell<Own>,
}

/// QuickJS's own functions.
struct Own {
    stack: Val,
    capture: Val,
}

/// Keeps a script that is about to be compiled, if its lines stand for others.
pub(super) fn keep(cx: Cx<'_>, name: &str, script: &Arc<Script>) -> Result<(), Failure> {
    if !script.is_mapped() {
        return Ok(());
    }
    let stacks = &cx.core().stacks;
    stacks
        .scripts
        .borrow_mut()
        .insert(name.to_owned(), Arc::clone(script));
    if stacks.own.get().is_none() {
        let own = replace(cx)?;
        let _ = stacks.own.set(own);
    }
    Ok(())
}

/// Puts our functions in place of QuickJS's.
fn replace(cx: Cx<'_>) -> Result<Own, Thrown> {
    // SAFETY: the context is alive. The reference that comes back is owned.
    let global = unsafe { cx.own(qjs::JS_GetGlobalObject(cx.raw())) };
    let error = cx.get(global.raw(), c"Error")?;
    let prototype = cx.get(error.raw(), c"prototype")?;
    let atom = cx.atom("stack");
    let mut found = qjs::JSPropertyDescriptor {
        flags: 0,
        value: UNDEFINED.js(),
        getter: UNDEFINED.js(),
        setter: UNDEFINED.js(),
    };
    // SAFETY: the prototype is alive, and what the descriptor is given is owned from then on. Each reference is taken
    // once: the setter by the property, the getter by what is returned.
    unsafe {
        let has = qjs::JS_GetOwnProperty(cx.raw(), &raw mut found, prototype.js(), atom);
        let (value, getter, setter) = (
            cx.own(found.value),
            cx.own(found.getter),
            cx.own(found.setter),
        );
        drop(value);
        if has < 0 {
            qjs::JS_FreeAtom(cx.raw(), atom);
            return Err(Thrown);
        }
        let ours = cx.function(c"get stack", 0, 0, entry(stack));
        let ours = match ours {
            Ok(ours) if cx.is_function(getter.raw()) => ours,
            _ => {
                qjs::JS_FreeAtom(cx.raw(), atom);
                return Err(Thrown);
            }
        };
        let flags = qjs::JS_PROP_CONFIGURABLE as c_int;
        let done = qjs::JS_DefinePropertyGetSet(
            cx.raw(),
            prototype.js(),
            atom,
            ours.into_raw(),
            setter.into_raw(),
            flags,
        );
        qjs::JS_FreeAtom(cx.raw(), atom);
        if done < 0 {
            return Err(Thrown);
        }
        let capture = cx.get(error.raw(), c"captureStackTrace")?;
        let ours = cx.function(c"captureStackTrace", 2, 0, entry(capture_stack))?;
        crate::vm::sys::hidden(cx, error.raw(), c"captureStackTrace", ours)?;
        Ok(Own {
            stack: getter,
            capture,
        })
    }
}

/// `get Error.prototype.stack`
fn stack(cx: Cx<'_>, this: RawValue<'_>, _: &[RawValue<'_>]) -> Result<Val, Failure> {
    let core = cx.core();
    let Some(own) = core.stacks.own.get() else {
        return Ok(cx.undefined());
    };
    let plain = cx.call(own.stack.raw(), this, &[])?;
    if !is_string(plain.raw()) {
        return Ok(plain);
    }
    Ok(cx.string(&mapped(&core.stacks, &cx.text(plain.raw())?))?)
}

/// `Error.captureStackTrace(target, function)`
fn capture_stack(cx: Cx<'_>, this: RawValue<'_>, args: &[RawValue<'_>]) -> Result<Val, Failure> {
    /// The frame of this function itself.
    const OURS: &str = "    at captureStackTrace (native)\n";
    let core = cx.core();
    let Some(own) = core.stacks.own.get() else {
        return Ok(cx.undefined());
    };
    let target = args.first().copied().unwrap_or(UNDEFINED);
    let from = args.get(1).copied().unwrap_or(UNDEFINED);
    cx.call(own.capture.raw(), this, &[target, from])?;
    let plain = cx.get(target, c"stack")?;
    if is_string(plain.raw()) {
        let text = cx.text(plain.raw())?;
        let text = if is_undefined(from) {
            text.strip_prefix(OURS).unwrap_or(&text)
        } else {
            &text
        };
        let text = cx.string(&mapped(&core.stacks, text))?;
        crate::vm::sys::hidden(cx, target, c"stack", text)?;
    }
    Ok(cx.undefined())
}

/// The place in the source that a place in the code stands for, if there are sources.
pub(crate) fn source_place(
    stacks: &Stacks,
    file: &str,
    line: u32,
    column: u32,
) -> Option<SourcePlace> {
    let script = stacks.scripts.borrow().get(file).cloned()?;
    script.source_place(line, column)
}

/// A stack with the places of the sources.
fn mapped(stacks: &Stacks, stack: &str) -> String {
    let lines = stack.split_inclusive('\n').map(|line| {
        let text = line.trim_end_matches('\n');
        match mapped_line(stacks, text) {
            Some(other) => other + &line[text.len()..],
            None => line.to_owned(),
        }
    });
    lines.collect()
}

/// `    at name (file:line:column)` or `    at file:line:column`.
fn mapped_line(stacks: &Stacks, line: &str) -> Option<String> {
    let at = line.find("at ")? + "at ".len();
    let start = line.find(" (").map_or(at, |open| open + " (".len());
    let (spot, end) = match line[start..].strip_suffix(')') {
        Some(spot) => (spot, ")"),
        None => (&line[start..], ""),
    };
    let (rest, column) = spot.rsplit_once(':')?;
    let (file, number) = rest.rsplit_once(':')?;
    let place = source_place(stacks, file, number.parse().ok()?, column.parse().ok()?)?;
    let front = &line[..start];
    Some(format!(
        "{front}{}:{}:{}{end}",
        place.file, place.line, place.column
    ))
}
