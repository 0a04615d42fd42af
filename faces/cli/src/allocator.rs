//! The allocator of the process.

use libmimalloc_sys::{mi_collect, mi_option_get, mi_option_set, mi_option_t};
use sampan_serve::AllocatorFunctions;
use std::ffi::c_long;

/// Faster than the system's under many small allocations, which is what requests are.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub(crate) const FUNCTIONS: AllocatorFunctions = AllocatorFunctions {
    release,
    leave_to_release,
};

/// The number of mimalloc's option `purge_delay`: the milliseconds until free memory is given back, by the next
/// allocation that needs a new page. Its crate does not name it.
const PURGE_DELAY: mi_option_t = 15;

/// Its preset, by which the option is recognised.
const PURGE_DELAY_PRESET: c_long = 1_000;

/// Longer than anything waits: a week.
const PURGE_DELAY_LONG: c_long = 7 * 24 * 3_600 * 1_000;

/// Gives memory that is free back to the system. mimalloc would do so with a later allocation, of which an idle server
/// makes none.
#[allow(unsafe_code)] // mimalloc's crate has no safe function for it
fn release() {
    // SAFETY: the function takes no pointer, and may be called by any thread at any time.
    unsafe { mi_collect(true) };
}

/// Has allocations give nothing back. Where the option has another value than its preset, by
/// `MIMALLOC_PURGE_DELAY` or in another version of mimalloc, it stays.
#[allow(unsafe_code)] // mimalloc's crate has no safe functions for it
fn leave_to_release() {
    // SAFETY: both functions take numbers; a number that no option has is refused with a message.
    unsafe {
        if mi_option_get(PURGE_DELAY) == PURGE_DELAY_PRESET {
            mi_option_set(PURGE_DELAY, PURGE_DELAY_LONG);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_that_of_the_delay() {
        // SAFETY: the function takes a number; a number that no option has is refused with a message.
        #[allow(unsafe_code)]
        let read = || unsafe { mi_option_get(PURGE_DELAY) };
        if std::env::var_os("MIMALLOC_PURGE_DELAY").is_none() {
            assert_eq!(read(), PURGE_DELAY_PRESET);
            leave_to_release();
            assert_eq!(read(), PURGE_DELAY_LONG);
        }
        release();
    }
}
