//! The events that end a server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

/// The event that ends a running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// Someone asked for it.
    Shutdown,
    /// Another process accepts connections on the same sockets.
    Replaced,
    /// Too many workers had to be abandoned: the process should end, for its supervisor to start a fresh one.
    GiveUp,
}

/// The receiver of the events that end a server. Several servers, one after the other, may wait for them.
pub type ServerEvents = Arc<Mutex<Receiver<ServerEvent>>>;

/// Tells a server to end, from any thread, also while it starts.
#[derive(Clone, Debug)]
pub struct Stopper {
    /// The time at which the server was told to end, for the requests that are cut.
    pub(super) ending: Arc<OnceLock<Instant>>,
    /// True once the server has been told to end. It may answer for a while longer.
    pub(super) is_stopping: Arc<AtomicBool>,
    /// True if it does.
    pub(super) is_delayed: Arc<AtomicBool>,
    pub(super) events: Sender<ServerEvent>,
}

impl Stopper {
    /// Creates a stopper, and the receiver of the events of the server that it ends.
    pub fn new() -> (Self, ServerEvents) {
        let (events, inbox) = channel();
        let stopper = Self {
            ending: Arc::default(),
            is_stopping: Arc::default(),
            is_delayed: Arc::default(),
            events,
        };
        (stopper, Arc::new(Mutex::new(inbox)))
    }

    /// Ends the server.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
        if !self.is_delayed.load(Ordering::Acquire) {
            let _ = self.ending.set(Instant::now());
        }
        let _ = self.events.send(ServerEvent::Shutdown);
    }

    /// Reports whether the server has been told to end.
    pub fn is_stopped(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }
}
