//! Signals between the processes that have a database open.
//!
//! All of them have the index of the write-ahead log open, and SQLite changes it in memory alone. So a process that
//! rings sets the times of that file to now, which is one system call, and the others watch its attributes. The file is
//! never opened here: closing it would drop the locks that SQLite has on it.

#![allow(unsafe_code)]

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The bytes of events that one look reads. More events stay for the next look.
const EVENT_BYTES: usize = 256;

/// The time of the call, for `utimensat`.
const NOW: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: UTIME_NOW,
};

/// Has all processes hear that watch this index.
pub(crate) fn ring(index: &Path) {
    // Both times: to set only one, a process must own the file.
    let times = Timestamps {
        last_access: NOW,
        last_modification: NOW,
    };
    // Where it fails the others look now and then.
    let _ = utimensat(CWD, index, &times, AtFlags::empty());
}

/// Calls `heard` once it watches the index, and whenever a process has rung, also this one. It must be called in a
/// tokio runtime with I/O enabled.
///
/// # Errors
/// The system has no watch left, or the file cannot be watched.
pub(crate) async fn hear(index: &Path, heard: impl Fn()) -> io::Result<()> {
    let events = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    add_watch(&events, index, WatchFlags::ATTRIB)?;
    // SAFETY: the `AsyncFd` owns the descriptor, which is open and stays the same until the `AsyncFd` closes it.
    let events = unsafe { AsyncFd::register_with_interest(events, Interest::READABLE) }?;
    loop {
        heard();
        events.async_io(Interest::READABLE, read).await?;
    }
}

fn read(events: &OwnedFd) -> io::Result<usize> {
    Ok(rustix::io::read(events, &mut [0; EVENT_BYTES])?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_client::wait;
    use std::cell::Cell;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::rc::Rc;
    use tokio::task::{LocalSet, spawn_local};

    fn on_thread(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .expect("a runtime");
        LocalSet::new().block_on(&runtime, test);
    }

    #[test]
    fn each_ring_is_heard_and_no_other_use_of_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let index = folder.path().join("data.db-shm");
        fs::write(&index, "index").expect("written");
        let link = folder.path().join("link");
        symlink(&index, &link).expect("a link");
        on_thread(async {
            let times = Rc::new(Cell::new(0));
            let (counted, watched) = (Rc::clone(&times), index.clone());
            let hearing = spawn_local(async move {
                let heard = || counted.set(counted.get() + 1);
                hear(&watched, heard).await
            });
            wait::until_async("the watch", || times.get() == 1).await;
            for (heard, path) in [(2, &index), (3, &link), (4, &index)] {
                fs::write(&index, "changed").expect("written");
                fs::read(&index).expect("read");
                ring(path);
                wait::until_async("a ring", || times.get() >= heard).await;
                assert_eq!(times.get(), heard);
            }
            hearing.abort();
        });
    }

    #[test]
    fn a_file_that_is_missing_is_neither_made_nor_watched() {
        let folder = tempfile::tempdir().expect("a folder");
        let index = folder.path().join("data.db-shm");
        ring(&index);
        assert!(!index.exists());
        on_thread(async {
            let heard = || panic!("nothing is watched");
            let error = hear(&index, heard).await.expect_err("no file");
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
        });
    }
}
