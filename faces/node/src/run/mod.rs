//! `npx sampan run`: the server of `sampan run` in a JavaScript program, whose thread is its worker.
//!
//! A thread of ours runs the server: it reads the configuration, listens, hears signals and ends all in order, as the executable does.
//! Its worker and its scripts it leaves to a [`JsHost`]: they run on the JavaScript thread, whenever that [pump](pump::Pump) turns.

mod pump;

use napi_sys as sys;
use pump::{Bell, Pump};
use sampan_app::host::{Error, Isolate, Setup};
use sampan_app::{Config, Flags, Host, HostedWorker};
use sampan_napi::{Env, Js, Ref, plain_function};
use std::ffi::c_void;
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError};

/// The most bytes of stack that the server's own thread needs.
const STACK_BYTES: usize = 1024 * 1024;

/// Adds `run` to an object.
///
/// # Safety
/// `env` is the environment of this thread, `object` a live handle.
pub(crate) unsafe fn define(env: sys::napi_env, object: sys::napi_value) {
    // SAFETY: as above. The hook touches a variable of this thread alone.
    let (env, object) = unsafe {
        let _ = sys::napi_add_env_cleanup_hook(env, Some(ended), null_mut());
        (Env::from_raw(env), Js::from_raw(object))
    };
    // Where it fails an exception is pending, which is the loader's to throw.
    let _ = plain_function(env, "run", run).and_then(|run| env.set(object, "run", run));
}

// SAFETY: called by Node-API alone, on the thread of the environment that ends.
unsafe extern "C" fn ended(_: *mut c_void) {
    sampan_napi::end();
}

/// `run(flags, tools)`: begins to serve. `flags` is an object of the flags; `tools` one of functions: `load`, `serve`, `storage`, `uncaught` and `format`,
/// which the scripts' engine uses, and `ended(status, message | undefined)`, called once at the end.
fn run(env: Env, args: &[Js]) -> Result<Js, String> {
    let &[flags, tools] = args else {
        return Err("run: needs flags and tools".into());
    };
    let flags = read_flags(env, flags).map_err(|_| "run: the flags cannot be read")?;
    let mut config = Config::resolve(&flags)?;
    if config.workers != 1 {
        config.workers = 1;
    }
    let root = config.project.root().to_owned();
    let root = root.canonicalize().unwrap_or(root);
    let ended = env.get(tools, "ended").and_then(|ended| env.keep(ended));
    let ended = ended.map_err(|_| "run: the tools cannot be read")?;
    let pump = Pump::start(env).map_err(|error| format!("cannot start a worker: {error}"))?;
    let bell = pump.bell();
    sampan_napi::attach(env, tools, root, Box::new(|| pump.ring()));
    let host = Arc::new(JsHost {
        bell: Arc::clone(&bell),
        workers: Mutex::default(),
    });
    config.host = Some(Arc::clone(&host) as Arc<dyn Host>);
    let outcome: Arc<Mutex<Option<Result<u8, String>>>> = Arc::default();
    let told = Arc::clone(&outcome);
    let serves = move || {
        let ended = sampan_app::run(config, move || Config::resolve(&flags));
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
        for worker in host
            .workers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
        {
            pump.spawn(worker.run(pump.sockets()));
        }
        let outcome = outcome
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(outcome) = outcome {
            tell(env, &ended, outcome);
        }
    }));
    Ok(env.undefined())
}

/// Calls `ended`.
fn tell(env: Env, ended: &Ref, outcome: Result<u8, String>) {
    let _scope = env.scope();
    let call = || {
        let (status, message) = match &outcome {
            Ok(status) => (*status, env.undefined()),
            Err(message) => (1, env.string(message)?),
        };
        env.call(ended.get(), &[env.number(f64::from(status))?, message])
    };
    // What it throws stays pending, and is the program's.
    let _ = call();
}

fn read_flags(env: Env, flags: Js) -> Result<Flags, sampan_napi::Thrown> {
    let text = |name: &str| -> Result<Option<String>, sampan_napi::Thrown> {
        let value = env.get(flags, name)?;
        // Anything but a string is as good as nothing.
        Ok(env.text(value).ok())
    };
    let path = |name: &str| Ok(text(name)?.map(PathBuf::from));
    let set = env.get(flags, "set")?;
    let mut sets = Vec::new();
    for index in 0..env.length(set)? {
        sets.push(env.text(env.at(set, index)?)?);
    }
    Ok(Flags {
        path: path("path")?.unwrap_or_else(|| ".".into()),
        listen: text("listen")?,
        user: text("user")?,
        workers: Some(1),
        config: path("config")?,
        db: path("db")?,
        no_migrate: env.is_true(env.get(flags, "noMigrate")?),
        set: sets,
        ..Flags::default()
    })
}

/// The JavaScript thread as a host of workers.
#[derive(Debug)]
struct JsHost {
    bell: Arc<Bell>,
    /// Those that the thread has not taken over yet.
    workers: Mutex<Vec<HostedWorker>>,
}

impl Host for JsHost {
    fn run(&self, worker: HostedWorker) {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.push(worker);
        self.bell.ring();
    }

    fn load(&self, setup: Setup) -> Result<Box<dyn Isolate>, Error> {
        sampan_napi::load(setup)
    }
}
