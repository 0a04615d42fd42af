//! The samples of `sampan profile`: which functions are on the stack when one is due.
//!
//! QuickJS asks its interrupt handler where it loops and calls, and no script's code is half way through anything
//! there. The stack is that of an error which is made for it: QuickJS gives its calls to a function of ours, as it
//! would to a script's `Error.prepareStackTrace`.

use super::Core;
use crate::vm::error::OWN_FILES;
use crate::vm::error::here;
use crate::vm::interrupts;
use crate::vm::modules::stacks;
use crate::vm::sys::{
    Cx, Failure, RawValue, Thrown, UNDEFINED, Val, entry, int_of, is_string, is_true, number,
};
use rquickjs::qjs;
use sampan_host::Place;
use sampan_host::samples::{CALLS_MAX, Frame};
use sampan_js_contract::BoundRow;
use std::cell::{Cell, OnceCell, RefCell};

/// The sampler of an isolate.
pub(crate) struct Sampler {
    error: Val,
    /// The number of calls that the stack of an error has, and what is given them.
    limit: Accessor,
    prepare: Accessor,
    collect: Val,
    /// The accessors for the place of a function.
    file: Accessor,
    line: Accessor,
    column: Accessor,
    /// Methods of QuickJS's call sites, as they are before the Web surface hides functions from scripts.
    methods: OnceCell<Methods>,
    frames: RefCell<Vec<Frame>>,
    /// True if there are calls outside of those.
    has_more: Cell<bool>,
    /// While a sample is taken no other is.
    is_busy: Cell<bool>,
}

/// QuickJS's own functions behind a property, which scripts cannot change.
struct Accessor {
    getter: Val,
    setter: Val,
}

struct Methods {
    is_native: Val,
    function: Val,
    name: Val,
}

/// Makes what takes samples, if any are wanted. Called before the Web surface and the project's code are there.
pub(crate) fn install(cx: Cx<'_>) -> Result<(), Thrown> {
    let core = cx.core();
    let Some(samples) = core.watch.samples() else {
        return Ok(());
    };
    // SAFETY: the context is alive. The reference that comes back is owned.
    let global = unsafe { cx.own(qjs::JS_GetGlobalObject(cx.raw())) };
    let error = cx.get(global.raw(), c"Error")?;
    let function = cx.get(global.raw(), c"Function")?;
    let functions = cx.get(function.raw(), c"prototype")?;
    let sampler = Sampler {
        limit: accessor(cx, error.raw(), "stackTraceLimit")?,
        prepare: accessor(cx, error.raw(), "prepareStackTrace")?,
        collect: cx.function(c"collect", 2, 0, entry(collect))?,
        file: accessor(cx, functions.raw(), "fileName")?,
        line: accessor(cx, functions.raw(), "lineNumber")?,
        column: accessor(cx, functions.raw(), "columnNumber")?,
        methods: OnceCell::new(),
        frames: RefCell::default(),
        has_more: Cell::new(false),
        is_busy: Cell::new(false),
        error,
    };
    let _ = core.sampler.set(sampler);
    let first = cx.function(c"first", 0, 0, entry(first))?;
    cx.call(first.raw(), UNDEFINED, &[])?;
    samples.on_due(interrupts::signalling());
    Ok(())
}

fn accessor(cx: Cx<'_>, object: RawValue<'_>, name: &str) -> Result<Accessor, Thrown> {
    let atom = cx.atom(name);
    let mut found = qjs::JSPropertyDescriptor {
        flags: 0,
        value: UNDEFINED.js(),
        getter: UNDEFINED.js(),
        setter: UNDEFINED.js(),
    };
    // SAFETY: the object is alive; the descriptor owns what it is given, and each of it is taken once.
    let (has, _, getter, setter) = unsafe {
        let has = qjs::JS_GetOwnProperty(cx.raw(), &raw mut found, object.js(), atom);
        qjs::JS_FreeAtom(cx.raw(), atom);
        (
            has,
            cx.own(found.value),
            cx.own(found.getter),
            cx.own(found.setter),
        )
    };
    match has > 0 && cx.is_function(getter.raw()) {
        true => Ok(Accessor { getter, setter }),
        false => Err(Thrown),
    }
}

impl Core {
    /// Takes the sample that is due, if one is. Called by the interrupt handler.
    pub(crate) fn sample(&self) {
        self.sample_below(None);
    }

    /// Takes a sample after a row of a capability has done its work, in its name.
    #[cold]
    pub(crate) fn sample_after(&self, row: &BoundRow) {
        self.sample_below(Some(row));
    }

    /// Reports whether a sample is being taken: then the interrupt handler has nothing to say.
    pub(crate) fn is_sampling(&self) -> bool {
        let sampler = self.sampler.get();
        sampler.is_some_and(|sampler| sampler.is_busy.get())
    }

    fn sample_below(&self, row: Option<&BoundRow>) {
        let epoch = self.watch.epoch();
        let samples = self.watch.samples();
        let Some(samples) = samples.filter(|samples| samples.is_due(epoch)) else {
            return;
        };
        let Some(sampler) = self.sampler.get() else {
            return;
        };
        if self.must_stop() || sampler.is_busy.replace(true) {
            return;
        }
        sampler.frames.borrow_mut().clear();
        if sampler.take(self.cx()).is_err() {
            drop(self.cx().exception());
        }
        let mut frames = sampler.frames.borrow_mut();
        if let (Some(row), Some(innermost)) = (row, frames.first_mut()) {
            // The native function itself.
            *innermost = Frame::native(row.name());
        }
        samples.record(epoch, &frames, sampler.has_more.get());
        sampler.is_busy.set(false);
    }
}

impl Sampler {
    /// Makes an error whose stack goes to [`collect`]. What the script has set is in force again afterwards.
    fn take(&self, cx: Cx<'_>) -> Result<(), Thrown> {
        let error = self.error.raw();
        let limit = cx.call(self.limit.getter.raw(), error, &[])?;
        let prepare = cx.call(self.prepare.getter.raw(), error, &[])?;
        let most = number(CALLS_MAX as f64);
        cx.call(self.limit.setter.raw(), error, &[most])?;
        let made = cx
            .call(self.prepare.setter.raw(), error, &[self.collect.raw()])
            .and_then(|_| here(cx));
        cx.call(self.prepare.setter.raw(), error, &[prepare.raw()])?;
        cx.call(self.limit.setter.raw(), error, &[limit.raw()])?;
        made.map(drop)
    }

    fn frame(&self, cx: Cx<'_>, site: RawValue<'_>) -> Result<Option<Frame>, Thrown> {
        let methods = match self.methods.get() {
            Some(methods) => methods,
            None => {
                let methods = Methods {
                    is_native: cx.get(site, c"isNative")?,
                    function: cx.get(site, c"getFunction")?,
                    name: cx.get(site, c"getFunctionName")?,
                };
                self.methods.get_or_init(|| methods)
            }
        };
        let name = cx.call(methods.name.raw(), site, &[])?;
        let name = match is_string(name.raw()) {
            true => Some(cx.text(name.raw())?),
            false => None,
        };
        if is_true(cx.call(methods.is_native.raw(), site, &[])?.raw()) {
            // `apply` and `call` do nothing else than call the function that stands above them.
            let name = name.filter(|name| !matches!(&**name, "apply" | "call"));
            return Ok(name.map(Frame::native));
        }
        let function = cx.call(methods.function.raw(), site, &[])?;
        let file = cx.call(self.file.getter.raw(), function.raw(), &[])?;
        if !is_string(file.raw()) {
            return Ok(name.map(Frame::native));
        }
        let file = cx.text(file.raw())?;
        if file.starts_with(OWN_FILES) {
            return Ok(None);
        }
        let line = cx.call(self.line.getter.raw(), function.raw(), &[])?;
        let column = cx.call(self.column.getter.raw(), function.raw(), &[])?;
        let (line, column) = (int_of(line.raw()) as u32, int_of(column.raw()) as u32);
        let (place, column) = match stacks::source_place(&cx.core().stacks, &file, line, column) {
            Some(source) => {
                let (file, line) = (source.file, source.line);
                (Place { file, line }, source.column)
            }
            None => (Place { file, line }, column),
        };
        Ok(Some(Frame {
            name: name.map(|name| shown(&name)),
            place: Some((place, column)),
        }))
    }
}

/// Takes a sample of itself alone, so that there is a call site to take methods from.
fn first(cx: Cx<'_>, _: RawValue<'_>, _: &[RawValue<'_>]) -> Result<Val, Failure> {
    if let Some(sampler) = cx.core().sampler.get() {
        sampler.take(cx)?;
    }
    Ok(cx.undefined())
}

/// Returns the shown form of QuickJS's name for the code of a module.
fn shown(name: &str) -> String {
    match name {
        "<eval>" => "main".to_owned(),
        name => name.to_owned(),
    }
}

/// Called by QuickJS with an error and its calls, innermost first.
fn collect(cx: Cx<'_>, _: RawValue<'_>, args: &[RawValue<'_>]) -> Result<Val, Failure> {
    let Some((sampler, &[_, sites])) = cx.core().sampler.get().zip(args.first_chunk()) else {
        return Ok(cx.undefined());
    };
    let mut frames = sampler.frames.borrow_mut();
    let length = cx.length(sites)?;
    sampler.has_more.set(length >= CALLS_MAX as i64);
    for at in 0..length {
        let site = cx.at(sites, at as u32)?;
        frames.extend(sampler.frame(cx, site.raw())?);
    }
    Ok(cx.undefined())
}
