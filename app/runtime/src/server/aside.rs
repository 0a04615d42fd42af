//! Listeners that have a worker of their own, without a project.

use crate::listening::Listening;
use sampan_host::log::Level;
use sampan_http::{
    Accepting, Handler, HandlerSlot, Limits, ListeningSocket, WorkerHandle, Workers,
};
use sampan_log::Logger;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Listeners without a project, and their worker.
pub(crate) struct Aside {
    accepting: Vec<Accepting>,
    handle: WorkerHandle,
    thread: JoinHandle<()>,
}

impl Aside {
    /// Begins to answer, on a thread of this name, with the handler that `make` makes there. It cannot panic and waits
    /// for nothing.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(crate) fn start(
        name: &str,
        listening: Vec<Listening>,
        limits: &Limits,
        connections_max: usize,
        make: impl FnOnce() -> Rc<dyn Handler> + Send + 'static,
        logger: &Logger,
    ) -> Result<Self, String> {
        let limits = Arc::new(Limits {
            connections_max: limits.connections_max.min(connections_max),
            ..limits.clone()
        });
        let (handle, worker) = sampan_http::worker(Arc::clone(&limits));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| format!("cannot start a thread: {error}"))?;
        let body = move || {
            let served = worker.run(HandlerSlot::new(make()));
            tokio::task::LocalSet::new().block_on(&runtime, served);
        };
        let thread = thread::Builder::new().name(name.into());
        let thread = thread
            .spawn(body)
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        let workers = Workers::new(vec![handle.clone()], &limits);
        let accepting = listening.into_iter().map(|one| {
            let logger = logger.clone();
            let note = move |note: &str| logger.text(Level::Warn, note);
            let started = one.acceptor.start(workers.clone(), note);
            started.map_err(|error| format!("cannot accept connections: {error}"))
        });
        Ok(Self {
            accepting: accepting.collect::<Result<_, _>>()?,
            handle,
            thread,
        })
    }

    /// Returns the sockets that it listens on.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = ListeningSocket> + '_ {
        self.accepting.iter().map(Accepting::socket)
    }

    /// Leaves its sockets to another process.
    pub(crate) fn leave(&mut self) {
        std::mem::take(&mut self.accepting)
            .into_iter()
            .for_each(Accepting::leave);
        self.handle.leave();
    }

    /// Begins to stop. It takes no longer than `shutdown_millis_max`.
    pub(crate) fn begin_stop(&mut self) {
        std::mem::take(&mut self.accepting)
            .into_iter()
            .for_each(Accepting::stop);
        self.handle.shutdown();
    }

    /// Waits until it has stopped.
    pub(crate) fn join(self) {
        let _ = self.thread.join();
    }
}
