//! Loading a project: the isolate is set up, the entry file runs, and what it declared is the program.

use crate::PublicFunctionsOnly;
use crate::builtin_limits::guard;
use crate::request::call;
use crate::request::prototypes;
use crate::values::objects;
use crate::values::reader::intrinsics::Intrinsics;
use crate::vm::bind::{self, call_site};
use crate::vm::declare;
use crate::vm::error;
use crate::vm::hooks;
use crate::vm::isolate::{Core, Tables, samples};
use crate::vm::modules;
use crate::vm::probe::places::places;
use crate::vm::sys::{Cx, Failure, Thrown, UNDEFINED, Val, is_object};
use crate::web;
use rquickjs::qjs;
use sampan_host::{BodyOptions, Error, ErrorKind, HandlerId, Place, Program, Setup};
use sampan_js_contract as contract;
use sampan_js_modules::Script;
use std::ffi::CStr;
use std::rc::Rc;
use std::sync::Arc;

const PRELUDE: &str = include_str!("load/prelude.js");

/// Hidden keys of the Web surface's contract that the prelude uses.
const HIDDEN: &[&CStr] = &[
    c"status",
    c"statusText",
    c"immutable",
    c"headers",
    c"list",
    c"body",
    c"used",
    c"request",
    c"file",
];

/// Loads the project of `setup`.
pub(crate) fn load(setup: &Setup) -> Result<(Rc<Core>, Program), Error> {
    let core = Core::new(setup)?;
    set_up(&core)?;
    call_site::install(&core);
    core.scripts.begin()?;
    let script = core.scripts.load(&setup.entry)?;
    let ran = core.enter(HandlerId::MAX, None, |cx| {
        run_entry(cx, &setup.entry, &script)
    });
    let entry = ran.value.map_err(|error| {
        let error = modules::as_load_error(&error);
        if error.place().is_some() {
            return error;
        }
        // The script was stopped where no line runs, as in the compiler.
        let compiled = core.compiled.borrow();
        let file = compiled.last().unwrap_or(&setup.entry).clone();
        error.at(Some(Place { file, line: 1 }))
    })??;
    let fetch = finish_entry(&core, &entry, &setup.entry)?;
    let program = core.contract.finish(fetch);
    core.not_found.set(program.not_found);
    core.fetch.set(program.fetch);
    hooks::keep_timers(&core, ran.tasks);
    Ok((core, program))
}

fn described(cx: Cx<'_>, failure: Failure) -> Error {
    match failure {
        Failure::Thrown => modules::load_error(cx),
        Failure::Error(error) => modules::as_load_error(&error),
    }
}

/// Puts everything into the context that scripts find there.
fn set_up(core: &Rc<Core>) -> Result<(), Error> {
    let cx = core.cx();
    modules::install(cx);
    guard::install(cx).map_err(|Thrown| modules::load_error(cx))?;
    hooks::install(cx).map_err(|Thrown| modules::load_error(cx))?;
    samples::install(cx).map_err(|Thrown| modules::load_error(cx))?;
    let counting = core.collections.install(cx);
    counting.map_err(|Thrown| modules::load_error(cx))?;
    core.with_context(web::install)
        .map_err(|_| modules::load_error(cx))?;
    use_places(cx).map_err(|Thrown| modules::load_error(cx))?;
    let mut tables = tables(cx).map_err(|failure| described(cx, failure))?;
    tables.fetch_prototype =
        prototypes::install(cx, &tables).map_err(|Thrown| modules::load_error(cx))?;
    keep_shapes(cx).map_err(|Thrown| modules::load_error(cx))?;
    core.tables
        .set(tables)
        .map_err(|_| Error::new(ErrorKind::Internal, "the isolate is set up twice"))
}

/// Lets the isolate look for objects and strings in memory, unless the program asks it not to.
fn use_places(cx: Cx<'_>) -> Result<(), Thrown> {
    let core = cx.core();
    // The shape of empty objects must stay.
    core.shapes.keep_own(cx.object()?);
    if core.contract.context.get::<PublicFunctionsOnly>().is_none() {
        let places = places();
        core.layout.set(places.objects);
        core.text_layout.set(places.texts);
    }
    Ok(())
}

/// Keeps the shapes of objects that every request makes.
fn keep_shapes(cx: Cx<'_>) -> Result<(), Thrown> {
    let shapes = &cx.core().shapes;
    shapes.keep_own(cx.bare_object()?);
    // SAFETY: the class has its prototype; an object without data is no request. The reference that comes back is
    // owned.
    shapes.keep_own(unsafe {
        cx.check(qjs::JS_NewObjectClass(cx.raw(), cx.core().classes.request))
    }?);
    let (promise, resolve, reject) = cx.promise()?;
    [promise, resolve, reject]
        .into_iter()
        .for_each(|value| shapes.keep_own(value));
    Ok(())
}

/// Returns the tables of the Web surface for the engine, and the prelude makes of it.
fn tables(cx: Cx<'_>) -> Result<Tables, Failure> {
    // SAFETY: the context is alive. The reference that comes back is owned.
    let global = unsafe { cx.own(qjs::JS_GetGlobalObject(cx.raw())) };
    let atom = cx.symbol_atom(c"sampan.web");
    let web = cx.get_atom(global.raw(), atom);
    // SAFETY: the object is alive, the atom owned.
    unsafe {
        qjs::JS_DeleteProperty(cx.raw(), global.js(), atom, 0);
        qjs::JS_FreeAtom(cx.raw(), atom);
    }
    let web = web?;
    let (prelude, added_methods) = prelude(cx, &web)?;
    let kept = cx.get(prelude.raw(), c"kept")?;
    let core = cx.core();
    core.responses.learn(cx, &cx.at(kept.raw(), 0)?)?;
    core.shapes.keep_own(kept);
    Ok(Tables {
        run_handler: cx.get(prelude.raw(), c"runHandler")?,
        run_empty: cx.get(prelude.raw(), c"runEmpty")?,
        form: cx.get(prelude.raw(), c"form")?,
        after: cx.get(prelude.raw(), c"after")?,
        serve: cx.get(prelude.raw(), c"serve")?,
        intrinsics: Intrinsics::find(cx)?,
        exports: cx.get(prelude.raw(), c"exports")?,
        headers_prototype: cx.get(web.raw(), c"headersPrototype")?,
        added_methods,
        request_prototype: cx.get(web.raw(), c"requestPrototype")?,
        fetch_prototype: cx.undefined(),
        body_stream: cx.get(web.raw(), c"bodyStream")?,
        open_stream: cx.get(web.raw(), c"open")?,
        cancel_stream: cx.get(web.raw(), c"cancel")?,
        as_body: cx.get(web.raw(), c"asBody")?,
        abort_signal: cx.get(web.raw(), c"abort")?,
    })
}

/// Runs the prelude: its exports, and the methods that modules add to requests.
fn prelude(cx: Cx<'_>, web: &Val) -> Result<(Val, Val), Failure> {
    let native = cx.object()?;
    for (name, function) in declare::FUNCTIONS {
        cx.define(native.raw(), name, cx.function(name, 0, 0, *function)?)?;
    }
    bind::define_natives(cx, &native)?;
    contract::describe(cx, &native)?;
    for bound in &cx.core().classes.objects {
        objects::install(cx, bound, contract::methods(cx, bound.class)?)?;
    }
    for name in [c"responsePrototype", c"headersPrototype", c"useClient"] {
        cx.define(native.raw(), name, cx.get(web.raw(), name)?)?;
    }
    let symbols = cx.object()?;
    for name in HIDDEN {
        let symbol = cx.core().hidden.symbol(cx, &name.to_string_lossy())?;
        cx.define(symbols.raw(), name, symbol)?;
    }
    cx.define(native.raw(), c"symbols", symbols)?;
    let node_env = cx.string(cx.core().scripts.node_env())?;
    cx.define(native.raw(), c"nodeEnv", node_env)?;
    let function = cx.run_own(PRELUDE, "sampan:prelude.js")?;
    let made = cx.call(function.raw(), UNDEFINED, &[native.raw()])?;
    Ok((made, cx.get(native.raw(), c"addedMethods")?))
}

/// The entry module while it is evaluated.
struct EntryModule {
    promise: Val,
    definition: *mut qjs::JSModuleDef,
}

fn run_entry(cx: Cx<'_>, name: &str, script: &Arc<Script>) -> Result<EntryModule, Error> {
    let run = || -> Result<EntryModule, Failure> {
        let (module, definition) = modules::compile(cx, name, script)?;
        // SAFETY: the context is alive, and the function takes over the module's reference that `into_raw` gives up.
        // The reference that comes back is owned.
        let promise = unsafe { cx.check(qjs::JS_EvalFunction(cx.raw(), module.into_raw())) }?;
        cx.core().handled(cx, promise.raw());
        if cx.core().must_stop()
            && let Some(Err(reason)) = call::promise_result(cx, promise.raw())
        {
            // Notes the line at which the file was stopped.
            let _ = error::describe(cx, reason.raw());
        }
        Ok(EntryModule {
            promise,
            definition,
        })
    };
    run().map_err(|failure| described(cx, failure))
}

/// Looks at the entry module after its jobs have run, and finds the `fetch` of its default export.
fn finish_entry(
    core: &Rc<Core>,
    entry: &EntryModule,
    name: &str,
) -> Result<Option<(HandlerId, BodyOptions)>, Error> {
    let ran = core.enter(HandlerId::MAX, None, |cx| {
        match call::promise_result(cx, entry.promise.raw()) {
            Some(Ok(_)) => default_fetch(cx, entry).map_err(|failure| described(cx, failure)),
            Some(Err(reason)) => Err(modules::as_load_error(&error::describe(cx, reason.raw()))),
            None => Err(modules::hanging(core, name)),
        }
    });
    ran.value.map_err(|error| modules::as_load_error(&error))?
}

/// The `fetch` of the default export, and how that wants the bodies of its requests.
fn default_fetch(
    cx: Cx<'_>,
    entry: &EntryModule,
) -> Result<Option<(HandlerId, BodyOptions)>, Failure> {
    // SAFETY: the module is kept by its context. The reference that comes back is owned.
    let namespace = unsafe { cx.check(qjs::JS_GetModuleNamespace(cx.raw(), entry.definition)) }?;
    let exported = cx.get(namespace.raw(), c"default")?;
    if !is_object(exported.raw()) {
        return Ok(None);
    }
    let fetch = cx.get(exported.raw(), c"fetch")?;
    if !cx.is_function(fetch.raw()) {
        return Ok(None);
    }
    let serve = cx.core().tables()?.serve.raw();
    let served = cx.call(serve, UNDEFINED, &[exported.raw()])?;
    let parts = (0..5).map(|index| cx.at(served.raw(), index));
    let parts = parts.collect::<Result<Vec<_>, Thrown>>()?;
    Ok(Some(contract::served(cx, &parts)?))
}
