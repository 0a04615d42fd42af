//! Reads values of the script where they lie, for one call of a row.
//!
//! Members, items and keys are looked up anew at every question. What was found stays alive ([`list`]), whatever a
//! getter, a proxy or a callback does to the object that it came from.

pub(crate) mod intrinsics;
mod kinds;
pub(crate) mod list;
mod members;
pub(crate) mod names;
mod other_bytes;
pub(crate) mod places;
pub(crate) mod state;

use crate::values::property_names::PropertyNames;
use crate::values::value::is_bytes;
use crate::vm::bind::callback::{self, described};
use crate::vm::limits::VALUES_PER_CHECK;
use crate::vm::sys::whole_number;
use crate::vm::sys::{Cx, Failure, RawValue, is_object, is_string};
use kinds::{is_list, is_map, is_simple};
use list::{HandleList, NOTHING};
use rquickjs::qjs;
use sampan_host::reader::{Keys, Kind, Mark, Name, Plain, SeeRow};
use sampan_host::{Callback, Error, Handle, Reader};
use sampan_js_contract::BoundRow;
use state::JsReader;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ops::Range;

impl<'a> JsReader<'a> {
    /// Has `body` read for a row, whose arguments are the first handles.
    pub(crate) fn with<R>(
        cx: Cx<'a>,
        args: &[RawValue<'_>],
        row: BoundRow,
        body: impl FnOnce(&Self) -> R,
    ) -> R {
        let (core, count) = (cx.core(), row.function.params.len());
        let reader = Self {
            cx,
            core,
            row,
            layout: core.layout.get(),
            text_layout: core.text_layout.get(),
            list: HandleList::new(cx, args, count),
            until_check: Cell::new(VALUES_PER_CHECK),
            outer: core.innermost_reader.0.get(),
        };
        let address = (&raw const reader).cast::<JsReader<'static>>();
        core.innermost_reader.0.set(address);
        body(&reader)
    }

    /// Counts a question: a body may ask as many as it likes, so time and room are looked at now and then.
    #[inline]
    fn count(&self) -> Result<(), Error> {
        match self.until_check.get() {
            0 => self.check_limits(),
            left => {
                self.until_check.set(left - 1);
                Ok(())
            }
        }
    }

    #[cold]
    fn check_limits(&self) -> Result<(), Error> {
        self.until_check.set(VALUES_PER_CHECK);
        if self.core.must_stop() {
            return Err(self.core.stopped_error());
        }
        let room = self.core.limits.memory_bytes_max / size_of::<RawValue<'_>>();
        // Numbers of 32 bits must not come near their end.
        if self.list.len() > room.min(u32::MAX as usize / 2) {
            return Err(self.core.limits.value_too_large());
        }
        Ok(())
    }

    /// Asks values of the script, which may run script. All that was found stays alive and in the list meanwhile.
    fn ask<R, const COUNT: usize>(
        &self,
        handles: [Handle; COUNT],
        ask: impl FnOnce(Cx<'a>, [RawValue<'_>; COUNT]) -> Result<R, Failure>,
    ) -> Result<R, Error> {
        self.core.innermost_reader.own_all();
        let answer = self.list.keeping(usize::MAX, || {
            // SAFETY: the list owns all of its values now, and none is released before this ends.
            let values = handles.map(|it| unsafe { self.list.get(it) });
            ask(self.cx, values)
        });
        answer.map_err(|failure| described(self.cx, failure))
    }

    /// Reports whether a value is an object that members can be looked up in.
    #[inline]
    fn is_object(&self, it: Handle) -> bool {
        // SAFETY: the value is looked at here only.
        is_object(unsafe { self.list.get(it) })
    }

    /// Reports whether a value is an object that is no bytes.
    fn has_members(&self, it: Handle) -> bool {
        // SAFETY: the value is looked at here only, and looking runs no script.
        let value = unsafe { self.list.get(it) };
        is_object(value) && !is_bytes(value)
    }

    /// An item that lies in an array. None if it does not, and where there is more to do than to look.
    #[inline(always)]
    fn item_in_place(&self, list: Handle, at: usize) -> Option<Handle> {
        let layout = self.layout?;
        self.until_check.set(self.until_check.get().checked_sub(1)?);
        let find = |list: RawValue<'_>| {
            // SAFETY: the value is an object, by its tag.
            if !is_object(list) || unsafe { layout.class(list) } != self.core.classes.array {
                return None;
            }
            // SAFETY: the object is an array, by its class, and nothing happens to it here.
            unsafe { layout.items(list).get(at).map(|item| item.js()) }
        };
        // SAFETY: `find` only looks, and the array keeps its items until script runs.
        unsafe { self.list.borrow(list, find) }
    }

    /// Returns a member that lies in an object of a known shape.
    #[inline(always)]
    fn member_in_place(&self, map: Handle, name: Name) -> Option<Handle> {
        let layout = self.layout?;
        self.until_check.set(self.until_check.get().checked_sub(1)?);
        let find = |map: RawValue<'_>| {
            // SAFETY: the value is an object, by its tag.
            if !is_object(map) || unsafe { layout.class(map) } != self.core.classes.object {
                return None;
            }
            // SAFETY: the value is an object. One of a shape that has a place for this name has a plain value there
            // (`Places::learn`).
            unsafe {
                let at = self.core.reader_places.find(layout.shape(map), name)?;
                Some(layout.values(map).add(at).read())
            }
        };
        // SAFETY: `find` only looks, and the object keeps its values until script runs.
        unsafe { self.list.borrow(map, find) }
    }

    /// Shows a value of the list if it is a plain one.
    #[inline]
    fn show_plain(&self, it: Handle, see: &mut dyn FnMut(Plain<'_>)) -> bool {
        // SAFETY: script runs only in `see`, which is called last. The list keeps the value of a string meanwhile.
        match self.plain(unsafe { self.list.get(it) }) {
            Some(text @ Plain::Text(_)) => self.list.keeping(it.number() + 1, || see(text)),
            Some(other) => see(other),
            None => return false,
        }
        true
    }

    /// An item that the language finds.
    #[cold]
    fn item_found(&self, list: Handle, at: usize) -> Result<Handle, Error> {
        self.count()?;
        self.list.reserve();
        if let Some(item) = self.item_in_place(list, at) {
            return Ok(item);
        }
        let Ok(at) = u32::try_from(at) else {
            return Ok(NOTHING);
        };
        self.ask([list], |cx, [list]| match is_list(cx, list) {
            true => Ok(self.list.found(cx.at(list, at)?)),
            false => Ok(NOTHING),
        })
    }

    /// A member that the language finds.
    #[cold]
    fn member_found(&self, map: Handle, name: Name) -> Result<Handle, Error> {
        self.count()?;
        self.list.reserve();
        if let Some(member) = self.member_in_place(map, name) {
            return Ok(member);
        }
        if !self.is_object(map) {
            return Ok(NOTHING);
        }
        self.ask([map], |cx, [map]| {
            let atom = self.core.reader_names.atom(cx, name)?;
            if is_map(map) {
                let key = cx.name(atom)?;
                let intrinsics = &self.core.tables()?.intrinsics;
                return Ok(self
                    .list
                    .found(intrinsics.value_of_map(cx, map, key.raw())?));
            }
            if let Some(layout) = self.layout
                // SAFETY: `is_object` has found that the value is an object, and `ask` keeps it alive in the list.
                && unsafe { layout.class(map) } == self.core.classes.object
            {
                let places = &self.core.reader_places;
                places.missed(cx, layout, &cx.dup(map), name, atom)?;
            }
            Ok(self.list.found(cx.get_atom(map, atom)?))
        })
    }

    /// The keys of a `Map`, one after the other.
    fn keys_of_map(&self, cx: Cx<'_>, map: RawValue<'_>) -> Result<u32, Failure> {
        let keys = self.core.tables()?.intrinsics.keys_of_map(cx, map)?;
        let mut count = 0;
        while let Some(key) = keys.next(cx)? {
            self.count()?;
            self.list.add(key);
            count += 1;
        }
        Ok(count)
    }

    /// The names of an object's own members.
    fn keys_of_object(&self, cx: Cx<'_>, object: RawValue<'_>) -> Result<u32, Failure> {
        let names = PropertyNames::of(cx, object)?;
        for name in names.iter() {
            self.count()?;
            self.list.add(cx.name(name)?);
        }
        Ok(names.iter().len() as u32)
    }
}

impl Reader for JsReader<'_> {
    fn kind(&self, it: Handle) -> Kind {
        // SAFETY: no script runs while it is looked at, unless it is one of our own.
        let value = unsafe { self.list.get(it) };
        // Looking at others may fail, and then script may run that prepares stacks of errors.
        if !is_simple(self.cx, value) {
            self.core.innermost_reader.own_all();
        }
        kinds::kind(self.cx, value)
    }

    fn show(&self, it: Handle, see: &mut dyn FnMut(Plain<'_>)) -> bool {
        self.show_plain(it, see)
    }

    fn show_member(&self, map: Handle, name: Name, see: &mut dyn FnMut(Plain<'_>)) -> bool {
        let count = self.list.len();
        let Some(member) = self.member_in_place(map, name) else {
            return false;
        };
        let is_shown = self.show_plain(member, see);
        self.list.release(count);
        is_shown
    }

    fn show_rows(
        &self,
        list: Handle,
        items: Range<usize>,
        names: &[Name],
        see: &mut SeeRow<'_>,
    ) -> usize {
        self.members_of_items(list, items, names, see)
    }

    fn bytes(&self, it: Handle, see: &mut dyn FnMut(&[u8])) {
        // SAFETY: the list has the reference, and keeps the value while script runs that `see` may call: all are made
        // our own before.
        let (value, text) = unsafe {
            let value = self.list.get(it);
            (value, ManuallyDrop::new(self.cx.own(value.js())))
        };
        let plain = self.text_layout.and_then(|layout| layout.ascii(&text));
        self.list.keeping(it.number() + 1, || match plain {
            Some(bytes) => see(bytes),
            None => self.other_bytes(value, see),
        });
    }

    fn len(&self, it: Handle) -> Result<usize, Error> {
        self.count()?;
        if !self.has_members(it) {
            return Ok(0);
        }
        self.ask([it], |cx, [value]| {
            if is_list(cx, value) {
                return Ok(usize::try_from(cx.length(value)?).unwrap_or_default());
            }
            if is_map(value) {
                return Ok(self.core.tables()?.intrinsics.size_of_map(cx, value)?);
            }
            Ok(PropertyNames::of(cx, value)?.iter().len())
        })
    }

    fn item(&self, list: Handle, at: usize) -> Result<Handle, Error> {
        match self.item_in_place(list, at) {
            Some(item) => Ok(item),
            None => self.item_found(list, at),
        }
    }

    fn member(&self, map: Handle, name: Name) -> Result<Handle, Error> {
        match self.member_in_place(map, name) {
            Some(member) => Ok(member),
            None => self.member_found(map, name),
        }
    }

    fn keys(&self, map: Handle) -> Result<Keys, Error> {
        self.count()?;
        let first = Handle::new(self.list.len() as u32);
        if !self.has_members(map) {
            return Ok(Keys::new(first, 0));
        }
        let count = self.ask([map], |cx, [map]| match is_map(map) {
            true => self.keys_of_map(cx, map),
            false => self.keys_of_object(cx, map),
        })?;
        Ok(Keys::new(first, count))
    }

    fn value(&self, map: Handle, key: Handle) -> Result<Handle, Error> {
        self.count()?;
        if !self.is_object(map) {
            return Ok(NOTHING);
        }
        self.ask([map, key], |cx, [map, key]| {
            if is_map(map) {
                let intrinsics = &self.core.tables()?.intrinsics;
                return Ok(self.list.found(intrinsics.value_of_map(cx, map, key)?));
            }
            if let Some(Ok(at)) = whole_number(key).map(u32::try_from) {
                return Ok(self.list.found(cx.at(map, at)?));
            }
            if !is_string(key) {
                return Ok(NOTHING);
            }
            // SAFETY: the key is alive, and a string; the atom is released after its last use.
            let member = unsafe {
                let atom = qjs::JS_ValueToAtom(cx.raw(), key.js());
                if atom == qjs::JS_ATOM_NULL {
                    return Err(Failure::Thrown);
                }
                let member = cx.get_atom(map, atom);
                qjs::JS_FreeAtom(cx.raw(), atom);
                member?
            };
            Ok(self.list.found(member))
        })
    }

    fn callback(&self, it: Handle) -> Result<Option<Callback>, Error> {
        if self.kind(it) != Kind::Function {
            return Ok(None);
        }
        // SAFETY: the function gets a reference of its own at once.
        let function = unsafe { self.list.get(it) };
        Ok(Some(callback::keep(self.cx, function, self.row)))
    }

    fn check(&self) -> Result<(), Error> {
        self.check_limits()
    }

    fn mark(&self) -> Mark {
        Mark::new(self.list.len() as u32)
    }

    fn release(&self, mark: Mark) {
        self.list.release(mark.count());
    }
}
