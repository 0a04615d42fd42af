//! A runtime that its owner pumps: tasks, sockets and timers of one thread, over an epoll set of their own.
//!
//! It is for programs that have a loop already, as Node.js does. Nothing happens outside of [`Pump::turn`]. Between two turns the
//! owner waits until [`Pump::as_fd`] can be read, or until the time that the last turn told.
//!
//! The memory behind it: [`tasks`] holds futures and what wakes them, [`reactor`] the sockets, [`timers`] the sleeps.

mod reactor;
mod tasks;
mod timers;

use std::fmt;
use std::future::Future;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use self::reactor::Reactor;
use self::tasks::Tasks;
use self::timers::Timers;
use super::runtime::Runtime;

pub use self::reactor::PumpSocket;

/// Tasks that one turn runs between two looks at the sockets.
const TASKS_PER_LOOK: usize = 256;

/// A runtime pumped by its owner. Its clones are the same pump, and stay on its thread.
#[derive(Clone)]
pub struct Pump(Rc<Parts>);

struct Parts {
    reactor: Reactor,
    tasks: Tasks,
    timers: Timers,
}

/// What a turn left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Whether there is more to do at once: the owner should not wait.
    pub has_more: bool,
    /// After this time there is something to do even if no event comes.
    pub wait_max: Option<Duration>,
}

impl Pump {
    /// A pump without tasks.
    ///
    /// # Errors
    /// The system has no room for an epoll set or an eventfd.
    pub fn new() -> io::Result<Self> {
        let reactor = Reactor::new()?;
        let tasks = Tasks::new(reactor.bell()?);
        Ok(Self(Rc::new(Parts {
            reactor,
            tasks,
            timers: Timers::default(),
        })))
    }

    /// Looks for events without waiting, and runs the tasks that are ready, for about `time_max`.
    ///
    /// # Errors
    /// The system refuses to tell events.
    pub fn turn(&self, time_max: Duration) -> io::Result<Turn> {
        let parts = &*self.0;
        let begun = Instant::now();
        let mut now = begun;
        loop {
            parts.timers.fire(now);
            parts.reactor.look(Some(Duration::ZERO))?;
            parts.tasks.run(TASKS_PER_LOOK);
            now = Instant::now();
            if parts.tasks.is_quiet() || now.duration_since(begun) >= time_max {
                break;
            }
        }
        Ok(Turn {
            has_more: !parts.tasks.is_quiet(),
            wait_max: parts
                .timers
                .earliest()
                .map(|at| at.saturating_duration_since(now)),
        })
    }

    /// Waits for an event or for `time_max`, without running anything.
    ///
    /// # Errors
    /// The system refuses to tell events.
    pub fn wait(&self, time_max: Option<Duration>) -> io::Result<()> {
        self.0.reactor.look(time_max)
    }

    /// Runs until `future` is ready: for programs whose thread has nothing else to do.
    ///
    /// # Errors
    /// The system refuses to tell events.
    pub fn run_until<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> io::Result<T> {
        let result = Rc::new(std::cell::Cell::new(None));
        let place = Rc::clone(&result);
        self.spawn(async move { place.set(Some(future.await)) });
        loop {
            let turn = self.turn(Duration::from_millis(10))?;
            if let Some(result) = result.take() {
                return Ok(result);
            }
            if !turn.has_more {
                self.wait(turn.wait_max)?;
            }
        }
    }

    /// Drops all tasks, those that wait included.
    pub fn clear(&self) {
        self.0.tasks.clear();
    }
}

impl AsFd for Pump {
    /// Can be read while there are events, or a task was woken from another thread.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.reactor.as_fd()
    }
}

impl fmt::Debug for Pump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pump")
            .field("tasks", &self.0.tasks.len())
            .finish_non_exhaustive()
    }
}

impl Runtime for Pump {
    type Socket = PumpSocket;

    fn socket(&self, socket: TcpStream) -> io::Result<PumpSocket> {
        self.0.reactor.add(socket)
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.0.tasks.add(Box::pin(task));
    }

    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + 'static {
        self.0.timers.sleep(time)
    }
}
