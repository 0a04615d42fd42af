//! `sampan bench`: puts a server under load and measures it.
//!
//! Without a rate each connection sends its next request when it has its answer (a closed loop): that finds the most
//! that a server does, but while the server stalls no requests are sent, and the stall counts once. With `--rate`
//! requests are due at fixed times (an open model), and a latency counts from the time at which its request was due. So
//! a stall counts for all that would have been asked meanwhile.

mod answer;
mod connection;
mod load;
pub(crate) mod own_server;
mod report;
mod schedule;
mod tally;
mod target;
pub(crate) mod wire;

use crate::terminal::print::say;
use crate::terminal::signals;
use clap::Args;
pub(crate) use load::Shared;
use own_server::OwnServer;
use report::Report;
use std::io::{self, IsTerminal, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
pub(crate) use target::RequestArgs;
use target::Target;

/// Connections that may be asked for.
const CONNECTIONS_MAX: usize = 50_000;

/// The arguments of `sampan bench`.
#[derive(Args)]
pub(crate) struct BenchArgs {
    /// The target: http://HOST:PORT/PATH, the same with https://, or /PATH of the project, which is started for it.
    #[arg(value_name = "URL|ROUTE")]
    target: String,
    /// The number of connections that ask at the same time.
    #[arg(short, long, value_name = "N", default_value = "64", value_parser = connections)]
    connections: usize,
    /// The number of threads that drive them.
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = threads)]
    threads: usize,
    /// The duration, as in 500ms, 10s or 2min.
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = time)]
    duration: Duration,
    /// Requests per second, sent at that rate even while the server stalls [default: as many as are answered].
    #[arg(short, long, value_name = "N", value_parser = rate)]
    rate: Option<f64>,
    #[command(flatten)]
    request: RequestArgs,
    /// The longest time that an answer may take.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time)]
    timeout: Duration,
    #[command(flatten)]
    server: OwnServerArgs,
    /// Addresses of this machine that connections are made from, in turn, such as 127.0.0.2,127.0.0.3.
    #[arg(long, value_name = "ADDRESS,...", value_delimiter = ',')]
    from: Vec<IpAddr>,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// The project that is started for a ROUTE.
#[derive(Args)]
pub(crate) struct OwnServerArgs {
    /// The project's folder, for a ROUTE.
    #[arg(long, value_name = "DIR|FILE", default_value = ".")]
    pub(crate) project: PathBuf,
    /// The number of threads that run scripts, for a ROUTE [default: one per core].
    #[arg(long, value_name = "N", value_parser = crate::arguments::server::a_count)]
    pub(crate) workers: Option<usize>,
    /// A value of the configuration for a ROUTE, such as db.path=other.db.
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// The first Ctrl-C ends the load, so that what was seen so far is told. What else ends the process leaves no copy of a
/// database.
pub(crate) fn watch_signals(shared: &Arc<Shared>) -> Result<(), String> {
    let shared = Arc::clone(shared);
    let stop = move || shared.has_begun.load(Relaxed) && !shared.is_stopped.swap(true, Relaxed);
    signals::on_end(stop, own_server::remove_copy)
}

pub(crate) fn run(args: BenchArgs) -> Result<i32, String> {
    let shared = Arc::new(Shared::default());
    watch_signals(&shared)?;
    let own = match args.target.starts_with('/') {
        true => {
            // What is wrong with it is told before anything starts.
            Target::new(&format!("http://localhost{}", args.target), &args.request)?;
            Some(OwnServer::start(&args.server)?)
        }
        false => None,
    };
    let url = match &own {
        Some(server) => format!("http://{}{}", server.address(), args.target),
        None => args.target.clone(),
    };
    if let Some(server) = &own
        && args.request.is_plain_get()
    {
        server.check_route(&args.target)?;
    }
    let target = Target::new(&url, &args.request)?;
    let threads = args.threads.min(args.connections);
    let plan = load::Plan {
        target,
        connections: args.connections,
        threads,
        duration: args.duration,
        rate: args.rate,
        timeout: args.timeout,
        from: args.from,
    };
    shared.has_begun.store(true, Relaxed);
    let started = Instant::now();
    let tally = load::run(&plan, &shared, || show_progress(&plan, &shared, started))?;
    let report = Report::new(&plan, tally, started.elapsed());
    let is_terminal = io::stdout().is_terminal();
    let text = match args.json {
        true => report.json(),
        false => report.text(is_terminal),
    };
    drop(own);
    say(text)?;
    // A bench without one answer has measured nothing.
    Ok(i32::from(report.answers() == 0))
}

/// Puts a route under load for another command, and says in a line what was answered.
pub(crate) fn load_route(
    url: &str,
    request: &RequestArgs,
    connections: usize,
    duration: Duration,
    shared: &Shared,
) -> Result<String, String> {
    const TIMEOUT: Duration = Duration::from_secs(30);
    let plan = load::Plan {
        target: Target::new(url, request)?,
        connections,
        threads: 1,
        duration,
        rate: None,
        timeout: TIMEOUT,
        from: Vec::new(),
    };
    let started = Instant::now();
    let tally = load::run(&plan, shared, || show_progress(&plan, shared, started))?;
    Ok(Report::new(&plan, tally, started.elapsed()).line())
}

/// A line that is written over, on a terminal. Returns when the load ends.
fn show_progress(plan: &load::Plan, shared: &Shared, started: Instant) {
    const PAUSE: Duration = Duration::from_millis(200);
    let is_watched = io::stderr().is_terminal();
    while !shared.is_stopped.load(Relaxed) && started.elapsed() < plan.duration {
        std::thread::sleep(PAUSE.min(plan.duration.saturating_sub(started.elapsed())));
        if is_watched {
            let seconds = started.elapsed().as_secs_f64();
            let answers = shared.answers.load(Relaxed);
            let line = format!(
                "{seconds:.1} s of {:.0} s, {} requests per second",
                plan.duration.as_secs_f64(),
                report::grouped((answers as f64 / seconds) as u64)
            );
            // Output that cannot be shown is not needed.
            let _ = write!(io::stderr(), "\r\x1b[K{line}");
        }
    }
    if is_watched {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}

pub(crate) fn connections(text: &str) -> Result<usize, String> {
    from_one(text, CONNECTIONS_MAX)
}

fn threads(text: &str) -> Result<usize, String> {
    from_one(text, sampan_project::config::WORKERS_MAX)
}

fn from_one(text: &str, most: usize) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (1..=most).contains(&count) => Ok(count),
        _ => Err(format!("it must be a number from 1 to {most}")),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if (0.001..=10_000_000.0).contains(&rate) => Ok(rate),
        _ => Err("it must be a number of requests per second".to_owned()),
    }
}

/// `500ms`, `1.5s`, `2min`; a number alone is seconds.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let digits = text.find(|one: char| !one.is_ascii_digit() && one != '.');
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let factor = match unit.trim() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => f64::NAN,
    };
    let seconds = number
        .parse()
        .map_or(f64::NAN, |number: f64| number * factor);
    match (0.001..=86_400.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("it must be a time up to a day, such as 500ms, 10s or 2min".to_owned()),
    }
}
