//! Server-sent events for scripts: `app.sse` answers with a stream of events that a function of the script feeds.
//!
//! The server sends what an [`EventStream`](sampan_host::events::EventStream) holds. Here is the script's side of it:
//! the answer (`answer`), the object that the function gets (`objects`), messages of topics (`topics`), and `[sse]`
//! (`config`).

mod answer;
mod config;
mod limits;
mod objects;
mod topics;

pub use config::{SECTION, SseConfig};

use answer::{OpenStreams, Opening};
use sampan_host::capability::{IsolateSetup, ProcessSetup, Shared};
use sampan_host::{Capability, Effects, Error, ErrorKind, FunctionKind, Module, Type, param, row};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// Server-sent events.
pub static CAPABILITY: Capability = Capability {
    name: "sse",
    modules: &[&MODULE, &ANSWERS],
    sections: &[&SECTION],
    asks: &["topics"],
    configure: |settings| SseConfig::read(settings.all).map(drop),
    process,
    isolate,
    ..Capability::EMPTY
};

/// The answer `app.sse`, see [`Module::feeds_answers`].
pub static ANSWERS: Module = Module {
    name: sampan_host::module::STREAM_KINDS,
    doc: "Answers that a function of the script feeds.",
    functions: &[
        row!("sse"(
                param!("options": Type::Map, "`compress`."),
            ) -> Type::Map, FunctionKind::Sync(answer::open),
            "Returns the header fields of an answer."),
        row!("begin_sse"() -> Type::Object(&objects::EVENTS), FunctionKind::Sync(answer::begin),
            "Begins the stream of the request that runs."),
    ],
    ..Module::EMPTY
};

/// The objects of `app.sse`.
pub static MODULE: Module = Module {
    name: "sse",
    doc: "Server-sent events: a stream of texts that a page takes with `EventSource`. `app.sse(pattern, fn)` declares \
          an address for them, `app.sse(fn)` is the answer of any handler. \
          [Server-sent events](../guide/events.md) tells how.",
    classes: &[&objects::EVENTS],
    ..Module::EMPTY
};

/// Counts the streams of the process, over all generations of the project.
fn process(setup: &mut ProcessSetup<'_>) -> Result<(), String> {
    let before = setup.before.and_then(Shared::get::<OpenStreams>);
    let open = before.unwrap_or_else(|| Arc::new(OpenStreams::default()));
    setup.shared.put(open);
    Ok(())
}

/// The number of the next stream of a worker.
#[derive(Default)]
struct NextNumber(Rc<Cell<u64>>);

fn isolate(setup: &IsolateSetup<'_>) -> Result<(), Error> {
    if setup.worker.get::<NextNumber>().is_none() {
        setup.worker.put(NextNumber::default());
    }
    let next = setup.worker.get::<NextNumber>().unwrap_or_default();
    let open = setup.shared.get::<OpenStreams>();
    let open = open.ok_or_else(|| Error::new(ErrorKind::Internal, "no count of event streams"))?;
    let config = SseConfig::read(setup.settings.all);
    let config = config.map_err(|fault| Error::new(ErrorKind::Load, fault))?;
    setup
        .context
        .put(Opening::new(config, open, Rc::clone(&next.0)));
    if let Some(effects) = Effects::of(setup.context) {
        setup.context.put(effects);
    }
    Ok(())
}
