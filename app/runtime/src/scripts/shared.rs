//! The state that the threads of a pool share.

use super::generations::Generations;
use super::job::WorkerState;
use super::queue::Queue;
use crate::worker::watchdog::Watchdog;
use sampan_db::AppDatabase;
use sampan_http::Limits;
use sampan_project::Project;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Instant;

/// The state that the threads of a pool share.
pub(super) struct PoolShared {
    pub(super) queue: Queue,
    pub(super) database: AppDatabase,
    pub(super) watchdog: Watchdog,
    pub(super) limits: Arc<Limits>,
    /// The generations that the isolates load.
    pub(super) generations: Generations,
    /// The script as its author wrote it.
    pub(super) script: Project,
    /// The file of ours that runs the script.
    pub(super) entry: (String, String),
    pub(super) workers: Mutex<Vec<(Arc<WorkerState>, JoinHandle<()>)>>,
    pub(super) count: usize,
    pub(super) next_job: AtomicU64,
    pub(super) next_worker: AtomicU64,
    pub(super) abandoned: AtomicUsize,
    pub(super) ending: Arc<OnceLock<Instant>>,
    pub(super) started_once: Arc<AtomicBool>,
}
