//! Properties whose getters and setters are native functions.

use crate::vm::sys::{Cx, Thrown, Val};
use rquickjs::qjs;
use std::ffi::c_int;

/// A getter; the number says which.
// SAFETY: a type alone; QuickJS calls getters with a live context and object.
pub(super) type Getter =
    unsafe extern "C" fn(*mut qjs::JSContext, qjs::JSValue, c_int) -> qjs::JSValue;

/// A setter.
// SAFETY: a type alone; QuickJS calls setters with a live context, object and value.
pub(super) type Setter =
    unsafe extern "C" fn(*mut qjs::JSContext, qjs::JSValue, qjs::JSValue, c_int) -> qjs::JSValue;

/// Gives an object a property that is read, and perhaps written, by native functions. `magic` is handed to them.
pub(super) fn accessor(
    cx: Cx<'_>,
    object: &Val,
    atom: qjs::JSAtom,
    get: Getter,
    magic: c_int,
    set: Option<Setter>,
) -> Result<(), Thrown> {
    // SAFETY: a type alone, of which QuickJS wants every function; it never calls a getter or setter through it.
    type PlainFunction = unsafe extern "C" fn(
        *mut qjs::JSContext,
        qjs::JSValue,
        c_int,
        *mut qjs::JSValue,
    ) -> qjs::JSValue;
    // SAFETY: the kinds say how QuickJS calls the functions; it takes the references of both, and the atom is released.
    unsafe {
        let get = std::mem::transmute::<Getter, PlainFunction>(get);
        let kind = qjs::JSCFunctionEnum_JS_CFUNC_getter_magic;
        let getter = cx.check(qjs::JS_NewCFunction2(
            cx.raw(),
            Some(get),
            c"get".as_ptr(),
            0,
            kind,
            magic,
        ))?;
        let setter = match set {
            Some(set) => {
                let set = std::mem::transmute::<Setter, PlainFunction>(set);
                let kind = qjs::JSCFunctionEnum_JS_CFUNC_setter_magic;
                cx.check(qjs::JS_NewCFunction2(
                    cx.raw(),
                    Some(set),
                    c"set".as_ptr(),
                    1,
                    kind,
                    magic,
                ))?
            }
            None => cx.undefined(),
        };
        let flags = qjs::JS_PROP_CONFIGURABLE as c_int;
        let done = qjs::JS_DefinePropertyGetSet(
            cx.raw(),
            object.js(),
            atom,
            getter.into_raw(),
            setter.into_raw(),
            flags,
        );
        qjs::JS_FreeAtom(cx.raw(), atom);
        if done < 0 { Err(Thrown) } else { Ok(()) }
    }
}
