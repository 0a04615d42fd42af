//! The common parts of the engines' benchmarks share: rows such as a database gives, and the timing of routes without
//! HTTP around them.

use crate::{App, cpu_time, get};
use sampan_host::{
    Call, Cell, Context, Error, FunctionKind, HandlerId, Isolate, Module, ResponseSink, Rows, Step,
    StreamedBody, Type, Value, row,
};
use std::cell::Cell as Counter;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

/// The columns of all batches, which a prepared statement shares.
static COLUMNS: LazyLock<Arc<[String]>> =
    LazyLock::new(|| ["id", "kind", "payload", "ts"].map(str::to_owned).into());

thread_local! {
    /// The id of the next row: each batch has texts of its own.
    static NEXT: Counter<i64> = const { Counter::new(0) };
}

fn batch(count: i64) -> Rows {
    let mut rows = Rows::new(COLUMNS.clone());
    let first = NEXT.replace(NEXT.get() + count);
    for id in first..first + count {
        let payload = format!("payload {id}");
        for cell in [
            Cell::Int(id),
            Cell::Text("click"),
            Cell::Text(&payload),
            Cell::Int(1_700_000_000_000 + id),
        ] {
            rows.push(cell).expect("a small batch");
        }
    }
    rows
}

/// Rows of two integers and two short texts.
pub static BENCH: Module = Module {
    name: "bench",
    doc: "",
    functions: &[
        row!("rows"() -> Type::List, FunctionKind::Sync(|_, _| Ok(Value::Rows(batch(20)))), ""),
        row!("one"() -> Type::Any, FunctionKind::Sync(|_, _| Ok(Value::Row(batch(1)))), ""),
        row!("batch"() -> Type::Nothing,
            FunctionKind::Sync(|_: &Context, _| {
                black_box(batch(20));
                Ok(Value::Null)
            }),
            ""),
        row!("bracket"() -> Type::Any,
            FunctionKind::Bracket {
                enter: |_, _| Ok(Value::Null),
                later: None,
                leave: |_, _, _| Ok(()),
            },
            ""),
    ],
    ..Module::EMPTY
};

/// Keeps a body, and looks at the rest.
#[derive(Default)]
struct BodySink {
    body: Vec<u8>,
}

impl ResponseSink for BodySink {
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

/// Prints nanoseconds per call of each route, as the median of several rounds; those below `/middleware` within the
/// middleware. Of the command line, a part of a pattern runs only such routes, and a number after it is that of the
/// calls per round, for a profiler that counts instructions.
///
/// # Panics
/// A handler fails or waits.
pub fn time_routes<I: Isolate>(app: &App<I>) {
    const ROUNDS: usize = 15;
    let mut args = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    let only = args.next().unwrap_or_default();
    let calls = args.next().map_or(10_000, |calls| {
        calls.parse::<u32>().expect("a number of calls")
    });
    let program = app.isolate.program();
    let middleware: Vec<HandlerId> = program.middleware.iter().map(|m| m.handler).collect();
    let mut request = get("/greet/World?a=1&b=2");
    request.params = vec![("name".into(), "World".into())];
    request.headers = vec![("User-Agent".into(), b"bench".to_vec())];
    request.body = br#"{"name":"World","numbers":[1,2,3],"nested":{"ok":true}}"#.to_vec();
    let request = Rc::new(request);
    let routes = program.routes.iter();
    for route in routes.filter(|route| route.pattern.contains(&only)) {
        let is_wrapped = route.pattern.starts_with("/middleware");
        let mut sink = BodySink::default();
        let mut call = || {
            let call = Call {
                request: request.clone(),
                handler: Some(route.handler),
                fallback: 404,
                file: None,
                middleware: if is_wrapped { &middleware } else { &[] },
                error: None,
                is_traced: false,
            };
            sink.reset();
            match app.isolate.start(call, &mut sink) {
                Step::Done => {}
                Step::Failed(error) => panic!("{error:?}"),
                Step::Waiting(_) => panic!("the handler waits"),
            }
        };
        let [median, fastest] = rounds(ROUNDS, || {
            let start = Instant::now();
            (0..calls).for_each(|_| call());
            start.elapsed().as_nanos() as f64 / f64::from(calls)
        });
        let (pattern, bytes) = (&route.pattern, sink.body.len());
        println!("{median:>9.1} ns {pattern} (fastest {fastest:.1}, {bytes} bytes)");
    }
    println!("{:>9} KiB at the end", app.isolate.memory_bytes() / 1024);
}

/// Prints what one call of `reading.lengths` costs in the project's route, which makes as many as its query's `times`
/// says.
///
/// # Panics
/// The route fails.
pub fn time_reading<I: Isolate>(app: &App<I>) {
    const TIMES: u32 = 20_000;
    let path = format!("/?times={TIMES}");
    let run = || {
        let begin = cpu_time();
        app.wrapped(get(&path)).expect("an answer");
        (cpu_time() - begin).as_secs_f64() * 1e6 / f64::from(TIMES)
    };
    run();
    let [median, _] = rounds(9, run);
    println!("{median:.2} µs for each call");
}

/// The median and the least of what so many rounds give.
fn rounds(count: usize, round: impl FnMut() -> f64) -> [f64; 2] {
    let mut rounds: Vec<f64> = std::iter::repeat_with(round).take(count).collect();
    rounds.sort_by(f64::total_cmp);
    [rounds[count / 2], rounds[0]]
}
