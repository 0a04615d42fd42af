//! The handles of one reader.
//!
//! A value that was found where an object keeps it is only borrowed: as long as no script runs, that object keeps it
//! alive, and counting references up and down would cost more than the look-up. Before script runs, every borrowed
//! value becomes an owned one ([`HandleList::own_all`]). So the owned ones come first in the list, and borrowed ones
//! behind them.

use crate::vm::sys::{Cx, RawValue, UNDEFINED, Val, is_undefined};
use rquickjs::qjs;
use sampan_host::Handle;
use std::cell::{Cell, UnsafeCell};

/// The handle of `undefined` and what is not there: it takes no room.
pub(super) const NOTHING: Handle = Handle::new(u32::MAX);

/// A list that had room for more values than this is not kept for the next reader.
const KEPT_VALUES_MAX: usize = 1024;

/// Room for so many values is made at once.
const VALUES_AT_ONCE: usize = 64;

/// The list of a reader that has ended, for the next one.
#[derive(Default)]
pub(crate) struct SpareValues(Cell<Vec<qjs::JSValue>>);

/// The values of handles, by their numbers.
pub(super) struct HandleList<'a> {
    cx: Cx<'a>,
    /// The values, which only this file looks at. A reference to the list ends before anything is called that could
    /// come back here: nothing frees a value or runs script while there is one.
    values: UnsafeCell<Vec<qjs::JSValue>>,
    /// The number of the first handles that are references of our own.
    owned: Cell<usize>,
    /// The number of the first handles that are not released, because they are in use.
    floor: Cell<usize>,
}

impl<'a> HandleList<'a> {
    /// A list of the arguments of a row that has `count` of them. They are not released.
    pub(super) fn new(cx: Cx<'a>, args: &[RawValue<'_>], count: usize) -> Self {
        let mut values = cx.core().spare_values.0.take();
        for at in 0..count {
            let value = args.get(at).map(|value| cx.dup(*value).into_raw());
            values.push(value.unwrap_or(UNDEFINED.js()));
        }
        Self {
            cx,
            values: UnsafeCell::new(values),
            owned: Cell::new(count),
            floor: Cell::new(count),
        }
    }

    /// The value of a handle.
    ///
    /// # Safety
    /// The value must not be used after its handle was released, nor after script has run, unless it was one of our
    /// own before ([`Self::own_all`]).
    #[inline]
    pub(super) unsafe fn get(&self, it: Handle) -> RawValue<'_> {
        // SAFETY: the reference into the list ends in this block, which runs no script and frees no value. The value is
        // alive: it is our own, or no script has run since it was found. The caller promises to look at it for so long
        // only.
        unsafe {
            let values = &*self.values.get();
            let value = values.get(it.number());
            value.map_or(UNDEFINED, |value| RawValue::from_js(*value))
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        // SAFETY: no reference into the list outlives a method of this type, and this one ends here.
        unsafe { (*self.values.get()).len() }
    }

    /// Makes room for more values.
    pub(super) fn reserve(&self) {
        // SAFETY: no reference into the list outlives a method of this type, and making room runs no script.
        unsafe { (*self.values.get()).reserve(VALUES_AT_ONCE) }
    }

    /// A handle for a value that `find` finds in the value of another handle. None if it finds none, or if there is no
    /// room.
    ///
    /// # Safety
    /// `find` must do nothing but look, and what it finds must stay alive until script runs or the other handle is
    /// released.
    #[inline(always)]
    pub(super) unsafe fn borrow(
        &self,
        it: Handle,
        find: impl FnOnce(RawValue<'_>) -> Option<qjs::JSValue>,
    ) -> Option<Handle> {
        // SAFETY: the reference into the list ends in this block, which runs no script and frees no value. The value is
        // alive: it is our own, or no script has run since it was found.
        let value = unsafe {
            let values = &*self.values.get();
            RawValue::from_js(*values.get(it.number())?)
        };
        let found = find(value)?;
        // SAFETY: the caller promises that it is alive now.
        let is_missing = is_undefined(unsafe { RawValue::from_js(found) });
        if is_missing {
            return Some(NOTHING);
        }
        // SAFETY: the caller promises that it stays alive.
        unsafe { self.push_borrowed(found) }.then(|| Handle::new(self.len() as u32 - 1))
    }

    /// Adds a value that is not our own. False if there is no room.
    ///
    /// # Safety
    /// The value must stay alive until script runs or its handle is released.
    #[inline(always)]
    pub(super) unsafe fn push_borrowed(&self, value: qjs::JSValue) -> bool {
        // SAFETY: no other reference into the list is there: none outlives a method of this type. This one ends in this
        // method, which runs no script and frees no value.
        let values = unsafe { &mut *self.values.get() };
        let end = values.len();
        if end == values.capacity() {
            return false;
        }
        // SAFETY: `end` is less than the capacity, so the place lies in the list's memory; it counts once written.
        unsafe {
            values.as_mut_ptr().add(end).write(value);
            values.set_len(end + 1);
        }
        true
    }

    /// Reports whether values behind the first `count` have become our own, because script may have run.
    #[inline]
    pub(super) fn owns_beyond(&self, count: usize) -> bool {
        self.owned.get() > count
    }

    /// A handle for a value, which may be nothing.
    pub(super) fn add(&self, value: Val) -> Handle {
        self.own_all();
        // SAFETY: no other reference into the list is there: none outlives a method of this type. This one ends in this
        // method, which runs no script and frees no value from here on.
        let values = unsafe { &mut *self.values.get() };
        values.push(value.into_raw());
        self.owned.set(values.len());
        Handle::new(values.len() as u32 - 1)
    }

    /// A handle for a value that was found.
    pub(super) fn found(&self, value: Val) -> Handle {
        match is_undefined(value.raw()) {
            true => NOTHING,
            false => self.add(value),
        }
    }

    /// Makes every value one of our own, so that it stays alive whatever script does.
    #[inline]
    pub(super) fn own_all(&self) {
        // SAFETY: no reference into the list outlives a method of this type. While this one is there, references are
        // only added to values: no script runs, and no value is freed.
        let values = unsafe { &*self.values.get() };
        for value in &values[self.owned.get()..] {
            // SAFETY: no script has run since the value was found.
            let value = unsafe { RawValue::from_js(*value) };
            // The list takes the reference over.
            self.cx.dup(value).into_raw();
        }
        self.owned.set(values.len());
    }

    /// Keeps the first `count` values in the list while `body` runs; those that were kept before stay too.
    #[inline]
    pub(super) fn keeping<R>(&self, count: usize, body: impl FnOnce() -> R) -> R {
        let floor = self.floor.get();
        self.floor.set(floor.max(count));
        let result = body();
        self.floor.set(floor);
        result
    }

    /// Forgets the values behind the first `count`, but for those that are kept.
    #[inline]
    pub(super) fn release(&self, count: usize) {
        let rest = count.max(self.floor.get());
        let owned = self.owned.get();
        // SAFETY: no reference into the list outlives a method of this type, and this one ends before a value is freed.
        // The values that are forgotten are not our own, and have no destructor.
        unsafe { (*self.values.get()).truncate(rest.max(owned)) };
        if rest < owned {
            self.free_to(rest);
        }
    }

    /// Frees values from the end, all of which are owned.
    fn free_to(&self, rest: usize) {
        while self.owned.get() > rest {
            // SAFETY: no reference into the list outlives a method of this type, and this one ends before the value is
            // freed, which may run script.
            let last = unsafe { (*self.values.get()).pop() };
            self.owned.set(self.len());
            // SAFETY: the list has owned the reference, which it has given away.
            drop(last.map(|last| unsafe { self.cx.own(last) }));
        }
    }
}

impl Drop for HandleList<'_> {
    fn drop(&mut self) {
        self.floor.set(0);
        self.release(0);
        let values = std::mem::take(self.values.get_mut());
        if values.capacity() <= KEPT_VALUES_MAX {
            self.cx.core().spare_values.0.set(values);
        }
    }
}
