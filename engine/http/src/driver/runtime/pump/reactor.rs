//! The sockets of a pump: an epoll set, and what is known of each socket.

use std::cell::RefCell;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use slab::Slab;

use crate::driver::runtime::{Direction, Socket};

/// Events that one look takes from the system.
const EVENTS_MAX: usize = 1024;

/// The keys of the events of bell and alarm carry. No slab has so many entries.
const BELL: u64 = u64::MAX;
const ALARM: u64 = u64::MAX - 1;

const READABLE: u8 = 1;
const WRITABLE: u8 = 2;
/// The end of a direction has come with bytes before it perhaps; no further event tells of it, so it stays.
const READ_ENDED: u8 = 4;
const WRITE_ENDED: u8 = 8;

/// The readiness of a socket. Only the pump's thread uses it; sockets are shut down from others.
struct Readiness {
    bits: AtomicU8,
    /// The one task that reads and writes the socket.
    waker: Mutex<Option<Waker>>,
}

impl Readiness {
    fn waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Known = Mutex<Slab<Arc<Readiness>>>;

pub(super) struct Reactor {
    set: Arc<OwnedFd>,
    bell: OwnedFd,
    alarm: OwnedFd,
    known: Arc<Known>,
    /// Kept for their memory.
    events: RefCell<Vec<epoll::Event>>,
    wakers: RefCell<Vec<Waker>>,
}

fn lock(known: &Known) -> MutexGuard<'_, Slab<Arc<Readiness>>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reactor {
    pub(super) fn new() -> io::Result<Self> {
        let set = epoll::create(CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let alarm = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )?;
        epoll::add(&set, &bell, EventData::new_u64(BELL), EventFlags::IN)?;
        epoll::add(&set, &alarm, EventData::new_u64(ALARM), EventFlags::IN)?;
        Ok(Self {
            set: Arc::new(set),
            bell,
            alarm,
            known: Arc::default(),
            events: RefCell::new(Vec::with_capacity(EVENTS_MAX)),
            wakers: RefCell::default(),
        })
    }

    /// Returns the bell for other threads.
    pub(super) fn bell(&self) -> io::Result<OwnedFd> {
        self.bell.try_clone()
    }

    /// Makes the set readable after this time; never if `None`.
    pub(super) fn set_alarm(&self, time: Option<Duration>) -> io::Result<()> {
        // Zero would switch it off.
        let time = time.map_or(Duration::ZERO, |time| time.max(Duration::from_nanos(1)));
        let setting = Itimerspec {
            it_interval: timespec(Duration::ZERO),
            it_value: timespec(time),
        };
        timerfd_settime(&self.alarm, TimerfdTimerFlags::empty(), &setting)?;
        Ok(())
    }

    /// Takes over a socket that does not block.
    pub(super) fn add(&self, socket: TcpStream) -> io::Result<PumpSocket> {
        let readiness = Arc::new(Readiness {
            // Nothing is known before the first event: a new socket can be written, and mostly has something to read.
            bits: AtomicU8::new(READABLE | WRITABLE),
            waker: Mutex::default(),
        });
        let key = lock(&self.known).insert(Arc::clone(&readiness));
        let socket = PumpSocket {
            socket,
            readiness,
            key,
            known: Arc::clone(&self.known),
        };
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(
            &self.set,
            &socket.socket,
            EventData::new_u64(key as u64),
            flags,
        )?;
        Ok(socket)
    }

    /// Takes events from the system and wakes their tasks; waits for them that long, without end if `None`.
    pub(super) fn look(&self, time_max: Option<Duration>) -> io::Result<()> {
        let time_max = time_max.map(timespec);
        let mut events = self.events.borrow_mut();
        match epoll::wait(&self.set, spare_capacity(&mut events), time_max.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let mut wakers = self.wakers.borrow_mut();
        {
            let known = lock(&self.known);
            for event in events.drain(..) {
                let data = event.data.u64();
                // Only this thread reads these; what rang is in the queue of tasks, or a timer whose time has come.
                if data == BELL || data == ALARM {
                    let fd = if data == BELL {
                        &self.bell
                    } else {
                        &self.alarm
                    };
                    let _ = rustix::io::read(fd, &mut [0; 8]);
                    continue;
                }
                let Some(readiness) = known.get(data as usize) else {
                    continue;
                };
                let bits = readiness.bits.load(Relaxed) | bits_of(event.flags);
                readiness.bits.store(bits, Relaxed);
                wakers.extend(readiness.waker().take());
            }
        }
        for waker in wakers.drain(..) {
            waker.wake();
        }
        Ok(())
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: time.as_secs().min(i32::MAX as u64) as i64,
        tv_nsec: time.subsec_nanos().into(),
    }
}

impl AsFd for Reactor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.set.as_fd()
    }
}

/// A socket of a pump.
pub struct PumpSocket {
    socket: TcpStream,
    readiness: Arc<Readiness>,
    key: usize,
    known: Arc<Known>,
}

impl AsFd for PumpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for PumpSocket {
    fn drop(&mut self) {
        // The system takes it out of the set when it is closed, which is next.
        let readiness = lock(&self.known).try_remove(self.key);
        drop(readiness);
    }
}

fn bits_of(flags: EventFlags) -> u8 {
    let mut bits = 0;
    if flags.contains(EventFlags::IN) {
        bits |= READABLE;
    }
    if flags.contains(EventFlags::OUT) {
        bits |= WRITABLE;
    }
    if flags.contains(EventFlags::RDHUP) {
        bits |= READ_ENDED;
    }
    if flags.intersects(EventFlags::HUP | EventFlags::ERR) {
        bits |= READ_ENDED | WRITE_ENDED;
    }
    bits
}

/// The bit that an operation forgets when it would block, and that which stays.
fn bits_for(direction: Direction) -> (u8, u8) {
    match direction {
        Direction::Read => (READABLE, READ_ENDED),
        Direction::Write => (WRITABLE, WRITE_ENDED),
    }
}

impl Socket for PumpSocket {
    fn poll_ready(&self, direction: Direction, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let (ready, ended) = bits_for(direction);
        if self.readiness.bits.load(Relaxed) & (ready | ended) != 0 {
            return Poll::Ready(Ok(()));
        }
        let mut waker = self.readiness.waker();
        if !waker
            .as_ref()
            .is_some_and(|waker| waker.will_wake(cx.waker()))
        {
            *waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    fn try_io<T>(
        &self,
        direction: Direction,
        operation: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let bits = &self.readiness.bits;
        let (ready, ended) = bits_for(direction);
        if bits.load(Relaxed) & (ready | ended) == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let result = operation();
        if let Err(error) = &result
            && error.kind() == io::ErrorKind::WouldBlock
        {
            bits.store(bits.load(Relaxed) & !ready, Relaxed);
        }
        result
    }
}
