//! What a project declares while it loads: routes, middleware and the handlers of unknown paths and errors.
//!
//! These are the native functions that `prelude.js` is written around.

use crate::values::json_write;
use crate::vm::error::{place_of, whole_number};
use crate::vm::sys::{Cx, Failure, Native, Raw, Val, arguments, is_nothing, native};
use rquickjs::qjs;
use sampan_host::{Error, HandlerId, MiddlewareDef, Place, Program, RouteDef};
use std::ffi::{CStr, c_int};

/// The functions by the name that the prelude gives them.
pub(crate) const FUNCTIONS: &[(&CStr, Native)] = &[
    (c"route", route),
    (c"use", middleware),
    (c"notFound", not_found),
    (c"onError", on_error),
    (c"stringify", stringify),
];

fn argument(args: &[Raw], index: usize) -> Raw {
    args.get(index)
        .copied()
        .unwrap_or(crate::vm::sys::UNDEFINED)
}

/// Fails once the project is loaded.
fn check_loading(cx: Cx<'_>) -> Result<(), Failure> {
    if cx.core().is_loading() {
        return Ok(());
    }
    let text = "routes and middleware are declared while the project loads, not in a handler";
    Err(Error::script(text).into())
}

/// Changes what the project declares.
fn declare(cx: Cx<'_>, change: impl FnOnce(&mut Program)) -> Val {
    if let Some(program) = cx.core().declared.borrow_mut().as_mut() {
        change(program);
    }
    cx.undefined()
}

fn keep(cx: Cx<'_>, handler: Raw) -> Result<HandlerId, Failure> {
    check_loading(cx)?;
    let mut handlers = cx.core().handlers.borrow_mut();
    handlers.push(cx.dup(handler));
    Ok((handlers.len() - 1) as HandlerId)
}

fn place(cx: Cx<'_>, stack: Raw) -> Result<Option<Place>, Failure> {
    Ok(cx.text(stack)?.lines().find_map(place_of))
}

/// `route(method | null, pattern, handler, bodyBytesMax | undefined, stack)`
unsafe extern "C" fn route(
    ctx: *mut qjs::JSContext,
    _: Raw,
    argc: c_int,
    argv: *mut Raw,
    _: c_int,
) -> Raw {
    native(ctx, |cx| {
        // SAFETY: QuickJS passes `argc` values.
        let args = unsafe { arguments(argc, argv) };
        let method = if is_nothing(argument(args, 0)) {
            None
        } else {
            Some(cx.text(argument(args, 0))?)
        };
        let pattern = cx.text(argument(args, 1))?;
        let handler = argument(args, 2);
        let route = RouteDef {
            method,
            pattern,
            handler: keep(cx, handler)?,
            fixed: !cx.is_function(handler),
            body_bytes_max: whole_number(argument(args, 3)).map(|limit| limit as usize),
            place: place(cx, argument(args, 4))?,
        };
        Ok(declare(cx, |program| program.routes.push(route)))
    })
}

/// `use(pattern, function, stack)`
unsafe extern "C" fn middleware(
    ctx: *mut qjs::JSContext,
    _: Raw,
    argc: c_int,
    argv: *mut Raw,
    _: c_int,
) -> Raw {
    native(ctx, |cx| {
        // SAFETY: QuickJS passes `argc` values.
        let args = unsafe { arguments(argc, argv) };
        let (pattern, place) = (cx.text(argument(args, 0))?, place(cx, argument(args, 2))?);
        let handler = keep(cx, argument(args, 1))?;
        let wraps = MiddlewareDef {
            pattern,
            handler,
            place,
        };
        Ok(declare(cx, |program| program.middleware.push(wraps)))
    })
}

/// `notFound(function)`
unsafe extern "C" fn not_found(
    ctx: *mut qjs::JSContext,
    _: Raw,
    argc: c_int,
    argv: *mut Raw,
    _: c_int,
) -> Raw {
    native(ctx, |cx| {
        // SAFETY: QuickJS passes `argc` values.
        let handler = keep(cx, argument(unsafe { arguments(argc, argv) }, 0))?;
        Ok(declare(cx, |program| program.not_found = Some(handler)))
    })
}

/// `onError(function)`
unsafe extern "C" fn on_error(
    ctx: *mut qjs::JSContext,
    _: Raw,
    argc: c_int,
    argv: *mut Raw,
    _: c_int,
) -> Raw {
    native(ctx, |cx| {
        // SAFETY: QuickJS passes `argc` values.
        let handler = keep(cx, argument(unsafe { arguments(argc, argv) }, 0))?;
        Ok(declare(cx, |program| program.on_error = Some(handler)))
    })
}

/// `stringify(value)`: the JSON of a value, as an answer has it.
unsafe extern "C" fn stringify(
    ctx: *mut qjs::JSContext,
    _: Raw,
    argc: c_int,
    argv: *mut Raw,
    _: c_int,
) -> Raw {
    native(ctx, |cx| {
        // SAFETY: QuickJS passes `argc` values.
        let value = argument(unsafe { arguments(argc, argv) }, 0);
        let mut out = Vec::new();
        if !json_write::write(cx, &mut out, value)? {
            return Err(Error::script(
                "a value that has no JSON (undefined, a function or a symbol)",
            )
            .into());
        }
        Ok(cx.string_from(&out)?)
    })
}
