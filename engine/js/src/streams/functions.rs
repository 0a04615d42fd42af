//! The functions by which `readable.js` uses a controller.

use super::controller::{Controller, ControllerParts, number};
use crate::vm::sys::{
    Cx, Failure, Native, RawValue, Thrown, UNDEFINED, Val, arguments, boolean, native,
    number as to_number,
};
use rquickjs::qjs;
use std::ffi::{CStr, c_int, c_void};

/// Those that are given a controller and more.
const FUNCTIONS: &[(&CStr, Native)] = &[
    (c"put", function(put)),
    (
        c"room",
        function(|cx, this, _, _| Ok(cx.dup(to_number(this.room())))),
    ),
    (
        c"length",
        function(|cx, this, _, _| Ok(cx.dup(to_number(f64::from(this.length.get()))))),
    ),
    (
        c"isOpen",
        function(|cx, this, _, _| Ok(cx.dup(boolean(this.is_open())))),
    ),
    (c"isIdle", function(is_idle)),
    (c"setPulling", function(set_pulling)),
    (c"setAwaited", function(set_awaited)),
    (c"setFirst", function(set_first)),
    (c"start", function(start)),
    (
        c"pull",
        function(|cx, this, object, _| {
            this.pull_if_needed(cx, object)?;
            Ok(cx.undefined())
        }),
    ),
    (
        c"pulled",
        function(|cx, this, object, _| {
            this.pulled(cx, object)?;
            Ok(cx.undefined())
        }),
    ),
    (c"take", function(|cx, this, _, _| this.dequeue(cx))),
    (c"close", function(close)),
    (
        c"clear",
        function(|cx, this, _, _| {
            this.clear(cx);
            Ok(cx.undefined())
        }),
    ),
    (c"state", function(|cx, this, _, _| Ok(this.state(cx)))),
    (c"reader", function(reader)),
];

/// Makes the class of controllers, and puts the functions on a table.
pub(crate) fn register(
    ctx: &rquickjs::Ctx<'_>,
    table: &rquickjs::Object<'_>,
) -> rquickjs::Result<()> {
    // SAFETY: the context and the table are alive for as long as they are borrowed.
    let (cx, table) = unsafe {
        let cx = Cx::from_raw(ctx.as_raw().as_ptr());
        (cx, RawValue::from_js(table.as_raw()))
    };
    register_in(cx, table).map_err(|Thrown| rquickjs::Error::Exception)
}

fn register_in(cx: Cx<'_>, table: RawValue<'_>) -> Result<(), Thrown> {
    let class = register_class(cx)?;
    // The class is known to the functions by the number that QuickJS hands them.
    let class = class as c_int;
    for (name, body) in FUNCTIONS {
        cx.define(table, name, cx.function(name, 1, class, *body)?)?;
    }
    cx.define(table, c"create", cx.function(c"create", 1, class, create)?)?;
    cx.define(
        table,
        c"enqueue",
        cx.function(c"enqueue", 0, class, method(enqueue))?,
    )
}

fn register_class(cx: Cx<'_>) -> Result<qjs::JSClassID, Thrown> {
    cx.class(
        c"ReadableStreamDefaultController",
        Some(finalize),
        Some(mark),
        None,
    )
}

/// The controller that an object is.
fn controller(object: RawValue<'_>, class: c_int) -> Option<&Controller> {
    // SAFETY: asks for the opaque pointer of that very class, which is a `Controller` for as long as the object lives.
    unsafe {
        qjs::JS_GetOpaque(object.js(), class as qjs::JSClassID)
            .cast::<Controller>()
            .as_ref()
    }
}

fn argument<'a>(args: &[RawValue<'a>], index: usize) -> RawValue<'a> {
    args.get(index).copied().unwrap_or(UNDEFINED)
}

fn wrong_type(cx: Cx<'_>) -> Failure {
    // SAFETY: the text is terminated and has no places to fill.
    unsafe {
        qjs::JS_ThrowTypeError(
            cx.raw(),
            c"this is not a ReadableStreamDefaultController".as_ptr(),
        )
    };
    Failure::Thrown
}

/// A function whose first argument is the controller.
const fn function<F>(_: F) -> Native
where
    F: Fn(Cx<'_>, &Controller, RawValue<'_>, &[RawValue<'_>]) -> Result<Val, Failure> + Copy,
{
    const { assert!(size_of::<F>() == 0, "the body has data") };
    enter::<F, false>
}

/// A function that is called on the controller.
const fn method<F>(_: F) -> Native
where
    F: Fn(Cx<'_>, &Controller, RawValue<'_>, &[RawValue<'_>]) -> Result<Val, Failure> + Copy,
{
    const { assert!(size_of::<F>() == 0, "the body has data") };
    enter::<F, true>
}

// SAFETY: called by QuickJS alone, with `argc` values and the number of our class.
unsafe extern "C" fn enter<F, const IS_METHOD: bool>(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    argc: c_int,
    argv: *mut qjs::JSValue,
    class: c_int,
) -> qjs::JSValue
where
    F: Fn(Cx<'_>, &Controller, RawValue<'_>, &[RawValue<'_>]) -> Result<Val, Failure> + Copy,
{
    // SAFETY: QuickJS calls this with a context that is alive until it returns.
    let cx = unsafe { Cx::from_raw(ctx) };
    native(cx, |cx| {
        // SAFETY: `function` and `method` were given such a body, which has no bytes and may be copied. QuickJS passes
        // `argc` values, and holds all until this returns.
        let (body, this, args) = unsafe {
            (
                std::ptr::NonNull::<F>::dangling().read(),
                RawValue::from_js(this),
                arguments(argc, argv),
            )
        };
        let (object, args) = if IS_METHOD {
            (this, args)
        } else {
            (argument(args, 0), args.get(1..).unwrap_or_default())
        };
        let Some(this) = controller(object, class) else {
            return Err(wrong_type(cx));
        };
        body(cx, this, object, args)
    })
}

/// `create(prototype, state, pull, source, highWaterMark, hasSize, isBytes)`
// SAFETY: called by QuickJS alone, with a context that has a core and `argc` values.
unsafe extern "C" fn create(
    ctx: *mut qjs::JSContext,
    _: qjs::JSValue,
    argc: c_int,
    argv: *mut qjs::JSValue,
    class: c_int,
) -> qjs::JSValue {
    // SAFETY: QuickJS calls this with a context that is alive until it returns.
    let cx = unsafe { Cx::from_raw(ctx) };
    native(cx, |cx| {
        // SAFETY: QuickJS passes `argc` values at `argv`, and holds them until this function returns.
        let args = unsafe { arguments(argc, argv) };
        let flag = |index| crate::vm::sys::is_true(argument(args, index));
        // SAFETY: the prototype is alive and the class registered. The reference that comes back is owned.
        let object = unsafe {
            cx.check(qjs::JS_NewObjectProtoClass(
                cx.raw(),
                argument(args, 0).js(),
                class as qjs::JSClassID,
            ))
        }?;
        let parts = ControllerParts {
            state: argument(args, 1),
            pull: argument(args, 2),
            source: argument(args, 3),
            high_water_mark: number(argument(args, 4)),
            has_size: flag(5),
            is_bytes: flag(6),
        };
        let data = Box::new(Controller::new(cx, &parts));
        // SAFETY: the object is of our class; the finalizer takes the box back.
        unsafe { qjs::JS_SetOpaque(object.js(), Box::into_raw(data).cast::<c_void>()) };
        Ok(object)
    })
}

/// `enqueue(chunk)` as scripts call it.
fn enqueue(
    cx: Cx<'_>,
    this: &Controller,
    object: RawValue<'_>,
    args: &[RawValue<'_>],
) -> Result<Val, Failure> {
    this.check(cx, argument(args, 0))?;
    put(cx, this, object, args)
}

fn put(
    cx: Cx<'_>,
    this: &Controller,
    object: RawValue<'_>,
    args: &[RawValue<'_>],
) -> Result<Val, Failure> {
    this.enqueue(cx, object, argument(args, 0))?;
    Ok(cx.undefined())
}

/// Reports whether a read may be handed to the source itself.
fn is_idle(
    cx: Cx<'_>,
    this: &Controller,
    _: RawValue<'_>,
    _: &[RawValue<'_>],
) -> Result<Val, Failure> {
    let is_idle = this.is_readable.get()
        && this.is_started.get()
        && !this.is_pulling.get()
        && this.length.get() == 0;
    Ok(cx.dup(boolean(is_idle)))
}

fn set_pulling(
    cx: Cx<'_>,
    this: &Controller,
    _: RawValue<'_>,
    args: &[RawValue<'_>],
) -> Result<Val, Failure> {
    this.is_pulling
        .set(crate::vm::sys::is_true(argument(args, 0)));
    Ok(cx.undefined())
}

fn set_awaited(
    cx: Cx<'_>,
    this: &Controller,
    _: RawValue<'_>,
    args: &[RawValue<'_>],
) -> Result<Val, Failure> {
    this.is_awaited
        .set(crate::vm::sys::is_true(argument(args, 0)));
    Ok(cx.undefined())
}

fn set_first(
    cx: Cx<'_>,
    this: &Controller,
    _: RawValue<'_>,
    args: &[RawValue<'_>],
) -> Result<Val, Failure> {
    this.set_first(cx, argument(args, 0), number(argument(args, 1)));
    Ok(cx.undefined())
}

fn start(
    cx: Cx<'_>,
    this: &Controller,
    object: RawValue<'_>,
    _: &[RawValue<'_>],
) -> Result<Val, Failure> {
    this.is_started.set(true);
    this.pull_if_needed(cx, object)?;
    Ok(cx.undefined())
}

/// No chunk comes any more. True if none is left.
fn close(
    cx: Cx<'_>,
    this: &Controller,
    _: RawValue<'_>,
    _: &[RawValue<'_>],
) -> Result<Val, Failure> {
    this.is_closing.set(true);
    Ok(cx.dup(boolean(this.length.get() == 0)))
}

/// A function that gives the next chunk to the engine each time that it is called.
fn reader(
    cx: Cx<'_>,
    _: &Controller,
    object: RawValue<'_>,
    _: &[RawValue<'_>],
) -> Result<Val, Failure> {
    let class = crate::vm::sys::class_id(object) as c_int;
    let mut data = [object.js()];
    // SAFETY: the data are copied. The reference that comes back is owned.
    Ok(unsafe {
        cx.check(qjs::JS_NewCFunctionData(
            cx.raw(),
            Some(next),
            0,
            class,
            1,
            data.as_mut_ptr(),
        ))
    }?)
}

// SAFETY: called by QuickJS alone, with the controller for which the function was made.
unsafe extern "C" fn next(
    ctx: *mut qjs::JSContext,
    _: qjs::JSValue,
    _: c_int,
    _: *mut qjs::JSValue,
    class: c_int,
    data: *mut qjs::JSValue,
) -> qjs::JSValue {
    // SAFETY: QuickJS calls this with a context that is alive until it returns.
    let cx = unsafe { Cx::from_raw(ctx) };
    native(cx, |cx| {
        // SAFETY: the function was made with one datum, which it keeps.
        let object = unsafe { RawValue::from_js(*data) };
        match controller(object, class) {
            Some(this) => this.next(cx, object),
            None => Err(wrong_type(cx)),
        }
    })
}

// SAFETY: called by QuickJS alone, once for each object of our class.
unsafe extern "C" fn finalize(runtime: *mut qjs::JSRuntime, object: qjs::JSValue) {
    let mut id: qjs::JSClassID = 0;
    // SAFETY: the object is of our class; its pointer is null or a box that nothing else owns, as are the references in
    // it.
    unsafe {
        let pointer = qjs::JS_GetAnyOpaque(object, &raw mut id).cast::<Controller>();
        if pointer.is_null() {
            return;
        }
        for value in Box::from_raw(pointer).values() {
            qjs::JS_FreeValueRT(runtime, value.take());
        }
    }
}

// SAFETY: called by QuickJS alone, with a live object of our class.
unsafe extern "C" fn mark(
    runtime: *mut qjs::JSRuntime,
    object: qjs::JSValue,
    mark: qjs::JS_MarkFunc,
) {
    let mut id: qjs::JSClassID = 0;
    // SAFETY: the object is of our class; its values are alive.
    unsafe {
        if let Some(data) = qjs::JS_GetAnyOpaque(object, &raw mut id)
            .cast::<Controller>()
            .as_ref()
        {
            for value in data.values() {
                qjs::JS_MarkValue(runtime, value.js(), mark);
            }
        }
    }
}
