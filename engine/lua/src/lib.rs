//! LuaJIT behind the contract of `sampan-host`.
//!
//! [`Lua::load`] makes an isolate: a Lua state with its globals built from an allowlist, the `sampan` module and the
//! project's files. Requests are then answered by [`sampan_host::Isolate::start`].
//!
//! Rules that keep unsafe code in bounds:
//! - Lua errors unwind through C frames. A C function of ours therefore works in two stages: first plain Rust under
//!   `guard`, which catches panics and calls nothing of Lua that can raise; then the pushing of results, which may
//!   raise and has no live destructor on the stack.
//! - Rust enters Lua only through `Core::protected`, one protected call around a C function of ours.
//! - A C function finds the isolate through `vm::isolate::current`, which is set for as long as Lua runs.
#![allow(
    unsafe_code,
    reason = "this crate is the border to LuaJIT's C API; each block says what makes it sound"
)]

mod builtin_limits;
#[doc(hidden)]
pub mod comparison;
mod coroutines;
mod libraries;
mod request;
mod values;
mod vm;

use request::call::{self, Begin, CallOutcome, HandlerEntry};
use request::object::RequestSlot;
use request::world;
use sampan_host::{Call, Error, Isolate, Program, ResponseSink, Setup, Step};
use std::ffi::c_int;
use std::rc::Rc;
use vm::isolate::Core;
pub use vm::version::version;

/// A loaded project in LuaJIT.
pub struct Lua {
    core: Rc<Core>,
    program: Program,
    /// Registry references of the handlers, by their number.
    handlers: Rc<[c_int]>,
}

impl Lua {
    /// Makes an isolate on the calling thread and runs the project's file in it.
    ///
    /// # Errors
    /// `Load` with file and line if the file does not compile or raises; `Internal` if LuaJIT cannot be stopped as
    /// it was built.
    pub fn load(setup: Setup) -> Result<Self, Error> {
        let (core, program, handlers) = vm::load::load(&setup)?;
        Ok(Self {
            core,
            program,
            handlers,
        })
    }
}

impl Lua {
    /// Reports whether what answers is a value that was given when the project was loaded: no script runs.
    fn is_constant(&self, call: &Call<'_>) -> bool {
        let route = call.handler.map(|handler| handler as usize);
        let route = route.and_then(|route| self.program.routes.get(route));
        call.middleware.is_empty() && route.is_some_and(|route| route.fixed)
    }
}

impl Isolate for Lua {
    fn program(&self) -> &Program {
        &self.program
    }

    fn start(&self, call: Call<'_>, sink: &mut dyn ResponseSink) -> Step {
        if call.error.is_some() && call.request.body_source().is_some() {
            // A body that was refused, on a route that has it whole.
            self.core.has_streams.set(true);
        }
        let name = call
            .handler
            .or(call.middleware.first().copied())
            .unwrap_or(u32::MAX);
        if self.core.worlds.get().is_some() && !self.is_constant(&call) {
            return world::start(&self.core, name, call, sink, self.program.on_error);
        }
        let slot = RequestSlot::new(&self.core, Some(call.request));
        self.core.request.set(slot.number());
        let begin = Begin {
            entry: HandlerEntry {
                core: &self.core,
                sink: Some(sink),
                outcome: CallOutcome::Nothing,
                thread: None,
                has_result: false,
            },
            request: slot.number() as f64,
            handler: call.handler,
            middleware: call.middleware,
            handlers: &self.handlers,
            fallback: call.fallback,
            file: call.file,
            error: call.error,
            is_traced: call.is_traced,
        };
        call::start(&self.core, name, slot, begin)
    }

    fn memory_bytes(&self) -> usize {
        self.core.memory_bytes()
    }

    fn take_collections(&self) -> u64 {
        self.core.take_collections()
    }

    fn is_worn_out(&self) -> bool {
        self.core.worn_out.get()
    }

    fn collect_garbage(&self) {
        self.core.collect();
    }
}
