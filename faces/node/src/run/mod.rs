//! `npx sampan run`: the server of `sampan run` in a JavaScript program, whose threads are its workers.
//!
//! A thread of ours runs the server: it reads the configuration, listens, hears signals and ends all in order, as the
//! executable does. Its workers and their scripts it leaves to a [`JsHost`]: the first runs on the program's own
//! thread, each other on a worker thread of the platform, whenever the [pump](pump::Pump) of that thread turns.

mod host;
mod pump;

use host::JsHost;
use napi_sys as sys;
use pump::Pump;
use sampan_napi::{Env, Environment, Js, Ref, Thrown, plain_function};
use sampan_project::config::{EnvFile, Flags};
use sampan_runtime::{AppConfig, Host};
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The most bytes of stack that the server's own thread needs.
const STACK_BYTES: usize = 1024 * 1024;

/// The program's threads, once it serves.
static HOST: OnceLock<Arc<JsHost>> = OnceLock::new();

/// Adds `run` and `join` to an object.
///
/// # Safety
/// `env` is the environment of this thread, `object` a live handle.
pub(crate) unsafe fn define(env: sys::napi_env, object: sys::napi_value) {
    // SAFETY: the caller promises that `env` is this thread's environment and `object` a live handle. The hook touches
    // a variable of this thread alone.
    let (env, object) = unsafe {
        let _ = sys::napi_add_env_cleanup_hook(env, Some(ended), null_mut());
        (Env::from_raw(env), Js::from_raw(object))
    };
    // Where it fails an exception is pending, which is the loader's to throw.
    let _ = plain_function(env, "run", run).and_then(|run| env.set(object, "run", run));
    let _ = plain_function(env, "join", join).and_then(|join| env.set(object, "join", join));
}

// SAFETY: called by Node-API alone, on the thread of the environment that ends.
unsafe extern "C" fn ended(_: *mut c_void) {
    sampan_napi::end();
}

/// `run(flags, tools)`: begins to serve. `flags` is an object of the flags; `tools` one of functions: `load`, `serve`,
/// `storage`, `uncaught` and `format`, which the scripts' engine uses, `thread(place)`, which starts a thread that
/// calls `join`, and `ended(status, message | undefined)`, called once at the end.
fn run<'a>(env: Env<'a>, args: &[Js<'a>]) -> Result<Js<'a>, String> {
    let &[flags, tools] = args else {
        return Err("run: needs flags and tools".into());
    };
    let flags = read_flags(env, flags)?;
    let mut config = AppConfig::resolve(&flags)?;
    let root = config.base.project.root().to_owned();
    let root = root.canonicalize().unwrap_or(root);
    let tool = |name| env.get(tools, name).and_then(|tool| env.keep(tool));
    let (Ok(thread), Ok(ended)) = (tool("thread"), tool("ended")) else {
        return Err("run: the tools cannot be read".into());
    };
    let environment = env.environment();
    let pump = attach(env, tools, &root)?;
    let bell = pump.bell();
    let host = Arc::new(JsHost::new(Arc::clone(&bell), root));
    if HOST.set(Arc::clone(&host)).is_err() {
        return Err("run: this process serves a project already".into());
    }
    config.program.host = Some(Arc::clone(&host) as Arc<dyn Host>);
    let outcome: Arc<Mutex<Option<Result<u8, String>>>> = Arc::default();
    let told = Arc::clone(&outcome);
    let serves = move || {
        let ended = sampan_runtime::run(config, move || AppConfig::resolve(&flags));
        *told.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(ended.map(|end| end.exit_status()));
        bell.ring();
    };
    std::thread::Builder::new()
        .name("sampan-server".into())
        .stack_size(STACK_BYTES)
        .spawn(serves)
        .map_err(|error| format!("cannot start a thread: {error}"))?;
    pump.before_each_turn(Box::new(move || {
        for place in host.arrived() {
            match place {
                // The program's own thread.
                0 => seat(&host, pump, place),
                _ => call(environment, &thread, |env| {
                    Ok(vec![env.number(place as f64)?])
                }),
            }
        }
        let outcome = outcome
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(outcome) = outcome {
            tell(environment, &ended, &outcome);
        }
    }));
    Ok(env.undefined())
}

/// `join(place, tools)`: makes this thread the worker for which `run` has called `thread(place)`.
fn join<'a>(env: Env<'a>, args: &[Js<'a>]) -> Result<Js<'a>, String> {
    let (Some(host), &[place, tools]) = (HOST.get(), args) else {
        return Err("join: needs a program that serves, a place and tools".into());
    };
    let place = env.number_of(place).ok_or("join: needs a place")? as usize;
    let pump = attach(env, tools, host.root())?;
    seat(host, pump, place);
    pump.ring();
    Ok(env.undefined())
}

/// Makes a JavaScript thread ready to run a worker.
fn attach(env: Env<'_>, tools: Js<'_>, root: &Path) -> Result<&'static Pump, String> {
    let pump = Pump::start(env).map_err(|error| format!("cannot start a worker: {error}"))?;
    sampan_napi::attach(env, tools, root.to_owned(), Box::new(|| pump.ring()));
    Ok(pump)
}

/// Runs the worker of a place on this thread.
fn seat(host: &JsHost, pump: &'static Pump, place: usize) {
    if let Some(worker) = host.take(place) {
        pump.spawn(worker.run(pump.sockets()));
    }
}

/// Calls `ended`.
fn tell(environment: Environment, ended: &Ref, outcome: &Result<u8, String>) {
    call(environment, ended, |env| {
        let (status, message) = match outcome {
            Ok(status) => (*status, env.undefined()),
            Err(message) => (1, env.string(message)?),
        };
        Ok(vec![env.number(f64::from(status))?, message])
    });
}

/// Calls a function of the tools.
fn call(
    environment: Environment,
    function: &Ref,
    args: impl for<'s> FnOnce(Env<'s>) -> Result<Vec<Js<'s>>, Thrown>,
) {
    // SAFETY: only the environment of this scope makes handles here.
    let scope = unsafe { environment.scope() };
    let env = scope.env();
    // What it throws stays pending, and is the program's.
    let _ = args(env).and_then(|args| env.call(function.get(env), &args));
}

fn read_flags(env: Env<'_>, flags: Js<'_>) -> Result<Flags, String> {
    let unreadable = |_| "run: the flags cannot be read".to_owned();
    let text = |name: &str| -> Result<Option<String>, String> {
        let value = env.get(flags, name).map_err(unreadable)?;
        // Anything but a string is as good as nothing.
        Ok(env.text(value).ok())
    };
    let path = |name: &str| Ok::<_, String>(text(name)?.map(PathBuf::from));
    let workers = |text: String| {
        let fault = |_| format!("--workers: '{text}' is not a whole number");
        text.parse().map_err(fault)
    };
    let set = env.get(flags, "set").map_err(unreadable)?;
    let mut sets = Vec::new();
    for index in 0..env.length(set).map_err(unreadable)? {
        let one = env.at(set, index).and_then(|one| env.text(one));
        sets.push(one.map_err(unreadable)?);
    }
    let is_set = |name: &str| -> Result<bool, String> {
        let value = env.get(flags, name).map_err(unreadable)?;
        Ok(env.is_true(value))
    };
    let domains = text("tls")?.unwrap_or_default();
    let domains = domains.split(',').filter(|domain| !domain.is_empty());
    Ok(Flags {
        path: path("path")?.unwrap_or_else(|| ".".into()),
        listen: text("listen")?,
        tls: domains.map(str::to_owned).collect(),
        tls_cert: path("tlsCert")?,
        tls_key: path("tlsKey")?,
        user: text("user")?,
        workers: text("workers")?.map(workers).transpose()?,
        config: path("config")?,
        db: path("db")?,
        no_migrate: is_set("noMigrate")?,
        restore: is_set("restore")?,
        env_file: path("envFile")?.map_or(EnvFile::None, EnvFile::At),
        set: sets,
        ..Flags::default()
    })
}
