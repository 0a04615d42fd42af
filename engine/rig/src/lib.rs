//! Drives an isolate of either engine through the host's contract, for the engines' tests: files in memory, a request
//! made of parts, an executor of a few lines, and tables with a row of each kind.

mod callbacks;
mod modules;
mod notes;
mod objects;
mod pages;
mod parts;
mod reading;
mod requests;
mod timing;
mod watchdog;

pub use callbacks::{CALLS, Kept};
pub use modules::{DATA, LOG, PROBE, TIME};
pub use notes::{Notes, Sleeps};
pub use objects::{LiveValues, OBJECTS};
pub use pages::PAGES;
pub use parts::{RequestStore, TestAnswer, TestRequest, added_fields, end, get, post};
pub use reading::READING;
pub use requests::VISITOR;
pub use sampan_client::wait::{self, cpu_time};
pub use timing::{BENCH, time_reading, time_routes};

use parts::Files;
use sampan_host::{
    Call, Context, Error, HandlerId, Isolate, Isolation, LocalFuture, Module, ScriptLimits, Setup,
    Step, Suspended, Watch,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

/// A loaded project with all that a worker would have around it.
pub struct App<I> {
    /// The project.
    pub isolate: I,
    /// The stopwatch.
    pub watch: Arc<Watch>,
    /// Errors that belong to no request.
    pub reports: Rc<RefCell<Vec<Error>>>,
    /// The spawned futures.
    pub background: Rc<RefCell<Vec<LocalFuture<()>>>>,
    /// The sleeps of `TIME`.
    pub sleeps: Rc<Sleeps>,
    /// The notes of `LOG`, `PROBE` and `DATA`.
    pub notes: Rc<Notes>,
    /// The values behind the objects of `OBJECTS`.
    pub live: Rc<LiveValues>,
    /// The function that `CALLS` keeps.
    pub kept: Rc<Kept>,
}

impl<I> std::fmt::Debug for App<I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").finish_non_exhaustive()
    }
}

/// Loads a project of these files with one of the engines' `load`, under a watchdog.
///
/// # Errors
/// The project does not load.
pub fn load<I>(
    entry: &str,
    files: &[(&str, &str)],
    modules: &'static [&'static Module],
    limits: ScriptLimits,
    engine: impl FnOnce(Setup) -> Result<I, Error>,
) -> Result<App<I>, Error> {
    let owned = files
        .iter()
        .map(|(name, source)| ((*name).to_owned(), source.as_bytes().to_vec()));
    let context = Rc::new(Context::default());
    context.put(limits.clone());
    context.put(Sleeps::default());
    context.put(Notes::default());
    context.put(LiveValues::default());
    let live = context.get::<LiveValues>().expect("put");
    context.put(Kept::default());
    let (sleeps, notes) = (
        context.get::<Sleeps>().expect("put"),
        context.get::<Notes>().expect("put"),
    );
    let kept = context.get::<Kept>().expect("put");
    let watch = Arc::new(Watch::default());
    watchdog::start(&watch, limits.script_millis_max);
    let reports: Rc<RefCell<Vec<Error>>> = Rc::default();
    let background: Rc<RefCell<Vec<LocalFuture<()>>>> = Rc::default();
    let (reported, spawned) = (reports.clone(), background.clone());
    let (asleep, printed) = (sleeps.clone(), notes.clone());
    let isolate = engine(Setup {
        sources: Arc::new(Files(owned.collect())),
        entry: entry.to_owned(),
        modules,
        context,
        limits,
        isolation: Isolation::Worker,
        has_streams: false,
        watch: watch.clone(),
        console: Rc::new(move |_, text| printed.0.borrow_mut().push(text.to_owned())),
        sleep: Rc::new(move |time| modules::sleeping(&asleep, time)),
        spawn: Rc::new(move |future| spawned.borrow_mut().push(future)),
        report: Rc::new(move |error| reported.borrow_mut().push(error)),
    })?;
    Ok(App {
        isolate,
        watch,
        reports,
        background,
        sleeps,
        notes,
        live,
        kept,
    })
}

/// The limits of scripts that may run for a minute.
pub fn patient_limits() -> ScriptLimits {
    ScriptLimits {
        script_millis_max: 60_000,
        ..ScriptLimits::default()
    }
}

/// Returns how many times as long as its limit a script may run: `cargo xtask asan` sets it, since the sanitizer makes
/// scripts several times slower.
pub fn slowness() -> u32 {
    let set = std::env::var("SAMPAN_TEST_SLOWNESS");
    set.ok().and_then(|set| set.parse().ok()).unwrap_or(1)
}

/// Polls until ready.
pub fn block_on<T>(mut poll: impl FnMut(&mut task::Context<'_>) -> Poll<T>) -> T {
    wait::found("the future", || {
        match poll(&mut task::Context::from_waker(Waker::noop())) {
            Poll::Ready(ready) => Some(ready),
            Poll::Pending => None,
        }
    })
}

/// The end of a request.
pub enum End {
    /// Answered.
    Answer(TestAnswer),
    /// Failed.
    Error(Error),
    /// The request goes on later; the answer so far.
    Waits(Box<dyn Suspended>, TestAnswer),
}

impl<I: Isolate> App<I> {
    /// The handler of the route with this pattern.
    pub fn handler(&self, pattern: &str) -> HandlerId {
        let route = self
            .isolate
            .program()
            .routes
            .iter()
            .find(|route| route.pattern == pattern);
        route
            .unwrap_or_else(|| panic!("no route {pattern}"))
            .handler
    }

    /// A call of this handler within this middleware.
    pub fn call(
        &self,
        request: TestRequest,
        handler: Option<HandlerId>,
        middleware: &[HandlerId],
    ) -> Call<'static> {
        Call {
            request: Rc::new(request),
            handler,
            fallback: 404,
            file: None,
            middleware: middleware.to_vec().leak(),
            error: None,
            is_traced: false,
        }
    }

    /// Starts a request.
    pub fn start(&self, call: Call<'_>) -> End {
        let mut answer = TestAnswer::default();
        match self.isolate.start(call, &mut answer) {
            Step::Done => End::Answer(answer),
            Step::Failed(error) => End::Error(error),
            Step::Waiting(rest) => End::Waits(rest, answer),
        }
    }

    /// Starts a request and waits until it has ended.
    ///
    /// # Errors
    /// The handler failed.
    pub fn run(&self, call: Call<'_>) -> Result<TestAnswer, Error> {
        match self.start(call) {
            End::Answer(answer) => Ok(answer),
            End::Error(error) => Err(error),
            End::Waits(mut rest, mut answer) => {
                block_on(|cx| rest.poll(cx, &mut answer)).map(|()| answer)
            }
        }
    }

    /// Calls the route with this pattern, without middleware.
    ///
    /// # Errors
    /// The handler failed.
    pub fn route(&self, pattern: &str, request: TestRequest) -> Result<TestAnswer, Error> {
        self.run(self.call(request, Some(self.handler(pattern)), &[]))
    }

    /// Calls the only route.
    ///
    /// # Errors
    /// The handler failed.
    pub fn only(&self, request: TestRequest) -> Result<TestAnswer, Error> {
        self.run(self.call(request, Some(self.isolate.program().routes[0].handler), &[]))
    }

    /// The body of the only route's answer.
    pub fn text(&self, request: TestRequest) -> String {
        self.only(request).expect("an answer").text()
    }

    /// Calls the first route within all middleware.
    ///
    /// # Errors
    /// A handler failed.
    pub fn wrapped(&self, request: TestRequest) -> Result<TestAnswer, Error> {
        self.nth(0, request)
    }

    /// Calls the route with this index within all middleware; where there is none, the end of the chain is a 404.
    ///
    /// # Errors
    /// A handler failed.
    pub fn nth(&self, index: usize, request: TestRequest) -> Result<TestAnswer, Error> {
        let program = self.isolate.program();
        let middleware: Vec<HandlerId> = program.middleware.iter().map(|m| m.handler).collect();
        let handler = program.routes.get(index).map(|route| route.handler);
        self.run(self.call(request, handler, &middleware))
    }

    /// Polls what goes on in the background, once.
    pub fn poll_background(&self) {
        let futures = std::mem::take(&mut *self.background.borrow_mut());
        for mut future in futures {
            let mut cx = task::Context::from_waker(Waker::noop());
            if future.as_mut().poll(&mut cx).is_pending() {
                self.background.borrow_mut().push(future);
            }
        }
    }

    /// Reads a body stream to its end.
    ///
    /// # Errors
    /// The stream failed.
    pub fn read(&self, answer: &mut TestAnswer) -> Result<Vec<u8>, Error> {
        let mut stream = answer.stream.take().expect("a stream");
        let mut all = Vec::new();
        while let Some(chunk) = block_on(|cx| stream.poll_chunk(cx)) {
            all.extend(chunk?.into_bytes());
        }
        Ok(all)
    }
}
