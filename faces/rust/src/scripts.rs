//! Scripts without a server.

use crate::error::{Error, ErrorKind};
use crate::options::{AppOptions, common_options};
use sampan_host::log::Level;
use sampan_host::{Context, Module, Value};
use sampan_project::config::OptionNames;
use sampan_runtime::{
    HttpRequest, JobHandle, Outcome, ScriptOptions, ScriptPool, ScriptSource, Work,
};
use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;
use tokio::sync::oneshot;

/// The whole answer of a script to a request, whole.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers in their order, names as the script spells them.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
    /// True if the body is a stream that failed before its end.
    pub is_cut: bool,
    /// The error, with file and line, where the answer says no more than that something did: its status is 500 or above
    /// then. What the
    /// script's `on_error` has answered is none, and no fault of the client either.
    pub error: Option<Error>,
}

/// Scripts in the making. [`ScriptsBuilder::load`] loads them.
#[derive(Debug)]
pub struct ScriptsBuilder {
    source: ScriptSource,
    options: AppOptions,
    queue_max: Option<usize>,
    looks_every: Option<Duration>,
}

/// Isolates that run a script, on threads of their own, for callers on any thread. Clones are the same isolates.
/// Dropping the last clone stops them.
///
/// The script is an app file as for `sampan run`, with routes or a `fetch` export, or has functions to be called:
/// global ones or those of the table that it returns in Lua, exported ones in JavaScript. Its limits are those of
/// `[limits]`: one run is at most `script_millis_max` long, a call that waits at most `handler_millis_max`, an isolate
/// has `memory_bytes_max`.
#[derive(Clone)]
pub struct Scripts(std::sync::Arc<Pool>);

struct Pool(ScriptPool);

impl Drop for Pool {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Scripts {
    /// Scripts from a file, or from the folder of a project.
    pub fn file(path: impl Into<PathBuf>) -> ScriptsBuilder {
        ScriptsBuilder::new(ScriptSource::Path(path.into()))
    }

    /// A script from a text. The name tells the language by its end (`.lua`, `.js`, `.ts` and the like), and stands in
    /// errors.
    pub fn text(name: &str, text: &str) -> ScriptsBuilder {
        ScriptsBuilder::new(ScriptSource::Text {
            name: name.to_owned(),
            text: text.to_owned(),
        })
    }

    /// Calls a function by its name. Dropping the future gives the call up: it does not begin, or its script is
    /// stopped.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    /// # runtime.block_on(async {
    /// use sampan::{Scripts, Value};
    /// use std::time::Duration;
    ///
    /// let text = "export const add = async (a, b) => a + b; export function forever() { for (;;); }";
    /// let scripts = Scripts::text("math.js", text).workers(1).load()?;
    /// let sum = scripts.call("add", [Value::Int(2), Value::Int(3)]).await?;
    /// assert_eq!(sum, Value::Int(5));
    ///
    /// let too_long = tokio::time::timeout(Duration::from_millis(50), scripts.call("forever", [])).await;
    /// assert!(too_long.is_err());
    /// assert_eq!(scripts.call("add", [Value::Int(1), Value::Int(1)]).await?, Value::Int(2));
    /// # Ok::<(), sampan::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The error of the script, with file and line; [`ErrorKind::Missing`]; [`ErrorKind::Limit`];
    /// [`ErrorKind::Stopped`].
    pub async fn call(
        &self,
        function: &str,
        arguments: impl IntoIterator<Item = Value>,
    ) -> Result<Value, Error> {
        match self.started(call(function, arguments))?.await? {
            Outcome::Value(value) => Ok(value),
            Outcome::Answer { .. } => Err(mixed_up()),
        }
    }

    /// Calls the function for callers that wait in place, for at most `time_max`.
    ///
    /// # Errors
    /// As [`Scripts::call`]; [`ErrorKind::Cancelled`] if the time is up.
    pub fn call_blocking(
        &self,
        function: &str,
        arguments: impl IntoIterator<Item = Value>,
        time_max: Option<Duration>,
    ) -> Result<Value, Error> {
        match self.wait(call(function, arguments), time_max)? {
            Outcome::Value(value) => Ok(value),
            Outcome::Answer { .. } => Err(mixed_up()),
        }
    }

    /// Has the script answer a request: through its guards, middleware and routes, as a server would. The error of a
    /// handler is an answer too, with a status from 400; see [`Answer::error`].
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// use sampan::Scripts;
    ///
    /// let text = "local app = require 'sampan'
    ///     app.get('/hi/:name', function(req) return 'Hi ' .. req.params.name end)";
    /// let scripts = Scripts::text("app.lua", text).workers(1).load()?;
    /// let answer = scripts.handle("GET", "/hi/Ada", &[("Accept", "text/plain")], b"").await?;
    /// assert_eq!((answer.status, answer.body.as_slice()), (200, &b"Hi Ada"[..]));
    ///
    /// let text = "require('sampan').get('/', function()\n  error('no tea')\nend)";
    /// let scripts = Scripts::text("app.lua", text).log(|_, _| {}).load()?;
    /// let answer = scripts.handle("GET", "/", &[], b"").await?;
    /// let error = answer.error.expect("what the script raised");
    /// assert_eq!((answer.status, error.to_string().as_str()), (500, "app.lua:2: no tea"));
    /// # Ok::<(), sampan::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for a method, a target or a header that cannot be sent; [`ErrorKind::Limit`] if the queue
    /// is full; [`ErrorKind::Stopped`].
    pub async fn handle(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, Error> {
        let work = request(method, target, headers, body)?;
        answered(self.started(work)?.await?)
    }

    /// Handles the request for callers that wait in place, for at most `time_max`.
    ///
    /// # Errors
    /// As [`Scripts::handle`]; [`ErrorKind::Cancelled`] if the time is up.
    pub fn handle_blocking(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
        time_max: Option<Duration>,
    ) -> Result<Answer, Error> {
        answered(self.wait(request(method, target, headers, body)?, time_max)?)
    }

    /// Loads the script anew in all isolates. What runs ends in the old ones.
    ///
    /// # Errors
    /// It does not load, with file and line. The old one goes on.
    pub fn reload(&self) -> Result<(), Error> {
        let reloaded = self.0.0.reload();
        reloaded.map_err(|text| Error::told(ErrorKind::Load, &text))
    }

    /// Gives up what waits and runs, and ends the threads; blocks until then. False if one had to be left behind. Must
    /// not be called on a thread of the isolates.
    pub fn stop(&self) -> bool {
        self.0.0.stop()
    }

    /// The isolates behind this: for other faces.
    #[doc(hidden)]
    pub fn pool(&self) -> &ScriptPool {
        &self.0.0
    }

    fn started(&self, work: Work) -> Result<PendingWork, Error> {
        let (sender, outcome) = oneshot::channel();
        // The result is dropped if the future was dropped.
        let done = Box::new(move |outcome| drop(sender.send(outcome)));
        let job = self.0.0.submit(work, done)?;
        Ok(PendingWork { job, outcome })
    }

    fn wait(&self, work: Work, time_max: Option<Duration>) -> Result<Outcome, Error> {
        let (sender, outcome) = mpsc::sync_channel(1);
        let done = Box::new(move |outcome| drop(sender.send(outcome)));
        let job = self.0.0.submit(work, done)?;
        let ended = match time_max {
            None => outcome.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(time_max) => outcome.recv_timeout(time_max),
        };
        let ended = match ended {
            Err(RecvTimeoutError::Timeout) => {
                job.cancel();
                // Told at once: by this, or by an end just before.
                outcome.recv().map_err(|_| RecvTimeoutError::Disconnected)
            }
            ended => ended,
        };
        match ended {
            Ok(outcome) => Ok(outcome?),
            Err(_) => Err(Error::new(ErrorKind::Internal, "a work was lost")),
        }
    }
}

impl fmt::Debug for Scripts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scripts").field(&self.0.0).finish()
    }
}

/// A work under way. Dropping it gives the work up.
pub struct PendingWork {
    job: JobHandle,
    outcome: oneshot::Receiver<Result<Outcome, sampan_host::Error>>,
}

impl Future for PendingWork {
    type Output = Result<Outcome, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.outcome).poll(cx).map(|told| match told {
            Ok(outcome) => Ok(outcome?),
            Err(_) => Err(Error::new(ErrorKind::Internal, "a work was lost")),
        })
    }
}

impl Drop for PendingWork {
    fn drop(&mut self) {
        // Nothing happens if it has ended.
        self.job.cancel();
    }
}

impl fmt::Debug for PendingWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PendingWork").field(&self.job).finish()
    }
}

fn call(function: &str, arguments: impl IntoIterator<Item = Value>) -> Work {
    Work::Call {
        function: function.to_owned(),
        arguments: arguments.into_iter().collect(),
    }
}

fn request(
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<Work, Error> {
    let headers = headers.iter();
    let headers = headers.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let bytes = sampan_runtime::request_bytes(method, target, headers, body);
    let bytes = bytes.map_err(|what| {
        Error::new(
            ErrorKind::Config,
            format!("{what:?} cannot stand in a request"),
        )
    })?;
    Ok(Work::Handle(HttpRequest::new(bytes)))
}

fn answered(outcome: Outcome) -> Result<Answer, Error> {
    match outcome {
        Outcome::Answer { answer, error } => Ok(Answer {
            status: answer.status,
            headers: answer.headers,
            body: answer.body,
            is_cut: answer.is_cut,
            error: error.map(Error::from),
        }),
        Outcome::Value(_) => Err(mixed_up()),
    }
}

fn mixed_up() -> Error {
    Error::new(ErrorKind::Internal, "a work has another's outcome")
}

impl ScriptsBuilder {
    common_options!();

    fn new(source: ScriptSource) -> Self {
        Self {
            source,
            options: AppOptions::default(),
            queue_max: None,
            looks_every: None,
        }
    }

    /// Sets the maximum number of works that may wait and run at the same time; 1,024 for each isolate unless told
    /// otherwise. One more is an error at once.
    #[must_use]
    pub fn queue_max(mut self, works: usize) -> Self {
        self.queue_max = Some(works);
        self
    }

    /// Looks whether files of the script have changed, when work comes, but not more often than this; and loads it anew
    /// if so. If it does not load, the log is told and the old one goes on.
    #[must_use]
    pub fn reload_every(mut self, pause: Duration) -> Self {
        self.looks_every = Some(pause);
        self
    }

    /// Loads the script in every isolate.
    ///
    /// # Errors
    /// A setting is wrong, or the script does not load: with file and line.
    pub fn load(self) -> Result<Scripts, Error> {
        self.options.check()?;
        let options = ScriptOptions {
            source: self.source,
            flags: self.options.flags.clone(),
            queue_max: self.queue_max,
            looks_every: self.looks_every,
            modules: self.options.modules.clone(),
        };
        let pool = ScriptPool::start(&options, |config| self.options.adapt(config, &[]));
        let pool = pool.map_err(|text| {
            let kind = match self.options.is_named_in(&text) {
                true => ErrorKind::Config,
                false => ErrorKind::Load,
            };
            Error::told(kind, &text)
        })?;
        Ok(Scripts(std::sync::Arc::new(Pool(pool))))
    }
}
