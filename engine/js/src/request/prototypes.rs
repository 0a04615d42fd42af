//! The prototypes of request objects: getters that read from a [`RequestView`] when a script asks, and methods.
//!
//! The first has what a route's request has beyond the Web's. That inherits from one with what the Web knows, answered
//! natively, and that from the Web surface's `Request.prototype`, which is loaded when one of its members is touched
//! (the engine contract in `web/mod.rs`). A `fetch` export gets requests without the first: routers such as itty-router
//! keep their own
//! `params` and `id` there.

use crate::request::accessor::{Setter, accessor};
use crate::request::added;
use crate::request::body;
use crate::request::fields::{headers, pairs_object, params};
use crate::request::object::data;
use crate::vm::isolate::Tables;
use crate::vm::sys::{
    Cx, Failure, NULL, Native, RawValue, Thrown, UNDEFINED, Val, boolean, class_id, entry,
    is_object, native,
};
use rquickjs::qjs;
use sampan_host::RequestView;
use sampan_host::request::{self, FIELDS, Field, Pairs};
use std::ffi::{CStr, c_int};

/// Properties that are made once and kept: the index of each in `RequestData::made`.
const PARAMS: usize = 0;
const QUERY: usize = 1;
const HEADERS: usize = 2;
const COOKIES: usize = 3;

/// Reads a field; `state` has accessors of its own.
#[inline]
fn read(cx: Cx<'_>, this: RawValue<'_>, field: Field) -> Result<Val, Failure> {
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
unsafe extern "C" fn get(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    which: c_int,
) -> qjs::JSValue {
    // SAFETY: QuickJS calls this with a context that is alive until it returns, and holds the values as long.
    let (cx, this) = unsafe { (Cx::from_raw(ctx), RawValue::from_js(this)) };
    native(cx, |cx| match FIELDS.get(which as usize) {
        Some((_, field)) => read(cx, this, *field),
        None => added::read(cx, data(cx, this)?, which as usize - FIELDS.len()),
    })
}

/// Defines an assigned value as a property of its own, which hides the getter. `this` may be a proxy of the request.
// SAFETY: called by QuickJS alone, with a context that has a core and the number of a getter.
unsafe extern "C" fn set(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    value: qjs::JSValue,
    which: c_int,
) -> qjs::JSValue {
    // SAFETY: QuickJS calls this with a context that is alive until it returns, and holds the values as long.
    let (cx, this, value) = unsafe {
        (
            Cx::from_raw(ctx),
            RawValue::from_js(this),
            RawValue::from_js(value),
        )
    };
    native(cx, |cx| {
        let index = (which as usize).wrapping_sub(FIELDS.len());
        if let Some(name) = added::keyed(cx, index) {
            return Err(request::has_keys(&name).into());
        }
        if added::assign(cx, index, this, value)? {
            return Ok(cx.undefined());
        }
        let name = match FIELDS.get(which as usize) {
            Some((name, _)) => Some((*name).to_owned()),
            None => added::names(cx).nth(which as usize - FIELDS.len()),
        };
        let atom = cx.atom(&name.unwrap_or_default());
        let done = cx.define_atom(this, atom, cx.dup(value));
        // SAFETY: `cx.atom` gave a reference of the atom, which is freed once, after its last use.
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

fn state(cx: Cx<'_>, this: RawValue<'_>) -> Result<Val, Failure> {
    let data = data(cx, this)?;
    if data.state.is_empty() {
        drop(data.state.replace(cx, cx.object()?));
    }
    Ok(data.state.get(cx))
}

// SAFETY: called by QuickJS alone, with a context that has a core.
unsafe extern "C" fn set_state(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    value: qjs::JSValue,
    _: c_int,
) -> qjs::JSValue {
    // SAFETY: QuickJS calls this with a context that is alive until it returns, and holds the values as long.
    let (cx, this, value) = unsafe {
        (
            Cx::from_raw(ctx),
            RawValue::from_js(this),
            RawValue::from_js(value),
        )
    };
    native(cx, |cx| {
        drop(data(cx, this)?.state.replace(cx, cx.dup(value)));
        Ok(cx.undefined())
    })
}

// SAFETY: called by QuickJS alone, with a context that has a core.
unsafe extern "C" fn get_used(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    _: c_int,
) -> qjs::JSValue {
    // The prototype itself is no request, and has no body.
    // SAFETY: QuickJS calls this with a context that is alive until it returns, and holds the values as long.
    let (cx, this) = unsafe { (Cx::from_raw(ctx), RawValue::from_js(this)) };
    native(cx, |cx| {
        Ok(cx.dup(boolean(
            data(cx, this).is_ok_and(|data| data.is_taken.get()),
        )))
    })
}

/// `null` for a request without a body, `undefined` for one whose body is native.
// SAFETY: called by QuickJS alone, with a context that has a core.
unsafe extern "C" fn get_web_body(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    _: c_int,
) -> qjs::JSValue {
    // SAFETY: QuickJS calls this with a context that is alive until it returns, and holds the values as long.
    let (cx, this) = unsafe { (Cx::from_raw(ctx), RawValue::from_js(this)) };
    native(cx, |cx| {
        let is_empty = body::is_empty(data(cx, this)?.view()?);
        Ok(cx.dup(if is_empty { NULL } else { UNDEFINED }))
    })
}

/// Makes the prototypes of request objects, and gives that of a `fetch` export's.
pub(crate) fn install(cx: Cx<'_>, tables: &Tables) -> Result<Val, Thrown> {
    // SAFETY: the prototypes are alive. The reference that comes back is owned.
    let inheriting = |from: &Val| unsafe { cx.check(qjs::JS_NewObjectProto(cx.raw(), from.js())) };
    let web = inheriting(&tables.request_prototype)?;
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
    for name in added::method_names(cx) {
        let method = cx.get(tables.added_methods.raw(), &name)?;
        cx.define(proto.raw(), &name, method)?;
    }
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
    let methods: [(&Val, &CStr, Native); 6] = [
        (&web, c"json", entry(body::json)),
        (&web, c"text", entry(body::text)),
        (&web, c"bytes", entry(body::bytes)),
        (&web, c"arrayBuffer", entry(body::array_buffer)),
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
        // SAFETY: `hidden.atom` gave a reference of the atom, which is freed once, after its last use.
        unsafe { qjs::JS_FreeAtom(cx.raw(), atom) };
        done?;
    }
    // SAFETY: the class is registered, and the function takes over the reference that `into_raw` gives up.
    unsafe {
        qjs::JS_SetClassProto(cx.raw(), cx.core().classes.request, proto.into_raw());
    }
    Ok(web)
}

/// `showToFetch(request, isForFetch)`: gives the request the prototype that a `fetch` export sees, or that of
/// middleware again. Other objects stay as they are.
pub(crate) fn show_to_fetch(
    cx: Cx<'_>,
    _: RawValue<'_>,
    args: &[RawValue<'_>],
) -> Result<Val, Failure> {
    let &[request, is_for_fetch] = args else {
        return Ok(cx.undefined());
    };
    if !is_request(cx, request) {
        return Ok(cx.undefined());
    }
    // SAFETY: the class has its prototype; the request and both prototypes are alive. The reference that comes back is
    // owned.
    let done = unsafe {
        if qjs::JS_ToBool(cx.raw(), is_for_fetch.js()) > 0 {
            let proto = &cx.core().tables()?.fetch_prototype;
            qjs::JS_SetPrototype(cx.raw(), request.js(), proto.js())
        } else {
            let class = cx.core().classes.request;
            let proto = cx.own(qjs::JS_GetClassProto(cx.raw(), class));
            qjs::JS_SetPrototype(cx.raw(), request.js(), proto.js())
        }
    };
    if done < 0 {
        return Err(Thrown.into());
    }
    Ok(cx.undefined())
}

/// `requestField(request, name)`: a field of the request, whatever its prototype shows. Nothing for other objects.
pub(crate) fn request_field(
    cx: Cx<'_>,
    _: RawValue<'_>,
    args: &[RawValue<'_>],
) -> Result<Val, Failure> {
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

fn is_request(cx: Cx<'_>, value: RawValue<'_>) -> bool {
    is_object(value) && class_id(value) == cx.core().classes.request
}

/// A property that is made when it is asked for first.
#[inline]
fn kept(
    cx: Cx<'_>,
    this: RawValue<'_>,
    which: usize,
    make: fn(Cx<'_>, &dyn RequestView) -> Result<Val, Thrown>,
) -> Result<Val, Failure> {
    let data = data(cx, this)?;
    let slot = &data.made[which];
    if slot.is_empty() {
        drop(slot.replace(cx, make(cx, data.view()?)?));
    }
    Ok(slot.get(cx))
}
