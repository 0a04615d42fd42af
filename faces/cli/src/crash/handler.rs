//! The handler of signals that end the process: SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT. It writes a report and
//! lets the signal do what it would have done.
#![allow(unsafe_code)] // signal handlers, and the calls that are safe in one

use super::report::Facts;
use std::fmt::Write;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The signals, by their names.
const SIGNALS: [(libc::c_int, &str); 5] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGABRT, "SIGABRT"),
];

/// The most addresses of a stack.
const FRAMES_MAX: usize = 64;

/// The time that other threads give the one that writes the report.
const REPORT_SECONDS_MAX: libc::c_uint = 2;

/// The cause of a signal.
#[derive(Clone, Copy)]
enum Cause {
    /// An access to this address, or an instruction there.
    Fault(usize),
    /// The process itself, as `abort` does.
    Raised,
    /// Another process.
    Sent,
}

static FACTS: OnceLock<&'static Facts> = OnceLock::new();

/// The handlers that were there before, in the order of [`SIGNALS`].
static BEFORE: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();

/// Installs the handler.
pub(super) fn install(facts: &'static Facts) {
    if FACTS.set(facts).is_err() {
        return;
    }
    // The first call loads what later calls need.
    let mut frames = [ptr::null_mut(); 1];
    // SAFETY: it writes at most one address into the array.
    unsafe { libc::backtrace(frames.as_mut_ptr(), 1) };
    let before = SIGNALS.map(|(signal, _)| {
        let mut old = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: null asks for the action alone, and `old` has room for it. An action of zeros is valid, should the
        // call fail.
        unsafe {
            libc::sigaction(signal, ptr::null(), old.as_mut_ptr());
            old.assume_init()
        }
    });
    if BEFORE.set(before).is_err() {
        return;
    }
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_signal;
    for (signal, _) in SIGNALS {
        // SAFETY: the action is whole: zeros are an action with an empty mask, and the function takes the arguments
        // that SA_SIGINFO gives it. Threads of Rust have a stack for signals, which SA_ONSTACK uses: a stack that
        // overflowed is reported too.
        unsafe {
            let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            // A second one of these in the handler ends the process at once.
            for (other, _) in SIGNALS {
                libc::sigaddset(&raw mut action.sa_mask, other);
            }
            libc::sigaction(signal, &raw const action, ptr::null_mut());
        }
    }
}

extern "C" fn on_signal(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
    static IS_WRITTEN: AtomicBool = AtomicBool::new(false);
    // SAFETY: the kernel gives a valid description of the signal. The address is there for signals of faults, and any
    // number otherwise.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    let is_fault = code > 0;
    if HAS_BEGUN.swap(true, Ordering::SeqCst) {
        // Another thread crashes too, and ends the process when its report is whole. Should it not, this one does.
        // Where there is a report already, there is nothing to wait for.
        if !IS_WRITTEN.load(Ordering::SeqCst) {
            // SAFETY: `sleep` takes a number and touches no memory of ours; a handler of signals may call it.
            unsafe { libc::sleep(REPORT_SECONDS_MAX) };
        }
    } else if let Some(facts) = FACTS.get() {
        let cause = match code {
            _ if is_fault => Cause::Fault(address),
            libc::SI_TKILL => Cause::Raised,
            _ => Cause::Sent,
        };
        report(facts, signal, cause);
        IS_WRITTEN.store(true, Ordering::SeqCst);
    }
    let at = SIGNALS.iter().position(|(known, _)| *known == signal);
    let before = at.zip(BEFORE.get()).map(|(at, before)| before[at]);
    // SAFETY: the actions are those that were there before, or the default. A fault happens again when this returns,
    // and the handler before has it then. It may abort, for which the stack of signals has no room beside its own frame
    // on processors with many registers. A signal that was sent does not happen again, so it is sent again; it comes
    // when this returns.
    unsafe {
        match before {
            Some(before) if is_fault && signal != libc::SIGABRT => {
                libc::signal(libc::SIGABRT, libc::SIG_DFL);
                libc::sigaction(signal, &raw const before, ptr::null_mut());
            }
            _ => {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
    }
}

/// Writes the report. All that it calls may be called in a signal handler, but for `backtrace`, which comes last. The
/// stack of a signal is small, so nothing is collected there.
fn report(facts: &Facts, signal: libc::c_int, cause: Cause) {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    // SAFETY: both texts end with a zero byte.
    let file = unsafe {
        libc::mkdir(facts.folder_text().as_ptr(), 0o700);
        libc::open(facts.path().as_ptr(), flags, 0o600)
    };
    if file < 0 {
        return;
    }
    let mut out = Descriptor(file);
    let known = SIGNALS.iter().find(|(known, _)| *known == signal);
    let name = known.map_or("a signal", |(_, name)| *name);
    let mut thread = [0_u8; 16];
    // SAFETY: PR_GET_NAME writes at most 16 bytes, its zero among them, and `thread` has so many.
    unsafe { libc::prctl(libc::PR_GET_NAME, thread.as_mut_ptr()) };
    let end = thread.iter().position(|byte| *byte == 0);
    let thread = std::str::from_utf8(&thread[..end.unwrap_or(0)]).unwrap_or_default();
    let _ = match cause {
        Cause::Fault(address) => {
            facts.write_head(&mut out, format_args!("{name} at {address:#x}"), thread)
        }
        Cause::Raised => facts.write_head(&mut out, format_args!("{name}, by abort"), thread),
        Cause::Sent => facts.write_head(
            &mut out,
            format_args!("{name}, sent to the process"),
            thread,
        ),
    };
    let mut errors = Descriptor(libc::STDERR_FILENO);
    if out.write_str("stack:\n").is_err() {
        // An empty file would take the place of a report.
        // SAFETY: the text ends with a zero byte, and the descriptor is this report's.
        unsafe {
            libc::unlink(facts.path().as_ptr());
            libc::close(file);
        }
        let _ = write!(
            errors,
            "sampan: {name}: there is no room for a crash report in "
        );
        let _ = errors.write_all(facts.folder_text().to_bytes());
        let _ = errors.write_str("\n");
        return;
    }
    let _ = write!(errors, "sampan: {name}: a crash report is in ");
    let _ = errors.write_all(facts.path().to_bytes());
    let _ = errors.write_all(b"\n");
    let mut frames = [ptr::null_mut(); FRAMES_MAX];
    // SAFETY: it writes at most so many addresses into the array.
    let count = unsafe { libc::backtrace(frames.as_mut_ptr(), FRAMES_MAX as libc::c_int) };
    for frame in &frames[..usize::try_from(count).unwrap_or(0).min(FRAMES_MAX)] {
        let _ = facts.write_address(&mut out, *frame as usize);
    }
    // SAFETY: this function opened the descriptor, closes it once, and does not use it afterwards.
    unsafe { libc::close(file) };
}

/// An open file, written without a buffer.
struct Descriptor(libc::c_int);

impl Descriptor {
    fn write_all(&mut self, mut bytes: &[u8]) -> std::fmt::Result {
        while !bytes.is_empty() {
            // SAFETY: the pointer and the length are those of the slice.
            let written = unsafe { libc::write(self.0, bytes.as_ptr().cast(), bytes.len()) };
            match usize::try_from(written) {
                Ok(count) if count > 0 => bytes = &bytes[count..],
                // The disk is full, or the reader has gone.
                _ => return Err(std::fmt::Error),
            }
        }
        Ok(())
    }
}

impl Write for Descriptor {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.write_all(text.as_bytes())
    }
}
