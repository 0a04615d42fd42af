//! The director starts the servers, torments them, and looks at them meanwhile.

use crate::disk::Disk;
use crate::faults::{Faults, InjectedFault, Next};
use crate::flat::{LifeVerdict, Sample, judge};
use crate::project::Project;
use crate::run::{Run, Site};
use crate::server::Server;
use crate::visitor::{Request, Told, Visitor};
use rustix::process::Signal;
use sampan_testkit::{Client, wait};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The time between two looks at the servers, two samples, and two lines.
const LOOK: Duration = Duration::from_millis(50);
const SAMPLE: Duration = Duration::from_millis(500);
const LINE: Duration = Duration::from_secs(10);
/// The longest time from the end of a full disk to the first write.
const WRITE_TIME_MAX: Duration = Duration::from_secs(20);

/// A site with its project and its process, which is none only while it cannot be started.
struct Stage {
    project: Project,
    site: Arc<Site>,
    server: Option<Server>,
    lives: u64,
}

/// The counts of faults.
#[derive(Debug, Default)]
struct Done {
    kills: u64,
    reloads: u64,
    stops: u64,
    full: u64,
    /// The full disks that could not be, and why.
    skipped: Vec<String>,
}

pub(crate) struct Director {
    run: Arc<Run>,
    program: PathBuf,
    stages: Vec<Stage>,
    /// The disk of the app's database.
    disk: Option<Disk>,
    sites: Vec<Arc<Site>>,
    done: Done,
    sampled: Instant,
    printed: Instant,
    /// The lives that were long enough, in words.
    judged: Vec<String>,
}

impl Director {
    /// Starts all servers.
    pub(crate) fn start(
        run: &Arc<Run>,
        program: &Path,
        projects: Vec<Project>,
    ) -> Result<Self, String> {
        let mut director = Self {
            run: Arc::clone(run),
            program: program.to_path_buf(),
            stages: Vec::new(),
            disk: None,
            sites: Vec::new(),
            done: Done::default(),
            sampled: Instant::now(),
            printed: Instant::now(),
            judged: Vec::new(),
        };
        for project in projects {
            if project.is_app() {
                director.disk = Disk::mount(&project.data());
            }
            let site = Site::new(project.name.clone(), run);
            director.sites.push(Arc::clone(&site));
            let mut stage = Stage {
                project,
                site,
                server: None,
                lives: 0,
            };
            stage.start(program)?;
            director.stages.push(stage);
        }
        if director.disk.is_none() {
            let skipped = "full disks: no namespace in which to mount one; files that may not grow stand for them";
            director.done.skipped.push(skipped.to_owned());
        }
        Ok(director)
    }

    /// Returns the sites, the app's first.
    pub(crate) fn sites(&self) -> &[Arc<Site>] {
        &self.sites
    }

    /// Torments the servers until the time is over.
    pub(crate) fn direct(&mut self) {
        let mut faults = Faults::new(self.run.seed, self.run.time, self.stages.len());
        let begun = Instant::now();
        while begun.elapsed() < self.run.time {
            let next = faults.next(begun.elapsed());
            self.watch(next.pause);
            if let Err(error) = self.happen(&next) {
                return self.run.fail(error);
            }
        }
    }

    fn happen(&mut self, next: &Next) -> Result<(), String> {
        let stage = &mut self.stages[next.server];
        let Some(server) = &mut stage.server else {
            return Ok(());
        };
        match next.fault {
            InjectedFault::Reload => {
                server.signal(Signal::HUP);
                self.done.reloads += 1;
            }
            InjectedFault::Stop => {
                stage.site.turn_stopped(true);
                server.signal(Signal::STOP);
                self.done.stops += 1;
                self.watch(next.lasts);
                let stage = &self.stages[next.server];
                stage.site.turn_stopped(false);
                if let Some(server) = &stage.server {
                    server.signal(Signal::CONT);
                }
            }
            InjectedFault::Kill | InjectedFault::KillInReload => {
                if next.fault == InjectedFault::KillInReload {
                    server.signal(Signal::HUP);
                    wait::dawdle(next.lasts.min(LOOK));
                    self.done.reloads += 1;
                }
                self.kill(next.server)?;
            }
            InjectedFault::Full | InjectedFault::KillInFull => self.fill(next)?,
        }
        Ok(())
    }

    /// Kills a server and starts it again.
    fn kill(&mut self, server: usize) -> Result<(), String> {
        self.done.kills += 1;
        let stage = &mut self.stages[server];
        let samples = stage.kill();
        self.disk.iter().for_each(Disk::empty);
        stage.start(&self.program)?;
        let name = stage.site.name.clone();
        self.judge(&name, &samples);
        Ok(())
    }

    /// Takes the room for writes from the app for a while, and waits until it writes again. There are two ways in turn:
    /// a disk that is full (ENOSPC), and files that may not grow (EFBIG).
    fn fill(&mut self, next: &Next) -> Result<(), String> {
        let Stage { site, server, .. } = &self.stages[next.server];
        let (Some(server), site) = (server, Arc::clone(site)) else {
            return Ok(());
        };
        let disk = self
            .disk
            .as_ref()
            .filter(|_| self.done.full.is_multiple_of(2));
        let is_limited = disk.is_none();
        site.turn_full(true);
        self.done.full += 1;
        let filled = disk.map_or_else(|| server.limit_files(true), Disk::fill);
        if let Err(error) = filled {
            self.done.skipped.push(format!("a full disk: {error}"));
        }
        self.watch(next.lasts);
        if next.fault == InjectedFault::KillInFull {
            // The limit goes with the process.
            self.kill(next.server)?;
        } else if let Some(server) = &self.stages[next.server].server
            && is_limited
        {
            server.limit_files(false)?;
        }
        self.disk.iter().for_each(Disk::empty);
        let mut visitor = Visitor::new(&site);
        let probe = Request::new("POST", "/session/probe/1", &[], b"");
        let end = Instant::now() + WRITE_TIME_MAX;
        while !matches!(visitor.ask(&probe), Told::Answer(_)) {
            if Instant::now() > end {
                site.fail("nothing is written although the disk has room again");
                break;
            }
            wait::dawdle(LOOK);
        }
        site.turn_full(false);
        Ok(())
    }

    /// Looks at the servers for so long.
    fn watch(&mut self, time: Duration) {
        let end = Instant::now() + time;
        loop {
            for stage in &mut self.stages {
                let Some(server) = &mut stage.server else {
                    continue;
                };
                if let Some(status) = server.has_ended() {
                    stage
                        .site
                        .fail(format_args!("ended by itself with {status}"));
                    drop(stage.kill());
                    if let Err(error) = stage.start(&self.program) {
                        self.run.fail(error);
                    }
                }
            }
            if self.sampled.elapsed() >= SAMPLE {
                self.sampled = Instant::now();
                let servers = self.stages.iter_mut().flat_map(|stage| &mut stage.server);
                servers.for_each(Server::sample);
            }
            if self.printed.elapsed() >= LINE {
                self.printed = Instant::now();
                self.print();
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            wait::dawdle(left.min(LOOK));
        }
    }

    fn print(&self) {
        let servers = self.stages.iter().flat_map(|stage| &stage.server);
        let samples: Vec<Sample> = servers
            .filter_map(|server| server.samples.last().copied())
            .collect();
        let memory = samples.iter().map(|sample| sample.bytes >> 20);
        let memory: Vec<String> = memory.map(|mib| mib.to_string()).collect();
        let descriptors = samples.iter().map(|sample| sample.descriptors.to_string());
        let descriptors: Vec<String> = descriptors.collect();
        println!(
            "{:5.0} s  {} right  {}  memory {} MiB  descriptors {}  {} failures",
            self.run.begun.elapsed().as_secs_f64(),
            self.run.counts().right.load(Ordering::Relaxed),
            self.done(),
            memory.join("+"),
            descriptors.join("+"),
            self.run.failed()
        );
    }

    fn done(&self) -> String {
        let Done {
            kills,
            reloads,
            stops,
            full,
            ..
        } = self.done;
        format!("{kills} kills  {reloads} reloads  {stops} stops  {full} full disks")
    }

    fn judge(&mut self, name: &str, samples: &[Sample]) {
        match judge(samples) {
            LifeVerdict::Unknown => {}
            LifeVerdict::Flat(words) => self.judged.push(format!("{name}: {words}")),
            LifeVerdict::Grows(words) => self.run.fail(format_args!("{name} grows: {words}")),
        }
    }

    /// Ends all servers in good order.
    pub(crate) fn stop(&mut self) {
        for at in 0..self.stages.len() {
            let stage = &mut self.stages[at];
            let name = stage.site.name.clone();
            if let Some(mut server) = stage.server.take() {
                server.stop();
                self.judge(&name, &server.samples);
            }
        }
    }

    /// Keeps what would go with the program.
    pub(crate) fn keep(&self) {
        self.disk.iter().for_each(Disk::keep);
    }

    /// Returns the faults, and the lives that were judged.
    pub(crate) fn summary(&self) -> String {
        let mut text = format!("{}\n", self.done());
        for skipped in &self.done.skipped {
            text += &format!("SKIPPED: {skipped}\n");
        }
        if self.judged.is_empty() {
            text += "no process lived long enough to judge its memory\n";
        }
        text + &self.judged.join("\n")
    }
}

impl Stage {
    /// Starts the next process, in the other language, and makes sure that its database is whole before clients ask.
    fn start(&mut self, program: &Path) -> Result<(), String> {
        self.lives += 1;
        let server = Server::start(&self.project, program, &self.site, self.lives)?;
        let place = server.place;
        self.server = Some(server);
        if self.project.is_app() {
            let mut client = Client::connect(place.address).map_err(|error| error.to_string())?;
            let answer = client.ask("GET", "/integrity", &[], "");
            let answer = answer.map_err(|error| format!("the integrity: {error}"))?;
            if answer.text() != r#"{"found":"ok"}"# {
                let text = answer.text();
                self.site
                    .fail(format_args!("the database is damaged: {text}"));
            }
        }
        self.site.moves_to(Some(place));
        Ok(())
    }

    fn kill(&mut self) -> Vec<Sample> {
        self.server.take().map(Server::kill).unwrap_or_default()
    }
}
