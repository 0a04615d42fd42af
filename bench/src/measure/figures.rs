//! The figures of ours that have no peer: start, memory, size, many connections, two workers.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::load::idle::IdleConnections;
use crate::load::{LoadResult, load};
use crate::measure::case::{CONNECTIONS, LoadCase};
use crate::measure::{Sample, sample};
use crate::peers::children::Child;
use crate::peers::placement::Placement;
use crate::peers::server::{PeerServer, answers};
use crate::peers::{Installed, Peer};
use crate::report::stats::{Spread, mib};
use crate::routes::check;
use crate::routes::{Headers, Route};
use sampan_client::ports;

const FIRST_ANSWER_MILLIS_MAX: f64 = 20.0;
const FIRST_ANSWER_STARTS: usize = 20;
const TWO_WORKERS_MIB_MAX: f64 = 20.0;
const IDLE_CONNECTIONS: usize = 8_000;
const IDLE_KIB_MAX: f64 = 4.0;
const EXECUTABLE_MIB_MAX: f64 = 12.0;
const MANY_CONNECTIONS: u32 = 1_000;
const MANY_SECONDS: u32 = 10;
const TAIL_RATIO_MAX: f64 = 3.0;
const SECOND_WORKER_RATIO_MAX: f64 = 1.10;
/// The share of the work that each of two workers may have, in percent.
const WORKER_SHARE: (f64, f64) = (40.0, 60.0);
/// The prefix of our worker threads' names; a number follows.
const WORKER_THREADS: &str = "sampan-w";

/// A figure, what it should be, and whether it is.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) what: String,
    pub(crate) value: String,
    pub(crate) wanted: String,
    /// `None` where it was not measured.
    pub(crate) reached: Option<bool>,
}

impl Figure {
    /// Prints it below a line with its name.
    pub(crate) fn tell(&self) {
        println!("  {} (wanted: {})", self.value, self.wanted);
    }
}

/// One of ours, and how it is measured.
pub(crate) struct Subject<'a> {
    pub(crate) root: &'a Path,
    pub(crate) logs: &'a Path,
    pub(crate) peer: &'static Peer,
    pub(crate) installed: &'a Installed,
    pub(crate) rounds: u32,
    pub(crate) seconds: u32,
}

/// A figure's name for what went wrong with it, and how it is taken.
type Way<'a> = (
    &'static str,
    fn(&Subject<'a>) -> Result<Vec<Figure>, String>,
);

impl Subject<'_> {
    /// Takes every figure; what could not be taken comes with the reason.
    pub(crate) fn figures(&self) -> (Vec<Figure>, Vec<(String, String)>) {
        let ways: [Way<'_>; 6] = [
            ("first answer", Subject::first_answer),
            ("memory with two workers", Subject::two_workers_memory),
            ("idle connections", Subject::idle_connections),
            ("size of the executable", Subject::executable),
            ("many connections", Subject::many_connections),
            ("two workers against one", Subject::two_workers),
        ];
        let (mut figures, mut faults) = (Vec::new(), Vec::new());
        for (name, way) in ways {
            println!("{}: {name}", self.peer.title);
            match way(self) {
                Ok(found) => figures.extend(found),
                Err(fault) => faults.push((format!("{}: {name}", self.peer.title), fault)),
            }
        }
        (figures, faults)
    }

    fn figure(&self, what: &str, value: String, wanted: String, reached: bool) -> Figure {
        let figure = Figure {
            what: format!("{}: {what}", self.peer.title),
            value,
            wanted,
            reached: Some(reached),
        };
        figure.tell();
        figure
    }

    /// A figure in a unit, and the most that it may be.
    fn at_most(
        &self,
        what: &str,
        figure: f64,
        value: String,
        most: f64,
        unit: &str,
    ) -> Vec<Figure> {
        vec![self.figure(
            what,
            value,
            format!("at most {most} {unit}"),
            figure <= most,
        )]
    }

    pub(crate) fn start(
        &self,
        placement: &Placement,
        workers: usize,
    ) -> Result<PeerServer, String> {
        PeerServer::start(
            self.peer,
            self.installed,
            placement,
            workers,
            None,
            self.logs,
        )
    }

    pub(crate) fn load(
        &self,
        server: &PeerServer,
        placement: &Placement,
        connections: u32,
        seconds: u32,
    ) -> Result<LoadResult, String> {
        let case = LoadCase {
            connections,
            ..LoadCase::plain(Route::Greet, Headers::Plain, 1)
        };
        load(self.root, placement, server.address(), case, seconds)
    }

    /// From the start of the process to the end of its first answer, on any processor.
    fn first_answer(&self) -> Result<Vec<Figure>, String> {
        let mut millis = Vec::new();
        for _ in 0..FIRST_ANSWER_STARTS {
            millis.push(self.one_start()?.as_secs_f64() * 1e3);
        }
        let spread = Spread::of(millis).ok_or("nothing was started")?;
        let what =
            format!("start of the process to its first answer, median of {FIRST_ANSWER_STARTS}");
        let value = format!("{} ms", spread.show(1));
        Ok(self.at_most(&what, spread.median, value, FIRST_ANSWER_MILLIS_MAX, "ms"))
    }

    /// The time from the start of the process to its first answer.
    pub(crate) fn one_start(&self) -> Result<Duration, String> {
        let port = ports::free();
        let address: SocketAddr = (Ipv4Addr::LOCALHOST, port).into();
        let mut command = std::process::Command::new(&self.installed.program);
        command.args(&self.installed.arguments).args([
            "--listen",
            &address.to_string(),
            "--workers",
            "1",
        ]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let started = Instant::now();
        let mut child = Child::start(&mut command).map_err(|error| error.to_string())?;
        while !answers(address) {
            if let Ok(Some(status)) = child.exited() {
                return Err(format!("it ended at its start ({status})"));
            }
            if started.elapsed() > Duration::from_secs(10) {
                return Err("no answer within 10 s".to_owned());
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        Ok(started.elapsed())
    }

    /// After a second of load, when every part of both workers has been in use.
    fn two_workers_memory(&self) -> Result<Vec<Figure>, String> {
        let placement = Placement::here(2);
        let server = self.start(&placement, 2)?;
        check::check(server.address(), Route::Greet)?;
        let idle = mib(server.resident_bytes());
        self.load(&server, &placement, CONNECTIONS, 1)?;
        let busy = mib(server.resident_bytes());
        let value = format!("{idle:.1} MiB before load, {busy:.1} MiB after");
        let what = "resident memory with two workers";
        Ok(self.at_most(what, busy, value, TWO_WORKERS_MIB_MAX, "MiB"))
    }

    /// The growth of the resident memory by connections that have been answered once.
    fn idle_connections(&self) -> Result<Vec<Figure>, String> {
        let server = self.start(&Placement::here(2), 2)?;
        check::check(server.address(), Route::Version)?;
        let open = || IdleConnections::open(server.address(), IDLE_CONNECTIONS);
        let each = server.kib_of_each(IDLE_CONNECTIONS, open)?;
        let what = format!("resident memory of each of {IDLE_CONNECTIONS} idle connections");
        Ok(self.at_most(&what, each, format!("{each:.2} KiB"), IDLE_KIB_MAX, "KiB"))
    }

    fn executable(&self) -> Result<Vec<Figure>, String> {
        let bytes = std::fs::metadata(&self.installed.program)
            .map_err(|error| error.to_string())?
            .len();
        let size = mib(bytes);
        let (what, value) = ("stripped executable", format!("{size:.1} MiB"));
        Ok(self.at_most(what, size, value, EXECUTABLE_MIB_MAX, "MiB"))
    }

    fn many_connections(&self) -> Result<Vec<Figure>, String> {
        let placement = Placement::here(1);
        let server = self.start(&placement, 1)?;
        self.load(&server, &placement, CONNECTIONS, 1)?;
        let seen = self.load(&server, &placement, MANY_CONNECTIONS, MANY_SECONDS)?;
        let ratio = seen.p99_micros / seen.p50_micros.max(1.0);
        let errors: u64 = seen.errors.iter().map(|(_, count)| count).sum();
        let (p50, p99) = (seen.p50_micros / 1e3, seen.p99_micros / 1e3);
        let value = format!("{errors} errors; p99 {p99:.1} ms is {ratio:.2} × p50 {p50:.1} ms");
        let what = format!("{MANY_CONNECTIONS} connections for {MANY_SECONDS} s");
        let wanted = format!("no errors, no timeouts, p99 at most {TAIL_RATIO_MAX} × p50");
        Ok(vec![self.figure(
            &what,
            value,
            wanted,
            errors == 0 && ratio <= TAIL_RATIO_MAX,
        )])
    }

    /// Both on the same processors, in turn, so that the number of workers is all that differs.
    fn two_workers(&self) -> Result<Vec<Figure>, String> {
        let placement = Placement::here(2);
        let (one, two) = (self.start(&placement, 1)?, self.start(&placement, 2)?);
        let run = |server: &PeerServer, round: u32| -> Result<Sample, String> {
            sample(server, round, || {
                self.load(server, &placement, CONNECTIONS, self.seconds)
            })
        };
        self.load(&one, &placement, CONNECTIONS, 1)?;
        self.load(&two, &placement, CONNECTIONS, 1)?;
        let (mut of_one, mut of_two, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        for round in 1..=self.rounds {
            of_one.push(run(&one, round)?.cpu_micros);
            let before = two.cpu();
            of_two.push(run(&two, round)?.cpu_micros);
            let after = two.cpu();
            let [(_, first), (_, second)] = after.threads_since(&before, is_worker)[..] else {
                return Err(format!(
                    "the worker threads are not two called {WORKER_THREADS}0 and {WORKER_THREADS}1"
                ));
            };
            shares.push(100.0 * first / (first + second));
        }
        let (one, two) = (
            Spread::of(of_one).ok_or("no rounds")?,
            Spread::of(of_two).ok_or("no rounds")?,
        );
        let share = Spread::of(shares).ok_or("no rounds")?;
        let ratio = two.median / one.median;
        let cost = format!(
            "{} µs with two, {} µs with one: {ratio:.2}",
            two.show(2),
            one.show(2)
        );
        let (least, most) = WORKER_SHARE;
        let even = least <= share.min && share.max <= most;
        Ok(vec![
            self.figure(
                "CPU per request with two workers against one",
                cost,
                format!("ratio at most {SECOND_WORKER_RATIO_MAX:.2}"),
                ratio <= SECOND_WORKER_RATIO_MAX,
            ),
            self.figure(
                "the first of two workers' share, by its processor time",
                format!("{} %", share.show(1)),
                format!("{least} to {most} %"),
                even,
            ),
        ])
    }
}

fn is_worker(thread: &str) -> bool {
    let number = thread.strip_prefix(WORKER_THREADS);
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_threads_of_ours_are_not_workers() {
        assert!(is_worker("sampan-w0") && is_worker("sampan-w12"));
        assert!(!is_worker("sampan-watchdog") && !is_worker("sampan-w") && !is_worker("sampan"));
    }
}
