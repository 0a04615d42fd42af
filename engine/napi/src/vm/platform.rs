//! The description of the runtime by the face that loaded us says of its runtime, for each thread.

use crate::sys::{Env, Environment, Js, Ref};
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::rc::Rc;

/// A JavaScript runtime, and what we need of the program around it.
pub(crate) struct Platform {
    pub(crate) env: Environment,
    /// An object with the functions of the platform that the prelude uses.
    pub(crate) tools: Ref,
    /// The project's folder, as files are called in stacks.
    pub(crate) root: PathBuf,
    /// Has a turn of the worker's loop run soon: something was woken outside of one.
    pub(crate) ring: Box<dyn Fn()>,
}

thread_local! {
    /// Never dropped: at the end of the thread its environment may be gone.
    static ATTACHED: ManuallyDrop<RefCell<Option<Rc<Platform>>>> =
        const { ManuallyDrop::new(RefCell::new(None)) };
}

/// Makes isolates of this thread use a runtime. `tools` is an object with the functions `load(file)`, `serve(exports)`,
/// `format(...)`, `storage()` and `uncaught(told)`, as
/// `package/lib/tools.cjs` gives them.
pub fn attach(env: Env<'_>, tools: Js<'_>, root: PathBuf, ring: Box<dyn Fn()>) {
    if let Ok(tools) = env.keep(tools) {
        let platform = Platform {
            env: env.environment(),
            tools,
            root,
            ring,
        };
        ATTACHED.with(|attached| attached.replace(Some(Rc::new(platform))));
    }
}

/// The runtime of this thread.
pub(crate) fn attached() -> Option<Rc<Platform>> {
    ATTACHED.with(|attached| attached.borrow().clone())
}
