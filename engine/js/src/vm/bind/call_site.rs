//! The place of the call of a row, for capabilities that remember it.

use crate::vm::error;
use crate::vm::isolate::Core;
use crate::vm::sys::Thrown;
use sampan_host::CallSite;
use std::rc::Rc;

/// Lets capabilities ask for the place of the call of a row.
pub(crate) fn install(core: &Rc<Core>) {
    let me = core.me();
    core.contract.context.put(CallSite::new(move || {
        let core = me.upgrade().filter(|core| core.is_entered())?;
        let cx = core.cx();
        match error::here(cx) {
            Ok(made) => error::describe(cx, made.raw()).place().cloned(),
            Err(Thrown) => {
                drop(cx.exception());
                None
            }
        }
    }));
}
