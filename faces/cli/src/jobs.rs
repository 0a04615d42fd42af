//! `sampan jobs`: the jobs and the crons of a project's database, and what people change.

use crate::{StorageArgs, counted, say};
use clap::Subcommand;
use sampan_host::Error;
use sampan_jobs::console::JobsConsole;
use sampan_jobs::{CronView, JobFilter, JobView};
use sampan_runtime::with_tables;
use serde_json::{Value, json};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

/// The states of a job.
const STATES: [&str; 6] = ["ready", "scheduled", "running", "done", "dead", "cancelled"];

/// The most bytes of a job's arguments that are printed for people.
const SHOWN_ARGS_BYTES_MAX: usize = 2_000;

/// The arguments of `sampan jobs`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct JobsArgs {
    #[command(subcommand)]
    command: Option<JobsCommand>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Subcommand)]
enum JobsCommand {
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
struct ListArgs {
    #[command(flatten)]
    storage: StorageArgs,
    /// The project's folder, or a file in it.
    #[arg(long, value_name = "DIR|FILE", conflicts_with = "path")]
    project: Option<PathBuf>,
    /// Only jobs in this state.
    #[arg(long, value_parser = STATES)]
    state: Option<String>,
    /// Only jobs of this name.
    #[arg(long)]
    name: Option<String>,
    /// Only jobs of this queue.
    #[arg(long)]
    queue: Option<String>,
    /// At most so many jobs.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct ShowArgs {
    /// The number of the job.
    id: i64,
    #[command(flatten)]
    storage: StorageArgs,
    /// The project's folder, or a file in it.
    #[arg(long, value_name = "DIR|FILE", conflicts_with = "path")]
    project: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct ChangeArgs {
    /// The numbers of the jobs.
    #[arg(value_name = "ID", required = true)]
    ids: Vec<i64>,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(clap::Args)]
struct PruneArgs {
    /// Only those that ended so many days ago.
    #[arg(long, value_name = "N")]
    days: Option<u32>,
    /// All that ended.
    #[arg(long, conflicts_with = "days")]
    all: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

/// The project, where numbers stand in its usual place.
#[derive(clap::Args)]
struct PlaceArgs {
    /// The project's folder, or a file in it.
    #[arg(long, value_name = "DIR|FILE", default_value = ".")]
    project: PathBuf,
    /// The database file [default: what sampan.toml says, or data.db in the project's folder].
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// The configuration file [default: sampan.toml in the project's folder, if there is one].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl PlaceArgs {
    fn storage(self) -> StorageArgs {
        StorageArgs {
            path: self.project,
            db: self.db,
            config: self.config,
        }
    }
}

pub(crate) fn run(args: JobsArgs) -> Result<i32, String> {
    match args.command {
        None => list(args.list),
        Some(JobsCommand::List(args)) => list(args),
        Some(JobsCommand::Show(args)) => show(args),
        Some(JobsCommand::Retry(args)) => {
            let (ids, is_json) = (args.ids, args.place.json);
            let (count, kept) = change(args.place, async move |jobs| {
                let kept = unchanged(&jobs, &ids, &["ready", "running"]).await?;
                Ok((jobs.retry(&ids).await?, kept))
            })?;
            changed(is_json, "retried", (count, kept), "runs now", "run now")
        }
        Some(JobsCommand::Cancel(args)) => {
            let (ids, is_json) = (args.ids, args.place.json);
            let (count, kept) = change(args.place, async move |jobs| {
                let kept = unchanged(&jobs, &ids, &["done", "dead", "cancelled"]).await?;
                Ok((jobs.cancel(&ids).await?, kept))
            })?;
            let count = (count, kept);
            changed(is_json, "cancelled", count, "is cancelled", "are cancelled")
        }
        Some(JobsCommand::Prune(args)) => {
            if args.days.is_none() && !args.all {
                return Err("prune: --days N or --all is missing".to_owned());
            }
            let millis = i64::from(args.days.unwrap_or(0)) * 24 * 3_600 * 1_000;
            let is_json = args.place.json;
            let count = change(args.place, async move |jobs| jobs.prune(millis).await)?;
            let count = (count, Vec::new());
            changed(is_json, "removed", count, "is removed", "are removed")
        }
    }
}

/// Does something with the jobs of a database.
fn with_jobs<T: 'static>(
    storage: StorageArgs,
    work: impl AsyncFnOnce(JobsConsole) -> Result<T, Error> + 'static,
) -> Result<T, String> {
    let storage = storage.resolve()?;
    with_tables(&storage.db, move |tables| {
        Box::pin(work(JobsConsole(tables)))
    })
}

fn change<T: 'static>(
    place: PlaceArgs,
    work: impl AsyncFnOnce(JobsConsole) -> Result<T, Error> + 'static,
) -> Result<T, String> {
    with_jobs(place.storage(), work)
}

/// Returns why jobs are not changed: those that are not there, or in one of these states.
async fn unchanged(jobs: &JobsConsole, ids: &[i64], states: &[&str]) -> Result<Vec<String>, Error> {
    let mut kept = Vec::new();
    for id in ids {
        match jobs.show(*id).await? {
            None => kept.push(no_job(*id)),
            Some(job) if states.contains(&&*job.state) => {
                kept.push(format!("job {id} is {} already", job.state));
            }
            Some(_) => {}
        }
    }
    Ok(kept)
}

fn no_job(id: i64) -> String {
    format!("there is no job {id}: it may have ended, see [jobs] keep_done_days")
}

/// Prints how many jobs were changed, and why others were not. The exit status is 1 if one was not, or there was none.
fn changed(
    is_json: bool,
    key: &str,
    (count, kept): (i64, Vec<String>),
    one: &str,
    more: &str,
) -> Result<i32, String> {
    if is_json {
        say(json!({ key: count }))?;
    } else {
        let verb = if count == 1 { one } else { more };
        let count = u64::try_from(count).unwrap_or(0);
        say(format_args!("{} {verb}", counted(count, "job")))?;
    }
    for reason in &kept {
        let _ = writeln!(io::stderr(), "{reason}");
    }
    Ok(i32::from(count == 0 || !kept.is_empty()))
}

/// The year 10,000, in milliseconds since 1970: a pattern without a next time has a later one.
const NEVER_MILLIS: i64 = 253_402_300_800_000;

/// A time for people, in UTC.
fn time(millis: i64) -> String {
    let since = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    match UNIX_EPOCH.checked_add(since) {
        _ if millis >= NEVER_MILLIS => "never".to_owned(),
        Some(time) => httpdate::fmt_http_date(time),
        None => "never".to_owned(),
    }
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or(Value::Null)
}

fn job_json(job: &JobView) -> Value {
    json!({
        "id": job.id, "name": job.name, "queue": job.queue, "state": job.state, "priority": job.priority,
        "due": job.due, "added": job.added, "attempt": job.attempt, "started": job.started, "ended": job.ended,
        "progress": job.progress, "progress_text": job.progress_text, "args": job.args.as_deref().map(parsed),
        "errors": parsed(&job.errors),
    })
}

fn cron_json(cron: &CronView) -> Value {
    let next = Some(cron.next).filter(|next| *next < NEVER_MILLIS);
    json!({ "name": cron.name, "pattern": cron.pattern, "tz": cron.zone, "next": next })
}

fn list(mut args: ListArgs) -> Result<i32, String> {
    if let Some(project) = args.project {
        args.storage.path = project;
    }
    let is_filtered = args.state.is_some() || args.name.is_some() || args.queue.is_some();
    let filter = JobFilter {
        state: args.state,
        name: args.name,
        queue: args.queue,
        count_max: args.limit,
    };
    let (counts, crons, jobs) = with_jobs(args.storage, async move |jobs| {
        Ok((
            jobs.counts().await?,
            jobs.crons().await?,
            jobs.list(&filter).await?,
        ))
    })?;
    if args.json {
        let counts = counts
            .iter()
            .map(|(queue, state, count)| json!({ "queue": queue, "state": state, "count": count }));
        say(json!({
            "counts": counts.collect::<Vec<_>>(),
            "crons": crons.iter().map(cron_json).collect::<Vec<_>>(),
            "jobs": jobs.iter().map(job_json).collect::<Vec<_>>(),
        }))?;
        return Ok(0);
    }
    if is_filtered {
        // The counts and the crons are of all jobs.
        for job in &jobs {
            say(line(job))?;
        }
        if jobs.is_empty() {
            say("no such jobs")?;
        }
        return Ok(0);
    }
    if counts.is_empty() && crons.is_empty() {
        say("no jobs")?;
        return Ok(0);
    }
    for (queue, state, count) in &counts {
        say(format_args!("{queue}: {count} {state}"))?;
    }
    for cron in &crons {
        let CronView {
            name,
            pattern,
            zone,
            next,
        } = cron;
        say(format_args!(
            "cron {name} ({pattern}, {zone}): next {}",
            time(*next)
        ))?;
    }
    for job in &jobs {
        say(line(job))?;
    }
    Ok(0)
}

fn line(job: &JobView) -> String {
    let JobView {
        id,
        name,
        state,
        attempt,
        ..
    } = job;
    let mut line = format!("{id} {name}: {state}");
    if *attempt > 0 {
        line += &format!(", attempt {attempt}");
    }
    if state == "scheduled" {
        line += &format!(", due {}", time(job.due));
    }
    if let Some(progress) = job.progress.filter(|_| state == "running") {
        line += &format!(
            ", {progress} {}",
            job.progress_text.as_deref().unwrap_or_default()
        );
    }
    if let Some(error) = last_error(job).filter(|_| state != "done") {
        line += &format!(": {}", error.lines().next().unwrap_or_default());
    }
    line.trim_end().to_owned()
}

fn last_error(job: &JobView) -> Option<String> {
    let errors = parsed(&job.errors);
    let last = errors.as_array()?.last()?.get("error")?;
    last.as_str().map(str::to_owned)
}

fn show(mut args: ShowArgs) -> Result<i32, String> {
    let id = args.id;
    if let Some(project) = args.project {
        args.storage.path = project;
    }
    let job = with_jobs(args.storage, async move |jobs| jobs.show(id).await)?;
    let job = job.ok_or_else(|| no_job(id))?;
    if args.json {
        say(job_json(&job))?;
        return Ok(0);
    }
    say(line(&job))?;
    say(format_args!(
        "queue {}, priority {}",
        job.queue, job.priority
    ))?;
    say(format_args!(
        "added {}, due {}",
        time(job.added),
        time(job.due)
    ))?;
    if let Some(started) = job.started {
        say(format_args!("last attempt begun {}", time(started)))?;
    }
    if let Some(ended) = job.ended {
        say(format_args!("ended {}", time(ended)))?;
    }
    let args = job.args.as_deref().unwrap_or_default();
    match args.len() > SHOWN_ARGS_BYTES_MAX {
        false => say(format_args!("arguments {args}"))?,
        true => {
            let start = &args[..args.floor_char_boundary(SHOWN_ARGS_BYTES_MAX)];
            say(format_args!(
                "arguments {start}... ({} bytes; --json prints all)",
                args.len()
            ))?;
        }
    }
    for error in parsed(&job.errors).as_array().into_iter().flatten() {
        let at = error["at"].as_i64().unwrap_or(0);
        let text = error["error"].as_str().unwrap_or_default();
        say(format_args!(
            "attempt {}, {}: {text}",
            error["attempt"],
            time(at)
        ))?;
    }
    Ok(0)
}
