//! The states of a server: new, running, ended, and the steps between them.

use crate::handles::{HandleKind, Handles};
use crate::queue::EntryQueue;
use crate::requests::{REQUESTS, is_in_callback};
use crate::status::{CallFault, Threads};
use sampan::{App, Server};
use sampan_serve::native::NativeRoute;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The message of functions that need a server that runs.
pub(crate) const NOT_RUNNING: &str = "the server does not run";

/// The servers of the process.
pub(crate) static SERVERS: Handles<Arc<ServerEntry>> = Handles::new(HandleKind::Server);

/// The entry of a handle.
pub(crate) struct ServerEntry {
    /// Locked for moments only: callbacks ask for the address, on threads that a reload waits for.
    state: Mutex<ServerState>,
    /// Held during a reload, so that a stop waits for its end. Callbacks never take this lock.
    reloading: Mutex<()>,
    pub(crate) queue: Arc<EntryQueue>,
}

/// The state of a server.
pub(crate) enum ServerState {
    New(Vec<NativeRoute>, Box<MakeApp>),
    /// Starting or stopping, on some thread.
    Busy,
    /// Serving. Only a reload holds a second reference.
    Running(Arc<Server>),
    Ended {
        /// True if a thread had to be left behind.
        is_thread_left: bool,
    },
}

pub(crate) type MakeApp = dyn FnOnce(Vec<NativeRoute>) -> App + Send;

impl ServerEntry {
    pub(crate) fn new(make: Box<MakeApp>) -> Self {
        Self {
            state: Mutex::new(ServerState::New(Vec::new(), make)),
            reloading: Mutex::default(),
            queue: Arc::default(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the reload that is under way, and keeps others from beginning.
    fn lock_reloading(&self) -> MutexGuard<'_, ()> {
        let reloading = self.reloading.lock();
        reloading.unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads the project anew. The state is not locked meanwhile.
    pub(crate) fn reload(&self) -> Result<(), CallFault> {
        if is_in_callback() {
            return Err(CallFault::state(
                "a callback cannot reload its server: its thread would wait for itself",
            ));
        }
        let _reloading = self.lock_reloading();
        let running = match &*self.lock() {
            ServerState::Running(running) => Arc::clone(running),
            _ => return Err(CallFault::state(NOT_RUNNING)),
        };
        Ok(running.reload()?)
    }

    /// Ends the server if it runs. `is_to_run`: a server that does not run is an error.
    pub(crate) fn stop(&self, handle: u64, is_to_run: bool) -> Result<Threads, CallFault> {
        if is_in_callback() {
            return Err(CallFault::state(
                "a callback cannot stop its server: its thread would wait for itself",
            ));
        }
        let before = {
            let _reloading = self.lock_reloading();
            let mut state = self.lock();
            match &*state {
                ServerState::Busy => {
                    return Err(CallFault::state("the server is starting or stopping"));
                }
                ServerState::New(..) | ServerState::Ended { .. } if is_to_run => {
                    return Err(CallFault::state(NOT_RUNNING));
                }
                _ => std::mem::replace(&mut *state, ServerState::Busy),
            }
        };
        let is_thread_left = match before {
            // No reload is under way, so this is the last reference.
            ServerState::Running(server) => !Arc::into_inner(server).is_none_or(Server::stop),
            ServerState::Ended { is_thread_left } => is_thread_left,
            ServerState::New(..) | ServerState::Busy => false,
        };
        *self.lock() = ServerState::Ended { is_thread_left };
        REQUESTS.end_of(handle);
        self.queue.close();
        Ok(match is_thread_left {
            true => Threads::LeftBehind,
            false => Threads::Ended,
        })
    }
}

/// Finds the server of a handle.
pub(crate) fn entry(server: u64) -> Result<Arc<ServerEntry>, CallFault> {
    SERVERS.get(server).map_err(|_| CallFault::handle("server"))
}
