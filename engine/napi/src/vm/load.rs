//! Loading a project: the prelude runs, then the platform loads the entry file, and what that declared is the program.

use crate::sys::function::{make_contract, make_function};
use crate::sys::{Failure, Js, Kind, Thrown};
use crate::vm::core::{Core, Cx, Meta, Tables};
use crate::vm::{call_site, declare, error, platform};
use sampan_host::names::camel_case;
use sampan_host::request::FIELDS;
use sampan_host::{BodyOptions, Error, ErrorKind, HandlerId, Program, Setup};
use sampan_js_contract as contract;
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
    call_site::install(&core);
    let loaded = core.enter(HandlerId::MAX, None, |cx| {
        let run = || -> Result<Option<(HandlerId, BodyOptions)>, Failure> {
            prelude(cx)?;
            run_entry(cx, &entry)
        };
        run().map_err(|failure| as_load_error(&error::described(cx, failure)))
    });
    let program = core.contract.finish(loaded?);
    core.not_found.set(program.not_found);
    core.fetch.set(program.fetch);
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
        cx.set(native, name, make_function(cx, name, *function)?)?;
    }
    for (name, function) in contract::Native::ALL {
        if function.is_there() {
            cx.set(native, name, make_contract(cx, name, *function)?)?;
        }
    }
    let tools = core.platform.tools.get(cx.env());
    for name in ["format", "storage", "uncaught"] {
        cx.set(native, name, cx.get(tools, name)?)?;
    }
    let (meta, buffer) = Meta::new(cx.env())?;
    cx.set(native, "meta", buffer)?;
    let _ = core.meta.set(meta);
    contract::describe(cx, &native)?;
    cx.set(native, "classes", classes(cx)?)?;
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

/// The classes of native objects, by their names: an object of their methods each, and whether they have keys of the
/// script's own.
fn classes<'a>(cx: Cx<'a>) -> Result<Js<'a>, Thrown> {
    let all = cx.object()?;
    let modules = cx.core().contract.modules.iter();
    for class in modules.flat_map(|module| module.classes) {
        let methods = cx.object()?;
        for (name, method) in contract::methods(cx, class)? {
            cx.set(methods, &name, method)?;
        }
        let both = cx.array(&[methods, cx.boolean(class.is_keyed)])?;
        cx.set(all, class.name, both)?;
    }
    Ok(all)
}

/// Describes what the prelude of this engine asks for besides.
fn describe_rules(cx: Cx<'_>, native: Js<'_>) -> Result<(), Failure> {
    let core = cx.core();
    cx.set(
        native,
        "jsonDepthMax",
        cx.number(core.limits.json_depth_max as f64)?,
    )?;
    let refused = cx.object()?;
    for (name, [what, advice]) in contract::refused::ALL {
        let both = cx.array(&[cx.string(what)?, cx.string(advice)?])?;
        cx.set(refused, name, both)?;
    }
    cx.set(native, "refused", refused)?;
    let fields = FIELDS.map(|(name, _)| cx.string(name));
    let fields = fields.into_iter().collect::<Result<Vec<_>, _>>()?;
    cx.set(native, "fields", cx.array(&fields)?)?;
    let added = core.contract.modules.iter();
    let added = added.flat_map(|module| module.request_fields);
    let keyed = added.filter(|field| field.gives_keyed());
    let keyed = keyed.map(|field| cx.string(&camel_case(field.name)));
    let keyed = cx.array(&keyed.collect::<Result<Vec<_>, _>>()?)?;
    cx.set(native, "keyedFields", keyed)?;
    Ok(())
}

/// Has the platform load the entry file, which declares the program. Gives the `fetch` of its default export.
fn run_entry(cx: Cx<'_>, entry: &str) -> Result<Option<(HandlerId, BodyOptions)>, Failure> {
    let core = cx.core();
    let tools = core.platform.tools.get(cx.env());
    let exports = cx.get(core.tables()?.all.get(cx.env()), "exports")?;
    cx.call(cx.get(tools, "serve")?, &[exports])?;
    let file = core.platform.root.join(entry);
    let namespace = cx.call(
        cx.get(tools, "load")?,
        &[cx.string(&file.to_string_lossy())?],
    )?;
    let served = cx.call_own("served", &[namespace])?;
    if cx.kind(served) != Kind::Object {
        return Ok(None);
    }
    let parts = (0..5).map(|index| cx.at(served, index));
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    Ok(Some(contract::served(cx, &parts)?))
}
