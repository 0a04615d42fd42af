//! What runs when the functions that settle a promise are called, and how to put something around it.
//!
//! QuickJS tells of a promise that is fulfilled, but not of one that is rejected where somebody waits. Both happen in one native
//! function, whose address stands in the runtime's table of classes. The table is found by a probe when an isolate is made (see
//! [`ClassCalls::find`]); the layout is that of `JSRuntime` and `JSClass` in QuickJS's sources, which are a part of the build.

use crate::vm::memory::Counted;
use crate::vm::sys::{Cx, Raw, Thrown, UNDEFINED, address, class_id};
use rquickjs::allocator::Allocator;
use rquickjs::qjs;
use std::ffi::c_int;

/// What is called for a call of an object.
pub(crate) type Call =
    unsafe extern "C" fn(*mut qjs::JSContext, Raw, Raw, c_int, *mut Raw, c_int) -> Raw;

/// An entry of the table, as far as it matters here.
#[repr(C)]
struct Class {
    id: u32,
    name: u32,
    finalizer: usize,
    mark: usize,
    call: Option<Call>,
    exotic: usize,
}

/// Where the calls of the two classes of functions that settle promises stand.
#[derive(Clone, Copy)]
pub(crate) struct ClassCalls {
    /// Where the address of the table stands, counted in words of four bytes from the start of the runtime.
    table: usize,
    /// Those that fulfil and those that reject.
    classes: [qjs::JSClassID; 2],
    original: Call,
}

impl ClassCalls {
    /// Looks for the table: its address follows the number of the next class, which is the only word of the runtime that changes when
    /// a number is given away. `None` where anything is not as expected.
    pub(crate) fn find(cx: Cx<'_>) -> Result<Option<Self>, Thrown> {
        let (promise, resolve, reject) = cx.promise()?;
        let classes = [class_id(resolve.raw()), class_id(reject.raw())];
        let before = halves(cx);
        let mut number = 0;
        // SAFETY: the runtime is alive.
        unsafe { qjs::JS_NewClassID(cx.runtime(), &raw mut number) };
        let after = halves(cx);
        let mut changed = (0..before.len()).filter(|at| before[*at] != after[*at]);
        let (Some(next), None) = (changed.next(), changed.next()) else {
            return Ok(None);
        };
        let (count, table) = (after.get(next + 1).copied().unwrap_or(0), next + 3);
        let is_there = before[next] == number
            && classes
                .iter()
                .all(|class| *class < count && count <= 1 << 16)
            && classes[0] != classes[1]
            && table % 2 == 0
            && table + 1 < after.len();
        if !is_there {
            return Ok(None);
        }
        // SAFETY: the number of classes precedes the address of their table, which has as many.
        let [one, other] = unsafe { entries(cx, table, classes) };
        // SAFETY: both lie in the table.
        let (one, other) = unsafe { (&*one, &*other) };
        let ids = [one.id, other.id];
        let is_one_function =
            one.call.map(|call| call as usize) == other.call.map(|call| call as usize);
        Ok(match one.call {
            Some(original) if ids == classes && is_one_function => {
                let calls = Self {
                    table,
                    classes,
                    original,
                };
                let of = |function| address(calls.promise_of(function));
                let own = address(promise.raw());
                (of(resolve.raw()) == own && of(reject.raw()) == own).then_some(calls)
            }
            _ => None,
        })
    }

    /// Has `call` called instead, until [`Self::restore`]; it is to call [`Self::original`].
    pub(crate) fn replace(&self, cx: Cx<'_>, call: Call) {
        // SAFETY: the runtime is the one that was looked at; the table may have moved, but not where its address stands.
        for entry in unsafe { entries(cx, self.table, self.classes) } {
            // SAFETY: the entry lies in the table, which nobody else looks at now.
            unsafe { (*entry).call = Some(call) };
        }
    }

    /// Has the engine's own function called again.
    pub(crate) fn restore(&self, cx: Cx<'_>) {
        self.replace(cx, self.original);
    }

    /// The class of the functions that fulfil.
    pub(crate) fn fulfils(&self) -> qjs::JSClassID {
        self.classes[0]
    }

    /// Whether it is a function that settles a promise.
    pub(crate) fn settles(&self, value: Raw) -> bool {
        self.classes.contains(&class_id(value))
    }

    /// The engine's own function.
    pub(crate) fn original(&self) -> Call {
        self.original
    }

    /// The promise that a function of these classes settles: the first of its data.
    pub(crate) fn promise_of(&self, function: Raw) -> Raw {
        // SAFETY: the data of an object of these classes begin with it, and live as long as the object.
        unsafe {
            let data = qjs::JS_GetOpaque(function, class_id(function)).cast::<Raw>();
            data.as_ref().copied().unwrap_or(UNDEFINED)
        }
    }
}

/// The runtime's own memory, in words of eight bytes.
pub(crate) fn words(cx: Cx<'_>) -> Vec<usize> {
    // SAFETY: the runtime is a block of the isolate's allocator, all of which was zeroed when it was made.
    unsafe {
        let runtime = cx.runtime().cast::<u8>();
        let count = Counted::usable_size(runtime) / size_of::<usize>();
        std::slice::from_raw_parts(runtime.cast::<usize>(), count).to_vec()
    }
}

/// The same in words of four bytes.
fn halves(cx: Cx<'_>) -> Vec<u32> {
    let halves = words(cx)
        .into_iter()
        .map(|word| [word as u32, (word >> 32) as u32]);
    halves.flatten().collect()
}

/// The entries of two classes.
///
/// # Safety
/// The address of the table must stand there, and the table have these classes.
unsafe fn entries(cx: Cx<'_>, table: usize, classes: [qjs::JSClassID; 2]) -> [*mut Class; 2] {
    // SAFETY: as promised.
    unsafe {
        let table = cx
            .runtime()
            .cast::<u32>()
            .add(table)
            .cast::<*mut Class>()
            .read();
        classes.map(|class| table.add(class as usize))
    }
}
