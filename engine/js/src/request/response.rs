//! What a handler returned becomes the answer.
//!
//! Objects, arrays, numbers and booleans are JSON, a string is text, nothing is 204, a `Response` is itself. Functions and symbols are
//! an error in the script.

use crate::promises::tasks::Tasks;
use crate::request::stream::Stream;
use crate::values::json_write;
use crate::values::value::with_bytes_of;
use crate::vm::error;
use crate::vm::isolate::Core;
use crate::vm::sys;
use crate::vm::sys::{Cx, Failure, Raw, Val, address, class_id, is_object, is_string, tag};
use rquickjs::qjs;
use sampan_host::{Error, ErrorKind, HandlerId, ResponseSink};
use std::cell::OnceCell;
use std::rc::Rc;

const JSON_TYPE: &str = "application/json";
const TEXT_TYPE: &str = "text/plain; charset=utf-8";

/// Whose answer is written, for the stream that it may be.
pub(crate) struct Answerer<'a> {
    pub(crate) core: &'a Rc<Core>,
    pub(crate) handler: HandlerId,
    /// The status of plain values.
    pub(crate) status: u16,
    /// The request object, once there is one.
    pub(crate) request: OnceCell<Val>,
}

impl Answerer<'_> {
    /// Writes the answer that `value` means. A failure is described as an error; what is in the sink counts for nothing then.
    #[inline]
    pub(crate) fn write(
        &self,
        cx: Cx<'_>,
        value: Raw,
        sink: &mut dyn ResponseSink,
    ) -> Result<(), Error> {
        self.try_write(cx, value, sink)
            .map_err(|failure| match failure {
                Failure::Thrown => error::take(cx),
                Failure::Error(error) => error,
            })
    }

    #[inline]
    fn try_write(
        &self,
        cx: Cx<'_>,
        value: Raw,
        sink: &mut dyn ResponseSink,
    ) -> Result<(), Failure> {
        match tag(value) {
            qjs::JS_TAG_UNDEFINED | qjs::JS_TAG_NULL => {
                sink.status(if self.status == 200 { 204 } else { self.status })?;
                return Ok(());
            }
            qjs::JS_TAG_OBJECT if self.is_response(cx, value) => {
                return self.response(cx, value, sink);
            }
            _ if is_string(value) => {
                sink.default_type(TEXT_TYPE);
                write_string(cx, value, sink.body())?;
            }
            _ => {
                sink.default_type(JSON_TYPE);
                if !json_write::write(cx, sink.body(), value)? {
                    return Err(no_answer(cx, value).into());
                }
            }
        }
        if self.status != 200 {
            sink.status(self.status)?;
        }
        Ok(())
    }

    /// Writes what a handler threw if that is a `Response`, which then is the answer; `None` for anything else.
    #[cold]
    pub(crate) fn write_thrown(
        &self,
        cx: Cx<'_>,
        thrown: Raw,
        sink: &mut dyn ResponseSink,
    ) -> Option<Result<(), Error>> {
        (is_object(thrown) && self.is_response(cx, thrown)).then(|| {
            self.core.drain(cx);
            self.write(cx, thrown, sink)
        })
    }

    /// Whether an object is a `Response` of the Web surface. Most objects are told apart by their prototype.
    #[inline]
    fn is_response(&self, cx: Cx<'_>, value: Raw) -> bool {
        if class_id(value) != cx.core().classes.object {
            return false;
        }
        // SAFETY: the object is alive, and holds its prototype while its address is compared.
        let prototype = unsafe { cx.own(qjs::JS_GetPrototype(cx.raw(), value)) };
        if !is_object(prototype.raw()) || address(prototype.raw()) == cx.core().object_prototype {
            return false;
        }
        // SAFETY: looks for an own property without reading it; the object is no proxy, so no script runs.
        unsafe {
            qjs::JS_GetOwnProperty(
                cx.raw(),
                std::ptr::null_mut(),
                value,
                cx.core().atoms.web_status,
            ) > 0
        }
    }

    fn response(
        &self,
        cx: Cx<'_>,
        response: Raw,
        sink: &mut dyn ResponseSink,
    ) -> Result<(), Failure> {
        let atoms = &cx.core().atoms;
        let status = cx.get_atom(response, atoms.web_status)?;
        let status =
            error::whole_number(status.raw()).filter(|status| (200..=599).contains(status));
        let status = status.ok_or_else(|| Error::script("Response.error() is no answer"))?;
        sink.status(status as u16)?;
        let headers = cx.get_atom(response, atoms.web_headers)?;
        let list = cx.get_atom(headers.raw(), atoms.web_list)?;
        write_headers(cx, list.raw(), sink)?;
        let used = cx.get_atom(response, atoms.web_used)?;
        if sys::is_true(used.raw()) {
            return Err(Error::script(
                "the body of this response has been read, so it cannot be sent",
            )
            .into());
        }
        let body = cx.get_atom(response, atoms.web_body)?;
        self.body(cx, body.raw(), sink)
    }

    fn body(&self, cx: Cx<'_>, body: Raw, sink: &mut dyn ResponseSink) -> Result<(), Failure> {
        if write_at_once(cx, body, sink)? {
            return Ok(());
        }
        let source = cx.get_atom(body, cx.core().atoms.web_source)?;
        if !sys::is_undefined(source.raw()) {
            // Scripts can reach the source: it is followed once, and is not asked for its own.
            if write_at_once(cx, source.raw(), sink)? {
                return Ok(());
            }
            return Err(Error::script("the source of a body is neither text nor bytes").into());
        }
        let tasks: Rc<Tasks> = cx.core().tasks();
        let signal = self.signal(cx)?;
        let stream = Stream::new(self.core.clone(), tasks, self.handler, cx.dup(body), signal);
        sink.stream(Box::new(stream));
        Ok(())
    }
}

impl Answerer<'_> {
    /// The request's `AbortSignal`, if the script has asked for it: it is aborted when the client goes away.
    fn signal(&self, cx: Cx<'_>) -> Result<Option<Val>, Failure> {
        let Some(request) = self.request.get() else {
            return Ok(None);
        };
        let atom = cx.core().atoms.web_signal;
        // SAFETY: looks for an own property of a live object without reading it.
        let found =
            unsafe { qjs::JS_GetOwnProperty(cx.raw(), std::ptr::null_mut(), request.raw(), atom) };
        if found <= 0 {
            return Ok(None);
        }
        Ok(Some(cx.get_atom(request.raw(), atom)?))
    }
}

fn no_answer(cx: Cx<'_>, value: Raw) -> Error {
    let what = if cx.is_function(value) {
        "a function"
    } else if is_object(value) {
        "an object whose toJSON gives nothing"
    } else {
        "a symbol"
    };
    Error::script(format!("the handler returned {what}, which is no answer"))
}

/// The text of a string as UTF-8; surrogates without a partner are replaced.
#[inline]
fn write_string(cx: Cx<'_>, value: Raw, out: &mut Vec<u8>) -> Result<(), sys::Thrown> {
    cx.with_bytes(value, |bytes| match std::str::from_utf8(bytes) {
        Ok(_) => out.extend_from_slice(bytes),
        Err(_) => out.extend_from_slice(sys::well_formed(bytes).as_bytes()),
    })
}

/// Writes a body that is there as a whole: text, bytes or none. False for any other object.
fn write_at_once(cx: Cx<'_>, body: Raw, sink: &mut dyn ResponseSink) -> Result<bool, Failure> {
    if is_string(body) {
        write_string(cx, body, sink.body())?;
        return Ok(true);
    }
    Ok(
        with_bytes_of(cx, body, |bytes| sink.body().extend_from_slice(bytes)).is_some()
            || !is_object(body),
    )
}

/// How many names and values together the header of an answer may have. The sink limits their bytes.
const HEADER_PARTS_MAX: u32 = 8192;

/// Writes the flat list `[name, value, ...]` of a `Headers`. The sink checks each; scripts can reach the list.
fn write_headers(cx: Cx<'_>, list: Raw, sink: &mut dyn ResponseSink) -> Result<(), Failure> {
    let length = u32::try_from(cx.length(list)?).unwrap_or(u32::MAX);
    if length > HEADER_PARTS_MAX {
        let max = HEADER_PARTS_MAX / 2;
        return Err(Error::script(format!("an answer has at most {max} header fields")).into());
    }
    for index in (0..length).step_by(2) {
        if cx.core().must_stop() {
            return Err(Error::new(ErrorKind::Stopped, "the script ran too long").into());
        }
        let (name, value) = (cx.at(list, index)?, cx.at(list, index + 1)?);
        let written = cx.with_bytes(name.raw(), |name| {
            cx.with_bytes(value.raw(), |value| write_header(sink, name, value))
        })?;
        written??;
    }
    Ok(())
}

/// A character of a value is one byte.
fn write_header(sink: &mut dyn ResponseSink, name: &[u8], value: &[u8]) -> Result<(), Error> {
    if value.is_ascii() {
        return sink.header(name, value);
    }
    let characters = std::str::from_utf8(value).ok().map(str::chars);
    let bytes = characters.and_then(|all| {
        all.map(|c| u8::try_from(c).ok())
            .collect::<Option<Vec<u8>>>()
    });
    match bytes {
        Some(bytes) => sink.header(name, &bytes),
        None => {
            let name = String::from_utf8_lossy(name);
            Err(Error::script(format!(
                "the value of header {name} has a character above U+00FF"
            )))
        }
    }
}
