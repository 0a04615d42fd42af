//! The files of a server with `mode = "file"`: a request that finds them changed has them loaded anew.

use super::followed_files::FollowedFiles;
use super::seen_files::SeenFiles;
use crate::locks::lock;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;

/// The longest time that a request waits for new code; then it is answered by the old.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// The number of further looks where other reloads come in between.
const TRIES_MAX: usize = 3;

/// Notified when a reload is over, also where it failed.
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

    /// Carries out reloads by `reload` on a thread of its own, until [`ScriptFiles::close`].
    ///
    /// # Errors
    /// The system has no thread left.
    pub(crate) fn start(
        self: &Arc<Self>,
        reload: impl Fn() + Send + 'static,
    ) -> Result<(), String> {
        let (sender, asked) = channel();
        *lock(&self.reloads) = Some(sender);
        let files = Arc::clone(self);
        let thread = std::thread::Builder::new()
            .name("sampan-files".into())
            .spawn(move || files.reload_when_asked(&reload, &asked));
        thread
            .map(drop)
            .map_err(|error| format!("cannot start a thread: {error}"))
    }

    /// The server ends: there are no more reloads.
    pub(crate) fn close(&self) {
        lock(&self.reloads).take();
    }

    fn reload_when_asked(&self, reload: &impl Fn(), asked: &Receiver<Waiter>) {
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
                    reload();
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
    pub(super) fn must_wait(&self) -> bool {
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
    pub(super) async fn reloaded(&self) {
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
