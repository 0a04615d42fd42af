//! The request object: a native class whose getters read from a [`RequestView`] when a script asks.
//!
//! Its prototype has what a route's request has beyond the Web's. That inherits from one with what the Web knows, answered
//! natively, and that from the Web surface's `Request.prototype`, which is loaded when one of its members is touched (the engine
//! contract in `web/mod.rs`). A `fetch` export gets requests without the first: routers such as itty-router keep their own
//! `params` and `id` there.

use crate::request::accessor::{Setter, accessor};
use crate::request::added::{self, AddedFields};
use crate::request::body;
use crate::request::fields::{headers, pairs_object, params};
use crate::vm::bind;
use crate::vm::sys::{
    Cx, Failure, Native, RawValue, Thrown, UNDEFINED, Val, boolean, class_id, entry, is_object,
    is_undefined, native,
};
use rquickjs::qjs;
use sampan_host::request::{self, FIELDS, Field, Pairs};
use sampan_host::{Error, RequestView};
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_int, c_void};
use std::rc::Rc;

/// Properties that are made once and kept; the index of each in [`RequestData::made`].
const KEPT: usize = 4;
const PARAMS: usize = 0;
const QUERY: usize = 1;
const HEADERS: usize = 2;
const COOKIES: usize = 3;

/// What a request object holds.
pub(crate) struct RequestData {
    pub(crate) view: Option<Rc<dyn RequestView>>,
    /// `undefined` until a script asks.
    made: [Cell<RawValue>; KEPT],
    state: Cell<RawValue>,
    /// The fields that modules add.
    pub(crate) added: AddedFields,
    /// Whether the body has been handed out.
    pub(crate) is_taken: Cell<bool>,
    /// Whether the Web surface keeps the body, in own properties of the object.
    pub(crate) is_streamed: Cell<bool>,
    pool: *const RequestPool,
}

/// Boxes of requests that are over, to be used again.
#[derive(Default)]
// Boxes, because an object holds the address of its data.
#[allow(clippy::vec_box)]
pub(crate) struct RequestPool(RefCell<Vec<Box<RequestData>>>);

impl RequestPool {
    /// How many are kept.
    const KEPT_MAX: usize = 64;
}

/// Makes the class.
pub(crate) fn register_class(cx: Cx<'_>) -> Result<qjs::JSClassID, Thrown> {
    let definition = qjs::JSClassDef {
        class_name: c"Request".as_ptr(),
        finalizer: Some(finalize),
        gc_mark: Some(mark),
        call: None,
        exotic: std::ptr::null_mut(),
    };
    let mut id = 0;
    // SAFETY: the runtime is alive; the definition is copied.
    unsafe {
        qjs::JS_NewClassID(cx.runtime(), &raw mut id);
        if qjs::JS_NewClass(cx.runtime(), id, &raw const definition) < 0 {
            return Err(Thrown);
        }
    }
    Ok(id)
}

/// A request object for `view`, as a route gets it or as a `fetch` export does.
#[inline]
pub(crate) fn new(
    cx: Cx<'_>,
    view: Rc<dyn RequestView>,
    is_for_fetch: bool,
) -> Result<Val, Thrown> {
    let core = cx.core();
    let class = core.classes.request;
    // SAFETY: the class is registered and has its prototype; the other prototype is alive.
    let object = cx.check(unsafe {
        match core.tables.get() {
            Some(tables) if is_for_fetch => {
                qjs::JS_NewObjectProtoClass(cx.raw(), tables.fetch_prototype.raw(), class)
            }
            _ => qjs::JS_NewObjectClass(cx.raw(), class),
        }
    })?;
    let recycled = core.pool.0.borrow_mut().pop();
    let data = match recycled {
        Some(mut data) => {
            data.view = Some(view);
            data
        }
        None => Box::new(RequestData {
            view: Some(view),
            made: [const { Cell::new(UNDEFINED) }; KEPT],
            state: Cell::new(UNDEFINED),
            added: AddedFields::default(),
            is_taken: Cell::new(false),
            is_streamed: Cell::new(false),
            pool: &raw const core.pool,
        }),
    };
    // SAFETY: the object is of our class; the finalizer takes the box back.
    unsafe { qjs::JS_SetOpaque(object.raw(), Box::into_raw(data).cast::<c_void>()) };
    Ok(object)
}

/// The data of an object that should be a request.
#[inline]
pub(crate) fn data<'a>(cx: Cx<'a>, object: RawValue) -> Result<&'a RequestData, Failure> {
    let id = cx.core().classes.request;
    // SAFETY: asks for the opaque pointer of that very class, which is a `RequestData` for as long as the object lives; callers
    // hold the object.
    let data = unsafe { qjs::JS_GetOpaque(object, id).cast::<RequestData>().as_ref() };
    data.ok_or_else(|| Error::script("this is not a request of the server").into())
}

impl RequestData {
    /// The request.
    #[inline]
    pub(crate) fn view(&self) -> Result<&dyn RequestView, Failure> {
        self.view
            .as_deref()
            .ok_or_else(|| request::is_over().into())
    }

    fn values(&self) -> impl Iterator<Item = &Cell<RawValue>> {
        self.made.iter().chain(std::iter::once(&self.state))
    }
}

// SAFETY: called by QuickJS alone, once for each object of our class.
unsafe extern "C" fn finalize(runtime: *mut qjs::JSRuntime, object: RawValue) {
    let mut id: qjs::JSClassID = 0;
    // SAFETY: the object is of our class; its pointer is null or a box that nothing else owns. The pool lies in the core, after
    // the runtime, so it is still there.
    let data = unsafe {
        let pointer = qjs::JS_GetAnyOpaque(object, &raw mut id).cast::<RequestData>();
        if pointer.is_null() {
            return;
        }
        Box::from_raw(pointer)
    };
    for value in data.values() {
        // SAFETY: the reference is owned by the data.
        unsafe { qjs::JS_FreeValueRT(runtime, value.replace(UNDEFINED)) };
    }
    data.added.take().into_iter().for_each(|value| {
        // SAFETY: the reference is owned by the data.
        unsafe { qjs::JS_FreeValueRT(runtime, value) };
    });
    let recycled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| recycle(data)));
    drop(recycled);
}

fn recycle(mut data: Box<RequestData>) {
    data.view = None;
    data.is_taken.set(false);
    data.is_streamed.set(false);
    // SAFETY: see `finalize`.
    let pool = unsafe { &*data.pool };
    if let Ok(mut kept) = pool.0.try_borrow_mut()
        && kept.len() < RequestPool::KEPT_MAX
    {
        kept.push(data);
    }
}

// SAFETY: called by QuickJS alone, with a live object of our class.
unsafe extern "C" fn mark(runtime: *mut qjs::JSRuntime, object: RawValue, mark: qjs::JS_MarkFunc) {
    let mut id: qjs::JSClassID = 0;
    // SAFETY: the object is of our class; its values are alive.
    unsafe {
        if let Some(data) = qjs::JS_GetAnyOpaque(object, &raw mut id)
            .cast::<RequestData>()
            .as_ref()
        {
            for value in data.values() {
                qjs::JS_MarkValue(runtime, value.get(), mark);
            }
            data.added
                .each(|value| qjs::JS_MarkValue(runtime, value, mark));
        }
    }
}

/// Reads a field; `state` has accessors of its own.
#[inline]
fn read(cx: Cx<'_>, this: RawValue, field: Field) -> Result<Val, Failure> {
    match field {
        Field::Pairs(Pairs::Params) => kept(cx, this, PARAMS, params),
        Field::Pairs(Pairs::Query) => kept(cx, this, QUERY, |cx, view| {
            pairs_object(cx, view, Pairs::Query)
        }),
        Field::Pairs(Pairs::Headers) => kept(cx, this, HEADERS, headers),
        Field::Pairs(Pairs::Cookies) => kept(cx, this, COOKIES, |cx, view| {
            pairs_object(cx, view, Pairs::Cookies)
        }),
        Field::Method => Ok(cx.string(data(cx, this)?.view()?.method())?),
        Field::Path => Ok(cx.string(data(cx, this)?.view()?.path())?),
        Field::Url => Ok(cx.string(&data(cx, this)?.view()?.url())?),
        Field::Ip => Ok(cx.string(&data(cx, this)?.view()?.ip())?),
        Field::Body => body::stream(cx, this),
        Field::State => state(cx, this),
    }
}

// SAFETY: called by QuickJS alone, with a context that has a core and the number of a getter.
unsafe extern "C" fn get(ctx: *mut qjs::JSContext, this: RawValue, which: c_int) -> RawValue {
    native(ctx, |cx| match FIELDS.get(which as usize) {
        Some((_, field)) => read(cx, this, *field),
        None => added::read(cx, data(cx, this)?, which as usize - FIELDS.len()),
    })
}

/// What a script assigns becomes a property of its own, which hides the getter. `this` may be a proxy of the request.
// SAFETY: called by QuickJS alone, with a context that has a core and the number of a getter.
unsafe extern "C" fn set(
    ctx: *mut qjs::JSContext,
    this: RawValue,
    value: RawValue,
    which: c_int,
) -> RawValue {
    native(ctx, |cx| {
        let name = match FIELDS.get(which as usize) {
            Some((name, _)) => Some((*name).to_owned()),
            None => added::names(cx).nth(which as usize - FIELDS.len()),
        };
        let atom = cx.atom(&name.unwrap_or_default());
        let done = cx.define_atom(this, atom, cx.dup(value));
        // SAFETY: the atom is owned.
        unsafe { qjs::JS_FreeAtom(cx.raw(), atom) };
        done?;
        Ok(cx.undefined())
    })
}

fn is_of_the_web(field: Field) -> bool {
    matches!(
        field,
        Field::Method | Field::Url | Field::Body | Field::Pairs(Pairs::Headers)
    )
}

/// The Web's fields are read-only, as on the Web. A script may write the others: middleware does.
fn setter(field: Field) -> Option<Setter> {
    match field {
        _ if is_of_the_web(field) => None,
        Field::State => Some(set_state),
        _ => Some(set),
    }
}

fn state(cx: Cx<'_>, this: RawValue) -> Result<Val, Failure> {
    let data = data(cx, this)?;
    if is_undefined(data.state.get()) {
        data.state.set(cx.object()?.into_raw());
    }
    Ok(cx.dup(data.state.get()))
}

// SAFETY: called by QuickJS alone, with a context that has a core.
unsafe extern "C" fn set_state(
    ctx: *mut qjs::JSContext,
    this: RawValue,
    value: RawValue,
    _: c_int,
) -> RawValue {
    native(ctx, |cx| {
        let old = data(cx, this)?.state.replace(cx.dup(value).into_raw());
        drop(cx.own(old));
        Ok(cx.undefined())
    })
}

// SAFETY: called by QuickJS alone, with a context that has a core.
unsafe extern "C" fn get_used(ctx: *mut qjs::JSContext, this: RawValue, _: c_int) -> RawValue {
    // The prototype itself is no request, and has no body.
    native(ctx, |cx| {
        Ok(cx.own(boolean(
            data(cx, this).is_ok_and(|data| data.is_taken.get()),
        )))
    })
}

/// `null` for a request without a body, `undefined` for one whose body is native.
// SAFETY: called by QuickJS alone, with a context that has a core.
unsafe extern "C" fn get_web_body(ctx: *mut qjs::JSContext, this: RawValue, _: c_int) -> RawValue {
    native(ctx, |cx| {
        let is_empty = body::is_empty(data(cx, this)?.view()?);
        Ok(cx.own(if is_empty { qjs::JS_NULL } else { UNDEFINED }))
    })
}

/// Makes the prototypes of request objects, and gives that of a `fetch` export's.
pub(crate) fn install(cx: Cx<'_>, request_prototype: &Val) -> Result<Val, Thrown> {
    // SAFETY: the prototypes are alive.
    let inheriting = |from: &Val| unsafe { cx.check(qjs::JS_NewObjectProto(cx.raw(), from.raw())) };
    let web = inheriting(request_prototype)?;
    let proto = inheriting(&web)?;
    for (index, (name, field)) in FIELDS.iter().enumerate() {
        accessor(
            cx,
            if is_of_the_web(*field) { &web } else { &proto },
            cx.atom(name),
            get,
            index as c_int,
            setter(*field),
        )?;
    }
    for (index, name) in added::names(cx).enumerate() {
        let which = (FIELDS.len() + index) as c_int;
        accessor(cx, &proto, cx.atom(&name), get, which, Some(set))?;
    }
    bind::bind_request_methods(cx, &proto)?;
    accessor(
        cx,
        &web,
        cx.core().hidden.atom(cx, "used")?,
        get_used,
        0,
        None,
    )?;
    accessor(
        cx,
        &web,
        cx.core().hidden.atom(cx, "body")?,
        get_web_body,
        0,
        None,
    )?;
    let methods: [(&Val, &CStr, Native); 5] = [
        (&web, c"json", entry(body::json)),
        (&web, c"text", entry(body::text)),
        (&web, c"bytes", entry(body::bytes)),
        (&web, c"clone", entry(body::clone)),
        (&proto, c"form", entry(body::form)),
    ];
    for (proto, name, method) in methods {
        cx.define(proto.raw(), name, cx.function(name, 0, 0, method)?)?;
    }
    let hidden: [(&str, &CStr, Native); 2] = [
        ("take", c"take", entry(body::take)),
        ("read", c"read", entry(body::read)),
    ];
    for (key, name, method) in hidden {
        let atom = cx.core().hidden.atom(cx, key)?;
        let done = cx.define_atom(web.raw(), atom, cx.function(name, 0, 0, method)?);
        // SAFETY: the atom is owned.
        unsafe { qjs::JS_FreeAtom(cx.raw(), atom) };
        done?;
    }
    // SAFETY: the class takes the prototype's reference.
    unsafe {
        qjs::JS_SetClassProto(cx.raw(), cx.core().classes.request, proto.into_raw());
    }
    Ok(web)
}

/// `showToFetch(request, isForFetch)`: gives the request the prototype that a `fetch` export sees, or that of middleware again.
/// Other objects stay as they are.
pub(crate) fn show_to_fetch(cx: Cx<'_>, _: RawValue, args: &[RawValue]) -> Result<Val, Failure> {
    let &[request, is_for_fetch] = args else {
        return Ok(cx.undefined());
    };
    if !is_request(cx, request) {
        return Ok(cx.undefined());
    }
    // SAFETY: the class has its prototype; the request and both prototypes are alive.
    let done = unsafe {
        if qjs::JS_ToBool(cx.raw(), is_for_fetch) > 0 {
            let proto = &cx.core().tables()?.fetch_prototype;
            qjs::JS_SetPrototype(cx.raw(), request, proto.raw())
        } else {
            let class = cx.core().classes.request;
            let proto = cx.own(qjs::JS_GetClassProto(cx.raw(), class));
            qjs::JS_SetPrototype(cx.raw(), request, proto.raw())
        }
    };
    if done < 0 {
        return Err(Thrown.into());
    }
    Ok(cx.undefined())
}

/// `requestField(request, name)`: a field of the request, whatever its prototype shows. Nothing for other objects.
pub(crate) fn request_field(cx: Cx<'_>, _: RawValue, args: &[RawValue]) -> Result<Val, Failure> {
    let &[request, name] = args else {
        return Ok(cx.undefined());
    };
    if !is_request(cx, request) {
        return Ok(cx.undefined());
    }
    let name = cx.text(name)?;
    if let Some((_, field)) = FIELDS.iter().find(|(known, _)| *known == name) {
        return read(cx, request, *field);
    }
    match added::names(cx).position(|known| known == name) {
        Some(index) => added::read(cx, data(cx, request)?, index),
        None => Ok(cx.undefined()),
    }
}

fn is_request(cx: Cx<'_>, value: RawValue) -> bool {
    is_object(value) && class_id(value) == cx.core().classes.request
}

/// A property that is made when it is asked for first.
#[inline]
fn kept(
    cx: Cx<'_>,
    this: RawValue,
    which: usize,
    make: fn(Cx<'_>, &dyn RequestView) -> Result<Val, Thrown>,
) -> Result<Val, Failure> {
    let data = data(cx, this)?;
    let cell = &data.made[which];
    if is_undefined(cell.get()) {
        cell.set(make(cx, data.view()?)?.into_raw());
    }
    Ok(cx.dup(cell.get()))
}
