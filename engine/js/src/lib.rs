//! QuickJS-ng behind the contract of `sampan-host`.
//!
//! [`Js::load`] makes an isolate and runs a project's entry file in it; [`sampan_host::Isolate`] says what it can do
//! then. An isolate stays on its thread, whose stack must have [`STACK_BYTES`]. The way of a request: `call` makes a
//! `request` object, calls the handler, and hands what it returns to `answer`; a pending promise becomes a
//! `promises::suspend::Waiting`.
// QuickJS is a C library. Every unsafe block says what makes it sound; the rules that they share stand in `sys`.
#![allow(unsafe_code)]

mod builtin_limits;
mod promises;
mod request;
mod streams;
mod values;
mod version;
mod vm;
mod web;

pub use version::version;
pub use vm::limits::STACK_BYTES;

use sampan_host::{Call, Error, Isolate, Program, ResponseSink, Setup, Step};
use std::rc::Rc;
use vm::isolate::Core;

/// A project loaded into a QuickJS isolate.
pub struct Js {
    program: Program,
    core: Rc<Core>,
}

/// In the context of a [`Setup`]: the isolate calls QuickJS's public functions only, and does not look into its memory.
/// That is slower. Isolates do the same if QuickJS's data does not lie where it is expected.
#[derive(Clone, Copy, Debug)]
pub struct PublicFunctionsOnly;

impl Js {
    /// Makes an isolate and loads the project into it. Errors are of the kind `Load`, with the place in the script.
    pub fn load(setup: Setup) -> Result<Self, Error> {
        let (core, program) = vm::load::load(&setup)?;
        Ok(Self { program, core })
    }

    /// Reports whether the isolate looks into QuickJS's memory (see [`PublicFunctionsOnly`]).
    pub fn looks_into_memory(&self) -> bool {
        self.core.layout.get().is_some() && self.core.text_layout.get().is_some()
    }
}

impl std::fmt::Debug for Js {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Js")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

impl Isolate for Js {
    fn program(&self) -> &Program {
        &self.program
    }

    fn start(&self, call: Call<'_>, sink: &mut dyn ResponseSink) -> Step {
        let status = self.core.default_status(&call);
        request::call::start(&self.core, call, status, sink)
    }

    fn memory_bytes(&self) -> usize {
        self.core.memory_bytes()
    }

    fn take_collections(&self) -> u64 {
        self.core.collections.take()
    }

    fn is_worn_out(&self) -> bool {
        self.core.is_worn_out()
    }

    fn background_requests(&self) -> usize {
        self.core.background.get()
    }

    fn collect_garbage(&self) {
        self.core.collect_garbage();
    }
}
