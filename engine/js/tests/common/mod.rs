//! Drives an isolate through the host's contract: files in memory, a request made of parts, an executor of a few lines.
#![allow(dead_code, missing_docs, unreachable_pub)]

use sampan_host::{
    Args, BodyStream, Call, Cell, Context, Error, ErrorKind, Function, HandlerId, Isolate, Kind,
    LocalFuture, Module, Param, Program, RequestView, ResponseSink, Rows, ScriptLimits, Setup,
    Sources, Step, Suspended, Type, Value, Watch,
};
use sampan_js::Js;
use std::borrow::Cow;
use std::cell::{Cell as Count, RefCell};
use std::collections::HashMap;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};
use std::task::{self, Poll, Waker};
use std::time::{Duration, Instant};

/// Files in memory.
pub struct Files(HashMap<String, Vec<u8>>);

impl Sources for Files {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.0.get(path).cloned()
    }
}

/// Ready at a time; whoever polls it must come back by himself.
struct Until(Instant);

impl Future for Until {
    type Output = ();
    fn poll(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<()> {
        if Instant::now() >= self.0 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// How many sleeps are alive: a dropped one must go.
#[derive(Default)]
pub struct Sleeps(pub Count<i64>);

struct Alive(Rc<Sleeps>);

impl Alive {
    fn new(sleeps: Rc<Sleeps>) -> Self {
        sleeps.0.set(sleeps.0.get() + 1);
        Self(sleeps)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.0.set(self.0.0.get() - 1);
    }
}

/// What the log and the brackets wrote.
#[derive(Default)]
pub struct Notes(pub RefCell<Vec<String>>);

impl Notes {
    fn add(context: &Context, note: String) {
        if let Some(notes) = context.get::<Notes>() {
            notes.0.borrow_mut().push(note);
        }
    }
}

fn sleep(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    let seconds = args.number(0).unwrap_or(0.0);
    let alive = context.get::<Sleeps>().map(Alive::new);
    Box::pin(async move {
        Until(Instant::now() + Duration::from_secs_f64(seconds)).await;
        drop(alive);
        Ok(Value::Null)
    })
}

fn fails(_: &Context, _: Args) -> LocalFuture<Result<Value, Error>> {
    Box::pin(async {
        Err(Error::new(
            sampan_host::ErrorKind::Status(418),
            "short and stout",
        ))
    })
}

fn log(context: &Context, mut args: Args) -> Result<Value, Error> {
    let text = args.text(0);
    Notes::add(
        context,
        match args.take(1) {
            Value::Null => text,
            fields => format!("{text} {fields:?}"),
        },
    );
    Ok(Value::Null)
}

fn echo(_: &Context, mut args: Args) -> Result<Value, Error> {
    Ok(args.take(0))
}

fn rows(_: &Context, _: Args) -> Result<Value, Error> {
    let cells = [
        sampan_host::Cell::Int(1),
        sampan_host::Cell::Text("ada"),
        sampan_host::Cell::Int(i64::MAX),
        sampan_host::Cell::Null,
    ];
    Ok(Value::Rows(sampan_host::Rows::of(&["id", "name"], &cells)))
}

fn result(_: &Context, _: Args) -> Result<Value, Error> {
    Ok(Value::Map(vec![("last_id".into(), Value::Int(7))]))
}

fn shape(_: &Context, mut args: Args) -> Result<Value, Error> {
    Ok(Value::Text(format!("{:?}", args.take(0))))
}

fn enter(context: &Context, mut args: Args) -> Result<Value, Error> {
    let name = args.text(0);
    Notes::add(context, format!("enter {name}"));
    Ok(Value::Text(name))
}

fn leave(context: &Context, token: Value, ok: bool) -> Result<(), Error> {
    Notes::add(context, format!("leave {token:?} {ok}"));
    if ok && token == Value::Text("stuck".into()) {
        return Err(Error::script("probe.within: stuck"));
    }
    Ok(())
}

const ANY: Param = Param {
    name: "value",
    ty: Type::Any,
    optional: true,
    doc: "",
};
const NUMBER: Param = Param {
    name: "seconds",
    ty: Type::Number,
    optional: false,
    doc: "",
};
const TEXT: Param = Param {
    name: "text",
    ty: Type::Text,
    optional: false,
    doc: "",
};

const fn row(name: &'static str, params: &'static [Param], returns: Type, kind: Kind) -> Function {
    Function {
        name,
        params,
        returns,
        doc: "",
        kind,
    }
}

static TIME: Module = Module {
    name: "time",
    doc: "",
    functions: &[row("sleep", &[NUMBER], Type::Nothing, Kind::Async(sleep))],
};
static LOG: Module = Module {
    name: "log",
    doc: "",
    functions: &[
        row("debug", &[TEXT, ANY], Type::Nothing, Kind::Sync(log)),
        row("info", &[TEXT, ANY], Type::Nothing, Kind::Sync(log)),
        row("warn", &[TEXT, ANY], Type::Nothing, Kind::Sync(log)),
        row("error", &[TEXT, ANY], Type::Nothing, Kind::Sync(log)),
    ],
};
static PROBE: Module = Module {
    name: "probe",
    doc: "",
    functions: &[
        row("echo", &[ANY], Type::Any, Kind::Sync(echo)),
        row("rows", &[], Type::Any, Kind::Sync(rows)),
        row("run_it", &[], Type::Map, Kind::Sync(result)),
        row("shape", &[ANY], Type::Text, Kind::Sync(shape)),
        row("fails", &[], Type::Any, Kind::Async(fails)),
        row("number", &[NUMBER], Type::Any, Kind::Sync(echo)),
        row("within", &[TEXT], Type::Any, Kind::Bracket { enter, leave }),
    ],
};

/// The columns of all results of one statement, which it shares.
static PEOPLE: LazyLock<Arc<[String]>> =
    LazyLock::new(|| ["id", "name", "note"].map(str::to_owned).into());

fn people(cells: &[Cell<'_>]) -> Rows {
    let mut rows = Rows::new(PEOPLE.clone());
    for cell in cells {
        rows.push(*cell).expect("a small batch");
    }
    rows
}

const ADA: [Cell<'_>; 3] = [Cell::Int(1), Cell::Text("Ada"), Cell::Null];
const BOB: [Cell<'_>; 3] = [Cell::Int(2), Cell::Text("Bób €"), Cell::Text("x")];

fn everyone(_: &Context, _: Args) -> Result<Value, Error> {
    Ok(Value::Rows(people(&[ADA, BOB].concat())))
}

fn person(_: &Context, mut args: Args) -> Result<Value, Error> {
    let found = args.take(0) != Value::Bool(false);
    Ok(Value::Row(people(if found { &ADA } else { &[] })))
}

/// As many columns as it is told, the same ones twice if that is even.
fn wide(_: &Context, args: Args) -> Result<Value, Error> {
    let count = args.number(0).unwrap_or(1.0) as usize;
    let name = |at: usize| format!("c{}", if count.is_multiple_of(2) { at / 2 } else { at });
    let mut rows = Rows::new((0..count).map(name).collect());
    for at in 0..count {
        rows.push(Cell::Int(at as i64)).expect("a small batch");
    }
    Ok(Value::Rows(rows))
}

fn odd_cells(_: &Context, _: Args) -> Result<Value, Error> {
    let cells = [
        Cell::Bytes(b"\xff\0"),
        Cell::Float(0.5),
        Cell::Int(3),
        Cell::Text(""),
        Cell::Int(-9_007_199_254_740_993),
    ];
    let names = ["bytes", "__proto__", "toString", "7", "big"];
    Ok(Value::Rows(Rows::of(&names, &cells)))
}

fn too_long(_: &Context, _: Args) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::TooLong, "takes too long").with_code("timeout"))
}

fn busy(_: &Context, _: Args) -> LocalFuture<Result<Value, Error>> {
    Box::pin(async { Err(Error::new(ErrorKind::Unavailable, "locked")) })
}

fn tag(_: &Context, mut args: Args) -> Result<Value, Error> {
    Ok(Value::Text(format!(
        "{:?} {:?}",
        args.take(0),
        args.take(1)
    )))
}

const LIST: Param = Param {
    name: "values",
    ty: Type::List,
    optional: false,
    doc: "",
};

/// Rows like those of a database.
static DATA: Module = Module {
    name: "data",
    doc: "",
    functions: &[
        row("people", &[], Type::List, Kind::Sync(everyone)),
        row(
            "nobody",
            &[],
            Type::List,
            Kind::Sync(|_, _| Ok(Value::Rows(people(&[])))),
        ),
        row("person", &[ANY], Type::Any, Kind::Sync(person)),
        row("wide", &[NUMBER], Type::List, Kind::Sync(wide)),
        row("odd_cells", &[], Type::List, Kind::Sync(odd_cells)),
        row(
            "slow_query",
            &[],
            Type::List,
            Kind::Prompt {
                body: too_long,
                later: busy,
                awaited: "slow_query_async",
            },
        ),
        row("slow_query_async", &[], Type::List, Kind::Async(busy)),
        row("sql", &[LIST, LIST], Type::List, Kind::Tag(tag)),
    ],
};
pub static MODULES: &[&Module] = &[&TIME, &LOG, &PROBE, &DATA];

/// A request made of parts.
#[derive(Default, Clone)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub query: Option<String>,
    pub params: Vec<(String, String)>,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
}

impl RequestView for Request {
    fn method(&self) -> &str {
        &self.method
    }
    fn path(&self) -> &str {
        &self.path
    }
    fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }
    fn url(&self) -> String {
        let query = self
            .query
            .as_ref()
            .map(|query| format!("?{query}"))
            .unwrap_or_default();
        format!("http://test.example{}{query}", self.path)
    }
    fn param(&self, index: usize) -> Option<(&str, Cow<'_, str>)> {
        self.params
            .get(index)
            .map(|(name, value)| (name.as_str(), Cow::Borrowed(value.as_str())))
    }
    fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| &value[..])
    }
    fn each_header(&self, each: &mut dyn FnMut(&str, &[u8])) {
        self.headers
            .iter()
            .for_each(|(name, value)| each(name, value));
    }
    fn ip(&self) -> String {
        "192.0.2.1".into()
    }
    fn body(&self) -> &[u8] {
        &self.body
    }
}

/// `GET path`, with the query split off.
pub fn get(path: &str) -> Request {
    let (path, query) = match path.split_once('?') {
        Some((path, query)) => (path, Some(query.to_owned())),
        None => (path, None),
    };
    Request {
        method: "GET".into(),
        path: path.into(),
        query,
        ..Request::default()
    }
}

/// `POST path` with a body.
pub fn post(path: &str, content_type: &str, body: &str) -> Request {
    let headers = vec![("Content-Type".to_owned(), content_type.as_bytes().to_vec())];
    Request {
        method: "POST".into(),
        headers,
        body: body.as_bytes().to_vec(),
        ..get(path)
    }
}

/// An answer as the sink received it.
#[derive(Default)]
pub struct Answer {
    pub status: Option<u16>,
    pub headers: Vec<(String, String)>,
    pub default_type: Option<&'static str>,
    pub body: Vec<u8>,
    pub stream: Option<Box<dyn BodyStream>>,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?} {}", self.code(), self.headers, self.text())
    }
}

impl Answer {
    pub fn code(&self) -> u16 {
        self.status.unwrap_or(200)
    }
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name));
        found
            .map(|(_, value)| value.as_str())
            .or(if name == "content-type" {
                self.default_type
            } else {
                None
            })
    }
}

impl ResponseSink for Answer {
    fn status(&mut self, status: u16) -> Result<(), Error> {
        self.status = Some(status);
        Ok(())
    }
    fn header(&mut self, name: &[u8], value: &[u8]) -> Result<(), Error> {
        if value.iter().any(|byte| *byte < 0x20) {
            return Err(Error::script("control byte in a header"));
        }
        let text = |bytes: &[u8]| {
            bytes
                .iter()
                .map(|&byte| char::from(byte))
                .collect::<String>()
        };
        self.headers.push((text(name), text(value)));
        Ok(())
    }
    fn default_type(&mut self, content_type: &'static str) {
        self.default_type = Some(content_type);
    }
    fn body(&mut self) -> &mut Vec<u8> {
        &mut self.body
    }
    fn stream(&mut self, body: Box<dyn BodyStream>) {
        self.stream = Some(body);
    }
    fn reset(&mut self) {
        *self = Self::default();
    }
}

/// A loaded project with all that a worker would have around it.
pub struct App {
    pub js: Js,
    pub watch: Arc<Watch>,
    pub reports: Rc<RefCell<Vec<Error>>>,
    pub background: Rc<RefCell<Vec<LocalFuture<()>>>>,
    pub sleeps: Rc<Sleeps>,
    pub notes: Rc<Notes>,
}

/// Loads `app.js`.
pub fn load(source: &str) -> App {
    load_files(&[("app.js", source)]).expect("the project loads")
}

pub fn load_files(files: &[(&str, &str)]) -> Result<App, Error> {
    load_with(
        files,
        ScriptLimits {
            script_millis_max: 100,
            ..ScriptLimits::default()
        },
    )
}

pub fn load_with(files: &[(&str, &str)], limits: ScriptLimits) -> Result<App, Error> {
    let files = files
        .iter()
        .map(|(name, source)| ((*name).to_owned(), source.as_bytes().to_vec()))
        .collect();
    let (watch, context) = (Arc::new(Watch::default()), Rc::new(Context::default()));
    context.put(Sleeps::default());
    context.put(Notes::default());
    let reports: Rc<RefCell<Vec<Error>>> = Rc::default();
    let background: Rc<RefCell<Vec<LocalFuture<()>>>> = Rc::default();
    let (reported, spawned) = (reports.clone(), background.clone());
    watchdog(&watch, limits.script_millis_max);
    let (sleeps, notes) = (
        context.get::<Sleeps>().expect("put"),
        context.get::<Notes>().expect("put"),
    );
    let (sleeping, printed) = (sleeps.clone(), notes.clone());
    let js = Js::load(Setup {
        sources: Arc::new(Files(files)),
        entry: "app.js".into(),
        modules: MODULES,
        context,
        limits,
        watch: watch.clone(),
        console: Rc::new(move |_, text| printed.0.borrow_mut().push(text.to_owned())),
        sleep: Rc::new(move |time| {
            let (until, alive) = (Until(Instant::now() + time), Alive::new(sleeping.clone()));
            Box::pin(async move {
                until.await;
                drop(alive);
            })
        }),
        spawn: Rc::new(move |future| spawned.borrow_mut().push(future)),
        report: Rc::new(move |error| reported.borrow_mut().push(error)),
    })?;
    Ok(App {
        js,
        watch,
        reports,
        background,
        sleeps,
        notes,
    })
}

/// Stops runs that take longer than the limit, as the server's watchdog does. Ends with the watch.
fn watchdog(watch: &Arc<Watch>, millis_max: u64) {
    let watch = Arc::downgrade(watch);
    std::thread::spawn(move || {
        let (mut seen, mut since) = (0, Instant::now());
        while let Some(watch) = watch.upgrade() {
            let epoch = watch.epoch();
            if epoch != seen || epoch & 1 == 0 {
                (seen, since) = (epoch, Instant::now());
            } else if since.elapsed() >= Duration::from_millis(millis_max) {
                watch.stop(epoch);
            }
            drop(watch);
            std::thread::sleep(Duration::from_millis(2));
        }
    });
}

/// The processor time of this thread: other work on the machine does not count.
#[allow(unsafe_code)]
pub fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists and the time is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// How a request ended.
pub enum End {
    Answer(Answer),
    Error(Error),
    Waits(Box<dyn Suspended>, Answer),
}

impl App {
    /// The handler of the route with this pattern.
    pub fn handler(&self, pattern: &str) -> HandlerId {
        let route = self
            .js
            .program()
            .routes
            .iter()
            .find(|route| route.pattern == pattern);
        route
            .unwrap_or_else(|| panic!("no route {pattern}"))
            .handler
    }

    pub fn call(
        &self,
        request: Request,
        handler: Option<HandlerId>,
        middleware: &[HandlerId],
    ) -> Call<'static> {
        Call {
            request: Rc::new(request),
            handler,
            fallback: 404,
            middleware: middleware.to_vec().leak(),
            error: None,
        }
    }

    pub fn start(&self, call: Call<'_>) -> End {
        let mut answer = Answer::default();
        match self.js.start(call, &mut answer) {
            Step::Done => End::Answer(answer),
            Step::Failed(error) => End::Error(error),
            Step::Waiting(rest) => End::Waits(rest, answer),
        }
    }

    /// Starts a request and waits until it has ended, up to five seconds.
    pub fn run(&self, call: Call<'_>) -> Result<Answer, Error> {
        match self.start(call) {
            End::Answer(answer) => Ok(answer),
            End::Error(error) => Err(error),
            End::Waits(mut rest, mut answer) => {
                let until = Instant::now() + Duration::from_secs(5);
                loop {
                    let mut cx = task::Context::from_waker(Waker::noop());
                    if let Poll::Ready(result) = rest.poll(&mut cx, &mut answer) {
                        return result.map(|()| answer);
                    }
                    if Instant::now() > until {
                        return Err(Error::new(
                            sampan_host::ErrorKind::Timeout,
                            "the test waited too long",
                        ));
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
    }

    /// Calls the route with this pattern, without middleware.
    pub fn route(&self, pattern: &str, request: Request) -> Result<Answer, Error> {
        self.run(self.call(request, Some(self.handler(pattern)), &[]))
    }

    /// Calls the only route.
    pub fn only(&self, request: Request) -> Result<Answer, Error> {
        self.run(self.call(request, Some(self.js.program().routes[0].handler), &[]))
    }

    /// The body of the only route's answer.
    pub fn text(&self, request: Request) -> String {
        self.only(request).expect("an answer").text()
    }

    /// Calls the only route within all middleware.
    pub fn wrapped(&self, request: Request) -> Result<Answer, Error> {
        let middleware: Vec<HandlerId> = self
            .js
            .program()
            .middleware
            .iter()
            .map(|m| m.handler)
            .collect();
        self.run(self.call(
            request,
            self.js.program().routes.first().map(|route| route.handler),
            &middleware,
        ))
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
    pub fn read(&self, answer: &mut Answer) -> Result<Vec<u8>, Error> {
        let mut stream = answer.stream.take().expect("a stream");
        let mut all = Vec::new();
        let until = Instant::now() + Duration::from_secs(5);
        loop {
            let mut cx = task::Context::from_waker(Waker::noop());
            match stream.poll_chunk(&mut cx) {
                Poll::Ready(None) => return Ok(all),
                Poll::Ready(Some(chunk)) => all.extend(chunk?),
                Poll::Pending if Instant::now() > until => panic!("the stream never ends"),
                Poll::Pending => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }
}

/// Program of a project, to look at.
pub fn program(source: &str) -> Program {
    let app = load(source);
    let program = app.js.program();
    Program {
        routes: program.routes.clone(),
        middleware: program.middleware.clone(),
        not_found: program.not_found,
        on_error: program.on_error,
        fetch: program.fetch,
    }
}
