//! The load: threads that each drive a part of the connections with one `epoll`.
//!
//! An answer costs a read, a write and two looks at the clock. Nothing is allocated for it.

use super::connection::{Connection, FAILURES, Failure, Phase, Received};
use super::target::Target;
use hdrhistogram::Histogram;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::collections::BTreeMap;
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
/// Latencies from 1 µs to 1 h are told apart to three digits, in nanoseconds.
const LATENCIES: (u64, u64, u8) = (1_000, 3_600_000_000_000, 3);

/// The plan of a load.
pub(super) struct Plan {
    pub(super) target: Target,
    pub(super) connections: usize,
    pub(super) threads: usize,
    pub(super) duration: Duration,
    pub(super) rate: Option<f64>,
    pub(super) timeout: Duration,
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

/// The counts of a load.
pub(super) struct Tally {
    pub(super) latencies: Histogram<u64>,
    /// Answers by status.
    pub(super) statuses: BTreeMap<u16, u64>,
    pub(super) received_bytes: u64,
    /// Failures, by their place in [`FAILURES`].
    pub(super) failures: [u64; FAILURES.len()],
    /// Why the first connection failed.
    pub(super) connect_fault: Option<String>,
    /// Requests that were due and not sent when the time was over.
    pub(super) unsent: u64,
}

impl Tally {
    fn new() -> Result<Self, String> {
        let (lowest, highest, digits) = LATENCIES;
        let latencies = Histogram::new_with_bounds(lowest, highest, digits);
        Ok(Self {
            latencies: latencies.map_err(|error| error.to_string())?,
            statuses: BTreeMap::new(),
            received_bytes: 0,
            failures: [0; FAILURES.len()],
            connect_fault: None,
            unsent: 0,
        })
    }

    fn add(&mut self, other: &Self) -> Result<(), String> {
        let added = self.latencies.add(&other.latencies);
        added.map_err(|error| error.to_string())?;
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        self.received_bytes += other.received_bytes;
        for (own, count) in self.failures.iter_mut().zip(other.failures) {
            *own += count;
        }
        if self.connect_fault.is_none() {
            self.connect_fault.clone_from(&other.connect_fault);
        }
        self.unsent += other.unsent;
        Ok(())
    }

    fn failed(&mut self, failure: &Failure) {
        if let Failure::Connect(error) = failure {
            self.connect_fault.get_or_insert_with(|| error.to_string());
        }
        self.failures[failure.index()] += 1;
    }
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

/// As many open files as the system lets this process have.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // With fewer some connections fail, and that is told.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// When requests are due.
struct Schedule {
    /// Nanoseconds between two requests, and when the first is due.
    pause: f64,
    first: f64,
    /// Wakes the thread when the next is: `epoll` itself counts in milliseconds.
    timer: OwnedFd,
    /// When it will, in nanoseconds from the start.
    armed: u64,
}

impl Schedule {
    /// The number of its events.
    const EVENT: u64 = u64::MAX;

    /// The schedule of the thread `at`: the threads take turns.
    fn new(rate: f64, at: usize, threads: usize, poll: &OwnedFd) -> rustix::io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        epoll::add(
            poll,
            &timer,
            EventData::new_u64(Self::EVENT),
            EventFlags::IN,
        )?;
        let pause = 1e9 * threads as f64 / rate;
        Ok(Self {
            pause,
            first: pause * at as f64 / threads as f64,
            timer,
            armed: 0,
        })
    }

    /// Wakes the thread at a time, or never. This also takes back a wake-up that has come.
    fn arm(&mut self, due: u64, now: u64) -> rustix::io::Result<()> {
        if self.armed == due {
            return Ok(());
        }
        self.armed = due;
        let nanos = match due {
            u64::MAX => 0,
            // A time of 0 would be never.
            due => due.saturating_sub(now).max(1),
        };
        let value = Itimerspec {
            it_interval: timespec(0),
            it_value: timespec(nanos),
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &value).map(drop)
    }
}

fn timespec(nanos: u64) -> Timespec {
    let pause = Duration::from_nanos(nanos);
    Timespec {
        tv_sec: pause.as_secs().try_into().unwrap_or(0),
        tv_nsec: pause.subsec_nanos().into(),
    }
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
    /// When requests are due, if there is a rate.
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
        if let Some(schedule) = &self.schedule {
            let due = ((self.now() as f64 - schedule.first) / schedule.pause).max(0.0) as u64;
            self.tally.unsent = due.saturating_sub(self.sent);
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
        let (pause, first) = match &self.schedule {
            Some(schedule) => (schedule.pause, schedule.first),
            None => return u64::MAX,
        };
        loop {
            let due = (first + pause * self.sent as f64) as u64;
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
                    .latencies
                    .saturating_record(now.saturating_sub(due));
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
        let server = (target.address, target.tls.as_ref());
        if let Err(failure) = connection.connect(server, &self.poll, at, now) {
            self.fail(at, &failure);
        }
    }

    fn fail(&mut self, at: usize, failure: &Failure) {
        self.tally.failed(failure);
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
