//! Reports of faults in native code. No script that we know of can cause one, so the server of these tests has a
//! capability and routes of its own.

#[path = "../../tests/support/mod.rs"]
mod support;

use super::watch;
use sampan_host::{Args, Context, Error, Function, FunctionKind, Module, Type, Value};
use sampan_runtime::{AppConfig, Embedding, modules_with};
use sampan_serve::native::{NativeAnswer, NativeRequest, NativeRoute};
use sampan_testkit::wait;
use std::fs;
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use support::{Process, Scratch};

/// The way the child is told which project to serve.
const CHILD: &str = "SAMPAN_TEST_CRASH_CHILD";

const APPS: [(&str, &str); 2] = [
    (
        "app.lua",
        "local app = require 'sampan'\napp.get('/', function() return 'fine' end)\n\
         app.get('/panic/:secret', function() app.faulty.panic() end)\n\
         app.get('/overflow/:secret', function() app.faulty.overflow() end)\n",
    ),
    (
        "app.js",
        "import { app, faulty } from 'sampan';\napp.get('/', () => 'fine');\n\
         app.get('/panic/:secret', () => faulty.panic());\n\
         app.get('/overflow/:secret', () => faulty.overflow());\n",
    ),
];

static FAULTY: Module = Module {
    name: "faulty",
    doc: "Has faults.",
    functions: &[
        Function {
            name: "panic",
            params: &[],
            returns: Type::Nothing,
            doc: "Panics.",
            kind: FunctionKind::Sync(panic),
        },
        Function {
            name: "overflow",
            params: &[],
            returns: Type::Nothing,
            doc: "Uses all of the stack.",
            kind: FunctionKind::Sync(overflow),
        },
    ],
    ..Module::EMPTY
};

fn panic(_: &Context, _: Args) -> Result<Value, Error> {
    panic!("a fault of a capability");
}

fn overflow(_: &Context, _: Args) -> Result<Value, Error> {
    Ok(Value::Int(i64::from(deeper(1))))
}

/// Calls itself until the stack is used up.
fn deeper(depth: u32) -> u32 {
    let frame = black_box([depth; 256]);
    match black_box(depth) {
        u32::MAX => frame[0],
        _ => deeper(depth + 1).wrapping_add(frame[255]),
    }
}

fn native_route(pattern: &str, handler: fn(NativeRequest) -> NativeAnswer) -> NativeRoute {
    NativeRoute {
        method: Some("GET".to_owned()),
        pattern: pattern.to_owned(),
        body: Default::default(),
        handler: Arc::new(handler),
        place: None,
    }
}

/// Not a test: the server that crashes.
#[test]
#[ignore = "started by Served::start, for the tests below"]
fn child() {
    let Some(folder) = std::env::var_os(CHILD) else {
        return;
    };
    // A report names functions of an executable with all its symbols, for which it may have to wait for a processor.
    let settings = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\n[limits]\nscript_millis_max = \"50s\"\n\
                    handler_millis_max = \"50s\"\n";
    let config = move || {
        let mut config = AppConfig::from_text(Path::new(&folder), settings).expect("valid");
        config.program.modules = modules_with(&[&FAULTY]);
        config.program.embedding = Arc::new(Embedding {
            routes: vec![
                native_route("/native/panic", |_| panic!("a fault of a native route")),
                native_route("/native/overflow", |_| {
                    panic!("there was room for {} calls", deeper(1))
                }),
            ],
            ..Embedding::default()
        });
        config
    };
    sampan_runtime::run_with(config(), move || Ok(config()), watch).expect("it starts");
}

struct Served {
    process: Process,
    scratch: Scratch,
}

impl Served {
    fn start((file, text): (&str, &str)) -> Self {
        let scratch = Scratch::new(&[(file, text)]);
        let this = std::env::current_exe().expect("a test has an executable");
        let mut command = Command::new(this);
        command
            .args(["--exact", "crash::tests::child", "--ignored", "--nocapture"])
            .env(CHILD, scratch.file(file));
        let process = Process::start(&mut command);
        Self { process, scratch }
    }

    fn status_of(&self, path: &str) -> Option<u16> {
        let answer = self.process.client().ask("GET", path, &[], "");
        answer.ok().map(|answer| answer.status)
    }

    fn reports(&self) -> Vec<PathBuf> {
        let folder = self.scratch.path().join("crashes");
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    /// Returns the only report.
    fn report(&self) -> String {
        let reports = self.reports();
        assert_eq!(reports.len(), 1, "{reports:?}");
        fs::read_to_string(&reports[0]).expect("a text")
    }
}

#[test]
fn a_panic_in_native_code_is_reported_and_costs_one_request() {
    for app in APPS {
        for (path, reason, route) in [
            (
                "/panic/s3cret",
                "a fault of a capability",
                "GET /panic/:secret",
            ),
            (
                "/native/panic",
                "a fault of a native route",
                "none, or not known",
            ),
        ] {
            let mut served = Served::start(app);
            assert_eq!(served.status_of(path), Some(500));
            let report = served.report();
            let reason = format!("{reason}\nroute: {route}\n");
            assert!(report.contains(&reason), "{report}");
            assert!(!report.contains("s3cret"), "{report}");
            // The next one is within the pause.
            assert_eq!(served.status_of(path), Some(500));
            assert_eq!(served.status_of("/"), Some(200));
            assert_eq!(served.reports().len(), 1);
            served.process.signal("TERM");
            assert_eq!(served.process.status(), Some(0));
        }
    }
}

#[test]
fn a_stack_overflow_in_native_code_is_reported() {
    for app in APPS {
        for (path, route) in [
            ("/overflow/s3cret", "GET /overflow/:secret"),
            ("/native/overflow", "none, or not known"),
        ] {
            let mut served = Served::start(app);
            let log = served.process.read_errors();
            assert_eq!(served.status_of(path), None);
            // The standard library tells of the overflow and aborts.
            assert_eq!(served.process.ended().signal(), Some(libc::SIGABRT));
            let report = served.report();
            assert!(report.contains("\nreason: SIGSEGV at 0x"), "{report}");
            assert!(report.contains(&format!("\nroute: {route}\n")), "{report}");
            assert!(report.contains("\nstack:\n  sampan+0x"), "{report}");
            wait::until("both are told", || {
                let log = log.text();
                log.contains("a crash report is in ") && log.contains("overflowed its stack")
            });
        }
    }
}
