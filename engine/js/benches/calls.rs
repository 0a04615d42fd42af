//! What a call of a handler costs without any HTTP around it: `cargo bench -p sampan-js`.
//!
//! Prints nanoseconds per call, as the median of several rounds.

use sampan_host::{
    BodyStream, Call, Context, Error, HandlerId, Isolate, RequestView, ResponseSink, ScriptLimits,
    Setup, Sources, Step, Watch,
};
use sampan_js::Js;
use std::borrow::Cow;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

const SOURCE: &str = r#"
import { app, json } from "sampan";
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
app.get("/rows", () => rows);
app.get("/stringify", () => JSON.stringify(rows));
app.get("/builder", () => json({ ok: true }, 201));
app.get("/response", () => new Response("text"));
app.get("/header", (req) => req.headers.get("user-agent"));
app.get("/query", (req) => req.query.a);
app.get("/middleware/:name", (req) => ({ greeting: `Hello, ${req.params.name}` }));
app.use((req, next) => next(req));
"#;

struct One;
impl Sources for One {
    fn read(&self, _: &str) -> Option<Vec<u8>> {
        Some(SOURCE.into())
    }
}

struct Request;
impl RequestView for Request {
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
    fn body(&self) -> &[u8] {
        br#"{"name":"World","numbers":[1,2,3],"nested":{"ok":true}}"#
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
    fn stream(&mut self, _: Box<dyn BodyStream>) {}
    fn reset(&mut self) {
        self.body.clear();
    }
}

fn load() -> Js {
    Js::load(Setup {
        sources: Arc::new(One),
        entry: "app.js".into(),
        modules: &[],
        context: Rc::new(Context::default()),
        limits: ScriptLimits::default(),
        watch: Arc::new(Watch::default()),
        spawn: Rc::new(|_| {}),
        report: Rc::new(|error| panic!("{error:?}")),
    })
    .expect("the benchmark's script loads")
}

fn run(
    js: &Js,
    request: &Rc<Request>,
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
    const CALLS: u32 = 20_000;
    const ROUNDS: usize = 25;
    let start = Instant::now();
    let js = load();
    println!(
        "{:>9.1} µs to load an isolate, {} KiB",
        start.elapsed().as_nanos() as f64 / 1000.0,
        js.memory_bytes() / 1024
    );
    let only = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let request = Rc::new(Request);
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
                for _ in 0..CALLS {
                    run(&js, &request, route.handler, wraps, &mut sink);
                }
                start.elapsed().as_nanos() as f64 / f64::from(CALLS)
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
