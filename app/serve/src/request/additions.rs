//! The additions of capabilities to a request: a store of its own, and header fields of its answer. They may for as
//! long as it lasts.

use crate::answer::errors::refused;
use sampan_host::answer::{BYTES, TEXT};
use sampan_host::request::{
    AnswerKeeper, AnswerPlans, AnswerRecorder, HeldToEnd, RecordedWithWrites, WholeAnswer,
    is_answered,
};
use sampan_host::{Error, Store};
use sampan_http::{Body, Response};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

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
    /// True if the answer is made for its client alone.
    is_personal: bool,
    /// True if the answer is one that was recorded.
    is_replayed: bool,
    /// True if the body is a file, wherever its bytes come from.
    is_file: bool,
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

/// The numbers of field lines to come.
#[derive(Clone, Copy, Default)]
pub(crate) struct FieldCounts {
    added: usize,
    defaults: usize,
}

/// The keeper of the answer, and the field lines that were added before it: those of guards around it.
struct Keeping {
    keeper: Cell<Option<Rc<dyn AnswerKeeper>>>,
    around: FieldCounts,
}

/// The recorder of the answer, and the field lines that were added before it.
struct RecordedBy {
    recorder: RefCell<Option<Rc<dyn AnswerRecorder>>>,
    around: FieldCounts,
}

/// The answer in the place of what the script returns.
struct Replayed(Arc<WholeAnswer>);

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

    /// Returns the numbers of field lines that were added so far.
    fn counts(&self) -> FieldCounts {
        let pending = self.store.get::<PendingFields>();
        pending.map_or_else(FieldCounts::default, |pending| FieldCounts {
            added: pending.added.borrow().headers().count(),
            defaults: pending.defaults.borrow().headers().count(),
        })
    }

    /// Returns the recorder of the answer, with the counts of field lines that are not recorded.
    pub(crate) fn recorder(&self) -> Option<(Rc<dyn AnswerRecorder>, FieldCounts)> {
        let recording = self.store.get::<RecordedBy>()?;
        let recorder = recording.recorder.borrow().clone();
        Some((recorder?, recording.around))
    }

    fn drop_recorder(&self) {
        if let Some(recording) = self.store.get::<RecordedBy>() {
            drop(recording.recorder.take());
        }
    }

    /// Returns the answer that is given in the place of what the script returns.
    #[inline]
    pub(crate) fn replayed(&self) -> Option<Arc<WholeAnswer>> {
        if !self.progress.get().is_replayed {
            return None;
        }
        let replayed = self.store.get::<Replayed>()?;
        Some(Arc::clone(&replayed.0))
    }

    /// The handler or its middleware has failed: the answer is that to the error, and it is not recorded.
    pub(crate) fn fail_handler(&self) {
        self.change(|progress| progress.is_replayed = false);
        self.drop_recorder();
    }

    /// Takes the keeper of the answer, with the counts of field lines that are not kept.
    #[inline]
    pub(crate) fn take_keeper(&self) -> Option<(Rc<dyn AnswerKeeper>, FieldCounts)> {
        if self.store.is_empty() {
            return None;
        }
        let keeping = self.store.get::<Keeping>()?;
        Some((keeping.keeper.take()?, keeping.around))
    }

    /// Reports whether the answer is made for its client alone.
    pub(crate) fn is_personal(&self) -> bool {
        self.progress.get().is_personal
    }

    /// Takes note that the body is a file.
    pub(crate) fn note_file(&self) {
        self.change(|progress| progress.is_file = true);
    }

    /// Reports whether the body is a file.
    pub(crate) fn is_file(&self) -> bool {
        self.progress.get().is_file
    }

    /// Puts the field lines into the answer, which is complete then.
    #[inline]
    pub(crate) fn complete(&self, response: &mut Response) -> Result<(), Error> {
        self.change(|progress| progress.is_answered = true);
        if self.store.is_empty() {
            return Ok(());
        }
        drop(self.take_keeper());
        self.add_fields(response, FieldCounts::default())
    }

    /// Adds the field lines behind the first of them.
    #[cold]
    pub(crate) fn add_fields(
        &self,
        response: &mut Response,
        behind: FieldCounts,
    ) -> Result<(), Error> {
        let Some(pending) = self.store.get::<PendingFields>() else {
            return Ok(());
        };
        let fields = pending.added.borrow();
        let mut lines = fields.headers().skip(behind.added);
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
        let defaults = pending.defaults.borrow();
        let added = match behind.defaults {
            0 => response.add_missing(&defaults),
            count => {
                let mut lines = defaults.headers().skip(count);
                let mut inner = Response::new(200);
                let copied = lines.try_for_each(|(name, value)| inner.header(name, value));
                copied.and_then(|()| response.add_missing(&inner))
            }
        };
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

    /// The handler has ended, or was given up. Then there is no answer to keep any more: those who wait for it go on,
    /// however long scripts hold the request.
    #[inline]
    pub(crate) fn end_handler(&self) {
        self.change(|progress| progress.is_handled = true);
        if !self.store.is_empty() {
            drop(self.take_keeper());
            self.end_holding();
        }
    }

    /// Drops the recorder, and what is held until then, once no script runs for the request that could write.
    fn end_holding(&self) {
        if self.is_over() {
            self.drop_recorder();
            HeldToEnd::end(&self.store);
        }
    }

    /// A stream of the answer begins, or the cleanup of what was given up.
    pub(crate) fn begin_part(&self) {
        self.change(|progress| progress.parts = progress.parts.saturating_add(1));
    }

    /// Ends a part of the request.
    pub(crate) fn end_part(&self) {
        self.change(|progress| progress.parts = progress.parts.saturating_sub(1));
        self.end_holding();
    }

    /// Reports whether no script runs for the request any more.
    pub(crate) fn is_over(&self) -> bool {
        let progress = self.progress.get();
        progress.is_handled && progress.parts == 0
    }
}

impl AnswerPlans for Additions {
    fn keep(&self, keeper: Rc<dyn AnswerKeeper>) {
        if self.is_answered() || self.store.get::<Keeping>().is_some() {
            return;
        }
        let around = self.counts();
        let keeper = Cell::new(Some(keeper));
        self.store.put(Keeping { keeper, around });
    }

    fn record(&self, recorder: Rc<dyn AnswerRecorder>) {
        let around = self.counts();
        let recorder = RefCell::new(Some(recorder));
        self.store.put(RecordedBy { recorder, around });
        self.store.put(RecordedWithWrites);
    }

    fn replay(&self, answer: Arc<WholeAnswer>) {
        self.store.put(Replayed(answer));
        self.change(|progress| progress.is_replayed = true);
    }

    fn mark_personal(&self) {
        self.change(|progress| progress.is_personal = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::RequestView;
    use sampan_host::request::{HookStep, KeptHead};

    /// Keeps no answer.
    struct NoKeeper;

    impl AnswerKeeper for NoKeeper {
        fn wants(&self, _: KeptHead<'_>) -> bool {
            false
        }

        fn keep(self: Rc<Self>, _: WholeAnswer) {}
    }

    impl AnswerRecorder for NoKeeper {
        fn record(
            self: Rc<Self>,
            _: &dyn RequestView,
            _: Option<WholeAnswer>,
        ) -> Result<HookStep, Error> {
            Ok(HookStep::Done)
        }
    }

    #[test]
    fn a_request_that_is_given_up_lets_others_go_on() {
        let (additions, held) = (Additions::default(), Rc::new(NoKeeper));
        additions.keep(Rc::clone(&held) as Rc<dyn AnswerKeeper>);
        additions.record(Rc::clone(&held) as Rc<dyn AnswerRecorder>);
        assert_eq!(Rc::strong_count(&held), 3);
        additions.begin_part();
        additions.end_handler();
        // Its cleanup may still write.
        assert_eq!(Rc::strong_count(&held), 2);
        additions.end_part();
        assert_eq!(Rc::strong_count(&held), 1);
    }

    #[test]
    fn a_handler_that_failed_is_neither_recorded_nor_replayed() {
        let (additions, held) = (Additions::default(), Rc::new(NoKeeper));
        additions.record(Rc::clone(&held) as Rc<dyn AnswerRecorder>);
        additions.replay(Arc::new(WholeAnswer {
            status: 200,
            fields: Vec::new(),
            content_type: None,
            body: Vec::new(),
        }));
        assert!(additions.replayed().is_some());
        additions.fail_handler();
        assert!(additions.replayed().is_none() && additions.recorder().is_none());
        assert_eq!(Rc::strong_count(&held), 1);
    }

    #[test]
    fn an_answer_is_kept_without_the_fields_of_guards_around() {
        let additions = Additions::default();
        let add = |name: &str| additions.add_header(name, b"1").expect("a field");
        let default = |name: &str| additions.default_header(name, b"1").expect("a field");
        add("X-Around");
        default("X-Default-Around");
        additions.keep(Rc::new(NoKeeper));
        add("X-Inner");
        default("X-Default-Inner");
        let (_, around) = additions.take_keeper().expect("a keeper");
        assert!(additions.take_keeper().is_none());
        let names = |behind| {
            let mut response = Response::new(200);
            additions
                .add_fields(&mut response, behind)
                .expect("room for them");
            let names = response.headers();
            let names = names.map(|(name, _)| String::from_utf8_lossy(name).into_owned());
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(around), ["X-Inner", "X-Default-Inner"]);
        assert_eq!(names(FieldCounts::default()).len(), 4);
    }
}
