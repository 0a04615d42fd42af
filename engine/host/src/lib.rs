//! The contract between script engines and the rest of Sampan.
//!
//! This crate is shared by the engines, by every capability and by the application layer, and does no I/O:
//! values that cross the border ([`Value`]), tables of functions that a script can call ([`Module`]), what a
//! request looks like to a script ([`RequestView`]) and where its answer goes ([`ResponseSink`]), the JSON
//! reader and writer, the limits of a script and the errors of all of these.
//!
//! An engine implements [`Isolate`]; `app` drives it. Neither has heard of sockets, files or databases here.

pub mod answer;
pub mod capability;
pub mod clock;
pub mod engine;
pub mod error;
mod future;
pub mod guard;
pub mod json;
mod offers;
pub mod request;
pub mod response;
pub mod rows;
mod run;
pub mod set_cookie;
pub mod settings;
pub mod sources;
pub mod store;
mod tables;
pub mod value;
mod whole_answer;

pub use offers::topics::carrier;
pub use offers::{
    attached, database, effects, events, fetch, health, jobs, log, mails, memberships, metrics,
    page_log, pages, renderer, sealer, sockets, statement_text, texts, topics, trace,
};
pub use run::{
    background, call_site, current_run, isolation, limits, low_priority, outbox, samples, stopper,
    watch,
};
pub use tables::{
    Args, HeldArgs, KeptBytes, NoRoom, Prompt, ends, javascript, module, names, objects, reader,
    refusals, words,
};

pub use background::Background;
pub use call_site::CallSite;
pub use capability::Capability;
pub use current_run::{BackgroundRun, CurrentRun, RanStatement, RunOwner};
pub use effects::{Dependencies, Effects};
pub use engine::{
    BodyOptions, Call, Console, FileAnswer, GuardDef, HandlerId, Isolate, LaneRule, MiddlewareDef,
    Program, RouteDef, Setup, Sleep, Step, Suspended, WorkerPlace,
};
pub use error::{Details, Error, ErrorKind, Hint, Place};
pub use future::LocalFuture;
pub use guard::{AskingGuard, Guard, GuardDecision, GuardStep, MIDDLEWARE, NativeMiddleware};
pub use isolation::{Isolation, Rerun};
pub use limits::ScriptLimits;
pub use module::{Context, Function, FunctionKind, Module, Param, RowOwner, Type};
pub use objects::{Class, Lifetime, Object, Objects, RequestObjects};
pub use outbox::{Fate, Outbox, Verdict};
pub use reader::{Handle, Reader};
pub use request::{BodySource, ConnectionTls, RequestView};
pub use response::{Chunk, ResponseSink, StreamedBody};
pub use rows::{Cell, Rows};
pub use sealer::Sealer;
pub use settings::{AllSettings, Section, Settings};
pub use sources::Sources;
pub use stopper::Stopper;
pub use store::Store;
pub use value::{Callback, ScriptFunction, Value};
pub use watch::{StopCause, Watch};
pub use words::Words;
