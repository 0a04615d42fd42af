//! The two steps of a reload, on the side of the server: all workers load, then all swap.

use crate::app_config::AppConfig;
use crate::database;
use crate::generation::Generation;
use crate::health;
use crate::process_state::ProcessState;
use crate::sandbox;
use crate::server::shared::ServerShared;
use crate::worker::order::Order;
use sampan_host::log::Level;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// The interval at which a reload that waits for a worker looks whether that is still there.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

/// The longest time that a project may load before a reload tells the log.
const SLOW_LOAD: Duration = Duration::from_millis(250);

/// The longest time that a reload waits for the isolates of slow routes and of jobs, which may have other work.
const RENEW_TIME_MAX: Duration = Duration::from_secs(1);

/// The result of a reload.
#[derive(Clone, Debug)]
pub struct Reloaded {
    /// The time that it took, until every worker answered with the new project.
    pub elapsed: Duration,
    /// Settings that were changed and need a restart.
    pub need_restart: Vec<&'static str>,
    /// The reasons why isolates of slow routes and of jobs did not load the new project, which all workers serve. The
    /// log has been told.
    pub not_loaded: Vec<String>,
}

/// A generation that all workers serve.
struct Swapped {
    generation: Arc<Generation>,
    /// The number of isolates that load it when they have time.
    renewing: usize,
    /// The reasons why isolates that start with it did not start.
    faults: Vec<String>,
}

impl Swapped {
    /// Waits for the isolates that load the generation, and returns the faults of all.
    fn faults(self) -> Vec<String> {
        let renewals = &self.generation.renewals;
        let mut faults = self.faults;
        faults.extend(renewals.faults(self.renewing, RENEW_TIME_MAX));
        faults
    }
}

/// Loads the project of a running server anew, from any thread.
#[derive(Clone)]
pub struct Reloader(pub(crate) Arc<ServerShared>);

impl Reloader {
    /// Swaps to the project as `config` describes it now. The log is told too.
    ///
    /// # Errors
    /// It does not load: the same text as at start. The server goes on as it was.
    pub fn reload(&self, config: AppConfig) -> Result<Reloaded, String> {
        // Whatever becomes of the project.
        if let Some(certificates) = &self.0.certificates {
            certificates.renew();
        }
        let logger = &self.0.config.program.logger;
        match self.try_reload(config) {
            Ok((mut reloaded, swapped)) => {
                if !reloaded.need_restart.is_empty() {
                    let names = reloaded.need_restart.join(", ");
                    let text = format!("changed settings that need a restart: {names}");
                    logger.text(Level::Warn, text);
                }
                let millis = reloaded.elapsed.as_millis();
                logger.text(Level::Info, format!("reloaded in {millis} ms"));
                reloaded.not_loaded = swapped.faults();
                Ok(reloaded)
            }
            Err(fault) => {
                self.not_reloaded(&fault);
                Err(fault)
            }
        }
    }

    /// Swaps to the project as its files are now, with the settings that are in force. The log is told too.
    pub(crate) fn reload_files(&self) -> Result<Reloaded, String> {
        self.reload((*self.0.generation().config).clone())
    }

    /// Tells the log why there was no reload.
    pub(crate) fn not_reloaded(&self, fault: &str) {
        let text = format!("not reloaded, the project as it was goes on: {fault}");
        self.0.config.program.logger.text(Level::Error, text);
    }

    fn try_reload(&self, mut config: AppConfig) -> Result<(Reloaded, Swapped), String> {
        let begun = Instant::now();
        // One at a time, and no worker is replaced meanwhile.
        let _turn = self.0.turn();
        self.0.check_not_ending()?;
        let mut need_restart = config.keep_fixed(&self.0.config)?;
        if self.0.has_other_beside(&config) {
            need_restart.push("[jobs] workers");
        }
        let files = config.program.script_files.clone();
        sandbox::check_connections(&config)?;
        let seen = match &files {
            Some(files) => {
                let (project, seen) = files.followed.anew(&config.base.project);
                config.base.project = project;
                Some(seen)
            }
            None => config.keep_files(),
        };
        let swapped = self.load_and_swap(config);
        match (files, seen) {
            (Some(files), Some(seen)) => match swapped {
                Ok(_) => files.serve(seen),
                Err(_) => files.followed.seen().wait_for_change_of(&seen),
            },
            (None, Some(kept)) => kept.keep_missing(),
            (_, None) => {}
        }
        let reloaded = Reloaded {
            elapsed: begun.elapsed(),
            need_restart,
            not_loaded: Vec::new(),
        };
        Ok((reloaded, swapped?))
    }

    fn load_and_swap(&self, config: AppConfig) -> Result<Swapped, String> {
        let shared = &*self.0;
        if !config.base.project.entry().is_empty() {
            config.base.project.check_entry()?;
        }
        let state = shared.generation().state.renewed(&config)?;
        ProcessState::warn(&config);
        shared.check_not_ending()?;
        let applied = database::migrate(&config)?;
        let with_applied = |fault| database::with_applied(fault, &applied);
        let renewed = shared.database.renew(!applied.is_empty());
        renewed.map_err(|error| with_applied(error.to_string()))?;
        let checks = health::checks(&config, &shared.database).map_err(&with_applied)?;
        let generation = Arc::new(Generation::new(Arc::new(config), state));
        let loaded = shared.load_all(&generation);
        if let Err(fault) = loaded.and_then(|()| shared.check_not_ending()) {
            shared.discard_all();
            return Err(with_applied(fault));
        }
        shared.health.set_checks(checks);
        shared.set_generation(Arc::clone(&generation));
        shared.swap_all();
        let renewing = shared.renew_beside(&generation) + shared.renew_slow_lane();
        let mut faults = Vec::new();
        // The project may need them from now on. It is served also if they do not start.
        if let Err(fault) = self.0.start_beside() {
            let text =
                format!("the reloaded project goes on without work beside requests: {fault}");
            shared.config.program.logger.text(Level::Error, &text);
            faults.push(text);
        }
        if let Err(fault) = self.0.start_slow_lane() {
            faults.push(self.0.tell_of_slow_lane(&fault));
        }
        Ok(Swapped {
            generation,
            renewing,
            faults,
        })
    }
}

impl ServerShared {
    /// Has all workers load: one alone first, so that a fault of the project is told once, then the others together.
    /// While an isolate loads, its worker answers no request, so a thread of its own has tried it before.
    fn load_all(&self, generation: &Arc<Generation>) -> Result<(), String> {
        // The platform's isolates are its own matter, and it cannot stop a script.
        if generation.config.program.host.is_none() {
            let begun = Instant::now();
            let tried = self.try_out(generation);
            tried.map_err(|error| generation.config.base.project.load_fault(&error))?;
            let elapsed = begun.elapsed();
            if elapsed >= SLOW_LOAD {
                let millis = elapsed.as_millis();
                let text = format!(
                    "the project takes {millis} ms to load: the requests of a worker wait as long at a reload"
                );
                generation.config.program.logger.text(Level::Warn, text);
            }
        }
        let count = self.crew().len();
        for places in [0..count.min(1), 1..count.max(1)] {
            let wanted = places.len();
            let loading = self.order(places, |told| Order::Load(Arc::clone(generation), told));
            if loading.len() < wanted {
                return Err(lost());
            }
            for (id, told) in loading {
                let loaded = self.answer_of(id, &told.ok_or_else(lost)?)?;
                loaded.map_err(|error| generation.config.base.project.load_fault(&error))?;
            }
        }
        Ok(())
    }

    /// Gives an order to some of the workers. One whose thread has ended has no answer, and does not keep it from the
    /// others.
    fn order<T>(
        &self,
        places: Range<usize>,
        order: impl Fn(SyncSender<T>) -> Order,
    ) -> Vec<(u64, Option<Receiver<T>>)> {
        let crew = self.crew();
        let members = crew.iter().skip(places.start).take(places.len());
        let ordered = members.map(|member| {
            let (told, answer) = sync_channel(1);
            let is_sent = member.orders.send(order(told)).is_ok();
            (member.id, is_sent.then_some(answer))
        });
        ordered.collect()
    }

    /// Waits for the answer of a worker, as long as that is there.
    fn answer_of<T>(&self, id: u64, answer: &Receiver<T>) -> Result<T, String> {
        loop {
            match answer.recv_timeout(LOOKS_EVERY) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) if self.is_there(id) => {}
                Err(_) => return Err(lost()),
            }
        }
    }

    fn is_there(&self, id: u64) -> bool {
        !self.is_ending.load(Ordering::SeqCst) && self.crew().iter().any(|member| member.id == id)
    }

    fn swap_all(&self) {
        let count = self.crew().len();
        // A worker that is lost now is replaced by one that loads the new generation.
        for (id, told) in self.order(0..count, Order::Swap) {
            if let Some(told) = told {
                let _ = self.answer_of(id, &told);
            }
        }
    }

    fn discard_all(&self) {
        for member in &*self.crew() {
            let _ = member.orders.send(Order::Discard);
        }
    }
}

fn lost() -> String {
    "a worker ended meanwhile; try again".to_owned()
}
