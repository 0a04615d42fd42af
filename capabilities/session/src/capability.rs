//! The capability: sessions for each isolate, over the tables of its worker's database or in sealed cookies.

use crate::session::prepared::SessionPreparation;
use crate::store::WorkerStore;
use crate::store::server::{SERVER_TABLES, ServerSessions};
use crate::store::table::DbSessions;
use crate::{MODULE, SECTION, SessionConfig, SessionPlace, Sessions, clean, of, rows};
use sampan_host::capability::IsolateSetup;
use sampan_host::database::{AppTables, Preparation};
use sampan_host::log::{Cause, Entry, Level, Log};
use sampan_host::pages::PageValues;
use sampan_host::sockets::KeptFields;
use sampan_host::{Capability, Context, Error, ErrorKind, RequestView, Value, sealer};
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, spawn_local};

/// Sessions.
pub static CAPABILITY: Capability = Capability {
    name: "session",
    modules: &[&MODULE],
    sections: &[&SECTION],
    offers: &["pages"],
    asks: &["sealer"],
    server_tables: &[SERVER_TABLES],
    configure: |settings| {
        settings
            .resolve(&SECTION, SessionConfig::from_settings)
            .map(drop)
    },
    isolate,
    serve,
    ..Capability::EMPTY
};

/// The state of one worker, shared by all isolates that it has one after the other.
struct WorkerSessions {
    store: WorkerStore,
    /// Notified when the first session begins.
    begun: Rc<Notify>,
    /// The task that removes sessions that have ended.
    cleaner: RefCell<Option<JoinHandle<()>>>,
}

/// Returns the state of a worker, which is made for its first isolate.
fn worker_sessions(worker: &Context) -> Result<Rc<WorkerSessions>, Error> {
    if let Some(known) = worker.get::<WorkerSessions>() {
        return Ok(known);
    }
    let missing = || Error::new(ErrorKind::Internal, "no database for sessions");
    let tables = worker.get::<Rc<dyn AppTables>>().ok_or_else(missing)?;
    worker.put(WorkerSessions {
        store: match tables.waiting() {
            Some(waiting) => WorkerStore::Server(Rc::new(ServerSessions::new(waiting))),
            None => WorkerStore::Table(Rc::new(DbSessions(Rc::clone(&tables)))),
        },
        begun: Rc::default(),
        cleaner: RefCell::default(),
    });
    worker.get::<WorkerSessions>().ok_or_else(missing)
}

fn config(setup: &IsolateSetup<'_>) -> Result<SessionConfig, Error> {
    let config = setup
        .settings
        .resolve(&SECTION, SessionConfig::from_settings);
    config.map_err(|fault| Error::new(ErrorKind::Load, fault))
}

fn isolate(setup: &IsolateSetup<'_>) -> Result<(), Error> {
    let (config, context) = (config(setup)?, setup.context);
    context.put(match config.place {
        SessionPlace::Db => {
            let worker = worker_sessions(setup.worker)?;
            let begun = Rc::clone(&worker.begun);
            match &worker.store {
                WorkerStore::Table(store) => Sessions::in_table(config, Rc::clone(store), begun),
                WorkerStore::Server(store) => {
                    let sessions = Sessions::on_server(config, Rc::clone(store), begun);
                    context.put::<Rc<dyn Preparation>>(Rc::new(SessionPreparation {
                        shared: Rc::clone(&sessions.0),
                        store: Rc::clone(store),
                    }));
                    sessions
                }
            }
        }
        SessionPlace::Cookie => {
            let sealer = sealer::of(context).map_err(|error| {
                let settings = setup.settings.of(&SECTION);
                let text = format!("store = \"cookie\": {error}");
                Error::new(ErrorKind::Load, settings.tell(&text))
            })?;
            Sessions::in_cookie(config, sealer)
        }
    });
    if let Some(kept) = context.get::<KeptFields>() {
        kept.add("session", rows::keep);
    }
    if let Some(values) = context.get::<PageValues>() {
        add_values(&values, context);
    }
    Ok(())
}

/// Adds the variables `session` and `flashes`.
fn add_values(values: &PageValues, context: &Rc<Context>) {
    let (of_session, of_flashes) = (Rc::downgrade(context), Rc::downgrade(context));
    let session =
        move |request: &Rc<dyn RequestView>| Ok(of(&*upgraded(&of_session)?, &**request)?.values());
    let flashes = move |request: &Rc<dyn RequestView>| {
        let session = of(&*upgraded(&of_flashes)?, &**request)?;
        Ok(Value::List(session.take_flashes()))
    };
    values.variable("session", Rc::new(session));
    values.variable("flashes", Rc::new(flashes));
}

fn upgraded(context: &Weak<Context>) -> Result<Rc<Context>, Error> {
    let context = context.upgrade();
    context.ok_or_else(|| Error::new(ErrorKind::Internal, "no context"))
}

/// Starts the task that removes sessions that have ended, in place of the one before.
fn serve(setup: &IsolateSetup<'_>) {
    let (Ok(config), Ok(sessions)) = (config(setup), worker_sessions(setup.worker)) else {
        return;
    };
    let log = setup.context.get::<Rc<dyn Log>>();
    let report = move |error: Error| {
        let text = format!("removing sessions that have ended: {error}");
        if let Some(log) = &log {
            log.write_limited(
                Level::Error,
                Cause::message(error.message()),
                &Entry::text(text),
            );
        }
    };
    let (store, begun) = (sessions.store.clone(), Rc::clone(&sessions.begun));
    let cleaner = spawn_local(clean(config, store, begun, report));
    if let Some(before) = sessions.cleaner.replace(Some(cleaner)) {
        before.abort();
    }
}
