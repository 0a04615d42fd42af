//! A server that runs.

use crate::app::App;
use crate::error::{Error, ErrorKind};
use crate::options::AppOptions;
use sampan_runtime::{AppConfig, Reloader, Running, ServerEvent};
use sampan_serve::native::NativeRoute;
use std::fmt;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::thread;
use tokio::sync::oneshot;

/// A server that runs, on threads of its own. Dropping this stops it, as [`Server::stop`] does.
pub struct Server {
    /// Until it is stopped.
    running: Option<Running>,
    addresses: Vec<SocketAddr>,
    reloader: Reloader,
    has_project: bool,
    options: AppOptions,
    routes: Vec<NativeRoute>,
}

impl Server {
    pub(crate) fn start(
        mut config: AppConfig,
        has_project: bool,
        options: AppOptions,
        routes: Vec<NativeRoute>,
    ) -> Result<Self, Error> {
        options.adapt(&mut config, &routes);
        let running =
            sampan_runtime::Server::start(config).map_err(|text| Error::of_start(&text))?;
        Ok(Self {
            addresses: running.addresses().to_vec(),
            reloader: running.reloader(),
            running: Some(running),
            has_project,
            options,
            routes,
        })
    }

    /// Starts on a thread of its own, for callers that must not be blocked.
    pub(crate) async fn start_elsewhere(app: App) -> Result<Self, Error> {
        let (sender, started) = oneshot::channel();
        let thread = thread::Builder::new().name("sampan-start".into());
        // A caller that has gone takes nothing: the server is dropped, which stops it.
        let body = move || drop(sender.send(app.start()));
        thread.spawn(body).map_err(no_thread)?;
        started
            .await
            .unwrap_or_else(|_| Err(Error::new(ErrorKind::Internal, "the start panicked")))
    }

    /// Waits, without blocking a thread of the caller's, until the server is told to stop.
    pub(crate) async fn ended(mut self) -> Result<(), Error> {
        let Some(running) = self.running.take() else {
            return Ok(());
        };
        let _stop = StopWhenDropped(running.events());
        let (sender, ended) = oneshot::channel();
        let body = move || {
            let event = running.wait();
            running.shutdown();
            let _ = sender.send(event);
        };
        let thread = thread::Builder::new().name("sampan-run".into());
        thread.spawn(body).map_err(no_thread)?;
        match ended.await {
            Ok(ServerEvent::GiveUp) => {
                let text = "the server gave up: too many scripts could not be stopped";
                Err(Error::new(ErrorKind::Internal, text))
            }
            Ok(ServerEvent::Shutdown | ServerEvent::Replaced) => Ok(()),
            Err(_) => Err(Error::new(ErrorKind::Internal, "the server panicked")),
        }
    }

    /// The first port that it listens on; `0.0.0.0:0` if it listens on Unix sockets alone.
    pub fn address(&self) -> SocketAddr {
        let first = self.addresses.first().copied();
        first.unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)))
    }

    /// All ports that it listens on.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns the number of requests that it has answered.
    pub fn requests(&self) -> u64 {
        let counts = self.running.as_ref().map(Running::requests);
        counts.into_iter().flatten().sum()
    }

    /// Loads the project anew, with its configuration. Requests in flight end in the old one. What only a restart can
    /// change stays, as
    /// `sampan reload` says; native routes stay too.
    ///
    /// # Errors
    /// It does not load: the old one goes on. Or isolates of slow routes or of jobs do not load it, while the workers
    /// serve it.
    pub fn reload(&self) -> Result<(), Error> {
        if !self.has_project {
            return Ok(());
        }
        let config = AppConfig::resolve(&self.options.flags);
        let mut config = config.map_err(|text| Error::told(ErrorKind::Config, &text))?;
        self.options.adapt(&mut config, &self.routes);
        let load_error = |text: String| Error::told(ErrorKind::Load, &text);
        let reloaded = self.reloader.reload(config).map_err(load_error)?;
        match reloaded.not_loaded.is_empty() {
            true => Ok(()),
            false => Err(load_error(reloaded.not_loaded.join("; "))),
        }
    }

    /// Stops accepting, lets requests in flight end within `limits.shutdown_millis_max`, and ends the threads. Blocks
    /// until then. False if a thread had to be left behind.
    pub fn stop(mut self) -> bool {
        self.running.take().is_none_or(Running::shutdown)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.shutdown();
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("addresses", &self.addresses)
            .finish_non_exhaustive()
    }
}

/// Stops a server that another caller waits for.
struct StopWhenDropped(Sender<ServerEvent>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        // This has no effect if the server has ended.
        let _ = self.0.send(ServerEvent::Shutdown);
    }
}

fn no_thread(error: std::io::Error) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("cannot start a thread: {error}"),
    )
}
