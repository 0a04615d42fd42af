//! `mode = "file"`: a request looks whether the files that the project was loaded from have changed, and is answered by
//! the new code then.

use super::script_files::ScriptFiles;
use sampan_http::{Answer, Handler, Observer, Request};
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
    fn inner(&self) -> Option<&dyn Handler> {
        Some(&*self.dispatch)
    }

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
}
