//! Signals that the threads of the library must not get.
//!
//! A program in Rust ignores SIGPIPE from its start on; one in C or Go need not. So the threads that this library
//! starts have it blocked: a write to a client that has gone is an error there, and never the end of the program.
//! Threads inherit what is blocked from the one that starts them.

use std::mem::MaybeUninit;

/// Runs something that starts threads, with SIGPIPE blocked.
pub(crate) fn without_sigpipe<T>(start: impl FnOnce() -> T) -> T {
    let _restored = Blocked::new();
    start()
}

/// The signals that were blocked before; they are again when this is dropped.
struct Blocked(Option<libc::sigset_t>);

impl Blocked {
    fn new() -> Self {
        let (mut pipe, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: `sigemptyset` initialises the set, which is then a valid argument; `before` is written if the last
        // call succeeds.
        unsafe {
            libc::sigemptyset(pipe.as_mut_ptr());
            libc::sigaddset(pipe.as_mut_ptr(), libc::SIGPIPE);
            let done = libc::pthread_sigmask(libc::SIG_BLOCK, pipe.as_ptr(), before.as_mut_ptr());
            Self((done == 0).then(|| before.assume_init()))
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // SAFETY: the set is the one that the system wrote.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
        }
    }
}
