//! The function of a script that feeds a stream, as a body that gives no chunks of its own.

use crate::request::request_view::View;
use sampan_host::events::{BegunEvents, EventStream};
use sampan_host::limits::CANCELLED;
use sampan_host::{Chunk, Error, RequestView, StreamedBody};
use std::rc::Rc;
use std::task::{Context, Poll};

/// The function of a stream.
pub(super) struct EventFunction {
    pub(super) body: Box<dyn StreamedBody>,
    /// The request that it answers.
    pub(super) view: Rc<View>,
}

/// Returns the stream that the function of a request has begun. One that writes pieces itself has none.
pub(super) fn stream_of(view: &View) -> Option<Rc<EventStream>> {
    let begun = view.store().get::<BegunEvents>();
    begun.map(|begun| Rc::clone(&begun.0))
}

impl StreamedBody for EventFunction {
    /// A function that waits for the end goes on as it was told; the waits of others fail.
    fn cancel(&mut self) {
        if !stream_of(&self.view).is_some_and(|stream| stream.is_end_awaited()) {
            self.body.cancel();
        }
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, Error>>> {
        let polled = self.body.poll_chunk(cx);
        if let Poll::Ready(Some(Err(error))) = &polled
            && error.code() == Some(CANCELLED)
            && stream_of(&self.view).is_some_and(|stream| !stream.is_open())
        {
            // It learned of the end by sending.
            return Poll::Ready(None);
        }
        polled
    }
}
