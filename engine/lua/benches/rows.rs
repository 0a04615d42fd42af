//! What rows cost on their way through Lua, without any database: `cargo bench -p sampan-lua`.
//!
//! Prints nanoseconds per call of a handler, as the median of several rounds. A part of a route's pattern as argument runs only such
//! routes; a number after it is that of the calls per round, for a profiler that counts instructions. 20 rows of two integers and two short texts
//! are the measure: made into tables only, and made into tables and written as JSON.

use sampan_host::{
    Call, Cell, Context, Error, Function, FunctionKind, HandlerId, Isolate, Module, RequestView,
    ResponseSink, Rows, ScriptLimits, Setup, Sources, Step, Store, StreamedBody, Type, Value,
    Watch,
};
use sampan_lua::Lua;
use std::borrow::Cow;
use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

// As the server has it: a good part of the work is small blocks.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SOURCE: &str = r#"
local app = require "sampan"
app.get("/nothing", function() end)
app.get("/tables", function() app.bench.rows() end)
app.get("/rows", function() return app.bench.rows() end)
app.get("/one", function() return app.bench.one() end)
local plain = {}
for i = 1, 20 do plain[i] = { id = i, kind = "click", payload = "some text", ts = 1700000000 + i } end
app.get("/plain", function() return plain end)
local kept = app.bench.rows()
app.get("/kept", function() return kept end)
app.get("/bracket", function() app.bench.bracket(function() end) end)
"#;

struct Batch {
    columns: Arc<[String]>,
    count: i64,
}

thread_local! {
    static NEXT: RefCell<i64> = const { RefCell::new(0) };
}

/// A batch such as a prepared statement gives: the columns are shared, each result has texts of its own.
fn rows(context: &Context, count: i64) -> Rows {
    let batch = context.get::<Batch>().expect("put at the start");
    let mut rows = Rows::new(batch.columns.clone());
    let first = NEXT.with_borrow_mut(|next| {
        *next += batch.count;
        *next
    });
    for at in 0..count {
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

static MODULE: Module = Module {
    name: "bench",
    doc: "",
    functions: &[
        Function {
            name: "rows",
            params: &[],
            returns: Type::List,
            doc: "",
            kind: FunctionKind::Sync(|context, _| Ok(Value::Rows(rows(context, 20)))),
        },
        Function {
            name: "one",
            params: &[],
            returns: Type::Any,
            doc: "",
            kind: FunctionKind::Sync(|context, _| Ok(Value::Row(rows(context, 1)))),
        },
        Function {
            name: "bracket",
            params: &[],
            returns: Type::Any,
            doc: "",
            kind: FunctionKind::Bracket {
                enter: |_, _| Ok(Value::Null),
                later: None,
                leave: |_, _, _| Ok(()),
            },
        },
        Function {
            name: "batch",
            params: &[],
            returns: Type::Nothing,
            doc: "",
            kind: FunctionKind::Sync(|context, _| {
                black_box(rows(context, 20));
                Ok(Value::Null)
            }),
        },
    ],
    ..Module::EMPTY
};

static MODULES: &[&Module] = &[&MODULE];

struct One;
impl Sources for One {
    fn read(&self, _: &str) -> Option<Vec<u8>> {
        Some(format!("{SOURCE}\napp.get('/batch', function() app.bench.batch() end)").into())
    }
}

#[derive(Default)]
struct BenchRequest(Store);
impl RequestView for BenchRequest {
    fn method(&self) -> &str {
        "GET"
    }
    fn path(&self) -> &str {
        "/"
    }
    fn query(&self) -> Option<&str> {
        None
    }
    fn url(&self) -> String {
        "http://localhost:8080/".into()
    }
    fn param(&self, _: usize) -> Option<(&str, Cow<'_, str>)> {
        None
    }
    fn header(&self, _: &str) -> Option<&[u8]> {
        None
    }
    fn each_header(&self, _: &mut dyn FnMut(&str, &[u8])) {}
    fn ip(&self) -> String {
        "127.0.0.1".into()
    }
    fn id(&self) -> Cow<'_, str> {
        Cow::Borrowed("r1")
    }
    fn body(&self) -> &[u8] {
        b""
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

fn run(lua: &Lua, request: &Rc<BenchRequest>, handler: HandlerId, sink: &mut Sink) {
    let call = Call {
        request: request.clone(),
        handler: Some(handler),
        fallback: 404,
        middleware: &[],
        error: None,
    };
    sink.reset();
    match lua.start(call, sink) {
        Step::Done => {}
        Step::Failed(error) => panic!("{error:?}"),
        Step::Waiting(_) => panic!("the handler waits"),
    }
}

fn main() {
    const ROUNDS: usize = 15;
    let mut args = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    let only = args.next();
    let calls: u32 = args
        .next()
        .map_or(10_000, |calls| calls.parse().expect("a number of calls"));
    let context = Rc::new(Context::default());
    context.put(Batch {
        columns: ["id", "kind", "payload", "ts"]
            .map(str::to_owned)
            .into_iter()
            .collect(),
        count: 20,
    });
    let lua = Lua::load(Setup {
        sources: Arc::new(One),
        entry: "app.lua".into(),
        modules: MODULES,
        context,
        limits: ScriptLimits::default(),
        watch: Arc::new(Watch::default()),
        spawn: Rc::new(|_| {}),
        console: Rc::new(|_, _| {}),
        sleep: Rc::new(|_| Box::pin(std::future::pending())),
        report: Rc::new(|error| panic!("{error:?}")),
    })
    .expect("the benchmark's script loads");
    let request = Rc::new(BenchRequest::default());
    for route in lua.program().routes.clone() {
        if only
            .as_ref()
            .is_some_and(|only| !route.pattern.contains(only.as_str()))
        {
            continue;
        }
        let mut sink = Sink::default();
        let mut rounds: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let start = Instant::now();
                for _ in 0..calls {
                    run(&lua, &request, route.handler, &mut sink);
                }
                start.elapsed().as_nanos() as f64 / f64::from(calls)
            })
            .collect();
        rounds.sort_by(f64::total_cmp);
        println!(
            "{:>9.1} ns {} (fastest {:.1}, {} bytes)",
            rounds[ROUNDS / 2],
            route.pattern,
            rounds[0],
            sink.body.len()
        );
    }
    println!("{:>9} KiB at the end", lua.memory_bytes() / 1024);
}
