//! `mode = "file"`: a request looks whether the files that the project was loaded from have changed, and is answered by
//! the new code then.

use super::script_files::ScriptFiles;
use sampan_http::codec::{Exceeded, Fault};
use sampan_http::{Answer, BodyRule, Handler, Observer, Peer, Request, Response};
use sampan_serve::Dispatch;
use std::rc::Rc;
use std::sync::Arc;

/// The handler of a worker with `mode = "file"`.
pub(crate) struct FileModeHandler {
    dispatch: Rc<Dispatch>,
    files: Arc<ScriptFiles>,
}

impl FileModeHandler {
    pub(crate) fn new(dispatch: Rc<Dispatch>, files: &Arc<ScriptFiles>) -> Self {
        Self {
            dispatch,
            files: Arc::clone(files),
        }
    }
}

impl Handler for FileModeHandler {
    fn handle(&self, request: &Rc<Request>, observer: Option<Rc<dyn Observer>>) -> Answer {
        if !self.files.must_wait() {
            return self.dispatch.handle(request, observer);
        }
        let (dispatch, files) = (Rc::clone(&self.dispatch), Arc::clone(&self.files));
        let request = Rc::clone(request);
        Answer::Later(Box::pin(async move {
            files.reloaded().await;
            // The route is one of the old code.
            drop(request.take_kept());
            dispatch.handle(&request, observer)
        }))
    }

    fn ticked(&self, now_millis: u64) {
        self.dispatch.ticked(now_millis);
    }

    fn body_rule(&self, request: &Request) -> BodyRule {
        self.dispatch.body_rule(request)
    }

    fn refuse_body(
        &self,
        request: &Rc<Request>,
        fault: Fault,
        observer: Option<Rc<dyn Observer>>,
    ) -> Answer {
        self.dispatch.refuse_body(request, fault, observer)
    }

    fn error(&self, status: u16, limit: Option<Exceeded>) -> Response {
        self.dispatch.error(status, limit)
    }

    fn observe(&self, peer: Peer, request: Option<&Request>) -> Option<Rc<dyn Observer>> {
        self.dispatch.observe(peer, request)
    }

    fn closed_unread(&self, closed: &sampan_http::ClosedUnread) {
        self.dispatch.closed_unread(closed);
    }

    fn memory_freed(&self) {
        self.dispatch.memory_freed();
    }

    fn panicked(&self, message: &str) {
        self.dispatch.panicked(message);
    }
}
