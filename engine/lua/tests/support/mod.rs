//! Drives an isolate through the contract, without sockets: files in memory, requests made up, responses collected.

use sampan_host::*;
use sampan_lua::Lua;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context as TaskContext, Poll};
use std::time::{Duration, Instant};

/// Files in memory.
pub(crate) struct Files(pub HashMap<String, String>);

impl Sources for Files {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.0.get(path).map(|text| text.clone().into_bytes())
    }
}

/// A request that a test made up.
#[derive(Clone, Default)]
pub(crate) struct Ask {
    pub params: Vec<(&'static str, String)>,
    pub query: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl RequestView for Ask {
    fn method(&self) -> &str {
        "GET"
    }
    fn path(&self) -> &str {
        "/path"
    }
    fn query(&self) -> Option<&str> {
        Some(&self.query)
    }
    fn url(&self) -> String {
        "http://test/path".into()
    }
    fn param(&self, index: usize) -> Option<(&str, Cow<'_, str>)> {
        self.params
            .get(index)
            .map(|(name, value)| (*name, Cow::Borrowed(value.as_str())))
    }
    fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_bytes())
    }
    fn each_header(&self, each: &mut dyn FnMut(&str, &[u8])) {
        for (name, value) in &self.headers {
            each(name, value.as_bytes());
        }
    }
    fn ip(&self) -> String {
        "192.0.2.1".into()
    }
    fn body(&self) -> &[u8] {
        &self.body
    }
}

/// A response as it was written.
#[derive(Default)]
pub(crate) struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub default_type: &'static str,
    pub body: Vec<u8>,
    pub stream: Option<Box<dyn BodyStream>>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl ResponseSink for Answer {
    fn status(&mut self, status: u16) -> Result<(), Error> {
        self.status = status;
        Ok(())
    }
    fn header(&mut self, name: &[u8], value: &[u8]) -> Result<(), Error> {
        if value.iter().any(|b| b"\r\n\0".contains(b)) {
            return Err(Error::script("a header value with a control byte"));
        }
        self.headers.push((
            String::from_utf8_lossy(name).into(),
            String::from_utf8_lossy(value).into(),
        ));
        Ok(())
    }
    fn default_type(&mut self, content_type: &'static str) {
        self.default_type = content_type;
    }
    fn body(&mut self) -> &mut Vec<u8> {
        &mut self.body
    }
    fn stream(&mut self, body: Box<dyn BodyStream>) {
        self.stream = Some(body);
    }
    fn reset(&mut self) {
        *self = Self {
            status: 200,
            ..Self::default()
        };
    }
}

/// An isolate with its watchdog.
pub(crate) struct Rig {
    pub lua: Lua,
    over: Arc<AtomicBool>,
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
    }
}

pub(crate) static MODULES: &[&Module] = &[
    &sampan_time::MODULE,
    &sampan_json::MODULE,
    &sampan_env::MODULE,
    &sampan_log::MODULE,
    &PROBE,
    &DATA,
];

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
const BOB: [Cell<'_>; 3] = [Cell::Int(2), Cell::Text("Bob"), Cell::Text("x")];

const fn row(name: &'static str, params: &'static [Param], kind: Kind) -> Function {
    Function {
        name,
        params,
        returns: Type::Any,
        doc: "For tests.",
        kind,
    }
}

const VALUE: Param = Param {
    name: "value",
    ty: Type::Any,
    optional: true,
    doc: "Anything.",
};

/// Rows like those of a database.
static DATA: Module = Module {
    name: "data",
    doc: "For tests.",
    functions: &[
        row(
            "people",
            &[],
            Kind::Sync(|_, _| Ok(Value::Rows(people(&[ADA, BOB].concat())))),
        ),
        row(
            "nobody",
            &[],
            Kind::Sync(|_, _| Ok(Value::Rows(people(&[])))),
        ),
        row(
            "person",
            &[VALUE],
            Kind::Sync(|_, mut args| {
                let found = args.take(0) != Value::Bool(false);
                Ok(Value::Row(people(if found { &ADA } else { &[] })))
            }),
        ),
        // As many columns as it is told, the same ones twice if that is even.
        row(
            "wide",
            &[VALUE],
            Kind::Sync(|_, args| {
                let count = args.number(0).unwrap_or(1.0) as usize;
                let name =
                    |at: usize| format!("c{}", if count.is_multiple_of(2) { at / 2 } else { at });
                let mut rows = Rows::new((0..count).map(name).collect());
                for at in 0..count {
                    rows.push(Cell::Int(at as i64)).expect("a small batch");
                }
                Ok(Value::Rows(rows))
            }),
        ),
        row(
            "odd_names",
            &[],
            Kind::Sync(|_, _| {
                let cells = [Cell::Int(1), Cell::Bytes(b"\xff"), Cell::Float(0.5)];
                Ok(Value::Rows(Rows::of(
                    &["a\n\"]\\", "end", "count(*)"],
                    &cells,
                )))
            }),
        ),
        row(
            "shape",
            &[VALUE],
            Kind::Sync(|_, mut args| Ok(Value::Text(format!("{:?}", args.take(0))))),
        ),
        // Takes too long at once if it is told so; the other way gives its argument too.
        row(
            "slow_query",
            &[VALUE, VALUE],
            Kind::Prompt {
                body: |_, mut args| match (args.take(0), args.take(1)) {
                    (_, Value::Bool(true)) => Err(too_long()),
                    (value, _) => Ok(value),
                },
                awaited: "slow_query_async",
                later: |_, mut args| {
                    let value = args.take(0);
                    Box::pin(async move {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                        if value == Value::from("fails") {
                            return Err(Error::new(ErrorKind::Unavailable, "no database"));
                        }
                        Ok(value)
                    })
                },
            },
        ),
        row(
            "busy",
            &[],
            Kind::Sync(|_, _| Err(Error::new(ErrorKind::Unavailable, "locked"))),
        ),
        row(
            "batch",
            &[],
            Kind::Bracket {
                enter: |context, _| {
                    let log = log(context);
                    log.borrow_mut().push("enter".into());
                    Ok(Value::Int(log.borrow().len() as i64))
                },
                leave: |context, token, succeeded| {
                    log(context)
                        .borrow_mut()
                        .push(format!("leave {token:?} {succeeded}"));
                    Ok(())
                },
            },
        ),
        row(
            "log",
            &[],
            Kind::Sync(|context, _| Ok(Value::Text(log(context).borrow().join(", ")))),
        ),
        row(
            "tag",
            &[VALUE, VALUE],
            Kind::Tag(|_, mut args| Ok(args.take(0))),
        ),
    ],
};

fn too_long() -> Error {
    Error::new(ErrorKind::TooLong, "data.slow_query: takes too long")
}

/// What the brackets of `data` did.
fn log(context: &Context) -> Rc<RefCell<Vec<String>>> {
    if context.get::<RefCell<Vec<String>>>().is_none() {
        context.put(RefCell::<Vec<String>>::default());
    }
    context.get().expect("just put")
}

/// Rows that only tests have: one of each kind.
static PROBE: Module = Module {
    name: "probe",
    doc: "For tests.",
    functions: &[
        Function {
            name: "echo_value",
            params: &[Param {
                name: "value",
                ty: Type::Any,
                optional: true,
                doc: "Anything.",
            }],
            returns: Type::Any,
            doc: "Gives its argument back.",
            kind: Kind::Sync(|_, mut args| Ok(args.take(0))),
        },
        Function {
            name: "panics",
            params: &[],
            returns: Type::Nothing,
            doc: "Panics.",
            kind: Kind::Sync(|_, _| panic!("on purpose")),
        },
        Function {
            name: "guarded",
            params: &[],
            returns: Type::Any,
            doc: "A bracket that records what happened.",
            kind: Kind::Bracket {
                enter: |context, _| {
                    context.put(Left(None));
                    Ok(Value::Int(7))
                },
                leave: |context, token, succeeded| {
                    context.put(Left(Some((token, succeeded))));
                    Ok(())
                },
            },
        },
        Function {
            name: "left",
            params: &[],
            returns: Type::Any,
            doc: "What the bracket recorded.",
            kind: Kind::Sync(|context, _| {
                let left = context.get::<Left>().and_then(|left| left.0.clone());
                Ok(left.map_or(Value::Null, |(token, ok)| {
                    Value::List(vec![token, Value::Bool(ok)])
                }))
            }),
        },
        Function {
            name: "rows",
            params: &[],
            returns: Type::List,
            doc: "Two rows.",
            kind: Kind::Sync(|_, _| {
                let cells = [Cell::Int(1), Cell::Int(i64::MAX), Cell::Int(2), Cell::Null];
                Ok(Value::Rows(Rows::of(&["id", "big"], &cells)))
            }),
        },
    ],
};

struct Left(Option<(Value, bool)>);

/// Loads `source` as `app.lua`, with the other files beside it.
pub(crate) fn load_files(
    source: &str,
    files: &[(&str, &str)],
    limits: ScriptLimits,
) -> Result<Rig, Error> {
    let mut all: HashMap<String, String> = files
        .iter()
        .map(|(n, t)| ((*n).into(), (*t).into()))
        .collect();
    all.insert("app.lua".into(), source.into());
    let watch = Arc::new(Watch::default());
    let millis_max = limits.script_millis_max;
    let over = Arc::new(AtomicBool::new(false));
    let (watched, ended) = (watch.clone(), over.clone());
    std::thread::spawn(move || watchdog(&watched, &ended, millis_max));
    let lua = Lua::load(Setup {
        sources: Arc::new(Files(all)),
        entry: "app.lua".into(),
        modules: MODULES,
        context: Rc::default(),
        limits,
        watch,
        spawn: Rc::new(|_| {}),
        console: Rc::new(|_, _| {}),
        sleep: Rc::new(|_| Box::pin(std::future::pending())),
        report: Rc::new(|error| panic!("{error}")),
    })?;
    Ok(Rig { lua, over })
}

fn watchdog(watch: &Watch, over: &AtomicBool, millis_max: u64) {
    let (mut seen, mut since) = (0, Instant::now());
    while !over.load(Ordering::Acquire) {
        std::thread::sleep(Duration::from_millis(2));
        let epoch = watch.epoch();
        if epoch != seen {
            (seen, since) = (epoch, Instant::now());
        } else if epoch & 1 == 1 && since.elapsed() >= Duration::from_millis(millis_max) {
            watch.stop(epoch);
        }
    }
}

pub(crate) fn load(source: &str) -> Rig {
    load_files(source, &[], ScriptLimits::default()).expect("the script loads")
}

impl Rig {
    /// Calls the first route, waiting for it if it waits.
    pub(crate) fn ask(&self, ask: &Ask) -> Result<Answer, Error> {
        self.ask_route(0, ask)
    }

    pub(crate) fn get(&self) -> Result<Answer, Error> {
        self.ask(&Ask::default())
    }

    /// Calls the handler of route `route` inside all middleware.
    pub(crate) fn ask_route(&self, route: usize, ask: &Ask) -> Result<Answer, Error> {
        let program = self.lua.program();
        let middleware: Vec<_> = program.middleware.iter().map(|m| m.handler).collect();
        let mut answer = Answer {
            status: 200,
            ..Answer::default()
        };
        let call = Call {
            request: Rc::new(ask.clone()),
            handler: program.routes.get(route).map(|r| r.handler),
            fallback: 404,
            middleware: &middleware,
            error: None,
        };
        match self.lua.start(call, &mut answer) {
            Step::Done => Ok(answer),
            Step::Failed(error) => Err(error),
            Step::Waiting(mut rest) => {
                block_on(|cx| rest.poll(cx, &mut answer))?;
                Ok(answer)
            }
        }
    }
}

/// Polls until ready, on a runtime that has timers.
pub(crate) fn block_on<T>(mut poll: impl FnMut(&mut TaskContext<'_>) -> Poll<T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(std::future::poll_fn(|cx| poll(cx)))
}
