//! The arguments of `sampan jobs`.

use crate::arguments::database::{DatabaseArgs, StorageArgs};
use clap::Subcommand;
use sampan_project::archive::Archive;
use std::path::PathBuf;
use std::sync::Arc;

/// The states of a job.
const STATES: [&str; 6] = ["ready", "scheduled", "running", "done", "dead", "cancelled"];

/// The arguments of `sampan jobs`.
#[derive(clap::Args)]
pub(crate) struct JobsArgs {
    #[command(subcommand)]
    pub(super) command: Option<JobsCommand>,
    #[command(flatten)]
    pub(super) place: PlaceArgs,
    #[command(flatten)]
    pub(super) list: ListArgs,
}

#[derive(Subcommand)]
pub(super) enum JobsCommand {
    /// Print how many jobs there are, the next runs of crons, and the newest jobs.
    List(ListArgs),
    /// Print all that is known of a job, the errors of its attempts among it.
    Show(ShowArgs),
    /// Have jobs run now that are dead, cancelled, done, or due later.
    Retry(ChangeArgs),
    /// Cancel jobs that have not ended.
    Cancel(ChangeArgs),
    /// Remove jobs that have ended.
    Prune(PruneArgs),
}

#[derive(clap::Args)]
pub(super) struct ListArgs {
    /// The project's folder, or a file in it.
    #[arg(value_name = "DIR|FILE")]
    pub(super) path: Option<PathBuf>,
    /// List only jobs in this state.
    #[arg(long, value_parser = STATES)]
    pub(super) state: Option<String>,
    /// List only jobs of this name.
    #[arg(long)]
    pub(super) name: Option<String>,
    /// List only jobs of this queue.
    #[arg(long)]
    pub(super) queue: Option<String>,
    /// At most so many jobs [default: 20].
    #[arg(long, value_name = "N")]
    pub(super) limit: Option<usize>,
}

#[derive(clap::Args)]
pub(super) struct ShowArgs {
    /// The number of the job.
    #[arg(value_parser = job_id)]
    pub(super) id: i64,
    /// The project's folder, or a file in it.
    #[arg(value_name = "DIR|FILE")]
    pub(super) path: Option<PathBuf>,
}

#[derive(clap::Args)]
pub(super) struct ChangeArgs {
    /// The numbers of the jobs.
    #[arg(value_name = "ID", required = true, value_parser = job_id)]
    pub(super) ids: Vec<i64>,
}

#[derive(clap::Args)]
pub(super) struct PruneArgs {
    /// Remove only those that ended so many days ago.
    #[arg(long, value_name = "N")]
    pub(super) days: Option<u32>,
    /// All that ended.
    #[arg(long, conflicts_with = "days")]
    pub(super) all: bool,
}

/// The project and the form of the output, before a command or behind it.
#[derive(clap::Args)]
pub(super) struct PlaceArgs {
    /// The project's folder, or a file in it [default: the current folder].
    #[arg(long, value_name = "DIR|FILE", global = true)]
    pub(super) project: Option<PathBuf>,
    #[command(flatten)]
    pub(super) database: DatabaseArgs,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(super) json: bool,
}

impl JobsArgs {
    /// Looks at the jobs of the project that this program carries.
    pub(crate) fn of_archive(mut self, archive: &Arc<Archive>) -> Self {
        self.place.database.archive = Some(Arc::clone(archive));
        self
    }
}

impl PlaceArgs {
    /// Returns the place of the database. `path` is the project where a command takes it without an option.
    ///
    /// # Errors
    /// The project is named twice.
    pub(super) fn storage(self, path: Option<PathBuf>) -> Result<StorageArgs, String> {
        if let (Some(project), Some(path)) = (&self.project, &path) {
            let (project, path) = (project.display(), path.display());
            return Err(format!(
                "--project {project} and {path} both name the project: write one of them"
            ));
        }
        Ok(StorageArgs {
            path: path.or(self.project).unwrap_or_else(|| ".".into()),
            database: self.database,
        })
    }
}

impl ListArgs {
    /// Refuses options of the list before another command.
    pub(super) fn check_unused(&self) -> Result<(), String> {
        let has_filter = self.state.is_some() || self.name.is_some() || self.queue.is_some();
        match has_filter || self.limit.is_some() || self.path.is_some() {
            true => Err(
                "before a command there are --project, --db, --config, --env-file and --json only: write the others \
                 behind it"
                    .to_owned(),
            ),
            false => Ok(()),
        }
    }
}

/// Reads the number of a job.
fn job_id(text: &str) -> Result<i64, String> {
    let advice = "an id is the whole number that `sampan jobs` prints before a job, such as 42";
    text.parse().map_err(|_| advice.to_owned())
}
