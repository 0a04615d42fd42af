//! The place of the call of a row, for capabilities that remember it.

use crate::vm::core::{Core, Cx};
use crate::vm::error;
use sampan_host::CallSite;
use std::rc::Rc;

/// Lets capabilities ask for the place of the call of a row.
pub(crate) fn install(core: &Rc<Core>) {
    let me = core.me.clone();
    core.contract.context.put(CallSite::new(move || {
        let core = me.upgrade().filter(|core| core.is_entered())?;
        // SAFETY: script runs, which was called in a scope or has called a native function. No handle outlives this
        // function.
        let env = unsafe { core.env.in_scope() };
        let cx = Cx::new(&core, env);
        match cx.call_own("here", &[]) {
            Ok(made) => error::describe(cx, made).place().cloned(),
            Err(failure) => {
                drop(error::described(cx, failure));
                None
            }
        }
    }));
}
