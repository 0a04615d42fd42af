//! A runtime that its owner pumps: tasks, sockets and timers of one thread, over an epoll set of their own.
//!
//! It is for programs that have a loop already, as Node.js does. Nothing happens outside of [`Pump::turn`]. Between two
//! turns the owner waits until the pump's descriptor can be read: it tells events of sockets, timers, and wakes from
//! other threads.
//!
//! The memory behind it: [`tasks`] holds futures and what wakes them, [`reactor`] the sockets, [`timers`] the sleeps.

mod reactor;
mod tasks;
mod timers;

use std::cell::Cell;
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
use super::Runtime;

pub use self::reactor::PumpSocket;

/// Tasks that one turn runs between two looks at the sockets.
const TASKS_PER_LOOK: usize = 256;

/// A runtime pumped by its owner. Its clones are the same pump, and stay on its thread.
#[derive(Clone)]
pub struct Pump(Rc<PumpState>);

struct PumpState {
    reactor: Reactor,
    tasks: Tasks,
    timers: Timers,
    /// The time for which the reactor's alarm is set.
    alarm: Cell<Option<Instant>>,
}

/// The state after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// More is to do at once: the owner should not wait.
    Unfinished,
    /// Something is to do once the pump's descriptor can be read.
    Quiet,
    /// The state `Quiet`, after a turn that had nothing to do.
    Idle,
}

impl Pump {
    /// A pump without tasks.
    ///
    /// # Errors
    /// The system has no room for an epoll set or an eventfd.
    pub fn new() -> io::Result<Self> {
        let reactor = Reactor::new()?;
        let tasks = Tasks::new(reactor.bell()?);
        Ok(Self(Rc::new(PumpState {
            reactor,
            tasks,
            timers: Timers::default(),
            alarm: Cell::default(),
        })))
    }

    /// Looks for events without waiting, and runs the tasks that are ready, for about `time_max`.
    ///
    /// # Errors
    /// The system refuses to tell events.
    pub fn turn(&self, time_max: Duration) -> io::Result<Turn> {
        let parts = &*self.0;
        let begun = Instant::now();
        let (mut now, mut has_worked) = (begun, false);
        loop {
            parts.timers.fire(now);
            parts.reactor.look(Some(Duration::ZERO))?;
            has_worked |= parts.tasks.run(TASKS_PER_LOOK);
            now = Instant::now();
            if parts.tasks.is_quiet() || now.duration_since(begun) >= time_max {
                break;
            }
        }
        let alarm = parts.timers.earliest();
        if parts.alarm.replace(alarm) != alarm {
            let time = alarm.map(|at| at.saturating_duration_since(now));
            parts.reactor.set_alarm(time)?;
        }
        Ok(match (parts.tasks.is_quiet(), has_worked) {
            (false, _) => Turn::Unfinished,
            (true, true) => Turn::Quiet,
            (true, false) => Turn::Idle,
        })
    }

    /// Waits until there is something to do, without running anything.
    ///
    /// # Errors
    /// The system refuses to tell events.
    pub fn wait(&self) -> io::Result<()> {
        self.0.reactor.look(None)
    }

    /// Runs until `future` is ready: for programs whose thread has nothing else to do.
    ///
    /// # Errors
    /// The system refuses to tell events.
    pub fn run_until<T: 'static>(
        &self,
        future: impl Future<Output = T> + 'static,
    ) -> io::Result<T> {
        let result = Rc::new(Cell::new(None));
        let place = Rc::clone(&result);
        self.spawn(async move { place.set(Some(future.await)) });
        loop {
            let turn = self.turn(Duration::from_millis(10))?;
            if let Some(result) = result.take() {
                return Ok(result);
            }
            if turn != Turn::Unfinished {
                self.wait()?;
            }
        }
    }

    /// Drops all tasks, those that wait included.
    pub fn clear(&self) {
        self.0.tasks.clear();
    }
}

impl AsFd for Pump {
    /// Can be read once there is something to do for [`Pump::turn`]. What this thread itself wakes outside of a turn
    /// does not show there.
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
