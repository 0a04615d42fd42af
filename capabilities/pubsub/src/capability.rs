//! The capability: the hub of the process, the topics of each worker, and what each isolate declares.

use crate::config::{TOPICS, TopicsConfig};
use crate::functions::{Active, Declared};
use crate::hub::Hub;
use crate::hub::rules::{TopicRule, TopicRules};
use crate::publishing::Surroundings;
use crate::rows::MODULE;
use crate::worker::{TopicsHandle, WorkerTopics};
use sampan_host::capability::{IsolateSetup, ProcessSetup, Shared};
use sampan_host::carrier::WorkerCarrier;
use sampan_host::log::{Entry, Level, Log};
use sampan_host::topics::Topics;
use sampan_host::{Capability, Context, Effects, Error, ErrorKind, WorkerPlace};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// Publish and subscribe.
pub static CAPABILITY: Capability = Capability {
    name: "pubsub",
    modules: &[&MODULE],
    sections: &[&TOPICS],
    offers: &["topics"],
    process,
    restore,
    isolate,
    loaded,
    serve,
    ..Capability::EMPTY
};

/// The topics as an isolate sees them.
pub(crate) struct IsolateTopics {
    pub(crate) topics: Rc<dyn Topics>,
    pub(crate) worker: Rc<WorkerTopics>,
    pub(crate) declared: RefCell<Vec<Declared>>,
    pub(crate) rules: RefCell<Vec<TopicRule>>,
    pub(crate) is_loaded: Cell<bool>,
}

/// Makes the hub of the process, which outlives reloads.
fn process(setup: &mut ProcessSetup<'_>) -> Result<(), String> {
    let hub = match setup.before.and_then(Shared::get::<Hub>) {
        Some(hub) => hub,
        None => Arc::new(Hub::new()?),
    };
    setup.shared.put(hub);
    Ok(())
}

fn restore(shared: &Shared) {
    if let Some(hub) = shared.get::<Hub>() {
        hub.forget();
    }
}

/// Returns the topics of a worker, which are made for its first isolate.
fn worker_topics(setup: &IsolateSetup<'_>) -> Result<Rc<WorkerTopics>, Error> {
    if let Some(known) = setup.worker.get::<Rc<WorkerTopics>>() {
        return Ok(Rc::clone(&known));
    }
    let missing = |what| move || Error::new(ErrorKind::Internal, format!("no {what} for topics"));
    let hub = setup.shared.get::<Hub>().ok_or_else(missing("hub"))?;
    let effects = Effects::of(setup.context).ok_or_else(missing("outbox"))?;
    let place = setup.context.get::<WorkerPlace>();
    let around = Surroundings {
        effects,
        carrier: setup.context.get::<Rc<dyn WorkerCarrier>>(),
        log: setup.context.get::<Rc<dyn Log>>(),
    };
    let worker = WorkerTopics::new(hub, place.map_or(1, |place| place.index), around);
    setup.worker.put(Rc::clone(&worker));
    Ok(worker)
}

fn isolate(setup: &IsolateSetup<'_>) -> Result<(), Error> {
    let worker = worker_topics(setup)?;
    let topics: Rc<dyn Topics> = Rc::new(TopicsHandle(Rc::clone(&worker)));
    setup.context.put(Rc::clone(&topics));
    setup.context.put(IsolateTopics {
        topics,
        worker,
        declared: RefCell::default(),
        rules: RefCell::default(),
        is_loaded: Cell::new(false),
    });
    Ok(())
}

fn loaded(context: &Context) -> Result<(), Error> {
    if let Some(topics) = context.get::<IsolateTopics>() {
        topics.is_loaded.set(true);
    }
    Ok(())
}

/// Gives the messages to the functions of this isolate, in place of those of the one before.
fn serve(setup: &IsolateSetup<'_>) {
    let Some(topics) = setup.context.get::<IsolateTopics>() else {
        return;
    };
    let config = TopicsConfig::read(&setup.settings.of(&TOPICS));
    let rules = TopicRules(topics.rules.take().into());
    topics.worker.hub.configure(config, rules);
    // Before there are receivers, so that they miss nothing.
    topics.worker.carry();
    let active = setup.worker.get::<Active>().unwrap_or_else(|| {
        setup.worker.put(Active::default());
        setup.worker.get().unwrap_or_default()
    });
    let declared = topics.declared.take();
    let replaced = active.replace(&topics.worker, setup.context, declared);
    if let Err(error) = replaced
        && let Some(log) = setup.context.get::<Rc<dyn Log>>()
    {
        let text = format!("app.subscribe: {error}");
        log.write(Level::Error, &Entry::text(text));
    }
}
