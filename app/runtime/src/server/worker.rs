//! A worker of a server: a thread with its own runtime, its own isolate and its own connections.

use crate::app_config::AppConfig;
use crate::health::handler::HealthHandler;
use crate::lane::isolate::LaneWork;
use crate::metrics::handler::MetricsHandler;
use crate::program::hosted::HostedWorker;
use crate::reload::file_mode::FileModeHandler;
use crate::reload::retiring;
use crate::worker::order::Order;
use crate::worker::plan::WorkerPlan;
use crate::worker::start::{LoadedWorker, STACK_BYTES, deaf_while_loading, run_here, watch_of};
use sampan_host::capability::Beside;
use sampan_host::log::Level;
use sampan_host::{Error, ErrorKind};
use sampan_http::{Handler, HandlerSlot, Pump, PumpSocket, Runtime, WorkerHandle};
use sampan_serve::Dispatch;
use std::io;
use std::net::TcpStream;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::spawn_local;

/// The interval at which a shutdown looks whether the work after answers has ended.
const BACKGROUND_PAUSE: Duration = Duration::from_millis(10);
/// The longest time that what was cut beside requests may take to end. The server waits a little longer for threads.
const CUT_MAX: Duration = Duration::from_millis(300);

/// A worker that is starting.
pub(crate) struct Starting {
    /// Tells once whether the project loaded.
    pub(crate) ready: Receiver<Result<WorkerHandle, Error>>,
    /// The channel for orders once it serves.
    pub(crate) orders: UnboundedSender<Order>,
    pub(crate) thread: WorkerThread,
}

/// The thread of a worker.
pub(crate) enum WorkerThread {
    /// A thread of its own.
    Own(JoinHandle<()>),
    /// One of the host's: true once the worker has ended.
    Hosted(Arc<AtomicBool>),
}

impl WorkerThread {
    /// Reports whether the worker has ended.
    pub(crate) fn is_finished(&self) -> bool {
        match self {
            Self::Own(thread) => thread.is_finished(),
            Self::Hosted(ended) => ended.load(Ordering::Acquire),
        }
    }

    /// Takes note of a worker that has ended. False if it panicked.
    pub(crate) fn join(self) -> bool {
        match self {
            Self::Own(thread) => thread.join().is_ok(),
            Self::Hosted(_) => true,
        }
    }
}

/// The runtime of a hosted worker's connections: sockets of a pump, and tasks in one queue with those of the
/// capabilities.
#[derive(Clone)]
struct Hosted(Pump);

impl Runtime for Hosted {
    type Socket = PumpSocket;

    fn socket(&self, socket: TcpStream) -> io::Result<PumpSocket> {
        self.0.socket(socket)
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        drop(spawn_local(task));
    }

    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + 'static {
        self.0.sleep(time)
    }
}

/// The nice value of threads beside requests: they get what the others leave.
const NICE: i32 = 10;

/// The work of a thread that takes no connections.
pub(crate) enum SideWork {
    /// Work of a capability. True once another thread has taken the place of this one, which was deaf to its stop.
    Beside(Beside, Arc<AtomicBool>),
    /// Requests of slow routes.
    Lane(LaneWork),
}

/// Starts a worker: on a thread of its own, or on one of the host's. With `side` it takes no connections and does
/// that work.
///
/// # Errors
/// The system has no thread left.
pub(crate) fn start(plan: WorkerPlan, side: Option<SideWork>) -> std::io::Result<Starting> {
    let (sender, ready) = sync_channel(2);
    let (orders, inbox) = unbounded_channel();
    if let Some(host) = plan.generation.config.program.host.clone() {
        let ended: Arc<AtomicBool> = Arc::default();
        let has_ended = Arc::clone(&ended);
        host.run(HostedWorker::new(move |sockets| {
            Box::pin(async move {
                let (id, watchdog) = (plan.id, plan.watchdog.clone());
                serve(plan, inbox, &sender, Some(Hosted(sockets)), side).await;
                watchdog.remove(id);
                has_ended.store(true, Ordering::Release);
            })
        }));
        return Ok(Starting {
            ready,
            orders,
            thread: WorkerThread::Hosted(ended),
        });
    }
    let name = match side {
        None => format!("sampan-w{}", plan.place),
        Some(SideWork::Beside(..)) => format!("sampan-b{}", plan.place),
        Some(SideWork::Lane(_)) => format!("sampan-l{}", plan.place),
    };
    let thread = std::thread::Builder::new()
        .name(name)
        .stack_size(STACK_BYTES)
        .spawn(move || run(plan, inbox, &sender, side))?;
    Ok(Starting {
        ready,
        orders,
        thread: WorkerThread::Own(thread),
    })
}

type Ready = SyncSender<Result<WorkerHandle, Error>>;

fn run(plan: WorkerPlan, orders: UnboundedReceiver<Order>, ready: &Ready, side: Option<SideWork>) {
    if side.is_some() {
        // Where the system refuses, it has the priority of the others.
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICE);
    }
    let (id, watchdog) = (plan.id, plan.watchdog.clone());
    if let Err(error) = run_here(serve(plan, orders, ready, None, side)) {
        let text = format!("cannot start a worker: {error}");
        let _ = ready.send(Err(Error::new(ErrorKind::Internal, text)));
    }
    watchdog.remove(id);
}

async fn serve(
    plan: WorkerPlan,
    orders: UnboundedReceiver<Order>,
    ready: &Ready,
    hosted: Option<Hosted>,
    side: Option<SideWork>,
) {
    let (config, ending) = (
        Arc::clone(&plan.generation.config),
        Arc::clone(&plan.ending),
    );
    let (health, metrics) = (plan.health.clone(), plan.metrics_answers.clone());
    let generation = Arc::clone(&plan.generation);
    let deaf = deaf_while_loading(&config, ready);
    let watch = watch_of(&config);
    if let Some(lane) = plan.lane.clone() {
        watch.on_foreseen(Box::new(move |route, time| {
            if lane.routes().note_long(route, time) {
                lane.moved();
            }
        }));
    }
    let LoadedWorker {
        loader,
        dispatch,
        handle,
        sockets,
        ..
    } = match plan.load(watch, deaf).await {
        Ok(loaded) => loaded,
        Err(error) => return drop(ready.send(Err(error))),
    };
    if ready.send(Ok(handle)).is_ok() {
        drop(spawn_local(Rc::clone(&loader).obey(orders)));
        let dispatched = Rc::clone(&dispatch);
        let program = &config.program;
        let mut inner: Rc<dyn Handler> = match &program.script_files {
            Some(files) if program.development.is_none() => {
                let body_bytes_max = config.serving.http.body_bytes_max;
                let dispatched = Rc::clone(&dispatched);
                Rc::new(FileModeHandler::new(dispatched, files, body_bytes_max))
            }
            _ => Rc::clone(&dispatched) as Rc<dyn Handler>,
        };
        if let Some(answers) = health {
            inner = Rc::new(HealthHandler { answers, inner });
        }
        if let Some(answers) = metrics {
            inner = Rc::new(MetricsHandler { answers, inner });
        }
        let handler = match program.development.clone() {
            // Outermost: it refuses requests for other hosts.
            Some(development) => development.handler(dispatched, inner),
            None => HandlerSlot::new(inner),
        };
        let time_max = Duration::from_millis(config.serving.http.shutdown_millis_max);
        let (cut, is_abandoned) = match &side {
            Some(SideWork::Beside(beside, is_abandoned)) => {
                (Some(beside.cut), Some(Arc::clone(is_abandoned)))
            }
            _ => (None, None),
        };
        let work = side.map(|side| match side {
            SideWork::Beside(beside, _) => spawn_local(loader.work_beside(&beside)),
            SideWork::Lane(lane) => spawn_local(lane.run(Rc::clone(&loader), Rc::clone(&dispatch))),
        });
        match hosted {
            Some(hosted) => sockets.run_on(hosted, handler).await,
            None => sockets.run(handler).await,
        }
        if is_abandoned.is_some_and(|is_abandoned| is_abandoned.load(Ordering::Acquire)) {
            // It came back to life. What it had begun begins anew elsewhere, and it begins nothing more.
            return;
        }
        if let Some(mut work) = work
            && tokio::time::timeout(time_max, &mut work).await.is_err()
            && let Some(cut) = cut
        {
            // What goes on is given up, and begins anew elsewhere.
            cut(generation.state.shared());
            let _ = tokio::time::timeout(CUT_MAX, work).await;
        }
        end_background(&dispatch, &config, &ending).await;
        loader.retired().await;
        retiring::stop(&dispatch.loaded(), time_max).await;
    }
}

/// Lets work that goes on after answers end too, within the time that a shutdown gives requests.
async fn end_background(dispatch: &Dispatch, config: &AppConfig, ending: &OnceLock<Instant>) {
    let time_max = Duration::from_millis(config.serving.http.shutdown_millis_max);
    while dispatch.ending_requests() > 0 {
        // Each has its own limit.
        tokio::time::sleep(BACKGROUND_PAUSE).await;
    }
    while let requests @ 1.. = dispatch.background_requests() {
        let is_over = ending.get().is_none_or(|begun| begun.elapsed() >= time_max);
        if is_over {
            let message = format!(
                "work after answers (requests: {requests}): cut by the shutdown (shutdown_millis_max)"
            );
            return config.program.logger.text(Level::Warn, message);
        }
        tokio::time::sleep(BACKGROUND_PAUSE).await;
    }
}
