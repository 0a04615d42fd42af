//! The checks of what declares routes and middleware.

use crate::request::response::checked;
use crate::vm::isolate::current;
use crate::vm::state::{State, text_at};
use sampan_host::refusals;
use std::ffi::c_int;

/// `host.check_pattern(caller, pattern)`: raises unless the string begins with a slash.
pub(crate) unsafe extern "C-unwind" fn check_pattern(state: State) -> c_int {
    // SAFETY: the text is dropped within `guard`; `checked` raises when nothing with a destructor is left.
    unsafe {
        checked(state, || {
            refusals::check_pattern(&String::from_utf8_lossy(text_at(state, 2)))
        })
    }
}

/// `host.check_host(caller, host)`: raises unless routes can be for such a host.
pub(crate) unsafe extern "C-unwind" fn check_host(state: State) -> c_int {
    // SAFETY: the text is dropped within `guard`; `checked` raises when nothing with a destructor is left.
    unsafe {
        checked(state, || {
            refusals::check_host(&String::from_utf8_lossy(text_at(state, 2)))
        })
    }
}

/// `host.check_loading(caller)`: raises once the project is loaded.
pub(crate) unsafe extern "C-unwind" fn check_loading(state: State) -> c_int {
    // SAFETY: the check runs within `guard`; `checked` raises when nothing with a destructor is left.
    unsafe {
        checked(state, || match current().is_loaded.get() {
            true => Err(refusals::too_late("routes and middleware")),
            false => Ok(()),
        })
    }
}
