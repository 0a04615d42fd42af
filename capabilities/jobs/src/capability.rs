//! The capability: the desk of the process, the jobs of each isolate, and the threads that run them.

use crate::attempts::worker::{self, ThreadJobs};
use crate::config::{JobsConfig, SECTION};
use crate::declared::Declarations;
use crate::desk::Desk;
use crate::handle::QueueHandle;
use crate::keeper::Keeper;
use crate::keeper::meters::JobMeters;
use crate::postgres::keeper::ServerKeeper;
use crate::postgres::schema;
use crate::queue::IsolateJobs;
use crate::rows::MODULE;
use sampan_host::capability::{Beside, IsolateSetup, KeeperSetup, ProcessSetup, Shared};
use sampan_host::database::AppTables;
use sampan_host::jobs::JobQueue;
use sampan_host::log::Log;
use sampan_host::metrics::Registry;
use sampan_host::{Capability, Context, Effects, Error, ErrorKind, LocalFuture, Outbox};
use std::rc::Rc;
use std::sync::Arc;

/// Jobs.
pub static CAPABILITY: Capability = Capability {
    name: "jobs",
    modules: &[&MODULE],
    sections: &[&SECTION],
    offers: &["jobs"],
    server_tables: &schema::SERVER_TABLES,
    configure: |settings| {
        settings
            .resolve(&SECTION, JobsConfig::from_settings)
            .map(drop)
    },
    process,
    isolate,
    loaded,
    serve,
    beside: |settings, shared| {
        let config = settings.resolve(&SECTION, JobsConfig::from_settings).ok()?;
        let desk = shared
            .get::<Desk>()
            .filter(|desk| desk.has_declarations())?;
        drop(desk);
        (config.workers > 0).then_some(Beside {
            isolates: config.workers,
            keep,
            work,
            drain: |shared| shared.get::<Desk>().iter().for_each(|desk| desk.drain()),
            cut: |shared| shared.get::<Desk>().iter().for_each(|desk| desk.cut()),
            close: |shared| shared.get::<Desk>().iter().for_each(|desk| desk.close()),
        })
    },
    ..Capability::EMPTY
};

/// Makes the desk of the process, which outlives reloads.
fn process(setup: &mut ProcessSetup<'_>) -> Result<(), String> {
    let desk = match setup.before.and_then(Shared::get::<Desk>) {
        Some(desk) => desk,
        None => Arc::new(Desk::new(
            setup
                .settings
                .resolve(&SECTION, JobsConfig::from_settings)?,
        )),
    };
    setup.shared.put(desk);
    Ok(())
}

fn isolate(setup: &IsolateSetup<'_>) -> Result<(), Error> {
    let missing = |what| move || Error::new(ErrorKind::Internal, format!("no {what} for jobs"));
    let tables = setup.worker.get::<Rc<dyn AppTables>>();
    let jobs = Rc::new(IsolateJobs {
        desk: setup.shared.get::<Desk>().ok_or_else(missing("desk"))?,
        tables: Rc::clone(&*tables.ok_or_else(missing("database"))?),
        effects: Effects::of(setup.context).ok_or_else(missing("outbox"))?,
        declarations: Declarations::default(),
        context: Rc::downgrade(setup.context),
        is_telling: Rc::default(),
    });
    setup
        .context
        .put(Rc::new(QueueHandle(Rc::clone(&jobs))) as Rc<dyn JobQueue>);
    setup.context.put(jobs);
    Ok(())
}

fn loaded(context: &Context) -> Result<(), Error> {
    if let Some(jobs) = context.get::<Rc<IsolateJobs>>() {
        jobs.declarations.close();
        if let Some(tables) = jobs.tables.waiting()
            && !jobs.declarations.policies().is_empty()
            && jobs.desk.needs_tables()
        {
            schema::make(&*tables).map_err(|error| {
                let advice = match error.code() {
                    Some("denied") => "; run sampan db migrate as the owner of the tables",
                    _ => "",
                };
                let text = format!("the tables of jobs: {}{advice}", error.message());
                Error::new(ErrorKind::Load, text)
            })?;
            jobs.desk.has_tables();
        }
    }
    Ok(())
}

/// Returns the jobs of a thread, which are made for its first isolate.
fn thread_jobs(worker: &Context) -> Rc<ThreadJobs> {
    worker.get().unwrap_or_else(|| {
        worker.put(ThreadJobs::default());
        worker.get().unwrap_or_default()
    })
}

/// Has this isolate do the jobs of its thread, in place of the one before.
fn serve(setup: &IsolateSetup<'_>) {
    let config = setup.settings.resolve(&SECTION, JobsConfig::from_settings);
    if let (Some(jobs), Ok(config)) = (setup.context.get::<Rc<IsolateJobs>>(), config) {
        let declared = &jobs.declarations;
        let policies = (declared.policies(), declared.unique());
        jobs.desk.serve(config, policies, declared.crons());
        thread_jobs(setup.worker)
            .current
            .replace(Some(Rc::clone(&*jobs)));
    }
}

fn keep(setup: &KeeperSetup<'_>) -> LocalFuture<()> {
    let context = setup.context;
    let (tables, outbox) = (context.get::<Rc<dyn AppTables>>(), context.get::<Outbox>());
    let log = context.get::<Rc<dyn Log>>().map(|log| Rc::clone(&*log));
    let desk = setup.shared.get::<Desk>();
    let meters = context.get::<Arc<Registry>>();
    let meters = meters.map(|registry| JobMeters::new(Arc::clone(&*registry)));
    Box::pin(async move {
        let waiting = tables.as_ref().and_then(|tables| tables.waiting());
        if let (Some(desk), Some(waiting)) = (&desk, waiting) {
            let keeper = ServerKeeper::new(Arc::clone(desk), waiting, log);
            return keeper.measured(meters).keep().await;
        }
        if let (Some(desk), Some(tables), Some(outbox)) = (desk, tables, outbox) {
            let keeper = Keeper::new(desk, Rc::clone(&*tables), outbox, log);
            keeper.measured(meters).keep().await;
        }
    })
}

fn work(setup: &IsolateSetup<'_>) -> LocalFuture<()> {
    let (thread, desk) = (thread_jobs(setup.worker), setup.shared.get::<Desk>());
    Box::pin(async move {
        if let Some(desk) = desk {
            worker::work(thread, desk).await;
        }
    })
}
