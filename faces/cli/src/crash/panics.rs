//! Reports of panics: faults of the server itself, which it survives.

use super::report::{Facts, name_of_now, remove_old};
use std::backtrace::Backtrace;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::panic::{self, PanicHookInfo};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The time in which one panic at most is reported.
const PAUSE: Duration = Duration::from_secs(60);

/// The most bytes of a report.
const REPORT_BYTES_MAX: usize = 64 * 1024;

/// Reports panics from now on. The hook that was set before this goes on telling of them.
pub(super) fn install(facts: &'static Facts) {
    let last: Mutex<Option<Instant>> = Mutex::new(None);
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        // Two at once: the other one is reported.
        if let Ok(mut last) = last.try_lock()
            && last.is_none_or(|last| last.elapsed() >= PAUSE)
        {
            *last = Some(Instant::now());
            // The log tells of the panic; a full disk costs the report.
            let _ = write(facts, info);
        }
        before(info);
    }));
}

fn write(facts: &Facts, info: &PanicHookInfo<'_>) -> io::Result<()> {
    // The folders above it were made at the start.
    let _ = DirBuilder::new().mode(0o700).create(facts.folder());
    remove_old(facts.folder());
    let thread = std::thread::current();
    let mut text = String::new();
    let reason = format_args!("{info}");
    let _ = facts.write_head(&mut text, reason, thread.name().unwrap_or("none"));
    text += "stack:\n";
    text += &Backtrace::force_capture().to_string();
    text.truncate(text.floor_char_boundary(REPORT_BYTES_MAX));
    let mut file = OpenOptions::new();
    let file = file.write(true).create_new(true).mode(0o600);
    let mut file = file.open(facts.folder().join(name_of_now("panic")))?;
    file.write_all(text.as_bytes())
}
