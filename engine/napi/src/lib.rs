//! Node.js and Bun behind the contract of `sampan-host`: a project runs in the JavaScript engine of the program that
//! loaded us.
//!
//! [`load`] makes an isolate of the environment that the face has [attached](attach) to its thread. What QuickJS lacks
//! is the platform's here: promises, timers, the Web's classes, modules. So this engine binds the modules' tables,
//! keeps the request object light, and turns what handlers return into answers (`vm/prelude/`).
//!
//! It cannot stop a script or limit its memory: that is not possible from inside of a foreign runtime. And its
//! microtasks run when the platform wants: after the turn of the loop in which a handler was called. So a handler that
//! waits is a [`Step::Waiting`], even where QuickJS would have its answer at once.
// Node-API is a C interface. Every unsafe block says what makes it sound; the rules that they share stand in `sys`.
#![allow(unsafe_code)]

mod promises;
mod request;
mod sys;
mod values;
mod vm;

pub use sys::function::{Plain, plain_function};
pub use sys::{Env, Environment, Js, Ref, Scope, Thrown, end};
pub use vm::platform::attach;

use sampan_host::{Call, Error, Isolate, Program, ResponseSink, Setup, Step};
use std::rc::Rc;
use vm::core::Core;

/// A project loaded into the JavaScript engine of this thread.
struct Napi {
    program: Program,
    core: Rc<Core>,
}

/// Loads the project into the environment that is attached to this thread.
///
/// # Errors
/// The project does not load: of the kind `Load`, with the place in the script.
pub fn load(setup: Setup) -> Result<Box<dyn Isolate>, Error> {
    let (core, program) = vm::load::load(setup)?;
    Ok(Box::new(Napi { program, core }))
}

impl Isolate for Napi {
    fn program(&self) -> &Program {
        &self.program
    }

    fn start(&self, call: Call<'_>, sink: &mut dyn ResponseSink) -> Step {
        request::call::start(&self.core, &call, sink)
    }

    /// Returns 0: the memory is the platform's.
    fn memory_bytes(&self) -> usize {
        0
    }

    fn is_worn_out(&self) -> bool {
        false
    }

    fn background_requests(&self) -> usize {
        self.core.background.get()
    }

    fn collect_garbage(&self) {}
}
