//! Responses of builders, made in one step.
//!
//! The prelude can make them property by property, and does so where objects cannot be looked into. That costs some thousand instructions; an
//! object of a shape that is known gets all its values at once.

use crate::values::layout::{Layout, Shape};
use crate::vm::isolate::Core;
use crate::vm::sys::{Cx, Failure, NULL, RawValue, Thrown, UNDEFINED, Val, whole};
use rquickjs::qjs;
use sampan_host::answer;
use std::cell::RefCell;

/// The shapes of a response and of its headers, and texts that most have. Objects that are kept elsewhere have these shapes.
struct ResponseShapes {
    response: Shape,
    headers: Shape,
    content_type: Val,
    html: Val,
}

/// Of an isolate, once they are known.
#[derive(Default)]
pub(crate) struct KnownShapes(RefCell<Option<ResponseShapes>>);

impl KnownShapes {
    /// Learns them from a response that the prelude has made and keeps. Does nothing if its values lie in another order than the prelude writes
    /// them.
    pub(crate) fn learn(&self, cx: Cx<'_>, response: &Val) -> Result<(), Failure> {
        let Some(layout) = cx.core().layout.get() else {
            return Ok(());
        };
        let atoms = &cx.core().atoms;
        let headers = cx.get_atom(response.raw(), atoms.web_headers)?;
        let status_text = cx.core().hidden.atom(cx, "statusText")?;
        let expected = [
            atoms.web_status,
            status_text,
            atoms.web_headers,
            atoms.web_body,
            atoms.web_used,
        ];
        let is_known = lies_as(cx, layout, response, &expected)
            .and_then(|is_known| Ok(is_known && lies_as(cx, layout, &headers, &[atoms.web_list])?));
        // SAFETY: the atom is owned.
        unsafe { qjs::JS_FreeAtom(cx.raw(), status_text) };
        if is_known? {
            let known = ResponseShapes {
                response: layout.shape(response.raw()),
                headers: layout.shape(headers.raw()),
                content_type: cx.string("content-type")?,
                html: cx.string(answer::HTML)?,
            };
            self.0.replace(Some(known));
        }
        Ok(())
    }

    /// Lets the texts go; to be called before the context goes.
    pub(crate) fn clear(&self) {
        self.0.take();
    }
}

/// Whether an object has its values in the order of these names.
fn lies_as(
    cx: Cx<'_>,
    layout: Layout,
    object: &Val,
    names: &[qjs::JSAtom],
) -> Result<bool, Thrown> {
    for (at, name) in names.iter().enumerate() {
        let value = cx.get_atom(object.raw(), *name)?;
        // SAFETY: the prelude has given the object so many properties.
        let is_there = unsafe {
            let there = layout.values(object.raw()).add(at).read();
            qjs::JS_IsStrictEqual(cx.raw(), there, value.raw())
        };
        if !is_there {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A response with these parts. None where it cannot be made in one step.
fn made(
    cx: Cx<'_>,
    status: Val,
    status_text: Val,
    content_type: Val,
    body: Val,
) -> Result<Option<Val>, Thrown> {
    let core: &Core = cx.core();
    let known = core.response_shapes.0.borrow();
    let (Some(known), Some(layout)) = (&*known, core.layout.get()) else {
        return Ok(None);
    };
    let list = cx.array(vec![known.content_type.clone(), content_type])?;
    // SAFETY: the kept response has these shapes, with one name and with five.
    unsafe {
        let headers = layout.object(cx, known.headers, 1, [Ok(list)].into_iter())?;
        let values = [status, status_text, headers, body, cx.own(qjs::JS_FALSE)].map(Ok);
        let response = layout.object(cx, known.response, 5, values.into_iter())?;
        Ok(Some(response))
    }
}

/// `makeAtOnce(status, statusText, type, body)`: undefined where the prelude must make it.
pub(crate) fn make(cx: Cx<'_>, _: RawValue, args: &[RawValue]) -> Result<Val, Failure> {
    let argument = |at: usize| cx.dup(args.get(at).copied().unwrap_or(UNDEFINED));
    let made = made(cx, argument(0), argument(1), argument(2), argument(3))?;
    Ok(made.unwrap_or_else(|| cx.undefined()))
}

/// The answer of a row, with the status that nobody chose. None where the prelude must make it.
pub(crate) fn answered(cx: Cx<'_>, body: &Val, content_type: &str) -> Result<Option<Val>, Thrown> {
    let content_type = match &*cx.core().response_shapes.0.borrow() {
        None => return Ok(None),
        Some(known) if content_type == answer::HTML => known.html.clone(),
        Some(_) => cx.string(content_type)?,
    };
    let status = cx.own(whole(200));
    made(cx, status, cx.own(NULL), content_type, body.clone())
}
