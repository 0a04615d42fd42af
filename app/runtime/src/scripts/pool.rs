//! A pool of isolates: how it starts, takes work and ends.

use super::calls::{self, CallLink};
use super::errors::{Refused, stopped};
use super::generations::Generations;
use super::job::{Done, JobHandle, Work};
use super::queue::Queue;
use super::shared::PoolShared;
use super::worker;
use crate::app_config::AppConfig;
use crate::database;
use crate::generation::Generation;
use crate::locks::lock;
use crate::process_state::ProcessState;
use crate::program::embedding::{ContextSetup, Embedding, modules_with};
use crate::reload::followed_files::FollowedFiles;
use crate::worker::watchdog::Watchdog;
use sampan_host::{Error, ErrorKind, Module};
use sampan_project::config::Flags;
use sampan_project::{Language, Project};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The most works that may wait or run for each isolate unless told otherwise.
const QUEUED_PER_WORKER: usize = 1_024;
/// The time that the end of a pool waits for its threads beyond the time that scripts have to end, in milliseconds.
const JOIN_MILLIS_MAX: u64 = 500;
/// The interval at which the end of a pool tells running scripts to stop.
const STOP_PAUSE: Duration = Duration::from_millis(2);

/// The source of a script.
#[derive(Clone, Debug)]
pub enum ScriptSource {
    /// A file, or the folder of a project.
    Path(PathBuf),
    /// A text. The name tells the language by its end, as in `hello.lua`, and stands in errors.
    Text {
        /// The name.
        name: String,
        /// The text.
        text: String,
    },
}

/// The options of a pool.
#[derive(Clone, Debug)]
pub struct ScriptOptions {
    /// The script.
    pub source: ScriptSource,
    /// The options of the command line: workers, settings, the configuration file. Its path is not used.
    pub flags: Flags,
    /// The most works that may wait or run at the same time; `None` for 1,024 for each isolate.
    pub queue_max: Option<usize>,
    /// The shortest interval between two checks, when work comes, of whether a file of the script has changed; `None`:
    /// never.
    pub looks_every: Option<Duration>,
    /// Capabilities of the program's own.
    pub modules: Vec<&'static Module>,
}

/// Isolates that run scripts for a program. Clones are the same pool; dropping the last one does not end it,
/// [`ScriptPool::stop`] does.
#[derive(Clone)]
pub struct ScriptPool(Arc<PoolShared>);

impl ScriptPool {
    /// Loads the script in every isolate.
    ///
    /// # Errors
    /// The configuration is wrong or the script does not load: the place, the line of the source and the stack.
    pub fn start(
        options: &ScriptOptions,
        adapt: impl FnOnce(&mut AppConfig),
    ) -> Result<Self, String> {
        let mut config = config_of(options)?;
        adapt(&mut config);
        let pause = options.looks_every.or(config.base.scripts.check_time);
        let script = config.base.project.clone();
        let entry = calls::entry_around(&script)?;
        let (files, project) = match &options.source {
            ScriptSource::Path(_) => {
                let (files, project) = FollowedFiles::of(&script, pause.unwrap_or_default());
                (Some(files), project)
            }
            ScriptSource::Text { .. } => (None, script.clone()),
        };
        config.base.project = project.with_entry(&entry);
        // A pool looks after its files itself.
        config.base.scripts.check_time = None;
        let mut own = vec![&calls::MODULE];
        own.extend(&options.modules);
        config.program.modules = modules_with(&own);
        let mut embedding = Embedding::clone(&config.program.embedding);
        let put_link: ContextSetup = Arc::new(|context| context.put(CallLink::default()));
        embedding.contexts.push(put_link);
        config.program.embedding = Arc::new(embedding);
        let state = ProcessState::of(&config)?;
        let (database, _) = database::prepare(&config)?;
        let count = config.base.workers;
        let generation = Generation::new(Arc::new(config), state);
        let config = Arc::clone(&generation.config);
        let queue_max = options.queue_max.unwrap_or(count * QUEUED_PER_WORKER);
        let shared = Arc::new(PoolShared {
            queue: Queue::new(count, queue_max),
            database,
            watchdog: Watchdog::default(),
            limits: Arc::new(config.serving.http.clone()),
            generations: Generations::new(generation, files, pause.is_some()),
            script,
            entry,
            workers: Mutex::default(),
            count,
            next_job: AtomicU64::new(1),
            next_worker: AtomicU64::new(0),
            abandoned: AtomicUsize::new(0),
            ending: Arc::default(),
            started_once: Arc::default(),
        });
        let time_max = Duration::from_millis(config.serving.script.script_millis_max);
        shared
            .watchdog
            .start(time_max)
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        let pool = Self(shared);
        // One alone first, so that a fault of the script is told once.
        for places in [0..1, 1..count] {
            let starting: Vec<_> = places.map(|place| worker::start(&pool.0, place)).collect();
            for ready in starting {
                let started = ready.and_then(|ready| {
                    let gone = || Error::new(ErrorKind::Internal, "a thread ended as it started");
                    ready.recv().unwrap_or_else(|_| Err(gone()))
                });
                if let Err(error) = started {
                    pool.stop();
                    return Err(config.base.project.load_fault(&error));
                }
            }
        }
        pool.0.generations.is_loaded();
        Ok(pool)
    }

    /// Hands a work over. `done` is called once with what came of it; it must not wait.
    ///
    /// # Errors
    /// It is not taken, and `done` is never called.
    pub fn submit(&self, work: Work, done: Done) -> Result<JobHandle, Refused> {
        let id = self.0.next_job.fetch_add(1, Ordering::Relaxed);
        let handle = JobHandle::new(id, done, self.0.queue.places());
        self.0.queue.push(work, &handle)?;
        Ok(handle)
    }

    /// Loads the script anew in all isolates. What runs ends in the old ones.
    ///
    /// # Errors
    /// It does not load: as at start. The old one goes on.
    pub fn reload(&self) -> Result<(), String> {
        self.0.reload()
    }

    /// Returns the number of isolates.
    pub fn workers(&self) -> usize {
        self.0.count
    }

    /// Gives up what waits and runs, ends the threads, and waits for a reload on another thread to end. False if one of
    /// these had to be left behind. Not on a thread of the pool.
    pub fn stop(&self) -> bool {
        let shared = &self.0;
        let _ = shared.ending.set(Instant::now());
        shared.queue.close();
        let workers = std::mem::take(&mut *lock(&shared.workers));
        let config = Arc::clone(&shared.generations.current().config);
        let patience =
            config.serving.http.shutdown_millis_max + config.serving.script.cleanup_millis_max;
        let deadline = Instant::now() + Duration::from_millis(patience + JOIN_MILLIS_MAX);
        // A reload writes to the log, which the program may drop after this.
        let mut all_ended = shared.generations.turn.wait_for_program(deadline);
        for (state, thread) in workers {
            while !thread.is_finished() && Instant::now() < deadline {
                state.stop_run();
                std::thread::sleep(STOP_PAUSE);
            }
            all_ended &= thread.is_finished() && thread.join().is_ok();
            state.give_all_up(&stopped());
        }
        shared.watchdog.stop();
        shared.database.shutdown();
        all_ended
    }
}

impl fmt::Debug for ScriptPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptPool")
            .field("workers", &self.0.count)
            .finish_non_exhaustive()
    }
}

/// The configuration of a script.
fn config_of(options: &ScriptOptions) -> Result<AppConfig, String> {
    match &options.source {
        ScriptSource::Path(path) => AppConfig::resolve(&Flags {
            path: path.clone(),
            ..options.flags.clone()
        }),
        ScriptSource::Text { name, text } => {
            if Language::of(name).is_none() {
                return Err(format!(
                    "{name} is neither Lua nor JavaScript: its name must end in .lua, .js, .mjs, .jsx, .ts, .mts or \
                     .tsx"
                ));
            }
            let project = Project::in_memory(name, &[(name, text)]);
            AppConfig::in_memory(project, &options.flags)
        }
    }
}
