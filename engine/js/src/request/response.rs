//! The conversion of a handler's result to an answer.
//!
//! The rules stand in `sampan_host::answer`. What only JavaScript has: a `Response` is itself, buffers of bytes, a
//! `Blob` and a
//! `ReadableStream` are sent as bytes.

use crate::promises::tasks::Tasks;
use crate::request::lent::LentText;
use crate::request::stream::JsStream;
use crate::values::inspect;
use crate::values::json_write;
use crate::values::value::{append_bytes_of, bytes_of, has_own_class, is_bytes};
use crate::vm::error;
use crate::vm::isolate::Core;
use crate::vm::sys;
use crate::vm::sys::whole_number;
use crate::vm::sys::{Cx, Failure, RawValue, UNDEFINED, Val, class_id, is_object, is_string, tag};
use rquickjs::qjs;
use sampan_host::answer::{self, AnswerKind};
use sampan_host::javascript::WORDS;
use sampan_host::{Error, HandlerId, ResponseSink};
use std::cell::OnceCell;
use std::rc::Rc;

/// The request that is answered, for the stream that it may be.
pub(crate) struct Answerer<'a> {
    pub(crate) core: &'a Rc<Core>,
    pub(crate) handler: HandlerId,
    /// The status of plain values.
    pub(crate) status: u16,
    /// The request object, once there is one.
    pub(crate) request: OnceCell<Val>,
}

impl Answerer<'_> {
    /// Writes the answer that `value` means. A failure is described as an error; what is in the sink counts for nothing
    /// then.
    #[inline]
    pub(crate) fn write(
        &self,
        cx: Cx<'_>,
        value: RawValue<'_>,
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
        value: RawValue<'_>,
        sink: &mut dyn ResponseSink,
    ) -> Result<(), Failure> {
        match tag(value) {
            nothing @ (qjs::JS_TAG_UNDEFINED | qjs::JS_TAG_NULL) => {
                sink.status(AnswerKind::Nothing.status(self.status))?;
                if nothing == qjs::JS_TAG_NULL {
                    sink.chosen();
                }
                return Ok(());
            }
            qjs::JS_TAG_OBJECT if self.other_object(cx, value, sink)? => return Ok(()),
            _ if is_string(value) => {
                sink.default_type(answer::TEXT);
                self.text(cx, value, sink)?;
            }
            _ => {
                sink.default_type(answer::JSON);
                if !json_write::write(cx, sink.body(), value)? {
                    return Err(answer::no_answer(&WORDS, json_write::found(cx, value)).into());
                }
            }
        }
        if self.status != 200 {
            sink.status(self.status)?;
        }
        Ok(())
    }

    /// Writes an object that is no JSON but an answer of its own: a `Response`, bytes, a `Blob` or a stream. False,
    /// with nothing written, for any other.
    #[inline]
    fn other_object(
        &self,
        cx: Cx<'_>,
        value: RawValue<'_>,
        sink: &mut dyn ResponseSink,
    ) -> Result<bool, Failure> {
        if !may_be_bytes(cx, value) {
            return Ok(false);
        }
        if class_id(value) == cx.core().classes.object && self.is_response(cx, value) {
            self.response(cx, value, sink)?;
            return Ok(true);
        }
        self.bytes(cx, value, sink)
    }

    /// Writes bytes, a `Blob` or a stream.
    #[cold]
    fn bytes(
        &self,
        cx: Cx<'_>,
        value: RawValue<'_>,
        sink: &mut dyn ResponseSink,
    ) -> Result<bool, Failure> {
        let Some((body, content_type)) = body_of(cx, value)? else {
            return Ok(false);
        };
        match content_type {
            Some(content_type) => cx.with_bytes(content_type.raw(), |content_type| {
                sink.header(b"content-type", content_type)
            })??,
            None => sink.default_type(answer::BYTES),
        }
        if self.status != 200 {
            sink.status(self.status)?;
        }
        self.body(cx, body.raw(), sink)?;
        Ok(true)
    }

    /// Writes what a handler threw if that is a `Response`, which then is the answer; `None` for anything else.
    #[cold]
    pub(crate) fn write_thrown(
        &self,
        cx: Cx<'_>,
        thrown: RawValue<'_>,
        sink: &mut dyn ResponseSink,
    ) -> Option<Result<(), Error>> {
        let is_answer = is_object(thrown)
            && class_id(thrown) == cx.core().classes.object
            && self.is_response(cx, thrown);
        is_answer.then(|| {
            self.core.drain(cx);
            self.write(cx, thrown, sink)
        })
    }

    /// Reports whether an object that is plain by its native class is a `Response` of the Web surface.
    #[inline]
    fn is_response(&self, cx: Cx<'_>, value: RawValue<'_>) -> bool {
        // SAFETY: looks for an own property without reading it; the object is no proxy, so no script runs.
        unsafe {
            qjs::JS_GetOwnProperty(
                cx.raw(),
                std::ptr::null_mut(),
                value.js(),
                cx.core().atoms.web_status,
            ) > 0
        }
    }

    fn response(
        &self,
        cx: Cx<'_>,
        response: RawValue<'_>,
        sink: &mut dyn ResponseSink,
    ) -> Result<(), Failure> {
        let atoms = &cx.core().atoms;
        let status = cx.get_atom(response, atoms.web_status)?;
        let status = match whole_number(status.raw()) {
            Some(status @ 200..=599) => status,
            // Scripts cannot make such a response.
            Some(status @ 600..) => return Err(answer::foreign_status(status as f64).into()),
            _ => return Err(Error::script("Response.error() is no answer").into()),
        };
        sink.status(status as u16)?;
        if status == 204 {
            // Null for the response that stands for nothing.
            let status_text = cx.get_atom(response, atoms.web_status_text)?;
            if tag(status_text.raw()) != qjs::JS_TAG_NULL {
                sink.chosen();
            }
        }
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

    fn body(
        &self,
        cx: Cx<'_>,
        body: RawValue<'_>,
        sink: &mut dyn ResponseSink,
    ) -> Result<(), Failure> {
        if self.at_once(cx, body, sink)? {
            return Ok(());
        }
        let source = cx.get_atom(body, cx.core().atoms.web_source)?;
        if !sys::is_undefined(source.raw()) {
            // Scripts can reach the source: it is followed once, and is not asked for its own.
            if self.at_once(cx, source.raw(), sink)? {
                return Ok(());
            }
            return Err(Error::script("the source of a body is neither text nor bytes").into());
        }
        let file = cx.get_atom(body, cx.core().atoms.web_file)?;
        if is_string(file.raw()) {
            return Ok(
                cx.with_bytes(file.raw(), |path| sink.file(&String::from_utf8_lossy(path)))??
            );
        }
        let tasks: Rc<Tasks> = cx.core().tasks();
        let signal = match self.request.get() {
            Some(request) => signal_of(cx, request)?,
            None => None,
        };
        // Before the head is sent: a stream that the script has locked or partly read is an error.
        let open = &cx.core().tables()?.open_stream;
        let body = (cx.dup(body), cx.call(open.raw(), UNDEFINED, &[body])?);
        let stream = JsStream::new(self.core.clone(), tasks, self.handler, body, signal);
        sink.stream(Box::new(stream));
        Ok(())
    }
}

impl Answerer<'_> {
    /// Writes a body that is there as a whole: text, bytes or none. False for any other object.
    fn at_once(
        &self,
        cx: Cx<'_>,
        body: RawValue<'_>,
        sink: &mut dyn ResponseSink,
    ) -> Result<bool, Failure> {
        if is_string(body) {
            self.text(cx, body, sink)?;
            return Ok(true);
        }
        if !is_object(body) {
            // Not even an empty body, which would have a length.
            return Ok(true);
        }
        Ok(is_bytes(body) && append_bytes_of(cx, body, sink.body()))
    }

    /// Writes a string as UTF-8; surrogates without a partner are replaced.
    #[inline]
    fn text(
        &self,
        cx: Cx<'_>,
        text: RawValue<'_>,
        sink: &mut dyn ResponseSink,
    ) -> Result<(), sys::Thrown> {
        if let Some(lent) = LentText::of(cx, self.core, text) {
            sink.lend(Box::new(lent));
            return Ok(());
        }
        let plain = self.core.text_layout.get();
        let held = cx.dup(text);
        if let Some(bytes) = plain.and_then(|layout| layout.ascii(&held)) {
            sink.body().extend_from_slice(bytes);
            return Ok(());
        }
        cx.with_bytes(text, |bytes| match std::str::from_utf8(bytes) {
            Ok(_) => sink.body().extend_from_slice(bytes),
            Err(_) => sink
                .body()
                .extend_from_slice(sys::well_formed(bytes).as_bytes()),
        })
    }
}

/// The `AbortSignal` of a request, if the script has asked for it: it is aborted when the request is given up.
pub(crate) fn signal_of(cx: Cx<'_>, request: &Val) -> Result<Option<Val>, Failure> {
    let atom = cx.core().atoms.web_signal;
    // SAFETY: looks for an own property of a live object without reading it.
    let found =
        unsafe { qjs::JS_GetOwnProperty(cx.raw(), std::ptr::null_mut(), request.js(), atom) };
    if found <= 0 {
        return Ok(None);
    }
    Ok(Some(cx.get_atom(request.raw(), atom)?))
}

/// Reports whether a value may be anything but JSON: arrays and objects made by a literal are not.
#[inline]
pub(crate) fn may_be_bytes(cx: Cx<'_>, value: RawValue<'_>) -> bool {
    let classes = &cx.core().classes;
    is_object(value)
        && class_id(value) != classes.array
        && (class_id(value) != classes.object || has_own_class(cx, value))
}

/// Returns an object's body, with its content type if it has one: bytes, a `Blob` or a stream.
#[cold]
pub(crate) fn body_of(
    cx: Cx<'_>,
    value: RawValue<'_>,
) -> Result<Option<(Val, Option<Val>)>, Failure> {
    if let Some(bytes) = bytes_of(cx, value) {
        return Ok(Some((cx.bytes(&bytes)?, None)));
    }
    if inspect::web_kind(cx, value)?.is_none() {
        return Ok(None);
    }
    let found = cx.call(cx.core().tables()?.as_body.raw(), UNDEFINED, &[value])?;
    if !is_object(found.raw()) {
        return Ok(None);
    }
    let (body, content_type) = (cx.at(found.raw(), 0)?, cx.at(found.raw(), 1)?);
    let content_type = is_string(content_type.raw()).then_some(content_type);
    Ok(Some((body, content_type)))
}

/// Writes the flat list `[name, value, ...]` of a `Headers`. The sink checks each; scripts can reach the list.
fn write_headers(
    cx: Cx<'_>,
    list: RawValue<'_>,
    sink: &mut dyn ResponseSink,
) -> Result<(), Failure> {
    let length = u32::try_from(cx.length(list)?).unwrap_or(u32::MAX);
    if length as usize > 2 * answer::FIELDS_MAX {
        return Err(answer::too_many_fields().into());
    }
    for index in (0..length).step_by(2) {
        if cx.core().must_stop() {
            return Err(cx.core().stopped_error().into());
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
