//! The interface between an engine and `app`: something that loads a project and answers requests.

use crate::error::{Error, ErrorKind, Place};
use crate::future::LocalFuture;
use crate::guard::Guard;
use crate::request::RequestView;
use crate::response::ResponseSink;
use crate::run::isolation::Isolation;
use crate::run::limits::{CANCELLED, ScriptLimits};
use crate::run::watch::Watch;
use crate::sources::Sources;
use crate::tables::module::{Context, Module};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

/// Writes a level and a text to the log.
pub type Console = Rc<dyn Fn(&str, &str)>;

/// Waits.
pub type Sleep = Rc<dyn Fn(Duration) -> LocalFuture<()>>;

/// Names a function of the script that answers requests or wraps others; an index into the isolate's handlers.
pub type HandlerId = u32;

/// The parameters of an isolate.
pub struct Setup {
    /// The project's files.
    pub sources: Arc<dyn Sources>,
    /// The file to run, relative to the project folder.
    pub entry: String,
    /// The capabilities that scripts get.
    pub modules: &'static [&'static Module],
    /// The state of those capabilities.
    pub context: Rc<Context>,
    /// The limits of the scripts.
    pub limits: ScriptLimits,
    /// The state that requests may share. An engine may know [`Isolation::Worker`] only.
    pub isolation: Isolation,
    /// True if bodies may be read as they come whose routes the project does not declare: its middleware may ask for
    /// them.
    pub has_streams: bool,
    /// The worker's stopwatch.
    pub watch: Arc<Watch>,
    /// Runs a future on the worker, independent of any request: for work that outlives the answer.
    pub spawn: Rc<dyn Fn(LocalFuture<()>)>,
    /// Writes what the language's own `print` or `console` is given to the log: a level (`debug`, `info`, `warn` or
    /// `error`) and a text.
    pub console: Console,
    /// Waits without blocking the worker, for the language's own timers.
    pub sleep: Sleep,
    /// Receives errors that belong to no request.
    pub report: Rc<dyn Fn(Error)>,
}

/// The declarations of a project's file.
#[derive(Debug, Default)]
pub struct Program {
    /// The routes, in the order of their declaration, with the prefixes of their groups.
    pub routes: Vec<RouteDef>,
    /// The middleware, outermost first.
    pub middleware: Vec<MiddlewareDef>,
    /// The middleware in Rust, in the order of its declaration. It runs before the script's.
    pub guards: Vec<GuardDef>,
    /// Answers what no route answers.
    pub not_found: Option<HandlerId>,
    /// Answers when a handler failed; called with the request and the error.
    pub on_error: Option<HandlerId>,
    /// Answers everything: the `fetch` of a JavaScript module's default export.
    pub fetch: Option<HandlerId>,
    /// The rule for reading the bodies of requests to `fetch`.
    pub fetch_body: BodyOptions,
}

/// The rules for reading the bodies of its requests, and sends those of its answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyOptions {
    /// True if the handler takes bodies as they come; else it is called when they are here.
    pub stream: bool,
    /// The largest that it accepts, as it was written: `1048576` or `10MB`; `None` for the server's limit.
    pub bytes_max: Option<String>,
    /// Answers are sent uncompressed, even if the client accepts a coding.
    pub uncompressed: bool,
    /// Answers have an `ETag`, and clients that have the same already are told so.
    pub etag: bool,
}

/// The rule by which the requests of a route run among quick ones or in the slow lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaneRule {
    /// By the time that its runs take.
    #[default]
    Measured,
    /// In the slow lane: `slow = true`.
    Slow,
    /// Among quick ones, however long they take: `slow = false`.
    Quick,
}

impl LaneRule {
    /// Returns the rule that an option says.
    pub fn of(slow: Option<bool>) -> Self {
        match slow {
            None => Self::Measured,
            Some(true) => Self::Slow,
            Some(false) => Self::Quick,
        }
    }
}

/// One route.
#[derive(Clone, Debug)]
pub struct RouteDef {
    /// The method in capitals; `None` for `app.all`.
    pub method: Option<String>,
    /// The pattern: `/users/:id`, `/files/*rest`; behind its host where it has one: `api.example.org/users/:id`.
    pub pattern: String,
    /// The handler.
    pub handler: HandlerId,
    /// True if the handler was given as a value, not as a function: its answer is computed once.
    pub fixed: bool,
    /// The name of the function of a module that declared it; `None` where a function for a method did.
    pub kind: Option<String>,
    /// The rule for reading the bodies of its requests.
    pub body: BodyOptions,
    /// The lane of its requests.
    pub lane: LaneRule,
    /// True for `priority = "high"`: its requests do not wait behind others of a worker that is overloaded, and are not
    /// refused for that.
    pub has_priority: bool,
    /// The name for `url_for`.
    pub name: Option<String>,
    /// The place of the declaration.
    pub place: Option<Place>,
    /// The file of the handler's function, where the engine knows it.
    pub handler_file: Option<String>,
}

/// The worker that an isolate serves. It is in the isolate's [`Context`]; scripts see it as `app.worker`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerPlace {
    /// 1 to `count`. An isolate that takes the place of another has the same number.
    pub index: usize,
    /// The number of workers.
    pub count: usize,
}

impl Default for WorkerPlace {
    /// The only worker.
    fn default() -> Self {
        Self { index: 1, count: 1 }
    }
}

/// One middleware.
#[derive(Clone, Debug)]
pub struct MiddlewareDef {
    /// The pattern of the paths that it wraps: `/admin/*`, `*` for all.
    pub pattern: String,
    /// The function.
    pub handler: HandlerId,
    /// The function that made it, where it is ready middleware that needs the whole bodies of requests.
    pub needs_whole_bodies: Option<&'static str>,
    /// The place of the declaration.
    pub place: Option<Place>,
}

/// One guard.
#[derive(Clone)]
pub struct GuardDef {
    /// The pattern of the paths that it checks, as that of middleware.
    pub pattern: String,
    /// The guard.
    pub guard: Rc<dyn Guard>,
    /// The number of the script's own middleware that was declared before it.
    pub behind: usize,
    /// The place of the declaration.
    pub place: Option<Place>,
}

impl fmt::Debug for GuardDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardDef")
            .field("pattern", &self.pattern)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// The name for [`ResponseSink::file`] of the answer that the server has at the end of a chain of middleware. No path
/// of a file is empty.
pub const END_OF_CHAIN: &str = "";

/// An answer of the server's own at the end of a chain, such as a file, as middleware around it gets to see it.
#[derive(Clone, Copy, Debug)]
pub struct FileAnswer<'a> {
    /// The name for [`ResponseSink::file`]: [`END_OF_CHAIN`], or the path of a file.
    pub path: &'a str,
    /// The content type.
    pub content_type: &'a str,
}

/// One call of a handler.
pub struct Call<'a> {
    /// The request.
    pub request: Rc<dyn RequestView>,
    /// The handler that answers. `None`: the end of the chain is an empty answer with the status `fallback`; this runs
    /// middleware on unknown paths.
    pub handler: Option<HandlerId>,
    /// The status of that answer: 404, 405, or 204 for an automatic OPTIONS.
    pub fallback: u16,
    /// The file at the end of a chain without a handler.
    pub file: Option<FileAnswer<'a>>,
    /// The middleware around it, outermost first.
    pub middleware: &'a [HandlerId],
    /// The error that an error handler is called with.
    pub error: Option<&'a Error>,
    /// True if the middleware and the handler have spans: [`ChainSpans`](crate::trace::ChainSpans) in the request's
    /// store.
    pub is_traced: bool,
}

/// The outcome of a call.
pub enum Step {
    /// The answer is in the sink.
    Done,
    /// The handler failed; what is in the sink counts for nothing.
    Failed(Error),
    /// The handler waits. Polling the rest runs it on.
    Waiting(Box<dyn Suspended>),
}

/// Returns the error of a wait whose request was given up.
pub fn cancelled() -> Error {
    let text = "the request was given up: its client no longer waits for the answer";
    Error::new(ErrorKind::Unavailable, text).with_code(CANCELLED)
}

/// The rest of a handler that waits. Dropping it drops what it waits for, and its script never runs again.
pub trait Suspended {
    /// The request is given up: what the script waits for fails with [`cancelled`], so that it can end in order. The
    /// caller polls on, until it is ready or has had its time.
    fn cancel(&mut self);

    /// Runs on if what it waits for is there. Ready with an error: what is in the sink counts for nothing.
    fn poll(
        &mut self,
        cx: &mut task::Context<'_>,
        sink: &mut dyn ResponseSink,
    ) -> Poll<Result<(), Error>>;
}

/// A loaded project in one engine, on one worker. Entered for one request at a time.
pub trait Isolate {
    /// Returns the declarations of the project.
    fn program(&self) -> &Program;

    /// Calls a handler.
    fn start(&self, call: Call<'_>, sink: &mut dyn ResponseSink) -> Step;

    /// The memory in use, in bytes.
    fn memory_bytes(&self) -> usize;

    /// Returns the number of full collections of garbage since the last call; 0 from an engine that does not know it.
    fn take_collections(&self) -> u64 {
        0
    }

    /// Reports whether the isolate should be replaced by a fresh one: it ran out of memory and could not recover.
    fn is_worn_out(&self) -> bool;

    /// Returns the number of requests that are answered and have work that still goes on.
    fn background_requests(&self) -> usize {
        0
    }

    /// Collects all garbage now.
    fn collect_garbage(&self);
}
