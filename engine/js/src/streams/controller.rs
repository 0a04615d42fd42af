//! The state of a `ReadableStreamDefaultController`: its queue, and whether its source is to be asked (WHATWG Streams
//! 4.6).
//!
//! Scripts see the controller itself. Beside it stands a state of `readable.js`, whose methods are called for all that
//! is rare: a queue of more than one chunk, a reader that waits, a promise of the source.

use crate::vm::sys::{
    Cx, Failure, RawValue, Slot, Thrown, Val, float_of, int_of, is_undefined, number as to_number,
    tag,
};
use rquickjs::qjs;
use std::cell::Cell;
use std::ffi::CStr;

/// The controller of one stream.
pub(super) struct Controller {
    /// The state of `readable.js`.
    state: Slot,
    pull: Slot,
    /// The receiver of `pull`.
    source: Slot,
    /// The first chunk of the queue; the others are in the state.
    first: Slot,
    first_size: Cell<f64>,
    pub(super) length: Cell<u32>,
    /// The sizes of all chunks in the queue.
    total: Cell<f64>,
    high_water_mark: f64,
    /// True if chunks have sizes of the script's own.
    has_size: bool,
    /// True if it takes bytes only.
    is_bytes: bool,
    pub(super) is_started: Cell<bool>,
    /// True if the stream is neither closed nor errored.
    pub(super) is_readable: Cell<bool>,
    pub(super) is_closing: Cell<bool>,
    /// True if a reader waits for a chunk.
    pub(super) is_awaited: Cell<bool>,
    pub(super) is_pulling: Cell<bool>,
    pulls_again: Cell<bool>,
}

/// The parts of a new controller.
pub(super) struct ControllerParts<'a> {
    pub(super) state: RawValue<'a>,
    pub(super) pull: RawValue<'a>,
    pub(super) source: RawValue<'a>,
    pub(super) high_water_mark: f64,
    pub(super) has_size: bool,
    pub(super) is_bytes: bool,
}

impl Controller {
    pub(super) fn new(cx: Cx<'_>, parts: &ControllerParts<'_>) -> Self {
        let keep = |value| Slot::of(cx.dup(value));
        Self {
            state: keep(parts.state),
            pull: keep(parts.pull),
            source: keep(parts.source),
            first: Slot::empty(),
            first_size: Cell::new(0.0),
            length: Cell::new(0),
            total: Cell::new(0.0),
            high_water_mark: parts.high_water_mark,
            has_size: parts.has_size,
            is_bytes: parts.is_bytes,
            is_started: Cell::new(false),
            is_readable: Cell::new(true),
            is_closing: Cell::new(false),
            is_awaited: Cell::new(false),
            is_pulling: Cell::new(false),
            pulls_again: Cell::new(false),
        }
    }

    /// Every value that it keeps.
    pub(super) fn values(&self) -> [&Slot; 4] {
        [&self.state, &self.pull, &self.source, &self.first]
    }

    pub(super) fn state(&self, cx: Cx<'_>) -> Val {
        self.state.get(cx)
    }

    /// Calls a method of the state.
    #[cold]
    pub(super) fn call(
        &self,
        cx: Cx<'_>,
        name: &CStr,
        args: &[RawValue<'_>],
    ) -> Result<Val, Failure> {
        let state = self.state(cx);
        let method = cx.get(state.raw(), name)?;
        Ok(cx.call(method.raw(), state.raw(), args)?)
    }

    /// Returns the desired size of the queue.
    pub(super) fn room(&self) -> f64 {
        self.high_water_mark - self.total.get()
    }

    /// Reports whether chunks are taken.
    pub(super) fn is_open(&self) -> bool {
        self.is_readable.get() && !self.is_closing.get()
    }

    /// Puts a chunk behind the others, or gives it to the reader that waits.
    pub(super) fn enqueue(
        &self,
        cx: Cx<'_>,
        object: RawValue<'_>,
        chunk: RawValue<'_>,
    ) -> Result<(), Failure> {
        if !self.is_open() {
            self.call(cx, c"refuse", &[])?;
        }
        if self.is_awaited.get() {
            self.call(cx, c"give", &[chunk])?;
        } else {
            let size = if self.has_size {
                number(self.call(cx, c"sizeOf", &[chunk])?.raw())
            } else {
                1.0
            };
            if self.length.get() == 0 {
                self.set_first(cx, chunk, size);
            } else {
                self.call(cx, c"push", &[chunk, to_number(size)])?;
            }
            self.length.set(self.length.get() + 1);
            self.total.set(self.total.get() + size);
        }
        self.pull_if_needed(cx, object)
    }

    /// The check of a script's chunk.
    pub(super) fn check(&self, cx: Cx<'_>, chunk: RawValue<'_>) -> Result<(), Failure> {
        if self.is_bytes {
            self.call(cx, c"check", &[chunk])?;
        }
        Ok(())
    }

    pub(super) fn set_first(&self, cx: Cx<'_>, chunk: RawValue<'_>, size: f64) {
        drop(self.first.replace(cx, cx.dup(chunk)));
        self.first_size.set(size);
    }

    /// Takes the first chunk out of a queue that is not empty.
    pub(super) fn dequeue(&self, cx: Cx<'_>) -> Result<Val, Failure> {
        let chunk = self.first.replace(cx, cx.undefined());
        let length = self.length.get().saturating_sub(1);
        self.length.set(length);
        if length == 0 {
            self.total.set(0.0);
        } else {
            self.total.set(self.total.get() - self.first_size.get());
            self.call(cx, c"refill", &[])?;
        }
        Ok(chunk)
    }

    /// Forgets the queue and the source: the stream has ended.
    pub(super) fn clear(&self, cx: Cx<'_>) {
        self.is_readable.set(false);
        self.length.set(0);
        self.total.set(0.0);
        drop(self.first.replace(cx, cx.undefined()));
        drop(self.pull.replace(cx, cx.undefined()));
    }

    /// Reports whether the source is to be asked now. A source that is being asked is asked again afterwards.
    fn wants_pull(&self) -> bool {
        let wants =
            self.is_open() && self.is_started.get() && (self.room() > 0.0 || self.is_awaited.get());
        if wants && self.is_pulling.get() {
            self.pulls_again.set(true);
            return false;
        }
        wants
    }

    /// Asks the source if it is to be asked. True if that gave nothing to wait for: then [`Controller::pulled`] must be
    /// the next job.
    fn pull(&self, cx: Cx<'_>, object: RawValue<'_>) -> Result<bool, Failure> {
        if !self.wants_pull() {
            return Ok(false);
        }
        self.is_pulling.set(true);
        let (pull, source) = (self.pull.get(cx), self.source.get(cx));
        match cx.call(pull.raw(), source.raw(), &[object]) {
            Ok(given) if is_undefined(given.raw()) => return Ok(true),
            Ok(given) => self.call(cx, c"watch", &[given.raw()])?,
            Err(Thrown) => {
                let exception = catch(cx)?;
                self.call(cx, c"failing", &[exception.raw()])?
            }
        };
        Ok(false)
    }

    /// Asks the source if it is to be asked.
    pub(super) fn pull_if_needed(&self, cx: Cx<'_>, object: RawValue<'_>) -> Result<(), Failure> {
        if self.pull(cx, object)? {
            self.call(cx, c"pulledSoon", &[])?;
        }
        Ok(())
    }

    /// The source has done what it was asked for.
    pub(super) fn pulled(&self, cx: Cx<'_>, object: RawValue<'_>) -> Result<(), Failure> {
        self.is_pulling.set(false);
        if self.pulls_again.replace(false) {
            self.pull_if_needed(cx, object)?;
        }
        Ok(())
    }

    /// The next chunk for the engine, which has locked the stream: what a read gives, without its promise where it is
    /// there at once.
    pub(super) fn next(&self, cx: Cx<'_>, object: RawValue<'_>) -> Result<Val, Failure> {
        if self.length.get() == 0 {
            return self.call(cx, c"onDemand", &[]);
        }
        let chunk = self.dequeue(cx)?;
        if self.is_closing.get() {
            if self.length.get() == 0 {
                self.call(cx, c"end", &[])?;
            }
        } else if self.pull(cx, object)? {
            // Jobs run when this returns. If there is no other, this one may run now.
            if cx.has_jobs() {
                self.call(cx, c"pulledSoon", &[])?;
            } else {
                self.pulled(cx, object)?;
            }
        }
        if crate::values::value::is_uint8_array(chunk.raw()) {
            return Ok(chunk);
        }
        self.call(cx, c"notBytes", &[])
    }
}

/// A number of `readable.js`.
pub(super) fn number(value: RawValue<'_>) -> f64 {
    match tag(value) {
        qjs::JS_TAG_INT => f64::from(int_of(value)),
        qjs::JS_TAG_FLOAT64 => float_of(value),
        _ => 0.0,
    }
}

/// The exception that is pending, unless the script is to be stopped by it.
fn catch(cx: Cx<'_>) -> Result<Val, Failure> {
    let exception = cx.exception();
    // SAFETY: the exception is alive; the second function takes its reference.
    unsafe {
        if qjs::JS_IsUncatchableError(exception.js()) {
            qjs::JS_Throw(cx.raw(), exception.into_raw());
            return Err(Failure::Thrown);
        }
    }
    Ok(exception)
}
