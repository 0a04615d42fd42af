//! Reads values of the script where they lie, for one call of a row.
//!
//! Behind each handle is a counted reference in a list that the reader owns. So what was read once stays alive, whatever a getter, a
//! proxy or a callback does to the object that it came from. Members, items and keys are looked up anew at every question.

mod intrinsics;
mod names;

pub(crate) use intrinsics::Intrinsics;
pub(crate) use names::ReaderNames;

use crate::values::objects;
use crate::values::value::{PropertyNames, bytes_of, float_is_positive, is_bytes};
use crate::vm::callback::described;
use crate::vm::error::whole_number;
use crate::vm::limits::VALUES_PER_CHECK;
use crate::vm::sys::{
    Cx, Failure, RawValue, Thrown, UNDEFINED, Val, class_id, float_of, is_nothing, is_object,
    is_promise, is_string, is_true, tag, well_formed,
};
use rquickjs::qjs;
use sampan_host::reader::{Keys, Kind, Mark, Name};
use sampan_host::{Error, Handle, Reader};
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;

/// What stands for `null`, `undefined` and what is not there: it takes no room.
const NOTHING: Handle = Handle::new(u32::MAX);

/// A list that had room for more values than this is not kept for the next reader.
const KEPT_VALUES_MAX: usize = 1024;

/// How many proxies may stand one behind the other before an array.
const PROXIES_MAX: usize = 16;

/// The list of a reader that has ended, for the next one.
#[derive(Default)]
pub(crate) struct SpareValues(Cell<Vec<RawValue>>);

/// Reads values for one call.
pub(crate) struct JsReader<'a> {
    cx: Cx<'a>,
    /// A reference for each handle, owned. No borrow of it lasts while script runs, values are freed or bytes are shown.
    values: RefCell<Vec<RawValue>>,
    /// The handles below this number are not released: they are in use.
    floor: Cell<usize>,
    /// How many questions may be asked before the next look at the limits.
    until_check: Cell<u32>,
}

impl<'a> JsReader<'a> {
    /// A reader whose first `count` handles are the arguments.
    pub(crate) fn new(cx: Cx<'a>, args: &[RawValue], count: usize) -> Self {
        let mut values = cx.core().spare_values.0.take();
        for at in 0..count {
            let value = args
                .get(at)
                .map_or(UNDEFINED, |value| cx.dup(*value).into_raw());
            values.push(value);
        }
        Self {
            cx,
            values: RefCell::new(values),
            floor: Cell::new(count),
            until_check: Cell::new(VALUES_PER_CHECK),
        }
    }

    /// The value of a handle. It stays alive until the handle is released.
    #[inline]
    fn raw(&self, it: Handle) -> RawValue {
        let values = self.values.borrow();
        values.get(it.number()).copied().unwrap_or(UNDEFINED)
    }

    /// A handle for a value.
    #[inline]
    fn add(&self, value: Val) -> Handle {
        let mut values = self.values.borrow_mut();
        values.push(value.into_raw());
        Handle::new((values.len() - 1) as u32)
    }

    /// The same, with none for nothing.
    #[inline]
    fn found(&self, value: Val) -> Handle {
        if is_nothing(value.raw()) {
            return NOTHING;
        }
        self.add(value)
    }

    /// Counts a question: a body may ask as many as it likes, so time and room are looked at now and then.
    #[inline]
    fn count(&self) -> Result<(), Error> {
        match self.until_check.get() {
            0 => self.check(),
            left => {
                self.until_check.set(left - 1);
                Ok(())
            }
        }
    }

    #[cold]
    fn check(&self) -> Result<(), Error> {
        self.until_check.set(VALUES_PER_CHECK);
        let core = self.cx.core();
        if core.must_stop() {
            return Err(core.limits.stopped());
        }
        let room = core.limits.memory_bytes_max / size_of::<RawValue>();
        // What is counted in 32 bits must not come near their end.
        if self.values.borrow().len() > room.min(u32::MAX as usize / 2) {
            return Err(core.limits.value_too_large());
        }
        Ok(())
    }

    /// Asks the script's values, which may run script. No handle is released meanwhile, so each value stays alive.
    #[inline]
    fn ask<R>(&self, ask: impl FnOnce(Cx<'a>) -> Result<R, Failure>) -> Result<R, Error> {
        self.count()?;
        let floor = self.floor.replace(usize::MAX);
        let answer = ask(self.cx);
        self.floor.set(floor);
        answer.map_err(|failure| described(self.cx, failure))
    }

    /// A BigInt is a whole number like any other if it fits.
    #[cold]
    fn big_int(&self, value: RawValue) -> Kind {
        let (cx, mut whole) = (self.cx, 0);
        // SAFETY: the value is alive, `whole` is writable. Of a number that does not fit its lower 64 bits are read, which make another.
        let fits = unsafe {
            qjs::JS_ToBigInt64(cx.raw(), &raw mut whole, value);
            let same = cx.own(qjs::JS_NewBigInt64(cx.raw(), whole));
            qjs::JS_IsStrictEqual(cx.raw(), same.raw(), value)
        };
        match fits {
            true => Kind::Int(whole),
            false => Kind::Other("BigInt"),
        }
    }

    fn kind_of_object(&self, value: RawValue) -> Kind {
        let (cx, class) = (self.cx, class_id(value));
        if class == cx.core().classes.object {
            return Kind::Map;
        }
        if let Some(object) = objects::at(cx, value) {
            return Kind::Object(object);
        }
        if cx.is_function(value) {
            return Kind::Function;
        }
        if is_bytes(value) {
            return Kind::Bytes;
        }
        if is_promise(value) {
            return Kind::Other("promise");
        }
        // SAFETY: looks at a live value.
        if unsafe { qjs::JS_IsSet(value) } {
            return Kind::Other("Set");
        }
        if is_list(cx, value) {
            return Kind::List;
        }
        Kind::Map
    }

    /// The keys of a `Map`, one after the other.
    fn keys_of_map(&self, cx: Cx<'_>, map: RawValue) -> Result<u32, Failure> {
        let iterator = cx.core().tables()?.intrinsics.keys_of_map(cx, map)?;
        let mut count = 0;
        while let Some(key) = iterator.next(cx)? {
            self.count()?;
            self.add(key);
            count += 1;
        }
        Ok(count)
    }

    /// The names of an object's own members.
    fn keys_of_object(&self, cx: Cx<'_>, object: RawValue) -> Result<u32, Failure> {
        let names = PropertyNames::of(cx, object)?;
        let mut count = 0;
        for name in names.iter() {
            self.count()?;
            self.add(cx.name(name)?);
            count += 1;
        }
        Ok(count)
    }
}

impl Reader for JsReader<'_> {
    fn kind(&self, it: Handle) -> Kind {
        let value = self.raw(it);
        match tag(value) {
            qjs::JS_TAG_NULL | qjs::JS_TAG_UNDEFINED => Kind::Nothing,
            qjs::JS_TAG_BOOL => Kind::Bool(is_true(value)),
            qjs::JS_TAG_INT | qjs::JS_TAG_FLOAT64 => match whole_number(value) {
                Some(whole) if whole != 0 || float_is_positive(value) => Kind::Int(whole),
                _ => Kind::Float(float_of(value)),
            },
            qjs::JS_TAG_BIG_INT | qjs::JS_TAG_SHORT_BIG_INT => self.big_int(value),
            qjs::JS_TAG_OBJECT => self.kind_of_object(value),
            _ if is_string(value) => Kind::Text,
            _ => Kind::Other("symbol"),
        }
    }

    fn bytes(&self, it: Handle, see: &mut dyn FnMut(&[u8])) {
        let (cx, value) = (self.cx, self.raw(it));
        if !is_string(value) {
            // A copy: script that runs while it is shown may change the bytes or take the buffer away.
            if let Some(bytes) = is_object(value).then(|| bytes_of(cx, value)).flatten() {
                see(&bytes);
            }
            return;
        }
        let floor = self.floor.get();
        self.floor.set(floor.max(it.number() + 1));
        // The list owns the string, and keeps it below its floor.
        let text = ManuallyDrop::new(cx.own(value));
        let layout = cx.core().text_layout.get();
        match layout.and_then(|layout| layout.ascii(&text)) {
            Some(bytes) => see(bytes),
            None => self.other_text(value, see),
        }
        self.floor.set(floor);
    }

    fn len(&self, it: Handle) -> Result<usize, Error> {
        let value = self.raw(it);
        if !is_object(value) || is_bytes(value) {
            return Ok(0);
        }
        self.ask(|cx| {
            if is_list(cx, value) {
                return Ok(usize::try_from(cx.length(value)?).unwrap_or_default());
            }
            if is_map(value) {
                return Ok(cx.core().tables()?.intrinsics.size_of_map(cx, value)?);
            }
            Ok(PropertyNames::of(cx, value)?.iter().len())
        })
    }

    fn item(&self, list: Handle, at: usize) -> Result<Handle, Error> {
        let value = self.raw(list);
        let Ok(at) = u32::try_from(at) else {
            return Ok(NOTHING);
        };
        self.ask(|cx| {
            if !is_list(cx, value) {
                return Ok(NOTHING);
            }
            Ok(self.found(cx.at(value, at)?))
        })
    }

    fn member(&self, map: Handle, name: Name) -> Result<Handle, Error> {
        let value = self.raw(map);
        if !is_object(value) {
            return Ok(NOTHING);
        }
        self.ask(|cx| {
            let atom = cx.core().reader_names.atom(cx, name)?;
            if is_map(value) {
                let key = cx.name(atom)?;
                let tables = cx.core().tables()?;
                let member = tables.intrinsics.value_of_map(cx, value, key.raw())?;
                return Ok(self.found(member));
            }
            Ok(self.found(cx.get_atom(value, atom)?))
        })
    }

    fn keys(&self, map: Handle) -> Result<Keys, Error> {
        let value = self.raw(map);
        let first = Handle::new(self.values.borrow().len() as u32);
        if !is_object(value) || is_bytes(value) {
            return Ok(Keys::new(first, 0));
        }
        let count = self.ask(|cx| match is_map(value) {
            true => self.keys_of_map(cx, value),
            false => self.keys_of_object(cx, value),
        })?;
        Ok(Keys::new(first, count))
    }

    fn value(&self, map: Handle, key: Handle) -> Result<Handle, Error> {
        let (value, key) = (self.raw(map), self.raw(key));
        if !is_object(value) {
            return Ok(NOTHING);
        }
        self.ask(|cx| {
            if is_map(value) {
                let tables = cx.core().tables()?;
                let value = tables.intrinsics.value_of_map(cx, value, key)?;
                return Ok(self.found(value));
            }
            if let Some(Ok(at)) = whole_number(key).map(u32::try_from) {
                return Ok(self.found(cx.at(value, at)?));
            }
            if !is_string(key) {
                return Ok(NOTHING);
            }
            // SAFETY: the key is alive, and a string; the atom is released after its last use.
            let member = unsafe {
                let atom = qjs::JS_ValueToAtom(cx.raw(), key);
                if atom == qjs::JS_ATOM_NULL {
                    return Err(Failure::Thrown);
                }
                let member = cx.get_atom(value, atom);
                qjs::JS_FreeAtom(cx.raw(), atom);
                member?
            };
            Ok(self.found(member))
        })
    }

    fn mark(&self) -> Mark {
        Mark::new(self.values.borrow().len() as u32)
    }

    fn release(&self, mark: Mark) {
        let rest = mark.count().max(self.floor.get());
        loop {
            let mut values = self.values.borrow_mut();
            if values.len() <= rest {
                return;
            }
            let last = values.pop();
            drop(values);
            drop(last.map(|last| self.cx.own(last)));
        }
    }
}

impl JsReader<'_> {
    /// Shows text that is not ASCII or lies in pieces.
    #[cold]
    fn other_text(&self, text: RawValue, see: &mut dyn FnMut(&[u8])) {
        let shown = self
            .cx
            .with_bytes(text, |bytes| match std::str::from_utf8(bytes) {
                Ok(_) => see(bytes),
                Err(_) => see(well_formed(bytes).as_bytes()),
            });
        if let Err(Thrown) = shown {
            // There is no memory for it, which stops the run.
            drop(self.cx.exception());
        }
    }
}

impl Drop for JsReader<'_> {
    fn drop(&mut self) {
        let mut values = std::mem::take(self.values.get_mut());
        // From the end, as they are released.
        while let Some(value) = values.pop() {
            drop(self.cx.own(value));
        }
        if values.capacity() <= KEPT_VALUES_MAX {
            self.cx.core().spare_values.0.set(values);
        }
    }
}

/// Whether a value is an array, or a proxy of one.
fn is_list(cx: Cx<'_>, value: RawValue) -> bool {
    let array = cx.core().classes.array;
    if class_id(value) == array {
        return true;
    }
    let mut at = cx.dup(value);
    for _ in 0..PROXIES_MAX {
        // SAFETY: looks at a live value.
        if !unsafe { qjs::JS_IsProxy(at.raw()) } {
            break;
        }
        // SAFETY: the proxy is alive.
        match cx.check(unsafe { qjs::JS_GetProxyTarget(cx.raw(), at.raw()) }) {
            Ok(target) => at = target,
            Err(Thrown) => {
                // It was revoked.
                drop(cx.exception());
                return false;
            }
        }
    }
    class_id(at.raw()) == array
}

/// Whether a value is a `Map`.
#[inline]
fn is_map(value: RawValue) -> bool {
    // SAFETY: looks at a live value.
    unsafe { qjs::JS_IsMap(value) }
}
