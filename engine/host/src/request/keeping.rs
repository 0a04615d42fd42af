//! Answers that a capability keeps, to give them again to other requests.

use crate::error::Error;
use crate::request::RequestView;
use crate::request::hooks::HookStep;
use crate::whole_answer::WholeAnswer;
use std::rc::Rc;
use std::sync::Arc;

/// An answer as its keeper sees it, before its body is copied.
#[derive(Clone, Copy, Debug)]
pub struct KeptHead<'a> {
    /// The answer without its body.
    pub answer: &'a WholeAnswer,
    /// The length of the body; `None` for streams and files.
    pub body_bytes: Option<usize>,
    /// Reports whether the answer was made for its client alone, see
    /// [`RequestView::mark_personal`](crate::RequestView::mark_personal).
    pub is_personal: bool,
}

/// Keeps the answer of one request, see [`AnswerPlans::keep`]. It is dropped where there is none to keep.
pub trait AnswerKeeper {
    /// Reports whether it keeps this answer. The writes that the answer depends on may still fail.
    fn wants(&self, head: KeptHead<'_>) -> bool;

    /// Keeps the answer: all that it may depend on is committed.
    fn keep(self: Rc<Self>, answer: WholeAnswer);
}

/// Writes the answer of one request down before it leaves, see [`AnswerPlans::record`].
pub trait AnswerRecorder {
    /// Records the answer that the handler and its middleware have made; `None` for streams and files. What this writes
    /// belongs to the same group as the handler's own last writes.
    ///
    /// # Errors
    /// The handler counts as failed. After an error of kind [`TooLong`](crate::ErrorKind::TooLong) it is called again
    /// as soon as the database can be written without blocking the worker.
    fn record(
        self: Rc<Self>,
        request: &dyn RequestView,
        answer: Option<WholeAnswer>,
    ) -> Result<HookStep, Error>;
}

/// The treatment of the answer of one request, as a whole.
pub trait AnswerPlans {
    /// Hands the answer to `keeper` once it is complete and committed, with what is added to it from now on, and
    /// without what was added before. Of several keepers the first counts.
    fn keep(&self, keeper: Rc<dyn AnswerKeeper>);

    /// Hands the answer to `recorder` when the handler has ended well, after all hooks, with what is added to it from
    /// now on, and without what was added before. The recorder is dropped when the handler fails, and when no script
    /// runs for the request any more.
    fn record(&self, recorder: Rc<dyn AnswerRecorder>);

    /// Gives this answer in the place of what the handler and its middleware return, with what is added to it. Where
    /// they fail, the answer is that to the error.
    fn replay(&self, answer: Arc<WholeAnswer>);

    /// Notes that the answer is made for its client alone.
    fn mark_personal(&self);
}

/// A mark in the store of a request whose answer is recorded: its writes are not committed before the record of the
/// answer, unless its handler waits.
#[derive(Debug)]
pub struct RecordedWithWrites;
