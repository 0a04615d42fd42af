//! `mode = "file"`: a request looks whether the files that the project was loaded from have changed, and is answered by
//! the new code then.

use super::{FollowedFiles, Reloader, SeenFiles};
use sampan_http::codec::{Exceeded, Fault};
use sampan_http::{Answer, BodyRule, Handler, Observer, Peer, Request, Response};
use sampan_serve::Dispatch;
use std::fmt;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// The longest time that a request waits for new code at most; then it is answered by the old.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// The number of further looks where other reloads come in between.
const TRIES_MAX: usize = 3;

/// Told when a reload is over, whatever came of it.
type Waiter = oneshot::Sender<()>;

/// The files of a server's project, shared by its workers and kept over reloads.
pub(crate) struct ScriptFiles {
    /// Those of the generation that serves.
    pub(crate) followed: FollowedFiles,
    /// Asks for a reload, until the server ends.
    reloads: Mutex<Option<Sender<Waiter>>>,
    is_reloading: AtomicBool,
}

impl ScriptFiles {
    pub(crate) fn new(followed: FollowedFiles) -> Self {
        Self {
            followed,
            reloads: Mutex::default(),
            is_reloading: AtomicBool::new(false),
        }
    }

    /// A generation serves that was loaded from these files.
    pub(crate) fn serve(&self, seen: Arc<SeenFiles>) {
        seen.is_loaded();
        self.followed.replace(seen);
    }

    /// Carries out reloads on a thread of its own, until [`ScriptFiles::close`].
    ///
    /// # Errors
    /// The system has no thread left.
    pub(crate) fn start(self: &Arc<Self>, reloader: Reloader) -> Result<(), String> {
        let (sender, asked) = channel();
        *lock(&self.reloads) = Some(sender);
        let files = Arc::clone(self);
        let thread = std::thread::Builder::new()
            .name("sampan-files".into())
            .spawn(move || files.reload_when_asked(&reloader, &asked));
        thread
            .map(drop)
            .map_err(|error| format!("cannot start a thread: {error}"))
    }

    /// The server ends: there are no more reloads.
    pub(crate) fn close(&self) {
        lock(&self.reloads).take();
    }

    fn reload_when_asked(&self, reloader: &Reloader, asked: &Receiver<Waiter>) {
        while let Ok(first) = asked.recv() {
            let mut waiters = vec![first];
            for seen in std::iter::repeat_with(|| self.followed.seen()).take(TRIES_MAX) {
                if !seen.have_changed() {
                    break;
                }
                seen.wait_for_quiet();
                // Those who asked before it begins get the same one.
                waiters.extend(asked.try_iter());
                // Where a reload for another reason was meanwhile, its files count.
                if Arc::ptr_eq(&seen, &self.followed.seen()) {
                    // What came of it has been told to the log.
                    let _ = reloader.reload_files();
                    break;
                }
            }
            self.is_reloading.store(false, Ordering::SeqCst);
            for waiter in waiters {
                let _ = waiter.send(());
            }
        }
    }

    /// Reports whether this request waits for new code.
    fn must_wait(&self) -> bool {
        if self.is_reloading.load(Ordering::Relaxed) {
            return true;
        }
        // One of all workers looks.
        if !self.followed.is_due() || !self.followed.seen().have_changed() {
            return false;
        }
        self.is_reloading.store(true, Ordering::SeqCst);
        true
    }

    /// Waits for a reload, but not for long.
    async fn reloaded(&self) {
        let (waiter, told) = oneshot::channel();
        let is_asked = match &*lock(&self.reloads) {
            Some(reloads) => reloads.send(waiter).is_ok(),
            None => false,
        };
        if is_asked {
            let _ = tokio::time::timeout(WAIT_MAX, told).await;
        }
    }
}

impl fmt::Debug for ScriptFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptFiles").finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

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
