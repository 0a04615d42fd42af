//! What a call of a handler costs without any HTTP around it: `cargo bench -p sampan-js`.
//!
//! Prints nanoseconds per call, as the median of several rounds. A part of a route's pattern as argument runs only such
//! routes; a number after it is that of the calls per round, for a profiler that counts instructions.

use sampan_host::{
    Call, Cell, Context, Error, Function, FunctionKind, HandlerId, Isolate, Module, RequestView,
    ResponseSink, Rows, ScriptLimits, Setup, Sources, Step, Store, StreamedBody, Type, Value,
    Watch,
};
use sampan_js::Js;
use std::borrow::Cow;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

// As the server has it: a good part of the work is small blocks.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SOURCE: &str = r#"
import { app, json, bench } from "sampan";
app.get("/nothing", () => undefined);
app.get("/text", () => "text");
app.get("/greet/:name", (req) => ({ greeting: `Hello, ${req.params.name}` }));
app.post("/echo", async (req) => await req.json());
app.post("/parse", (req) => { req.json(); });
const text = '{"name":"World","numbers":[1,2,3],"nested":{"ok":true}}';
app.get("/builtin-parse", () => { JSON.parse(text); });
app.get("/async", async () => "text");
app.get("/object", () => ({ a: 1, b: "two", c: [1, 2, 3], d: { e: null, f: true } }));
const rows = Array.from({ length: 20 }, (_, id) => ({ id, path: "/some/path", ts: 1700000000 + id }));
app.get("/plain-rows", () => rows);
app.get("/all-rows", () => bench.rows());
app.get("/rows-objects", () => { bench.rows(); });
app.get("/rows-batch", () => bench.batch());
app.get("/bracket", () => { bench.bracket(() => {}); });
app.get("/stringify", () => JSON.stringify(rows));
app.get("/builder", () => json({ ok: true }, 201));
app.get("/response", () => new Response("text"));
app.get("/header", (req) => req.headers.get("user-agent"));
app.get("/query", (req) => req.query.a);
app.get("/middleware/:name", (req) => ({ greeting: `Hello, ${req.params.name}` }));
app.use((req, next) => next(req));
"#;

struct Batch {
    columns: Arc<[String]>,
    first: std::cell::Cell<i64>,
}

/// A batch such as a prepared statement gives: the columns are shared, each result has texts of its own.
fn rows(context: &Context) -> Rows {
    let batch = context.get::<Batch>().expect("put at the start");
    let mut rows = Rows::new(batch.columns.clone());
    let first = batch.first.get();
    batch.first.set(first + 20);
    for at in 0..20 {
        let payload = format!("payload {}", first + at);
        for cell in [
            Cell::Int(first + at),
            Cell::Text("click"),
            Cell::Text(&payload),
            Cell::Int(1_700_000_000_000 + first + at),
        ] {
            rows.push(cell).expect("a small batch");
        }
    }
    rows
}

const fn row(name: &'static str, returns: Type, kind: FunctionKind) -> Function {
    Function {
        name,
        params: &[],
        returns,
        doc: "",
        kind,
    }
}

static MODULE: Module = Module {
    name: "bench",
    doc: "",
    functions: &[
        row(
            "rows",
            Type::List,
            FunctionKind::Sync(|context, _| Ok(Value::Rows(rows(context)))),
        ),
        row(
            "batch",
            Type::Nothing,
            FunctionKind::Sync(|context, _| {
                black_box(rows(context));
                Ok(Value::Null)
            }),
        ),
        row(
            "bracket",
            Type::Any,
            FunctionKind::Bracket {
                enter: |_, _| Ok(Value::Null),
                later: None,
                leave: |_, _, _| Ok(()),
            },
        ),
    ],
    ..Module::EMPTY
};
static MODULES: &[&Module] = &[&MODULE];

struct One;
impl Sources for One {
    fn read(&self, _: &str) -> Option<Vec<u8>> {
        Some(SOURCE.into())
    }
}

#[derive(Default)]
struct BenchRequest(Store);
impl RequestView for BenchRequest {
    fn method(&self) -> &str {
        "GET"
    }
    fn path(&self) -> &str {
        "/greet/World"
    }
    fn query(&self) -> Option<&str> {
        Some("a=1&b=2")
    }
    fn url(&self) -> String {
        "http://localhost:8080/greet/World?a=1&b=2".into()
    }
    fn param(&self, index: usize) -> Option<(&str, Cow<'_, str>)> {
        (index == 0).then_some(("name", Cow::Borrowed("World")))
    }
    fn header(&self, _: &str) -> Option<&[u8]> {
        None
    }
    fn each_header(&self, each: &mut dyn FnMut(&str, &[u8])) {
        each("Host", b"localhost:8080");
        each("User-Agent", b"bench");
    }
    fn ip(&self) -> String {
        "127.0.0.1".into()
    }
    fn id(&self) -> Cow<'_, str> {
        Cow::Borrowed("r1")
    }
    fn body(&self) -> &[u8] {
        br#"{"name":"World","numbers":[1,2,3],"nested":{"ok":true}}"#
    }
    fn store(&self) -> &Store {
        &self.0
    }
    fn add_header(&self, _: &str, _: &[u8]) -> Result<(), Error> {
        Ok(())
    }
    fn is_over(&self) -> bool {
        false
    }
}

#[derive(Default)]
struct Sink {
    body: Vec<u8>,
}
impl ResponseSink for Sink {
    fn status(&mut self, status: u16) -> Result<(), Error> {
        black_box(status);
        Ok(())
    }
    fn header(&mut self, name: &[u8], value: &[u8]) -> Result<(), Error> {
        black_box((name, value));
        Ok(())
    }
    fn default_type(&mut self, content_type: &'static str) {
        black_box(content_type);
    }
    fn body(&mut self) -> &mut Vec<u8> {
        &mut self.body
    }
    fn stream(&mut self, _: Box<dyn StreamedBody>) {}
    fn reset(&mut self) {
        self.body.clear();
    }
}

fn load() -> Js {
    let context = Context::default();
    context.put(Batch {
        columns: ["id", "kind", "payload", "ts"].map(str::to_owned).into(),
        first: std::cell::Cell::new(0),
    });
    Js::load(Setup {
        sources: Arc::new(One),
        entry: "app.js".into(),
        modules: MODULES,
        context: Rc::new(context),
        limits: ScriptLimits::default(),
        watch: Arc::new(Watch::default()),
        spawn: Rc::new(|_| {}),
        console: Rc::new(|_, _| {}),
        sleep: Rc::new(|_| Box::pin(std::future::pending())),
        report: Rc::new(|error| panic!("{error:?}")),
    })
    .expect("the benchmark's script loads")
}

fn run(
    js: &Js,
    request: &Rc<BenchRequest>,
    handler: HandlerId,
    middleware: &[HandlerId],
    sink: &mut Sink,
) {
    let call = Call {
        request: request.clone(),
        handler: Some(handler),
        fallback: 404,
        middleware,
        error: None,
    };
    sink.reset();
    match js.start(call, sink) {
        Step::Done => {}
        Step::Failed(error) => panic!("{error:?}"),
        Step::Waiting(_) => panic!("the handler waits"),
    }
}

fn main() {
    const ROUNDS: usize = 25;
    let mut args = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    let only = args.next();
    let calls: u32 = args
        .next()
        .map_or(20_000, |calls| calls.parse().expect("a number of calls"));
    let start = Instant::now();
    let js = load();
    println!(
        "{:>9.1} µs to load an isolate, {} KiB",
        start.elapsed().as_nanos() as f64 / 1000.0,
        js.memory_bytes() / 1024
    );
    let request = Rc::new(BenchRequest::default());
    let middleware: Vec<HandlerId> = js.program().middleware.iter().map(|m| m.handler).collect();
    for route in js.program().routes.clone() {
        if only
            .as_ref()
            .is_some_and(|only| !route.pattern.contains(only.as_str()))
        {
            continue;
        }
        let wraps = if route.pattern.starts_with("/middleware") {
            &middleware[..]
        } else {
            &[]
        };
        let mut sink = Sink::default();
        let mut rounds: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let start = Instant::now();
                for _ in 0..calls {
                    run(&js, &request, route.handler, wraps, &mut sink);
                }
                start.elapsed().as_nanos() as f64 / f64::from(calls)
            })
            .collect();
        rounds.sort_by(f64::total_cmp);
        println!(
            "{:>9.1} ns {} (fastest {:.1})",
            rounds[ROUNDS / 2],
            route.pattern,
            rounds[0]
        );
    }
    println!("{:>9} KiB at the end", js.memory_bytes() / 1024);
}
