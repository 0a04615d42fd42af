//! Runs the test files of `tests/web/` in a plain runtime with a small host of its own: a log that is kept, and
//! a clock that jumps to the next sleeper when no job is left.

mod form;
mod frameworks;

use rquickjs::{CatchResultExt, Context, Ctx, Function, Module, Runtime, context::EvalOptions};

const HARNESS: &str = include_str!("../../tests/web/harness.js");

/// Installs the Web surface in a fresh runtime and runs `body` there.
fn with_web<T>(body: impl FnOnce(&Ctx<'_>) -> T) -> T {
    let runtime = Runtime::new().expect("a runtime");
    runtime.set_memory_limit(256 << 20);
    let context = Context::full(&runtime).expect("a context");
    context.with(|ctx| {
        evaluate(&ctx, "harness.js", HARNESS);
        super::install(&ctx)
            .catch(&ctx)
            .expect("the Web surface installs");
        body(&ctx)
    })
}

fn evaluate(ctx: &Ctx<'_>, name: &str, source: &str) {
    let mut options = EvalOptions::default();
    options.filename = Some(name.to_owned());
    let done = ctx.eval_with_options::<(), _>(source, options).catch(ctx);
    done.unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// Runs jobs, and sleepers in the order of their times, until nothing is left to do.
fn drain(ctx: &Ctx<'_>) {
    let wake: Function<'_> = ctx.globals().get("__wake").expect("the harness");
    loop {
        while ctx.execute_pending_job() {}
        if !wake.call::<_, bool>(()).expect("__wake does not throw") {
            return;
        }
    }
}

/// Runs a file of `test(name, body)` calls and fails with everything that failed; `least` guards against a file
/// whose tests no longer run.
fn run(name: &str, source: &str, least: usize) {
    with_web(|ctx| {
        evaluate(ctx, name, source);
        report(ctx, name, least);
    });
}

fn report(ctx: &Ctx<'_>, name: &str, least: usize) {
    let start: Function<'_> = ctx.globals().get("__start").expect("the harness");
    start.call::<_, ()>(()).expect("__start does not throw");
    drain(ctx);
    let (ran, failures): (usize, Vec<String>) = (
        ctx.eval("__result.ran").expect("a count"),
        ctx.eval("__result.failures").expect("a list"),
    );
    assert!(
        failures.is_empty(),
        "{name}: {} of {ran} failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(
        ran >= least,
        "{name}: {ran} tests ran, at least {least} were expected"
    );
}

macro_rules! suite {
    ($($name:ident: $least:expr,)*) => {
        $(
            #[test]
            fn $name() {
                let file = concat!(stringify!($name), ".js");
                run(file, include_str!(concat!("../../tests/web/", stringify!($name), ".js")), $least);
            }
        )*
    };
}

suite! {
    url: 10,
    encoding: 8,
    headers: 10,
    body: 15,
    streams: 15,
    forms: 8,
    events: 8,
    clone: 8,
    crypto: 8,
    host: 6,
    console: 5,
    patched: 3,
}

/// Checks that nothing but boot.js runs at start: the globals are there without being loaded.
#[test]
fn installs_lazily() {
    with_web(|ctx| {
        let lazy: bool = ctx
            .eval("typeof Object.getOwnPropertyDescriptor(globalThis, 'ReadableStream').get === 'function'")
            .expect("a boolean");
        assert!(lazy, "ReadableStream was loaded at start");
        let hooks: bool = ctx
            .eval("'__host_log' in globalThis || '__host_sleep' in globalThis")
            .expect("a boolean");
        assert!(!hooks, "the engine's hooks are still on the global object");
    });
}

#[test]
fn a_missing_hook_is_an_error() {
    let runtime = Runtime::new().expect("a runtime");
    let context = Context::full(&runtime).expect("a context");
    context.with(|ctx| {
        let error = super::install(&ctx).catch(&ctx).expect_err("no hooks");
        assert!(error.to_string().contains("__host_log"), "{error}");
    });
}

/// Every file compiles and runs, so that a lazy one cannot be broken unseen.
#[test]
fn every_global_loads() {
    with_web(|ctx| {
        evaluate(
            ctx,
            "globals.js",
            "for (const name of Object.getOwnPropertyNames(globalThis)) if (globalThis[name] === undefined && \
             name !== 'undefined') throw new Error(name);",
        );
    });
}

/// Loads an ES module and returns when its top level has run.
fn module(ctx: &Ctx<'_>, name: &str, source: &str) {
    let promise = Module::evaluate(ctx.clone(), name, source).catch(ctx);
    let promise = promise.unwrap_or_else(|error| panic!("{name}: {error}"));
    drain(ctx);
    promise
        .finish::<()>()
        .catch(ctx)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
}
