//! Finds cases and runs them, each against a server of its own on a free port.

use crate::Answer;
use crate::browsers::Browsers;
use crate::check;
use crate::content_coding;
use crate::platforms::{Platform, Served};
use crate::scenario::{Expectation, OneOrMore, Request, Scenario};
use crate::sockets;
use crate::upstreams::Upstreams;
use crate::wire::{CaseClient, CaseWire, PlainWire};
use sampan_client::wait;
use sampan_host::log::Level;
use sampan_log::Logger;
use sampan_project::config::ListenAddress;
use sampan_runtime::{AppConfig, Running, Server};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The longest time that the log may be behind an answer, in milliseconds.
const LOG_MILLIS_MAX: u64 = 30_000;

/// The files of cases that have no twin in Lua.
const TYPED: [&str; 2] = ["app.ts", "app.tsx"];

/// A language that cases run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseEngine {
    /// `app.lua`.
    Lua,
    /// `app.js`.
    Js,
}

impl CaseEngine {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Lua, Self::Js];

    /// The file that a case has for it.
    pub fn file(self) -> &'static str {
        match self {
            Self::Lua => "app.lua",
            Self::Js => "app.js",
        }
    }
}

impl fmt::Display for CaseEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lua => "lua",
            Self::Js => "js",
        })
    }
}

/// A folder with an `expect.toml`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    /// The path below the folder of all cases, as in `routing/groups`.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
}

impl Case {
    /// All cases below a folder, by name.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn all(root: &Path) -> io::Result<Vec<Self>> {
        let mut cases = Vec::new();
        for capability in folders(root)? {
            for folder in folders(&capability)? {
                let name = folder
                    .strip_prefix(root)
                    .unwrap_or(&folder)
                    .display()
                    .to_string();
                cases.push(Self { name, folder });
            }
        }
        cases.sort();
        Ok(cases)
    }

    /// The file that is run in a language. A case about TypeScript has `app.ts` or `app.tsx` in place of `app.js`.
    pub fn program(&self, engine: CaseEngine) -> Option<PathBuf> {
        let typed: &[&str] = match engine {
            CaseEngine::Lua => &[],
            CaseEngine::Js => &TYPED,
        };
        let names = [engine.file()].into_iter().chain(typed.iter().copied());
        names
            .map(|name| self.folder.join(name))
            .find(|path| path.is_file())
    }

    /// The languages that the case runs in: both, or JavaScript alone where it is about TypeScript.
    pub fn engines(&self) -> &'static [CaseEngine] {
        if TYPED.iter().any(|name| self.folder.join(name).is_file()) {
            &[CaseEngine::Js]
        } else {
            &CaseEngine::ALL
        }
    }

    /// Runs the case in one language.
    ///
    /// # Errors
    /// The differences from the expectation, one difference per line.
    pub fn run(&self, engine: CaseEngine) -> Result<(), String> {
        self.run_with(engine, "", &plain(), &[], start)
    }

    /// Runs the case in Lua, with globals and modules of its own for each request.
    ///
    /// # Errors
    /// As [`Case::run`].
    pub fn run_isolated(&self) -> Result<(), String> {
        let sections = "[scripts]\nisolation = \"request\"";
        self.run_with(CaseEngine::Lua, sections, &plain(), &[], start)
    }

    /// Runs the case with its database on a PostgreSQL server, without the requests of these names.
    ///
    /// # Errors
    /// As [`Case::run`].
    pub fn run_on_postgres(
        &self,
        engine: CaseEngine,
        url: &str,
        skipped: &[&str],
    ) -> Result<(), String> {
        let sections = format!("[db]\nurl = {url:?}");
        self.run_with(engine, &sections, &plain(), skipped, start)
    }

    /// Runs the case with all routes in the slow lane that can be there.
    ///
    /// # Errors
    /// As [`Case::run`].
    pub fn run_slow(&self, engine: CaseEngine) -> Result<(), String> {
        let sections = "[workers]\nslow = 1";
        self.run_with(engine, sections, &plain(), &[], start_slow)
    }

    /// Runs the case over another protocol, without the requests of these names and those that the protocol cannot
    /// carry.
    ///
    /// # Errors
    /// As [`Case::run`].
    pub fn run_over(
        &self,
        engine: CaseEngine,
        wire: &Arc<dyn CaseWire>,
        skipped: &[&str],
    ) -> Result<(), String> {
        self.run_with(engine, &wire.sections(), wire, skipped, start)
    }

    /// Runs the case with further sections in its configuration.
    fn run_with(
        &self,
        engine: CaseEngine,
        sections: &str,
        wire: &Arc<dyn CaseWire>,
        skipped: &[&str],
        start: Start,
    ) -> Result<(), String> {
        let text = std::fs::read_to_string(self.folder.join("expect.toml"))
            .map_err(|error| format!("expect.toml: {error}"))?;
        let mut scenario =
            Scenario::parse(&text).map_err(|fault| format!("expect.toml: {fault}"))?;
        scenario.leave_out(skipped)?;
        scenario.request.retain(|request| wire.carries(request));
        let sections: toml::Table = toml::from_str(sections).map_err(|fault| fault.to_string())?;
        for (name, keys) in sections {
            match (scenario.config.get_mut(&name), keys) {
                (Some(toml::Value::Table(known)), toml::Value::Table(keys)) => known.extend(keys),
                (_, keys) => drop(scenario.config.insert(name, keys)),
            }
        }
        let Some(app) = self.program(engine) else {
            return Err(format!(
                "{} is missing: each case has a twin in both languages",
                engine.file()
            ));
        };
        let logger = Logger::captured(Level::Debug);
        let scratch =
            tempfile::tempdir().map_err(|error| format!("no folder for the database: {error}"))?;
        let started = start(&app, &scenario, &logger, scratch.path());
        if let Some(part) = &scenario.load_error {
            return match started {
                Err(message) if message.contains(part) => Ok(()),
                Err(message) => Err(format!("the error does not contain {part:?}:\n{message}")),
                Ok(running) => {
                    running.shutdown();
                    Err(format!(
                        "the project loaded; expected an error with {part:?}"
                    ))
                }
            };
        }
        let running = started.map_err(|message| format!("the project does not load: {message}"))?;
        let lines = || logger.lines();
        let mut run = CaseRun::new(running.address(), engine, wire, &lines);
        run.is_on_postgres = scenario.says("db", "url");
        let result = run.all(&scenario);
        let ended = running.shutdown();
        result.map_err(|fault| format!("{fault}\n    log:\n{}", logger.lines()))?;
        check_ended(ended)
    }

    /// Runs the JavaScript of the case inside of another program, without the requests of these names.
    ///
    /// # Errors
    /// The differences from the expectation, one difference per line.
    pub fn run_on(&self, platform: &Platform, skipped: &[&str]) -> Result<(), String> {
        let text = std::fs::read_to_string(self.folder.join("expect.toml"))
            .map_err(|error| format!("expect.toml: {error}"))?;
        let mut scenario =
            Scenario::parse(&text).map_err(|fault| format!("expect.toml: {fault}"))?;
        scenario.leave_out(skipped)?;
        let app = self.program(CaseEngine::Js);
        let app = app.ok_or("the case has no app.js")?;
        let scratch = tempfile::tempdir().map_err(|error| format!("no folder: {error}"))?;
        let served = platform.serve(&app, &scenario, scratch.path());
        if let Some(part) = &scenario.load_error {
            return match served {
                Err(message) if message.contains(part) => Ok(()),
                Err(message) => Err(format!("the error does not contain {part:?}:\n{message}")),
                Ok(_) => Err(format!(
                    "the project loaded; expected an error with {part:?}"
                )),
            };
        }
        let served: Served = served.map_err(|log| format!("the project does not load: {log}"))?;
        let lines = || served.log();
        let wire = plain();
        let run = CaseRun::new(served.address, CaseEngine::Js, &wire, &lines);
        let result = run.all(&scenario);
        result.map_err(|fault| format!("{fault}\n    log:\n{}", served.log()))?;
        check_ended(served.shutdown())
    }
}

fn plain() -> Arc<dyn CaseWire> {
    Arc::new(PlainWire)
}

fn check_ended(has_ended: bool) -> Result<(), String> {
    match has_ended {
        true => Ok(()),
        false => Err("the server did not end after its shutdown".into()),
    }
}

fn folders(parent: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: io::Result<Vec<_>> = std::fs::read_dir(parent)?.collect();
    Ok(entries?
        .into_iter()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect())
}

/// Starts the server of a case's program, whose log is kept, with its files in a scratch folder.
type Start = fn(&Path, &Scenario, &Logger, &Path) -> Result<Running, String>;

/// Starts it with a file that says that an earlier server has measured all routes slow.
fn start_slow(
    app: &Path,
    scenario: &Scenario,
    logger: &Logger,
    scratch: &Path,
) -> Result<Running, String> {
    /// So many times that no case is long enough for a route to return.
    const MOVES: u32 = 11;
    /// Holds for each file.
    const ANY_SOURCE: &str = "0000000000000000";
    let text = toml::to_string(&scenario.config).map_err(|error| error.to_string())?;
    let looked = tempfile::tempdir().map_err(|error| format!("no folder: {error}"))?;
    let config = AppConfig::from_text(app, &text)?;
    // One that does not load is told of below.
    let found = sampan_runtime::routes(config, looked.path()).unwrap_or_default();
    let handlers = found.routes.iter().filter(|row| row.lane.is_some());
    let lines: Vec<String> = handlers
        .map(|row| {
            let method = row.method.as_deref().unwrap_or_default();
            format!("{ANY_SOURCE} {MOVES} {method} {}\n", row.pattern)
        })
        .collect();
    let (count, lines) = (lines.len(), lines.concat());
    let learned = format!("sampan slow routes 2\n{lines}end {count}\n");
    std::fs::write(scratch.join("data.db-routes"), learned).map_err(|error| error.to_string())?;
    start(app, scenario, logger, scratch)
}

fn start(
    app: &Path,
    scenario: &Scenario,
    logger: &Logger,
    scratch: &Path,
) -> Result<Running, String> {
    let text = toml::to_string(&scenario.config).map_err(|error| error.to_string())?;
    let mut config = AppConfig::from_text(app, &text)?;
    if !scenario.says("server", "workers") {
        config.base.workers = 1;
    }
    // On a machine that is full any route may be slow, and its variables would be those of another isolate.
    if !scenario.says("workers", "slow") {
        config.serving.lane.isolates = 0;
    }
    config.base.listen = vec![ListenAddress::Tcp(([127, 0, 0, 1], 0).into())];
    let mut settings = config.log_settings();
    if !scenario.config.contains_key("log") {
        settings.level_min = Level::Debug;
    }
    config.program.logger = logger.clone().with(settings);
    config.database.config.path = scratch.join("data.db");
    config.program.scratch = Some(scratch.to_owned());
    Server::start(config)
}

/// One run of a case's requests.
struct CaseRun<'a> {
    address: SocketAddr,
    engine: CaseEngine,
    /// True if the database is on a PostgreSQL server.
    is_on_postgres: bool,
    wire: Arc<dyn CaseWire>,
    /// The log so far.
    log: &'a dyn Fn() -> String,
    /// The connection, while the server keeps it.
    client: Option<Box<dyn CaseClient>>,
    background: Vec<(Request, JoinHandle<Result<(), String>>)>,
    browsers: Browsers,
}

impl<'a> CaseRun<'a> {
    fn new(
        address: SocketAddr,
        engine: CaseEngine,
        wire: &Arc<dyn CaseWire>,
        log: &'a dyn Fn() -> String,
    ) -> Self {
        Self {
            address,
            engine,
            is_on_postgres: false,
            wire: Arc::clone(wire),
            log,
            client: None,
            background: Vec::new(),
            browsers: Browsers::default(),
        }
    }

    fn all(mut self, scenario: &Scenario) -> Result<(), String> {
        let upstreams = Upstreams::start(&scenario.upstream)?;
        for request in &scenario.request {
            let mut addressed = request.clone();
            upstreams.name_in(&mut addressed);
            if scenario.names_address {
                let host = OneOrMore::One(self.address.to_string());
                addressed.headers.entry("host".to_owned()).or_insert(host);
            }
            let request = &addressed;
            wait::dawdle(Duration::from_millis(request.after_millis));
            if request.after_background {
                self.end_background()?;
            }
            self.one(request)
                .map_err(|fault| format!("{}:\n    {fault}", request.title()))?;
        }
        self.end_background()
    }

    /// Waits for the answers of the requests in the background, and compares them.
    fn end_background(&mut self) -> Result<(), String> {
        for (request, thread) in std::mem::take(&mut self.background) {
            let result = thread
                .join()
                .unwrap_or_else(|_| Err("the client panicked".into()));
            result
                .and_then(|()| self.check_log(&self.expectation(&request)))
                .map_err(|fault| {
                    format!("{} (in the background):\n    {fault}", request.title())
                })?;
        }
        Ok(())
    }

    fn one(&mut self, request: &Request) -> Result<(), String> {
        let expected = self.expectation(request);
        let mut with_cookies;
        let request = match &request.browser {
            Some(_) => {
                with_cookies = request.clone();
                self.browsers.prepare(&mut with_cookies);
                &with_cookies
            }
            None => request,
        };
        if let Some(millis) = request.abort_after_millis {
            return self.abort(request, millis);
        }
        if !request.socket.is_empty() {
            let mut headers = Vec::new();
            for (name, values) in &request.headers {
                let values = values.all().into_iter().map(str::to_owned);
                headers.extend(values.map(|value| (name.clone(), value)));
            }
            sockets::run(self.address, &request.path, &headers, &request.socket)?;
            return self.check_log(&expected);
        }
        if request.background {
            for _ in 0..request.parallel.unwrap_or(1) {
                let thread = self.apart(request, &expected);
                self.background.push((request.clone(), thread));
            }
            return Ok(());
        }
        let begun = Instant::now();
        self.send_until_right(request, &expected)?;
        check_time(request, begun)?;
        if request.ahead
            && self
                .background
                .iter()
                .any(|(_, thread)| thread.is_finished())
        {
            return Err("a request in the background was answered before it".into());
        }
        self.check_log(&expected)
    }

    /// Sends a request; again and again, where it shows the end of something else.
    fn send_until_right(
        &mut self,
        request: &Request,
        expected: &Expectation,
    ) -> Result<(), String> {
        let deadline = Instant::now() + wait::EVENT_TIME_MAX;
        loop {
            match self.send(request, expected) {
                Err(_) if request.eventually && Instant::now() < deadline => {
                    wait::dawdle(Duration::from_millis(5));
                }
                result => return result,
            }
        }
    }

    /// Sends a request as often as it says, in a row or at once, and compares the answers.
    fn send(&mut self, request: &Request, expected: &Expectation) -> Result<(), String> {
        if let Some(count) = request.parallel {
            let threads: Vec<_> = (0..count).map(|_| self.apart(request, expected)).collect();
            for thread in threads {
                let joined = thread.join();
                joined.unwrap_or_else(|_| Err("the client panicked".into()))?;
            }
            return Ok(());
        }
        for _ in 0..request.repeat.unwrap_or(1) {
            let answer = self.exchange(request)?;
            self.browsers.keep(request, &answer);
            check::answer(expected, &content_coding::decoded(answer))?;
        }
        Ok(())
    }

    fn expectation(&self, request: &Request) -> Expectation {
        let expect = &request.expect;
        match expect.postgres.as_deref().filter(|_| self.is_on_postgres) {
            Some(own) => expect.resolved(Some(&self.of_language(own))),
            None => self.of_language(expect),
        }
    }

    fn of_language(&self, expect: &Expectation) -> Expectation {
        expect.resolved(match self.engine {
            CaseEngine::Lua => expect.lua.as_deref(),
            CaseEngine::Js => expect.js.as_deref(),
        })
    }

    /// Sends a request on the common connection, or a new one where the server has closed that.
    fn exchange(&mut self, request: &Request) -> Result<Answer, String> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => self.wire.connect(self.address)?,
        };
        let answer = client.exchange(request)?;
        if request.expect.close && !client.is_closed() {
            return Err("the server did not close the connection".into());
        }
        if answer.keeps_alive && !request.expect.close {
            self.client = Some(client);
        }
        Ok(answer)
    }

    /// Sends a request on a connection and a thread of its own.
    fn apart(&self, request: &Request, expected: &Expectation) -> JoinHandle<Result<(), String>> {
        let (address, wire) = (self.address, Arc::clone(&self.wire));
        let (request, expected) = (request.clone(), expected.clone());
        thread::spawn(move || {
            let begun = Instant::now();
            for _ in 0..request.repeat.unwrap_or(1) {
                let answer = wire.connect(address)?.exchange(&request)?;
                check::answer(&expected, &content_coding::decoded(answer))?;
            }
            // Who waits for the answer checks the time of all of them together.
            if request.background {
                check_time(&request, begun)?;
            }
            Ok(())
        })
    }

    /// Sends a request and goes away.
    fn abort(&self, request: &Request, millis: u64) -> Result<(), String> {
        for _ in 0..request.repeat.unwrap_or(1) {
            let client = self.wire.connect(self.address)?;
            client.leave(request, Duration::from_millis(millis))?;
        }
        self.check_log(&self.expectation(request))
    }

    /// The log may be written after the answer: wait for it a little.
    fn check_log(&self, expected: &Expectation) -> Result<(), String> {
        let deadline = Instant::now() + Duration::from_millis(LOG_MILLIS_MAX);
        loop {
            match check::log(expected, &(self.log)()) {
                Err(_) if Instant::now() < deadline => wait::dawdle(Duration::from_millis(2)),
                result => return result,
            }
        }
    }
}

fn check_time(request: &Request, begun: Instant) -> Result<(), String> {
    let millis = begun.elapsed().as_millis() as u64;
    match request.not_before_millis {
        Some(min) if millis < min => Err(format!("took {millis} ms instead of at least {min} ms")),
        _ => Ok(()),
    }
}
