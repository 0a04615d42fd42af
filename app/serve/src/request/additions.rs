//! The additions of capabilities to a request: a store of its own, and header fields of its answer. They may for as
//! long as it lasts.

use crate::answer::errors::refused;
use sampan_host::answer::{BYTES, TEXT};
use sampan_host::request::is_answered;
use sampan_host::{Error, Store};
use sampan_http::{Body, Response};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The additions to one request.
#[derive(Default)]
pub(crate) struct Additions {
    store: Store,
    progress: Cell<Progress>,
}

/// The progress of a request.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// The head of its answer is complete.
    is_answered: bool,
    /// True once the handler has ended, or was given up.
    is_handled: bool,
    /// The number of parts that go on beside or after its handler: a stream that sends the answer, the cleanup of what
    /// was given up.
    parts: u8,
}

/// Reports whether a content type that a capability added applies to this answer: it takes the place of the one that
/// text, bytes and streams have
/// unless the script adds more. JSON stays JSON, errors with it.
fn takes_type(response: &Response) -> bool {
    let default = response.default_content_type().map(str::as_bytes);
    match response.get_header("content-type").or(default) {
        Some(given) => [TEXT, BYTES].iter().any(|plain| plain.as_bytes() == given),
        None => !matches!(response.body(), Body::Empty),
    }
}

/// The field lines to come, as those of responses that are never sent.
struct PendingFields {
    added: RefCell<Response>,
    /// Those that the answer has only if it has none of their names.
    defaults: RefCell<Response>,
}

impl Default for PendingFields {
    fn default() -> Self {
        let none = || RefCell::new(Response::new(200));
        Self {
            added: none(),
            defaults: none(),
        }
    }
}

impl Additions {
    /// Returns the store of the capabilities for the request.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Adds a field line to the answer.
    pub(crate) fn add_header(&self, name: &str, value: &[u8]) -> Result<(), Error> {
        let pending = self.pending()?;
        let added = pending.added.borrow_mut().header(name.as_bytes(), value);
        added.map_err(|fault| refused(fault, name.as_bytes()))
    }

    /// Adds a header field unless the answer has a field of this name by then.
    pub(crate) fn default_header(&self, name: &str, value: &[u8]) -> Result<(), Error> {
        let pending = self.pending()?;
        let mut defaults = pending.defaults.borrow_mut();
        let added = match defaults.has_header(name) {
            true => defaults.set_header(name.as_bytes(), value),
            false => defaults.header(name.as_bytes(), value),
        };
        added.map_err(|fault| refused(fault, name.as_bytes()))
    }

    fn pending(&self) -> Result<Rc<PendingFields>, Error> {
        if self.progress.get().is_answered {
            return Err(is_answered());
        }
        let pending = self.store.get::<PendingFields>();
        Ok(pending.unwrap_or_else(|| self.store.put(PendingFields::default())))
    }

    /// Reports whether there is any field line to come.
    pub(crate) fn has_fields(&self) -> bool {
        self.store.get::<PendingFields>().is_some()
    }

    /// Puts the field lines into the answer, which is complete then.
    #[inline]
    pub(crate) fn complete(&self, response: &mut Response) -> Result<(), Error> {
        self.change(|progress| progress.is_answered = true);
        if self.store.is_empty() {
            return Ok(());
        }
        self.add_fields(response)
    }

    #[cold]
    fn add_fields(&self, response: &mut Response) -> Result<(), Error> {
        let Some(pending) = self.store.get::<PendingFields>() else {
            return Ok(());
        };
        let fields = pending.added.borrow();
        let mut lines = fields.headers();
        lines.try_for_each(|(name, value)| {
            let added = if !name.eq_ignore_ascii_case(b"content-type") {
                response.header(name, value)
            } else if takes_type(response) {
                response.set_header(name, value)
            } else {
                Ok(())
            };
            added.map_err(|fault| refused(fault, name))
        })?;
        let added = response.add_missing(&pending.defaults.borrow());
        added.map_err(|fault| refused(fault, b""))
    }

    /// Reports whether the head of the answer is complete.
    pub(crate) fn is_answered(&self) -> bool {
        self.progress.get().is_answered
    }

    #[inline]
    fn change(&self, change: impl FnOnce(&mut Progress)) {
        let mut progress = self.progress.get();
        change(&mut progress);
        self.progress.set(progress);
    }

    /// The handler has ended, or was given up.
    #[inline]
    pub(crate) fn end_handler(&self) {
        self.change(|progress| progress.is_handled = true);
    }

    /// A stream of the answer begins, or the cleanup of what was given up.
    pub(crate) fn begin_part(&self) {
        self.change(|progress| progress.parts = progress.parts.saturating_add(1));
    }

    /// Ends a part of the request.
    pub(crate) fn end_part(&self) {
        self.change(|progress| progress.parts = progress.parts.saturating_sub(1));
    }

    /// Reports whether no script runs for the request any more.
    pub(crate) fn is_over(&self) -> bool {
        let progress = self.progress.get();
        progress.is_handled && progress.parts == 0
    }
}
