//! Makes the responses of builders natively.
//!
//! The prelude can make them too, but an object literal with computed keys costs it some thousand instructions.

use crate::values::layout::shared::SharedShape;
use crate::vm::sys::{Cx, Failure, NULL, RawValue, Thrown, UNDEFINED, Val, boolean, whole};
use rquickjs::qjs;
use sampan_host::answer;
use std::cell::RefCell;

/// The parts that responses of one isolate share.
struct ResponseParts {
    response_prototype: Val,
    headers_prototype: Val,
    /// The property name of the status text.
    status_text: qjs::JSAtom,
    /// Make both objects at once, where QuickJS lets them.
    shared_response: Option<SharedShape>,
    shared_headers: Option<SharedShape>,
    content_type: Val,
    html: Val,
    // For `status_text`.
    ctx: *mut qjs::JSContext,
}

impl Drop for ResponseParts {
    fn drop(&mut self) {
        // SAFETY: the name is owned, and the context lives: the core clears the parts before it frees the context.
        unsafe { qjs::JS_FreeAtom(self.ctx, self.status_text) };
    }
}

/// Makes responses, once the prelude has run.
#[derive(Default)]
pub(crate) struct ResponseMaker(RefCell<Option<ResponseParts>>);

impl ResponseMaker {
    /// Takes the prototypes from a response that the prelude has made.
    pub(crate) fn learn(&self, cx: Cx<'_>, response: &Val) -> Result<(), Failure> {
        let atoms = &cx.core().atoms;
        let headers = cx.get_atom(response.raw(), atoms.web_headers)?;
        let mut parts = ResponseParts {
            response_prototype: cx.prototype(response)?,
            headers_prototype: cx.prototype(&headers)?,
            shared_response: None,
            shared_headers: None,
            content_type: cx.string("content-type")?,
            html: cx.string(answer::HTML)?,
            status_text: cx.core().hidden.atom(cx, "statusText")?,
            ctx: cx.raw(),
        };
        if let Some(layout) = cx.core().layout.get() {
            let shared = |prototype: &Val, names: &[qjs::JSAtom]| {
                SharedShape::new(cx, layout, prototype.clone(), names)
            };
            parts.shared_response = shared(&parts.response_prototype, &parts.names(cx))?;
            parts.shared_headers = shared(&parts.headers_prototype, &[atoms.web_list])?;
        }
        self.0.replace(Some(parts));
        Ok(())
    }

    /// Releases the parts; to be called before the context is freed.
    pub(crate) fn clear(&self) {
        self.0.take();
    }
}

impl ResponseParts {
    /// Makes a response whose only header field is its content type.
    fn make(
        &self,
        cx: Cx<'_>,
        status: Val,
        status_text: Val,
        content_type: Val,
        body: Val,
    ) -> Result<Val, Thrown> {
        let list = cx.array(vec![self.content_type.clone(), content_type])?;
        let list_name = [cx.core().atoms.web_list];
        let headers = object(
            cx,
            &self.shared_headers,
            &self.headers_prototype,
            list_name,
            [list],
        )?;
        let values = [status, status_text, headers, body, cx.dup(boolean(false))];
        let names = self.names(cx);
        object(
            cx,
            &self.shared_response,
            &self.response_prototype,
            names,
            values,
        )
    }

    /// The names of a response's properties, in the order in which the prelude gives them.
    fn names(&self, cx: Cx<'_>) -> [qjs::JSAtom; 5] {
        let atoms = &cx.core().atoms;
        [
            atoms.web_status,
            self.status_text,
            atoms.web_headers,
            atoms.web_body,
            atoms.web_used,
        ]
    }
}

/// Makes an object with these properties, at once where it can be.
fn object<const COUNT: usize>(
    cx: Cx<'_>,
    shared: &Option<SharedShape>,
    prototype: &Val,
    names: [qjs::JSAtom; COUNT],
    values: [Val; COUNT],
) -> Result<Val, Thrown> {
    let mut values = values.map(Ok).into_iter();
    if let Some(shared) = shared {
        values = match shared.object(cx, values)? {
            Ok(object) => return Ok(object),
            Err(values) => values,
        };
    }
    let object = cx.object_of(prototype)?;
    for (name, value) in names.into_iter().zip(values) {
        cx.define_atom(object.raw(), name, value?)?;
    }
    Ok(object)
}

/// `makeResponse(status, statusText, type, body)`. Returns undefined while the prelude itself is loaded.
pub(crate) fn make(cx: Cx<'_>, _: RawValue<'_>, args: &[RawValue<'_>]) -> Result<Val, Failure> {
    let parts = cx.core().responses.0.borrow();
    let Some(parts) = &*parts else {
        return Ok(cx.undefined());
    };
    let argument = |at: usize| cx.dup(args.get(at).copied().unwrap_or(UNDEFINED));
    Ok(parts.make(cx, argument(0), argument(1), argument(2), argument(3))?)
}

/// Returns the response of a row that builds answers, with the default status. `None` while the prelude is loaded.
pub(crate) fn answered(cx: Cx<'_>, body: &Val, content_type: &str) -> Result<Option<Val>, Thrown> {
    let parts = cx.core().responses.0.borrow();
    let Some(parts) = &*parts else {
        return Ok(None);
    };
    let content_type = match content_type {
        answer::HTML => parts.html.clone(),
        other => cx.string(other)?,
    };
    let made = parts.make(
        cx,
        cx.dup(whole(200)),
        cx.dup(NULL),
        content_type,
        body.clone(),
    );
    made.map(Some)
}
