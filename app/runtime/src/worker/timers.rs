//! `app.every`: functions that run again and again, for as long as a worker answers with their isolate.

use crate::hooks::Hooks;
use sampan_host::capability::IsolateSetup;
use sampan_host::{
    Args, Background, Callback, Capability, Context, Error, ErrorKind, FunctionKind, Module, Place,
    Rerun, Type, Value, WorkerPlace, param, refusals, row,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::spawn_local;

/// The most timers of an app.
const TIMERS_MAX: usize = 100;
/// The shortest pause of a timer, in seconds.
const PAUSE_SECONDS_MIN: f64 = 0.001;
/// The longest pause of a timer, in seconds: 30 days.
const PAUSE_SECONDS_MAX: f64 = 2_592_000.0;

/// The timers of an app.
pub(crate) static CAPABILITY: Capability = Capability {
    name: "timers",
    modules: &[&MODULE],
    isolate,
    loaded,
    serve,
    ..Capability::EMPTY
};

static MODULE: Module = Module {
    name: "app",
    doc: "Functions that run again and again.",
    functions: &[row!("every"(
            param!("seconds": Type::Number,
                "The pause between two runs: fractions count; from 0.001 to 2592000 (30 days)."),
            param!("fn": Type::Function, "A function without parameters."),
        ) -> Type::Nothing, FunctionKind::Sync(every),
        "Calls the function in each worker, again and again: `seconds` after the worker has started, and then \
         `seconds` after each run has ended. It may wait, for at most `handler_millis_max`, and write. An error is \
         logged, and the timer goes on. A reload ends the timer. Only while the project loads.")],
    ..Module::EMPTY
};

/// A function, and the pause before each run.
struct Timer {
    pause: Duration,
    function: Callback,
}

/// A timer as the project declares it.
#[derive(Clone, Debug)]
pub(crate) struct TimerDeclaration {
    /// The pause before each run.
    pub(crate) pause: Duration,
    /// The place of its function, where the engine knows it.
    pub(crate) place: Option<Place>,
}

/// The timers that an isolate declares.
#[derive(Default)]
struct DeclaredTimers {
    /// Until they run.
    timers: RefCell<Vec<Timer>>,
    declarations: RefCell<Vec<TimerDeclaration>>,
    /// True if the project is loaded.
    is_closed: Cell<bool>,
}

/// The timers of the isolate that a worker answers with run until this is dropped.
#[derive(Default)]
struct RunningTimers(RefCell<Option<watch::Sender<()>>>);

/// Returns the timers that an isolate declares, in their order.
pub(crate) fn declarations(context: &Context) -> Vec<TimerDeclaration> {
    let declared = context.get::<DeclaredTimers>();
    declared.map_or_else(Vec::new, |declared| declared.declarations.borrow().clone())
}

/// Makes the list of the timers of an isolate. A script beside the project has none.
fn isolate(setup: &IsolateSetup<'_>) -> Result<(), Error> {
    if setup.is_project {
        setup.context.put(DeclaredTimers::default());
    }
    Ok(())
}

/// Closes the list: the project is loaded.
fn loaded(context: &Context) -> Result<(), Error> {
    if let Some(declared) = context.get::<DeclaredTimers>() {
        declared.is_closed.set(true);
    }
    Ok(())
}

/// Starts the timers of this isolate, in place of those of the one before. A run of those that goes on may end.
fn serve(setup: &IsolateSetup<'_>) {
    let running = setup.worker.get::<RunningTimers>().unwrap_or_else(|| {
        setup.worker.put(RunningTimers::default());
        setup.worker.get().unwrap_or_default()
    });
    running.0.take();
    let (Some(declared), Some(background)) = (
        setup.context.get::<DeclaredTimers>(),
        setup.context.get::<Rc<dyn Background>>(),
    ) else {
        return;
    };
    // Threads of jobs and of slow routes load the project too.
    let place = setup.context.get::<WorkerPlace>();
    let is_worker = place.is_none_or(|place| place.index <= place.count);
    let timers = declared.timers.take();
    if timers.is_empty() || !is_worker {
        return;
    }
    let hooks = setup.context.get::<Hooks>().unwrap_or_default();
    running.0.replace(Some(start(timers, &background, &hooks)));
}

/// Starts timers, which run until the sender is dropped.
fn start(
    timers: Vec<Timer>,
    background: &Rc<dyn Background>,
    hooks: &Rc<Hooks>,
) -> watch::Sender<()> {
    let (sender, ended) = watch::channel(());
    for timer in timers {
        let (background, hooks) = (Rc::clone(background), Rc::clone(hooks));
        drop(spawn_local(run(timer, background, hooks, ended.clone())));
    }
    sender
}

/// Runs a timer until the sender of `ended` is dropped, or the `on_stop` of its isolate runs.
async fn run(
    Timer { pause, function }: Timer,
    background: Rc<dyn Background>,
    hooks: Rc<Hooks>,
    mut ended: watch::Receiver<()>,
) {
    let what = format!("app.every({})", pause.as_secs_f64());
    hooks.wait_until_started().await;
    while tokio::time::timeout(pause, ended.changed()).await.is_err() {
        if hooks.is_ending() {
            return;
        }
        let function = Rc::clone(&function);
        background.run(&what, function, Vec::new()).await;
    }
}

fn every(context: &Context, args: Args) -> Result<Value, Error> {
    let seconds = args.number(0).unwrap_or_default();
    if !(PAUSE_SECONDS_MIN..=PAUSE_SECONDS_MAX).contains(&seconds) {
        return Err(Error::script(format!(
            "app.every: seconds must be between {PAUSE_SECONDS_MIN} and {PAUSE_SECONDS_MAX}, not {seconds}"
        )));
    }
    if Rerun::is_on(context) {
        return Ok(Value::Null);
    }
    let declared = context.get::<DeclaredTimers>();
    let declared = declared.filter(|declared| !declared.is_closed.get());
    let declared = declared.ok_or_else(|| refusals::too_late("timers"))?;
    let function = args.function(1);
    let function = function.ok_or_else(|| Error::new(ErrorKind::Internal, "no function"))?;
    let mut timers = declared.timers.borrow_mut();
    if timers.len() >= TIMERS_MAX {
        return Err(Error::script(format!(
            "app.every: an app has at most {TIMERS_MAX} timers"
        )));
    }
    let pause = Duration::from_secs_f64(seconds);
    let place = function.place();
    let mut declarations = declared.declarations.borrow_mut();
    declarations.push(TimerDeclaration { pause, place });
    timers.push(Timer { pause, function });
    Ok(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::{LocalFuture, ScriptFunction, Stopper};
    use std::sync::Arc;
    use tokio::task::yield_now;

    struct Nothing;

    impl ScriptFunction for Nothing {
        fn call(&self, _: &[Value]) -> Result<Value, Error> {
            Ok(Value::Null)
        }

        fn start(self: Rc<Self>, _: Vec<Value>) -> LocalFuture<Result<(), Error>> {
            Box::pin(std::future::ready(Ok(())))
        }

        fn start_check(self: Rc<Self>) -> LocalFuture<Result<(), Error>> {
            self.start(Vec::new())
        }

        fn as_any(&self) -> &dyn std::any::Any {
            self
        }
    }

    /// Counts runs, each of which takes some turns.
    #[derive(Default)]
    struct Runs {
        begun: Cell<usize>,
        ended: Cell<usize>,
    }

    struct Runner(Rc<Runs>);

    impl Background for Runner {
        fn run(&self, what: &str, _: Callback, _: Vec<Value>) -> LocalFuture<()> {
            assert_eq!(what, "app.every(0.001)");
            let runs = Rc::clone(&self.0);
            Box::pin(async move {
                assert_eq!(runs.begun.get(), runs.ended.get());
                runs.begun.set(runs.begun.get() + 1);
                for _ in 0..10 {
                    yield_now().await;
                }
                runs.ended.set(runs.ended.get() + 1);
            })
        }

        fn run_within(
            &self,
            _: &str,
            _: Duration,
            _: Arc<Stopper>,
            work: LocalFuture<Result<(), Error>>,
        ) -> LocalFuture<Result<(), Error>> {
            work
        }
    }

    async fn until(what: &str, is_so: impl Fn() -> bool) {
        let waited = tokio::time::timeout(Duration::from_secs(60), async {
            while !is_so() {
                yield_now().await;
            }
        });
        assert!(waited.await.is_ok(), "{what}");
    }

    async fn run_and_end(end: impl FnOnce(watch::Sender<()>, &Hooks)) {
        let runs: Rc<Runs> = Rc::default();
        let background: Rc<dyn Background> = Rc::new(Runner(Rc::clone(&runs)));
        let hooks: Rc<Hooks> = Rc::default();
        let timer = Timer {
            pause: Duration::from_millis(1),
            function: Rc::new(Nothing),
        };
        let sender = start(vec![timer], &background, &hooks);
        hooks.end_start();
        until("three runs", || runs.ended.get() >= 3).await;
        end(sender, &hooks);
        until("the end", || Rc::strong_count(&background) == 1).await;
        assert_eq!(runs.begun.get(), runs.ended.get());
    }

    #[test]
    fn a_timer_runs_again_and_again_until_it_is_replaced_or_its_isolate_ends() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let runtime = runtime.expect("a runtime");
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, run_and_end(|sender, _| drop(sender)));
        let mut kept = None;
        local.block_on(
            &runtime,
            run_and_end(|sender, hooks| {
                kept = Some(sender);
                hooks.begin_end();
            }),
        );
        drop(kept);
    }
}
