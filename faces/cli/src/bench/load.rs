//! The load: threads that each drive a part of the connections with one `epoll`.
//!
//! An answer costs a read, a write and two looks at the clock. Nothing is allocated for it.

use super::connection::{Connection, Failure, Phase, Received, Server};
use super::schedule::{Schedule, timespec};
use super::tally::Tally;
use super::target::Target;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// The interval at which timeouts are looked for and progress is told.
const TICK_NANOS: u64 = 20_000_000;
/// The pause before a connection that failed is tried again.
const AGAIN_NANOS: u64 = 50_000_000;
/// Events that are taken at once.
const EVENTS_MAX: usize = 512;
/// Bytes that are read at once.
const READ_BYTES: usize = 64 * 1024;
/// The plan of a load.
pub(super) struct Plan {
    pub(super) target: Target,
    pub(super) connections: usize,
    pub(super) threads: usize,
    pub(super) duration: Duration,
    pub(super) rate: Option<f64>,
    pub(super) timeout: Duration,
    /// Addresses of this machine that connections are made from, in turn; any if there is none.
    pub(super) from: Vec<IpAddr>,
}

/// The state that the threads share.
#[derive(Default)]
pub(crate) struct Shared {
    /// True if there is something to stop: the server of our own is up.
    pub(crate) has_begun: AtomicBool,
    pub(crate) is_stopped: AtomicBool,
    /// Answers so far, for those who watch.
    pub(super) answers: AtomicU64,
}

/// Runs the load to its end. `meanwhile` runs on this thread.
pub(super) fn run(plan: &Plan, shared: &Shared, meanwhile: impl FnOnce()) -> Result<Tally, String> {
    raise_open_files();
    let start = Instant::now();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.threads)
            .map(|at| scope.spawn(move || Driver::new(plan, shared, at, start)?.run()))
            .collect();
        meanwhile();
        let mut all = Tally::new()?;
        for thread in threads {
            let tally = thread
                .join()
                .map_err(|_| "a thread of the load has panicked")?;
            all.add(&tally?)?;
        }
        Ok(all)
    })
}

/// Lets this process have as many open files as the system allows.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // With fewer some connections fail, and that is told.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// One thread of the load.
struct Driver<'a> {
    plan: &'a Plan,
    shared: &'a Shared,
    poll: OwnedFd,
    connections: Vec<Connection>,
    /// Connections that could send. One may be here twice, or be busy again: its phase is asked.
    idle: Vec<usize>,
    tally: Tally,
    /// Answers by status while the load runs; 0 counts what is none.
    statuses: Box<[u64; 600]>,
    start: Instant,
    /// The times at which requests are due, if there is a rate.
    schedule: Option<Schedule>,
    sent: u64,
    /// The request that is sent next, of those that are sent in turn.
    next: usize,
    told: u64,
}

impl<'a> Driver<'a> {
    fn new(plan: &'a Plan, shared: &'a Shared, at: usize, start: Instant) -> Result<Self, String> {
        let poll = epoll::create(CreateFlags::CLOEXEC);
        let poll = poll.map_err(|error| format!("cannot wait for connections: {error}"))?;
        // The first threads take what does not divide.
        let count =
            plan.connections / plan.threads + usize::from(at < plan.connections % plan.threads);
        let schedule = plan
            .rate
            .map(|rate| Schedule::new(rate, at, plan.threads, &poll));
        let schedule = schedule.transpose();
        let schedule = schedule.map_err(|error| format!("cannot make a timer: {error}"))?;
        Ok(Self {
            plan,
            shared,
            poll,
            connections: (0..count).map(|_| Connection::new()).collect(),
            idle: Vec::with_capacity(count),
            tally: Tally::new()?,
            statuses: Box::new([0; 600]),
            start,
            schedule,
            sent: 0,
            next: 0,
            told: 0,
        })
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn run(mut self) -> Result<Tally, String> {
        let end = u64::try_from(self.plan.duration.as_nanos()).unwrap_or(u64::MAX);
        let mut buffer = vec![0; READ_BYTES];
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS_MAX);
        let mut next_tick = 0;
        loop {
            let now = self.now();
            if now >= end || self.shared.is_stopped.load(Relaxed) {
                break;
            }
            if now >= next_tick {
                self.tick(now);
                next_tick = now + TICK_NANOS;
            }
            let due = self.send_due(now);
            let now = self.now();
            if let Some(schedule) = &mut self.schedule {
                let armed = schedule.arm(due, now);
                armed.map_err(|error| format!("cannot set a timer: {error}"))?;
            }
            let pause = timespec(next_tick.min(end).saturating_sub(now));
            events.clear();
            match epoll::wait(&self.poll, spare_capacity(&mut events), Some(&pause)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(format!("cannot wait for connections: {error}")),
            }
            for event in events
                .iter()
                .filter(|event| event.data.u64() != Schedule::EVENT)
            {
                let (at, flags) = (event.data.u64() as usize, event.flags);
                if let Err(failure) = self.ready(at, flags, &mut buffer) {
                    self.fail(at, &failure);
                }
            }
        }
        Ok(self.finish())
    }

    fn finish(mut self) -> Tally {
        let now = self.now();
        for connection in self
            .connections
            .iter()
            .filter(|one| one.phase == Phase::Busy)
        {
            self.tally.unanswered(now.saturating_sub(connection.due));
        }
        if let Some(schedule) = &self.schedule {
            // What is due at the end or later is not part of the load.
            let end = u64::try_from(self.plan.duration.as_nanos()).unwrap_or(u64::MAX);
            let due = schedule.count(now.min(end).saturating_sub(1));
            self.tally.unsent = due.saturating_sub(self.sent);
            for sent in self.sent..due {
                self.tally
                    .unanswered(now.saturating_sub(schedule.due(sent)));
            }
        }
        self.tell();
        for (status, count) in (0..)
            .zip(self.statuses.iter())
            .filter(|(_, count)| **count > 0)
        {
            self.tally.statuses.insert(status, *count);
        }
        self.tally
    }

    /// Sends what is due, as far as connections are idle. When the next one is.
    fn send_due(&mut self, now: u64) -> u64 {
        loop {
            let Some(schedule) = &self.schedule else {
                return u64::MAX;
            };
            let due = schedule.due(self.sent);
            if due > now {
                return due;
            }
            let Some(at) = self.idle.pop() else {
                // The next idle connection sends it.
                return u64::MAX;
            };
            if self.connections[at].phase == Phase::Idle {
                self.sent += 1;
                self.send(at, due, now);
            }
        }
    }

    fn send(&mut self, at: usize, due: u64, now: u64) {
        let requests = &self.plan.target.requests;
        let chosen = self.next;
        self.next = if chosen + 1 < requests.len() {
            chosen + 1
        } else {
            0
        };
        let connection = &mut self.connections[at];
        connection.request = chosen;
        let request = &requests[chosen].bytes;
        if let Err(failure) = connection.send(request, &self.poll, at, (due, now)) {
            self.fail(at, &failure);
        }
    }

    fn ready(&mut self, at: usize, flags: EventFlags, buffer: &mut [u8]) -> Result<(), Failure> {
        let connection = &mut self.connections[at];
        let request = &self.plan.target.requests[connection.request];
        match connection.phase {
            // Of an event before it was closed.
            Phase::Down(_) => return Ok(()),
            Phase::Connecting => {
                connection.connected(&self.poll, at)?;
                self.free(at);
                return Ok(());
            }
            Phase::Idle | Phase::Busy => {}
        }
        if connection.may_send(&request.bytes, flags) {
            connection.send_rest(&request.bytes, &self.poll, at)?;
        }
        if !flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            return Ok(());
        }
        let received = &mut self.tally.received_bytes;
        match connection.receive(buffer, request.is_head, received)? {
            Received::Part => {}
            Received::IdleEnd => self.reconnect(at),
            Received::Answer(answered) => {
                let due = connection.due;
                connection.phase = Phase::Idle;
                let now = self.now();
                self.tally
                    .answered(answered.status, now.saturating_sub(due));
                let known = usize::from(answered.status).min(self.statuses.len() - 1);
                self.statuses[known] += 1;
                match answered.keeps_alive {
                    true if self.schedule.is_none() => self.send(at, now, now),
                    true => self.idle.push(at),
                    false => self.reconnect(at),
                }
            }
        }
        Ok(())
    }

    /// A connection is there: without a rate it sends at once.
    fn free(&mut self, at: usize) {
        let now = self.now();
        match self.schedule {
            None => self.send(at, now, now),
            Some(_) => self.idle.push(at),
        }
    }

    fn reconnect(&mut self, at: usize) {
        let now = self.now();
        let connection = &mut self.connections[at];
        connection.close(now);
        let target = &self.plan.target;
        let from = &self.plan.from;
        let server = Server {
            address: target.address,
            tls: target.tls.as_ref(),
            from: (!from.is_empty()).then(|| from[at % from.len()]),
        };
        if let Err(failure) = connection.connect(server, &self.poll, at, now) {
            self.fail(at, &failure);
        }
    }

    fn fail(&mut self, at: usize, failure: &Failure) {
        self.tally.failed(failure);
        if self.connections[at].phase == Phase::Busy {
            let waited = self.now().saturating_sub(self.connections[at].due);
            self.tally.unanswered(waited);
        }
        let again_at = self.now() + AGAIN_NANOS;
        self.connections[at].close(again_at);
    }

    /// Looks for connections that are to be opened, and for those that wait too long.
    fn tick(&mut self, now: u64) {
        let timeout = u64::try_from(self.plan.timeout.as_nanos()).unwrap_or(u64::MAX);
        for at in 0..self.connections.len() {
            let connection = &self.connections[at];
            let is_late = now.saturating_sub(connection.since) > timeout;
            match connection.phase {
                Phase::Down(again_at) if again_at <= now => self.reconnect(at),
                Phase::Connecting if is_late => {
                    self.fail(at, &Failure::Connect(std::io::ErrorKind::TimedOut.into()));
                }
                Phase::Busy if is_late => self.fail(at, &Failure::Timeout),
                _ => {}
            }
        }
        self.tell();
    }

    fn tell(&mut self) {
        let answers = self.tally.latencies.len();
        self.shared.answers.fetch_add(answers - self.told, Relaxed);
        self.told = answers;
    }
}
