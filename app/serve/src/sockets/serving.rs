//! The state that the sockets of a worker share, over all projects that it serves one after the other.

use crate::dispatch::loaded::Loaded;
use sampan_http::websocket::Deflaters;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

/// The bytes that are read at once, and written at once.
pub(super) const TURN_BYTES: usize = 64 * 1024;

/// The project that a worker serves now, and buffers that no idle socket owns. It is in the context of the worker's
/// isolates as `Rc<Serving>`.
#[derive(Default)]
pub struct Serving {
    current: RefCell<Weak<Loaded>>,
    reading: Cell<Vec<u8>>,
    writing: Cell<Vec<u8>>,
    deflaters: Deflaters,
}

impl Serving {
    /// Takes note of the project that its worker serves from now on.
    pub(crate) fn begin(loaded: &Rc<Loaded>) {
        if let Some(serving) = loaded.context.get::<Rc<Self>>() {
            serving.current.replace(Rc::downgrade(loaded));
        }
    }

    /// Returns the project that serves now.
    pub(super) fn current(&self) -> Option<Rc<Loaded>> {
        self.current.borrow().upgrade()
    }

    /// Calls `read` with room for [`TURN_BYTES`].
    pub(super) fn with_room<R>(&self, read: impl FnOnce(&mut [u8]) -> R) -> R {
        let mut buffer = self.reading.take();
        buffer.resize(TURN_BYTES, 0);
        let result = read(&mut buffer);
        self.reading.set(buffer);
        result
    }

    /// Calls `write` with an empty buffer.
    pub(super) fn with_buffer<R>(&self, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let mut buffer = self.writing.take();
        buffer.clear();
        let result = write(&mut buffer);
        self.writing.set(buffer);
        result
    }

    /// Compresses a message for a window of so many bits. Nothing if that does not make it shorter.
    pub(super) fn deflate(&self, window_bits: u8, message: &[u8]) -> Option<Vec<u8>> {
        self.deflaters.deflate(window_bits, message)
    }
}
