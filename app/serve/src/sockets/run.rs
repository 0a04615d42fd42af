//! One event of a socket: a run of the script, which may wait.

use crate::dispatch::loaded::Loaded;
use crate::gate::control;
use crate::gate::run_use::RunKind;
use crate::sockets::serving::Serving;
use sampan_host::sockets::{EventRun, Socket, SocketEvent, SocketHandlers};
use sampan_host::{Error, ErrorKind, LocalFuture, Verdict};
use sampan_http::websocket::codes;
use std::rc::Rc;
use std::task::{Context, Poll};

/// An event whose handler runs or waits. It holds the project of its handler until it has ended.
pub(super) struct EventInFlight {
    future: LocalFuture<Result<(), Error>>,
    /// The event, as the log names it.
    name: &'static str,
    /// The time at which it is given up, by the worker's clock.
    by: u64,
    loaded: Rc<Loaded>,
}

/// The word for an event in the log.
fn name_of(event: &SocketEvent) -> &'static str {
    match event {
        SocketEvent::Open => "open",
        SocketEvent::Text(_) | SocketEvent::Bytes(_) => "message",
        SocketEvent::Drain => "drain",
        SocketEvent::Close { .. } => "close",
    }
}

impl EventInFlight {
    /// Starts the handler of the project that serves now. Nothing if it has none; a socket whose route is gone is
    /// closed.
    pub(super) fn start(
        serving: &Serving,
        socket: &Rc<Socket>,
        event: SocketEvent,
        now: u64,
    ) -> Option<Self> {
        let loaded = serving.current()?;
        let handlers = loaded.context.get::<Rc<dyn SocketHandlers>>()?;
        let name = name_of(&event);
        match handlers.start(socket, event) {
            EventRun::Nothing => None,
            EventRun::NoRoute => {
                socket.close(codes::RESTART, "this address is no longer served");
                None
            }
            EventRun::Run(run) => Some(Self {
                future: loaded.control.gate.background_of(
                    RunKind::SocketEvent(name),
                    socket.route(),
                    behind(socket, run),
                ),
                name,
                by: now.saturating_add(loaded.control.handler_time_max.as_millis() as u64),
                loaded,
            }),
        }
    }

    /// Returns the time at which it is given up.
    pub(super) fn by(&self) -> u64 {
        self.by
    }

    /// Runs on. A handler that fails is logged, and its socket closed with 1011.
    pub(super) fn poll(&mut self, socket: &Rc<Socket>, now: u64, cx: &mut Context<'_>) -> Poll<()> {
        match self.future.as_mut().poll(cx) {
            Poll::Pending if now < self.by => Poll::Pending,
            Poll::Pending => {
                let millis = self.loaded.control.handler_time_max.as_millis();
                let text = format!("did not end within {millis} ms: given up (handler_millis_max)");
                self.failed(socket, &Error::new(ErrorKind::Timeout, text));
                Poll::Ready(())
            }
            Poll::Ready(Err(error)) => {
                self.failed(socket, &error);
                Poll::Ready(())
            }
            Poll::Ready(Ok(())) => {
                self.watch_commit(socket);
                Poll::Ready(())
            }
        }
    }

    /// A handler whose writes are lost has failed too.
    fn watch_commit(&self, socket: &Rc<Socket>) {
        let gate = &self.loaded.control.gate;
        if !gate.is_open() {
            return;
        }
        let (socket, control, name) = (
            Rc::clone(socket),
            Rc::clone(&self.loaded.control),
            self.name,
        );
        gate.when_settled(move |verdict| {
            if verdict == Verdict::Failed {
                let lost = control.gate.lost();
                control::log(&control, None, &title(&socket, name), &lost);
                socket.close(codes::FAILED, "");
            }
        });
    }

    fn failed(&self, socket: &Rc<Socket>, error: &Error) {
        let control = &self.loaded.control;
        control::log(control, None, &title(socket, self.name), error);
        if error.kind() == ErrorKind::Memory && self.loaded.engine.is_worn_out() {
            (control.worn_out)();
        }
        socket.close(codes::FAILED, "");
    }
}

/// A run of a handler behind what has to be read before it.
fn behind(socket: &Socket, run: LocalFuture<Result<(), Error>>) -> LocalFuture<Result<(), Error>> {
    let reads = socket.opening().before_event();
    if reads.is_empty() {
        return run;
    }
    Box::pin(async move {
        for read in reads {
            read.await;
        }
        run.await
    })
}

/// The socket and the event, for the log.
fn title(socket: &Socket, name: &str) -> String {
    let opening = socket.opening();
    format!("WebSocket {} ({name}, {})", opening.path(), opening.id())
}

/// The project that serves now forgets a socket that has ended.
pub(super) fn forget(serving: &Serving, socket: &Rc<Socket>) {
    if let Some(loaded) = serving.current()
        && let Some(handlers) = loaded.context.get::<Rc<dyn SocketHandlers>>()
    {
        handlers.ended(socket);
    }
}
