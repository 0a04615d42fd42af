//! Wakes JavaScript when a pump has something to do.
//!
//! A thread waits on an epoll set whose only member that matters is the pump's own. It is registered for one event at a
//! time: to arm the doorbell again is one system call, and an idle server costs nothing.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};

const PUMP: u64 = 0;
const END: u64 = 1;

pub(crate) struct Doorbell {
    set: Arc<OwnedFd>,
    pump: OwnedFd,
    end: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

impl Doorbell {
    /// Begins to wait, unarmed. `ring` is called on a thread of its own, once each time that it was armed.
    pub(crate) fn start(pump: impl AsFd, ring: impl Fn() + Send + 'static) -> io::Result<Self> {
        let set = Arc::new(epoll::create(CreateFlags::CLOEXEC)?);
        let pump = pump.as_fd().try_clone_to_owned()?;
        let end = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&set, &pump, EventData::new_u64(PUMP), EventFlags::empty())?;
        epoll::add(&set, &end, EventData::new_u64(END), EventFlags::IN)?;
        let waited = Arc::clone(&set);
        let thread = std::thread::Builder::new()
            .name("sampan-bell".into())
            .spawn(move || wait(&waited, &ring))?;
        Ok(Self {
            set,
            pump,
            end,
            thread: Some(thread),
        })
    }

    /// Rings once, as soon as the pump has something to do.
    pub(crate) fn arm(&self) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::ONESHOT;
        epoll::modify(&self.set, &self.pump, EventData::new_u64(PUMP), flags)?;
        Ok(())
    }
}

fn wait(set: &OwnedFd, ring: &dyn Fn()) {
    let mut events = Vec::with_capacity(2);
    loop {
        match epoll::wait(set, spare_capacity(&mut events), None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
        for event in events.drain(..) {
            if event.data.u64() == END {
                return;
            }
            ring();
        }
    }
}

impl Drop for Doorbell {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.end, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
