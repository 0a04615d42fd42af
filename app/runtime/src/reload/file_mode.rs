//! `mode = "file"`: a request looks whether the files that the project was loaded from have changed, and is answered by
//! the new code then.

use super::script_files::ScriptFiles;
use sampan_http::codec::Fault;
use sampan_http::{Answer, Handler, Observer, Request};
use sampan_serve::Dispatch;
use std::rc::Rc;
use std::sync::Arc;

/// The handler of a worker with `mode = "file"`.
pub(crate) struct FileModeHandler {
    dispatch: Rc<Dispatch>,
    files: Arc<ScriptFiles>,
    /// The most bytes of a body where its route says nothing else.
    body_bytes_max: usize,
}

impl FileModeHandler {
    pub(crate) fn new(
        dispatch: Rc<Dispatch>,
        files: &Arc<ScriptFiles>,
        body_bytes_max: usize,
    ) -> Self {
        Self {
            dispatch,
            files: Arc::clone(files),
            body_bytes_max,
        }
    }
}

impl Handler for FileModeHandler {
    fn inner(&self) -> Option<&dyn Handler> {
        Some(&*self.dispatch)
    }

    fn handle(&self, request: &Rc<Request>, observer: Option<Rc<dyn Observer>>) -> Answer {
        if !self.files.must_wait() {
            return self.dispatch.handle(request, observer);
        }
        let (dispatch, files) = (Rc::clone(&self.dispatch), Arc::clone(&self.files));
        let request = Rc::clone(request);
        let body_bytes_max = self.body_bytes_max;
        Answer::Later(Box::pin(async move {
            files.reloaded().await;
            // The route is one of the old code, and so is the rule by which the body was received.
            drop(request.take_kept());
            let rule = dispatch.body_rule(&request);
            let bytes_max = rule.bytes_max.unwrap_or(body_bytes_max);
            match request.by_rule(rule.is_streamed, bytes_max).await {
                Ok(copied) => copied.answered(|request| dispatch.handle(request, observer)),
                Err((copied, fault)) => {
                    copied.answered(|request| dispatch.refuse_body(request, fault, observer))
                }
            }
        }))
    }

    fn refuse_body(
        &self,
        request: &Rc<Request>,
        fault: Fault,
        observer: Option<Rc<dyn Observer>>,
    ) -> Answer {
        if !self.files.must_wait() {
            return self.dispatch.refuse_body(request, fault, observer);
        }
        let (dispatch, files) = (Rc::clone(&self.dispatch), Arc::clone(&self.files));
        let request = Rc::clone(request);
        Answer::Later(Box::pin(async move {
            // The body is not there, so it stays refused; the next request finds the new rule.
            files.reloaded().await;
            dispatch.refuse_body(&request, fault, observer)
        }))
    }
}
