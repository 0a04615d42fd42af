//! Loading a project: the prelude runs, then the platform loads the entry file, and what that declared is the program.

use crate::sys::{Failure, Js, Kind, make_function};
use crate::vm::core::{Core, Cx, Meta, Tables};
use crate::vm::{bind, declare, error, platform};
use sampan_host::answer::AnswerKind;
use sampan_host::names::camel_case;
use sampan_host::request::FIELDS;
use sampan_host::{
    BodyOptions, Error, ErrorKind, HandlerId, Program, Setup, WorkerPlace, clock, json,
};
use std::rc::Rc;

/// The parts of the prelude, in the order in which they are put together into one function.
const PRELUDE: &[&str] = &[
    include_str!("prelude/head.js"),
    include_str!("prelude/values.js"),
    include_str!("prelude/errors.js"),
    include_str!("prelude/response.js"),
    include_str!("prelude/request.js"),
    include_str!("prelude/answers.js"),
    include_str!("prelude/app.js"),
];

/// Loads the project of `setup`.
pub(crate) fn load(setup: Setup) -> Result<(Rc<Core>, Program), Error> {
    let platform = platform::attached()
        .ok_or_else(|| Error::new(ErrorKind::Internal, "no runtime is attached to this thread"))?;
    let entry = setup.entry.clone();
    let core = Core::new(platform, setup);
    let loaded = core.enter(HandlerId::MAX, None, |cx| {
        let run = || -> Result<Option<(HandlerId, BodyOptions)>, Failure> {
            prelude(cx)?;
            run_entry(cx, &entry)
        };
        run().map_err(|failure| as_load_error(&error::described(cx, failure)))
    });
    let fetch = loaded?;
    let mut program = core.declared.borrow_mut().take().unwrap_or_default();
    let (fetch, fetch_body) = fetch.unzip();
    program.fetch = fetch;
    program.fetch_body = fetch_body.unwrap_or_default();
    core.not_found.set(program.not_found);
    core.fetch.set(fetch);
    Ok((core, program))
}

/// Returns the error as one of loading.
fn as_load_error(error: &Error) -> Error {
    let load = Error::new(ErrorKind::Load, error.message()).at(error.place().cloned());
    match error.stack() {
        Some(stack) => load.with_stack(stack),
        None => load,
    }
}

/// Runs the prelude and keeps what it gives.
fn prelude(cx: Cx<'_>) -> Result<(), Failure> {
    let core = cx.core();
    let native = cx.object()?;
    for (name, function) in declare::FUNCTIONS {
        cx.set(native, name, make_function(core, name, *function)?)?;
    }
    if clock::is_settable() {
        cx.set(native, "now", make_function(core, "now", now)?)?;
    }
    let tools = core.platform.tools.get();
    for name in ["format", "storage", "uncaught"] {
        cx.set(native, name, cx.get(tools, name)?)?;
    }
    let (buffer, place) = cx.shared(Meta::COUNT * size_of::<i32>())?;
    cx.set(native, "meta", buffer)?;
    let meta = Meta::new(place.cast::<i32>(), cx.keep(buffer)?);
    let _ = core.meta.set(meta);
    cx.set(native, "modules", bind::modules(cx)?)?;
    cx.set(native, "classes", bind::classes(cx)?)?;
    cx.set(native, "addedMethods", bind::request_methods(cx)?)?;
    cx.set(native, "answering", bind::answering(cx)?)?;
    describe_rules(cx, native)?;
    let script = format!(
        "(function (native) {{\n{}\n}})\n//# sourceURL=sampan:prelude.js",
        PRELUDE.concat()
    );
    let function = cx.run(&script)?;
    let made = cx.call(function, &[native])?;
    let kept =
        |name: &str| -> Result<crate::sys::Ref, Failure> { Ok(cx.keep(cx.get(made, name)?)?) };
    let tables = Tables {
        run: kept("run")?,
        take: kept("take")?,
        next: kept("next")?,
        classify: kept("classify")?,
        key_of: kept("keyOf")?,
        store: kept("store")?,
        describe: kept("describe")?,
        all: cx.keep(made)?,
    };
    let _ = core.tables.set(tables);
    Ok(())
}

/// Describes the rules and tables for the prelude.
fn describe_rules(cx: Cx<'_>, native: Js) -> Result<(), Failure> {
    let core = cx.core();
    let types = cx.object()?;
    for (name, kind) in [
        ("json", AnswerKind::Json),
        ("text", AnswerKind::Text),
        ("html", AnswerKind::Html),
        ("bytes", AnswerKind::Bytes),
    ] {
        cx.set(
            types,
            name,
            cx.string(kind.content_type().unwrap_or_default())?,
        )?;
    }
    cx.set(native, "types", types)?;
    let nothing = AnswerKind::Nothing.status(200);
    cx.set(native, "statusOfNothing", cx.number(f64::from(nothing))?)?;
    cx.set(native, "version", cx.string(env!("CARGO_PKG_VERSION"))?)?;
    cx.set(
        native,
        "jsonDepthMax",
        cx.number(core.limits.json_depth_max as f64)?,
    )?;
    for (name, [what, advice]) in [
        ("requestInJson", json::REQUEST),
        ("objectInJson", json::OBJECT),
    ] {
        cx.set(
            native,
            name,
            cx.array(&[cx.string(what)?, cx.string(advice)?])?,
        )?;
    }
    let fields = FIELDS.map(|(name, _)| cx.string(name));
    let fields = fields.into_iter().collect::<Result<Vec<_>, _>>()?;
    cx.set(native, "fields", cx.array(&fields)?)?;
    let mut added = Vec::new();
    for field in core.modules.iter().flat_map(|module| module.request_fields) {
        let name = cx.string(&camel_case(field.name))?;
        added.push(cx.array(&[name, cx.boolean(field.gives_keyed())])?);
    }
    cx.set(native, "addedFields", cx.array(&added)?)?;
    let place = core.context.get::<WorkerPlace>();
    let place = place.map_or_else(WorkerPlace::default, |place| *place);
    let worker = cx.object()?;
    for (name, value) in [("index", place.index), ("count", place.count)] {
        cx.set(worker, name, cx.number(value as f64)?)?;
    }
    cx.set(native, "worker", worker)?;
    Ok(())
}

/// `now()`: the time of day in milliseconds since 1970.
fn now(cx: Cx<'_>, _: &[Js]) -> Result<Js, Failure> {
    Ok(cx.number(clock::since_1970().as_millis() as f64)?)
}

/// Has the platform load the entry file, which declares the program. Gives the `fetch` of its default export.
fn run_entry(cx: Cx<'_>, entry: &str) -> Result<Option<(HandlerId, BodyOptions)>, Failure> {
    let core = cx.core();
    let tools = core.platform.tools.get();
    let exports = cx.get(core.tables()?.all.get(), "exports")?;
    cx.call(cx.get(tools, "serve")?, &[exports])?;
    let file = core.platform.root.join(entry);
    let namespace = cx.call(
        cx.get(tools, "load")?,
        &[cx.string(&file.to_string_lossy())?],
    )?;
    let served = core.call_own("served", &[namespace])?;
    if cx.kind(served) != Kind::Object {
        return Ok(None);
    }
    let handler = cx.number_of(cx.at(served, 0)?).unwrap_or(0.0) as HandlerId;
    let bytes_max = cx.at(served, 1)?;
    let body = BodyOptions {
        bytes_max: match cx.kind(bytes_max) {
            Kind::Text => Some(cx.text(bytes_max)?),
            _ => None,
        },
        stream: cx.is_true(cx.at(served, 2)?),
        uncompressed: cx.is_true(cx.at(served, 3)?),
        etag: cx.is_true(cx.at(served, 4)?),
    };
    Ok(Some((handler, body)))
}
