//! The names that the engine looks up again and again.

use crate::vm::hidden::HiddenKeys;
use crate::vm::sys::{Cx, Thrown};
use rquickjs::qjs;

/// Names that the engine looks up again and again.
pub(crate) struct Atoms {
    /// Under this a native error keeps its kind; no script can name it.
    pub(crate) kind: qjs::JSAtom,
    pub(crate) status: qjs::JSAtom,
    pub(crate) to_json: qjs::JSAtom,
    pub(crate) then: qjs::JSAtom,
    /// `Symbol.iterator`.
    pub(crate) iterator: qjs::JSAtom,
    pub(crate) web_status: qjs::JSAtom,
    pub(crate) web_status_text: qjs::JSAtom,
    pub(crate) web_headers: qjs::JSAtom,
    pub(crate) web_list: qjs::JSAtom,
    pub(crate) web_body: qjs::JSAtom,
    pub(crate) web_used: qjs::JSAtom,
    pub(crate) web_source: qjs::JSAtom,
    pub(crate) web_file: qjs::JSAtom,
    pub(crate) web_signal: qjs::JSAtom,
    pub(crate) web_kind: qjs::JSAtom,
}

impl Atoms {
    pub(super) fn new(cx: Cx<'_>, hidden: &HiddenKeys) -> Result<Self, Thrown> {
        // SAFETY: the context is alive; the symbol is released after the atom took its reference.
        let kind = unsafe {
            let symbol = qjs::JS_NewSymbol(cx.raw(), c"kind".as_ptr(), false);
            let atom = qjs::JS_ValueToAtom(cx.raw(), symbol);
            qjs::JS_FreeValue(cx.raw(), symbol);
            atom
        };
        let iterator = cx.eval(c"Symbol.iterator", c"<probe>")?;
        Ok(Self {
            kind,
            status: cx.atom("status"),
            to_json: cx.atom("toJSON"),
            then: cx.atom("then"),
            // SAFETY: the symbol is alive; the atom takes a reference of its own.
            iterator: unsafe { qjs::JS_ValueToAtom(cx.raw(), iterator.js()) },
            web_status: hidden.atom(cx, "status")?,
            web_status_text: hidden.atom(cx, "statusText")?,
            web_headers: hidden.atom(cx, "headers")?,
            web_list: hidden.atom(cx, "list")?,
            web_body: hidden.atom(cx, "body")?,
            web_used: hidden.atom(cx, "used")?,
            web_source: hidden.atom(cx, "source")?,
            web_file: hidden.atom(cx, "file")?,
            web_signal: hidden.atom(cx, "signal")?,
            web_kind: hidden.atom(cx, "kind")?,
        })
    }

    pub(super) fn release(&self, cx: Cx<'_>) {
        let all = [
            self.kind,
            self.status,
            self.to_json,
            self.then,
            self.iterator,
            self.web_status,
            self.web_status_text,
            self.web_headers,
            self.web_list,
            self.web_body,
            self.web_used,
            self.web_source,
            self.web_file,
            self.web_signal,
            self.web_kind,
        ];
        for atom in all {
            // SAFETY: each atom is owned and not used any more.
            unsafe { qjs::JS_FreeAtom(cx.raw(), atom) };
        }
    }
}
