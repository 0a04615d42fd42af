//! The place of the call of a row, for capabilities that remember it.

use crate::vm::isolate::Core;
use crate::vm::raise;
use sampan_host::CallSite;
use std::rc::Rc;

/// Lets capabilities ask for the place of the call of a row.
pub(crate) fn install(core: &Rc<Core>) {
    let me = core.me();
    core.context.put(CallSite::new(move || {
        let state = me.upgrade()?.calling.get();
        if state.is_null() {
            return None;
        }
        // SAFETY: `state` runs a row, so it is alive.
        unsafe { raise::place_in(state) }
    }));
}
