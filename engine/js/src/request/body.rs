//! The body of a native request: `json()`, `text()`, `bytes()`, `arrayBuffer()` and `form()`, read from the bytes as
//! they came.
//!
//! The first reader takes the body. Once the Web surface keeps it (as a stream or for a clone), its own methods
//! answer.

use crate::promises::tasks::TaskKind;
use crate::request::added::live_request;
use crate::request::fields::form_object;
use crate::request::object::data;
use crate::values::json_read;
use crate::values::value::append_bytes_of;
use crate::vm::error;
use crate::vm::sys::{Cx, Failure, NULL, RawValue, Thrown, UNDEFINED, Val, entry};
use rquickjs::qjs;
use sampan_host::request::{self, FormKind};
use sampan_host::{Args, BodySource, Error, RequestView};
use std::ffi::CStr;

/// `json()`: a promise of the parsed body.
pub(crate) fn json(cx: Cx<'_>, this: RawValue<'_>, _: &[RawValue<'_>]) -> Result<Val, Failure> {
    consume(cx, this, c"json", json_read::json)
}

/// Adds `parse(bytes)` for the Web surface, which keeps bodies that were streamed or cloned: they are read as [`json`]
/// reads them.
pub(crate) fn register(
    ctx: &rquickjs::Ctx<'_>,
    table: &rquickjs::Object<'_>,
) -> rquickjs::Result<()> {
    // SAFETY: the context and the table are alive for as long as they are borrowed.
    let (cx, table) = unsafe {
        let cx = Cx::from_raw(ctx.as_raw().as_ptr());
        (cx, RawValue::from_js(table.as_raw()))
    };
    let parse = cx.function(c"parse", 1, 0, entry(parse));
    let done = parse.and_then(|parse| cx.define(table, c"parse", parse));
    done.map_err(|Thrown| rquickjs::Error::Exception)
}

fn parse(cx: Cx<'_>, _: RawValue<'_>, args: &[RawValue<'_>]) -> Result<Val, Failure> {
    let &[bytes] = args else {
        return Ok(cx.undefined());
    };
    let mut copy = Vec::new();
    append_bytes_of(cx, bytes, &mut copy);
    json_read::json(cx, &copy)
}

/// `text()`: a promise of the body as text; what is not UTF-8 is replaced, a byte order mark dropped.
pub(crate) fn text(cx: Cx<'_>, this: RawValue<'_>, _: &[RawValue<'_>]) -> Result<Val, Failure> {
    consume(cx, this, c"text", |cx, bytes| {
        Ok(cx.string(&request::text(bytes))?)
    })
}

/// `bytes()`: a promise of a `Uint8Array`.
pub(crate) fn bytes(cx: Cx<'_>, this: RawValue<'_>, _: &[RawValue<'_>]) -> Result<Val, Failure> {
    consume(cx, this, c"bytes", |cx, bytes| Ok(cx.bytes(bytes)?))
}

/// `arrayBuffer()`: a promise of an `ArrayBuffer`.
pub(crate) fn array_buffer(
    cx: Cx<'_>,
    this: RawValue<'_>,
    _: &[RawValue<'_>],
) -> Result<Val, Failure> {
    consume(cx, this, c"arrayBuffer", |cx, bytes| {
        Ok(cx.get(cx.bytes(bytes)?.raw(), c"buffer")?)
    })
}

/// `form()`: a promise of an object of the fields, from `application/x-www-form-urlencoded` or `multipart/form-data`.
pub(crate) fn form(cx: Cx<'_>, this: RawValue<'_>, _: &[RawValue<'_>]) -> Result<Val, Failure> {
    let data = data(cx, this)?;
    let known = [FormKind::Urlencoded, FormKind::Multipart];
    let mut modules = cx.core().contract.modules.iter();
    let read_multipart = modules.find_map(|module| module.read_multipart);
    match request::form_kind(data.view()?, &known) {
        Ok(FormKind::Urlencoded) if !data.is_streamed.get() => {
            consume(cx, this, c"form", |cx, bytes| Ok(form_object(cx, bytes)?))
        }
        Ok(FormKind::Multipart)
            if let Some(read) = read_multipart.filter(|_| !data.is_streamed.get()) =>
        {
            if data.is_taken.replace(true) {
                return settled(cx, Err(already_read()));
            }
            let args = Args::default().of_request(live_request(cx, this)?);
            let fields = read(&cx.core().contract.context, args);
            let here = Some(error::here(cx)?);
            cx.core().tasks().promise(cx, fields, TaskKind::Other, here)
        }
        Ok(_) => {
            let form = cx.core().tables()?.form.raw();
            Ok(cx.call(form, UNDEFINED, &[this])?)
        }
        Err(error) => settled(cx, Err(error.into())),
    }
}

/// `clone()`: the Web surface's, which keeps the body from now on.
pub(crate) fn clone(cx: Cx<'_>, this: RawValue<'_>, _: &[RawValue<'_>]) -> Result<Val, Failure> {
    data(cx, this)?.is_streamed.set(true);
    inherited(cx, this, c"clone")
}

/// The content for the Web surface, handed out once: bytes, `null` if there are none, or a stream where they are read
/// as they come.
pub(crate) fn take(cx: Cx<'_>, this: RawValue<'_>, _: &[RawValue<'_>]) -> Result<Val, Failure> {
    let data = data(cx, this)?;
    if let Some(source) = data.view()?.body_source() {
        data.is_taken.set(true);
        source.begin()?;
        let stream = cx.core().tables()?.body_stream.raw();
        return Ok(cx.call(stream, UNDEFINED, &[this])?);
    }
    let bytes = data.view()?.body();
    if bytes.is_empty() {
        return Ok(cx.dup(NULL));
    }
    if data.is_taken.replace(true) {
        return Err(already_read());
    }
    Ok(cx.bytes(bytes)?)
}

/// A promise of the next piece of a body that is read as it comes, a `Uint8Array`; `null` at its end.
pub(crate) fn read(cx: Cx<'_>, this: RawValue<'_>, _: &[RawValue<'_>]) -> Result<Val, Failure> {
    let source = data(cx, this)?.view()?.body_source();
    let next = source.ok_or_else(request::is_over)?.read();
    cx.core().tasks().promise(cx, next, TaskKind::Other, None)
}

/// Reports whether there is neither a byte of a body nor a source of any.
pub(crate) fn is_empty(view: &dyn RequestView) -> bool {
    view.body().is_empty() && view.body_source().is_none()
}

/// `body`: the Web surface's stream, which keeps the content from now on.
pub(crate) fn stream(cx: Cx<'_>, this: RawValue<'_>) -> Result<Val, Failure> {
    let data = data(cx, this)?;
    if is_empty(data.view()?) {
        return Ok(cx.dup(NULL));
    }
    data.is_streamed.set(true);
    let prototype = cx.core().tables()?.request_prototype.raw();
    let atom = cx.atom("body");
    // SAFETY: the core's tables keep the prototype alive. `cx.atom` gave a reference of ours, which is freed once,
    // after its last use. What is in the descriptor is `undefined` or a reference of ours, and each is taken once.
    unsafe {
        // Touching the member loads the file that defines it, if it is the first.
        drop(
            cx.get_atom(prototype, atom)
                .map_err(|Thrown| drop(cx.exception())),
        );
        let mut descriptor = qjs::JSPropertyDescriptor {
            flags: 0,
            value: UNDEFINED.js(),
            getter: UNDEFINED.js(),
            setter: UNDEFINED.js(),
        };
        let found = own_or_inherited(cx, &mut descriptor, prototype, atom);
        qjs::JS_FreeAtom(cx.raw(), atom);
        let (_value, getter, _setter) = (
            cx.own(descriptor.value),
            cx.own(descriptor.getter),
            cx.own(descriptor.setter),
        );
        found?;
        Ok(cx.call(getter.raw(), this, &[])?)
    }
}

/// Looks a property up on an object, then on its prototypes.
///
/// # Safety
/// The object and the atom must be alive.
unsafe fn own_or_inherited(
    cx: Cx<'_>,
    descriptor: &mut qjs::JSPropertyDescriptor,
    object: RawValue<'_>,
    atom: qjs::JSAtom,
) -> Result<(), Failure> {
    let mut at = cx.dup(object);
    while crate::vm::sys::is_object(at.raw()) {
        // SAFETY: the caller promises that the atom is alive; `at` keeps the object and each prototype alive.
        match unsafe { qjs::JS_GetOwnProperty(cx.raw(), descriptor, at.js(), atom) } {
            0 => {}
            found if found > 0 => return Ok(()),
            _ => return Err(Failure::Thrown),
        }
        // SAFETY: `at` is alive. The reference that comes back is owned.
        at = unsafe { cx.check(qjs::JS_GetPrototype(cx.raw(), at.js())) }?;
    }
    Err(Error::script("Request.prototype has lost its body").into())
}

fn already_read() -> Failure {
    request::already_read().into()
}

/// Calls the method of that name on the Web surface's prototype.
fn inherited(cx: Cx<'_>, this: RawValue<'_>, name: &CStr) -> Result<Val, Failure> {
    let method = cx.get(cx.core().tables()?.request_prototype.raw(), name)?;
    Ok(cx.call(method.raw(), this, &[])?)
}

/// Takes the body and gives a settled promise of what `read` makes of it.
#[inline]
fn consume(
    cx: Cx<'_>,
    this: RawValue<'_>,
    name: &CStr,
    read: impl FnOnce(Cx<'_>, &[u8]) -> Result<Val, Failure>,
) -> Result<Val, Failure> {
    let data = data(cx, this)?;
    if data.is_streamed.get() {
        return inherited(cx, this, name);
    }
    let view = data.view()?;
    if let Some(source) = view.body_source()
        && source.whole().is_none()
    {
        return after_whole(cx, this, source, name);
    }
    let bytes = view.body();
    let result = if !bytes.is_empty() && data.is_taken.replace(true) {
        Err(already_read())
    } else {
        read(cx, bytes)
    };
    settled(cx, result)
}

/// Reads a body to its end that is read as it comes, and calls the method again, which then finds it.
#[cold]
fn after_whole(
    cx: Cx<'_>,
    this: RawValue<'_>,
    source: &BodySource,
    name: &CStr,
) -> Result<Val, Failure> {
    let core = cx.core();
    let read = source.read_whole(&core.limits);
    let whole = core
        .tasks()
        .promise(cx, read, TaskKind::Other, Some(error::here(cx)?))?;
    // SAFETY: the class has its prototype, which the function gives a reference to.
    let proto = unsafe { cx.own(qjs::JS_GetClassProto(cx.raw(), core.classes.request)) };
    let method = cx.get(proto.raw(), name)?;
    let then = core.tables()?.after.raw();
    Ok(cx.call(then, UNDEFINED, &[whole.raw(), this, method.raw()])?)
}

/// A promise that is settled already.
#[inline]
fn settled(cx: Cx<'_>, result: Result<Val, Failure>) -> Result<Val, Failure> {
    let (value, is_reject) = match result {
        Ok(value) => (value, false),
        Err(Failure::Thrown) => (cx.exception(), true),
        Err(Failure::Error(failure)) => (error::to_exception(cx, &failure)?, true),
    };
    // SAFETY: the value is alive. The reference that comes back is owned.
    Ok(unsafe { cx.check(qjs::JS_NewSettledPromise(cx.raw(), is_reject, value.js())) }?)
}
