//! The conversion of a handler's result to an answer. The prelude says what it is ([`kinds`]); here it is written.

use crate::promises::background;
use crate::request::slots::RequestKey;
use crate::request::stream::ScriptStream;
use crate::sys::{Failure, Js, Kind};
use crate::vm::core::{Core, Cx, kinds};
use crate::vm::error;
use sampan_host::answer::{self, AnswerKind};
use sampan_host::{Error, HandlerId, ResponseSink};
use std::cell::Cell;
use std::rc::Rc;

/// The request that is answered.
pub(crate) struct Answerer {
    pub(crate) handler: HandlerId,
    /// The status of plain values.
    pub(crate) status: u16,
    /// The number of the request.
    pub(crate) request: RequestKey,
    /// True if the answer is a stream, which then ends the request.
    pub(crate) feeds_stream: Cell<bool>,
}

impl Answerer {
    pub(crate) fn new(handler: HandlerId, status: u16, request: RequestKey) -> Self {
        Self {
            handler,
            status,
            request,
            feeds_stream: Cell::new(false),
        }
    }

    /// The handler and its answer have ended.
    pub(crate) fn end(&self, core: &Rc<Core>) {
        background::ended(core, self.request);
    }

    /// Writes what the prelude gave. The number of what has to be waited for instead, if it is a promise.
    pub(crate) fn write_or_fail(
        &self,
        cx: Cx<'_>,
        returned: Result<Js<'_>, Failure>,
        sink: &mut dyn ResponseSink,
    ) -> Result<Option<u32>, Error> {
        let written = returned.and_then(|value| self.write(cx, value, sink));
        written.map_err(|failure| {
            let is_thrown = matches!(failure, Failure::Thrown);
            let error = error::described(cx, failure);
            if is_thrown {
                // The prelude keeps what was thrown, for the error handler.
                cx.core().failure.replace(Some(error.clone()));
            }
            error
        })
    }

    /// Takes what was promised, and writes it.
    pub(crate) fn take(
        &self,
        cx: Cx<'_>,
        key: u32,
        sink: &mut dyn ResponseSink,
    ) -> Result<Option<u32>, Error> {
        let take = || -> Result<Js<'_>, Failure> {
            let key = cx.number(f64::from(key))?;
            Ok(cx.call(cx.core().tables()?.take.get(cx.env()), &[key])?)
        };
        self.write_or_fail(cx, take(), sink)
    }

    /// Forgets the promise under this number: its client has left.
    pub(crate) fn forget(&self, core: &Rc<Core>, key: u32) {
        // SAFETY: only the environment of this scope makes handles here.
        let scope = unsafe { core.env.scope() };
        let cx = Cx::new(core, scope.env());
        let asked = cx.number(f64::from(key)).map_err(Failure::from);
        if asked.and_then(|key| cx.call_own("drop", &[key])).is_err() {
            cx.clear();
        }
    }

    fn write(
        &self,
        cx: Cx<'_>,
        value: Js<'_>,
        sink: &mut dyn ResponseSink,
    ) -> Result<Option<u32>, Failure> {
        let meta = cx.core().meta()?;
        let (kind, status, key) = (meta.kind(), meta.status(), meta.key());
        if kind == kinds::WAITS {
            return Ok(Some(key));
        }
        match kind {
            kinds::NOTHING => {
                sink.status(AnswerKind::Nothing.status(status))?;
                return Ok(None);
            }
            kinds::TEXT => sink.default_type(answer::TEXT),
            kinds::JSON => sink.default_type(answer::JSON),
            kinds::HTML => sink.default_type(answer::HTML),
            kinds::BYTES => sink.default_type(answer::BYTES),
            _ => {}
        }
        if status >= 600 && matches!(kind, kinds::ANSWER | kinds::STREAM) {
            // Scripts cannot make such a response.
            return Err(answer::foreign_status(f64::from(status)).into());
        }
        sink.status(status)?;
        if !matches!(kind, kinds::ANSWER | kinds::STREAM | kinds::FILE) {
            return self.body(cx, value, sink).map(|()| None);
        }
        // The body, then names and values.
        let count = cx.length(value)?;
        if count as usize > 2 * answer::FIELDS_MAX {
            return Err(answer::too_many_fields().into());
        }
        for index in (1..count).step_by(2) {
            let (name, field) = (cx.at(value, index)?, cx.at(value, index + 1)?);
            header(cx, sink, name, field)?;
        }
        let body = cx.at(value, 0)?;
        match kind {
            kinds::FILE => sink.file(&cx.text(body)?)?,
            kinds::STREAM => {
                self.feeds_stream.set(true);
                let stream = ScriptStream::new(cx.core().clone(), key, self.handler, self.request);
                sink.stream(Box::new(stream));
            }
            _ => self.body(cx, body, sink)?,
        }
        Ok(None)
    }

    fn body(&self, cx: Cx<'_>, body: Js<'_>, sink: &mut dyn ResponseSink) -> Result<(), Failure> {
        let is_written = match cx.kind(body) {
            Kind::Text => cx.append_text(body, sink.body()).map(|()| true)?,
            Kind::Object => cx.append_bytes(body, sink.body()),
            _ => true,
        };
        match is_written {
            true => Ok(()),
            false => Err(Error::script("a body is neither text nor bytes").into()),
        }
    }
}

/// Adds a field line. A character of a value is one byte.
fn header(
    cx: Cx<'_>,
    sink: &mut dyn ResponseSink,
    name: Js<'_>,
    value: Js<'_>,
) -> Result<(), Failure> {
    let (name, value) = (cx.text(name)?, cx.text(value)?);
    if value.is_ascii() {
        return Ok(sink.header(name.as_bytes(), value.as_bytes())?);
    }
    let bytes = value.chars().map(|c| u8::try_from(c).ok());
    match bytes.collect::<Option<Vec<u8>>>() {
        Some(bytes) => Ok(sink.header(name.as_bytes(), &bytes)?),
        None => {
            let text = format!("the value of header {name} has a character above U+00FF");
            Err(Error::script(text).into())
        }
    }
}
