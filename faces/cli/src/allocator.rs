//! The allocator of the process.

/// Faster than the system's under many small allocations, which is what requests are.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Gives memory that this thread has freed back to the system. mimalloc would do so with a later allocation, of which
/// an idle server makes none.
#[allow(unsafe_code)] // mimalloc's crate has no safe function for it
pub(crate) fn release() {
    // SAFETY: the function takes no pointer, and may be called by any thread at any time.
    unsafe { libmimalloc_sys::mi_collect(true) };
}
