//! The places of QuickJS's data, which the probe looks for once in a process.

use crate::values::layout::Layout;
use crate::values::layout::text::TextLayout;
use crate::vm::interrupts::PollCounter;
use crate::vm::probe::Probe;
use crate::vm::sys::UNDEFINED;
use rquickjs::qjs;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;

/// The places that were found. Without one of them everything works, but less quickly.
#[derive(Clone, Copy, Default)]
pub(crate) struct Places {
    /// The shapes, values and items of objects.
    pub(crate) objects: Option<Layout>,
    /// The characters of strings.
    pub(crate) texts: Option<TextLayout>,
    /// The distance of the poll counter from the beginning of its context, in bytes.
    pub(crate) counter: Option<usize>,
}

/// Returns the places, which the first call looks for.
pub(crate) fn places() -> Places {
    static PLACES: OnceLock<Places> = OnceLock::new();
    *PLACES.get_or_init(|| {
        Probe::new()
            .map(|probe| Places::find(&probe))
            .unwrap_or_default()
    })
}

impl Places {
    fn find(probe: &Probe) -> Self {
        Self {
            objects: Layout::find(probe),
            texts: TextLayout::find(probe),
            counter: find_counter(probe),
        }
    }
}

impl PollCounter {
    /// The counter of `ctx`, if its place is known.
    ///
    /// # Safety
    /// The context must be alive, and stay alive for as long as the counter is used.
    pub(crate) unsafe fn of(ctx: NonNull<qjs::JSContext>) -> Option<Self> {
        let distance = places().counter?;
        // SAFETY: the probe has found the counter at this distance within a context, and all contexts of a process have
        // the same members.
        Some(Self(unsafe { ctx.cast::<u8>().add(distance).cast() }))
    }
}

/// Finds the distance of the poll counter from the beginning of its context: a word that is one less after each of
/// several native calls, and that makes the next call ask the interrupt handler when it is 1. `None` if there is not
/// exactly one such word.
fn find_counter(probe: &Probe) -> Option<usize> {
    const STEP: usize = size_of::<c_int>();
    /// More bytes than a context has.
    const BYTES_MAX: usize = 4096;
    let cx = probe.cx();
    let start = cx.raw().addr();
    let length = probe.room(start).min(BYTES_MAX) / STEP * STEP;
    let kind = qjs::JSCFunctionEnum_JS_CFUNC_generic;
    // SAFETY: the name is terminated, and the function takes the arguments that its kind says. Its reference is owned.
    let function = unsafe {
        let name = c"probe".as_ptr();
        let function = qjs::JS_NewCFunction2(cx.raw(), Some(nothing), name, 0, kind, 0);
        cx.check(function).ok()?
    };
    let call = || drop(cx.call(function.raw(), UNDEFINED, &[]));
    // A new counter is zero: the first poll sets it.
    call();
    let first = probe.bytes(start, length)?;
    let int = |bytes: &[u8], at: usize| {
        let bytes = bytes.get(at..at + STEP)?;
        Some(i32::from_ne_bytes(bytes.try_into().ok()?))
    };
    let mut candidates: Vec<usize> = (0..length).step_by(STEP).collect();
    for calls in 1..=5 {
        call();
        let now = probe.bytes(start, length)?;
        candidates.retain(|&at| {
            int(&first, at)
                .zip(int(&now, at))
                .is_some_and(|(first, now)| first.wrapping_sub(now) == calls)
        });
    }
    let &[distance] = &candidates[..] else {
        return None;
    };
    let asked = Cell::new(0_u32);
    let opaque = (&raw const asked).cast_mut().cast::<c_void>();
    // SAFETY: the context keeps its runtime alive. `asked`, to which `opaque` points, lives until this function ends,
    // which takes the handler away before.
    unsafe { qjs::JS_SetInterruptHandler(cx.runtime(), Some(count), opaque) };
    call();
    let before = asked.get();
    // SAFETY: QuickJS counts this word down and compares it with zero, so any number will do.
    let is_written = unsafe { probe.write_int(start + distance, 1) };
    call();
    let after = asked.get();
    // SAFETY: the context keeps its runtime alive; without a handler no data is needed.
    unsafe { qjs::JS_SetInterruptHandler(cx.runtime(), None, null_mut()) };
    (is_written && before == 0 && after == 1).then_some(distance)
}

// SAFETY: called by QuickJS alone; looks at none of its arguments.
unsafe extern "C" fn nothing(
    _: *mut qjs::JSContext,
    _: qjs::JSValue,
    _: c_int,
    _: *mut qjs::JSValue,
) -> qjs::JSValue {
    UNDEFINED.js()
}

// SAFETY: called by QuickJS alone, with the pointer that was given with this function.
unsafe extern "C" fn count(_: *mut qjs::JSRuntime, asked: *mut c_void) -> c_int {
    // SAFETY: the pointer is that of `asked` in `find_counter`, which lives while this function is the handler.
    let asked = unsafe { &*asked.cast::<Cell<u32>>() };
    asked.set(asked.get() + 1);
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_places_are_found() {
        let places = places();
        assert!(places.objects.is_some() && places.texts.is_some() && places.counter.is_some());
    }
}
