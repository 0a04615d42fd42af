//! `sampan jobs`: the jobs and the crons of a project's database, and what people change.

mod arguments;

use crate::arguments::database::{StorageArgs, with_meant_command};
use crate::terminal::escaped;
use crate::terminal::print::{counted, say};
pub(crate) use arguments::JobsArgs;
use arguments::{JobsCommand, ListArgs, PlaceArgs, ShowArgs};
use sampan_host::Error;
use sampan_jobs::console::JobsConsole;
use sampan_jobs::{CronView, JobFilter, JobView};
use sampan_runtime::with_tables;
use serde_json::{Value, json};
use std::io::{self, Write as _};
use std::time::{Duration, UNIX_EPOCH};

/// The number of jobs of a list, unless the command says otherwise.
const LISTED: usize = 20;

/// The most bytes of a job's arguments that are printed for people.
const SHOWN_ARGS_BYTES_MAX: usize = 2_000;

pub(crate) fn run(args: JobsArgs) -> Result<i32, String> {
    let JobsArgs {
        command,
        place,
        list: own,
    } = args;
    let Some(command) = command else {
        let path = own.path.clone().unwrap_or_else(|| ".".into());
        let meant = |fault| with_meant_command::<JobsCommand>(&path, fault);
        return list(place, own).map_err(meant);
    };
    own.check_unused()?;
    let is_json = place.json;
    match command {
        JobsCommand::List(args) => list(place, args),
        JobsCommand::Show(args) => show(place, args),
        JobsCommand::Retry(args) => {
            let ids = args.ids;
            let (count, kept) = change(place, async move |jobs| {
                let kept = unchanged(&jobs, &ids, &["ready", "running"]).await?;
                Ok((jobs.retry(&ids).await?, kept))
            })?;
            changed(
                is_json,
                "retried",
                (count, kept),
                "is retried",
                "are retried",
            )
        }
        JobsCommand::Cancel(args) => {
            let ids = args.ids;
            let (count, kept) = change(place, async move |jobs| {
                let kept = unchanged(&jobs, &ids, &["done", "dead", "cancelled"]).await?;
                Ok((jobs.cancel(&ids).await?, kept))
            })?;
            let count = (count, kept);
            changed(is_json, "cancelled", count, "is cancelled", "are cancelled")
        }
        JobsCommand::Prune(args) => {
            if args.days.is_none() && !args.all {
                return Err("prune: --days N or --all is missing".to_owned());
            }
            let millis = i64::from(args.days.unwrap_or(0)) * 24 * 3_600 * 1_000;
            let count = change(place, async move |jobs| jobs.prune(millis).await)?;
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
    with_jobs(place.storage(None)?, work)
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

fn list(place: PlaceArgs, args: ListArgs) -> Result<i32, String> {
    let is_json = place.json;
    let storage = place.storage(args.path)?;
    let is_filtered = args.state.is_some() || args.name.is_some() || args.queue.is_some();
    let filter = JobFilter {
        state: args.state,
        name: args.name,
        queue: args.queue,
        count_max: args.limit.unwrap_or(LISTED),
    };
    let (counts, crons, jobs) = with_jobs(storage, async move |jobs| {
        Ok((
            jobs.counts().await?,
            jobs.crons().await?,
            jobs.list(&filter).await?,
        ))
    })?;
    if is_json {
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
    if counts.is_empty() {
        say("no jobs")?;
    }
    for (queue, state, count) in &counts {
        let queue = escaped::line(queue);
        say(format_args!("{queue}: {count} {state}"))?;
    }
    for cron in &crons {
        let CronView {
            name,
            pattern,
            zone,
            next,
        } = cron;
        let told = format!("cron {name} ({pattern}, {zone}): next {}", time(*next));
        say(escaped::line(&told))?;
    }
    for job in &jobs {
        say(line(job))?;
    }
    Ok(0)
}

/// A job in one line. Its name and its texts may hold data of users.
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
    escaped::line(line.trim_end())
}

fn last_error(job: &JobView) -> Option<String> {
    let errors = parsed(&job.errors);
    let last = errors.as_array()?.last()?.get("error")?;
    last.as_str().map(str::to_owned)
}

fn show(place: PlaceArgs, args: ShowArgs) -> Result<i32, String> {
    let (id, is_json) = (args.id, place.json);
    let storage = place.storage(args.path)?;
    let job = with_jobs(storage, async move |jobs| jobs.show(id).await)?;
    let job = job.ok_or_else(|| no_job(id))?;
    if is_json {
        say(job_json(&job))?;
        return Ok(0);
    }
    say(line(&job))?;
    let queue = escaped::line(&job.queue);
    say(format_args!("queue {queue}, priority {}", job.priority))?;
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
        false => say(format_args!("arguments {}", escaped::lines(args)))?,
        true => {
            let start = &args[..args.floor_char_boundary(SHOWN_ARGS_BYTES_MAX)];
            say(format_args!(
                "arguments {}... ({} bytes; --json prints all)",
                escaped::lines(start),
                args.len()
            ))?;
        }
    }
    for error in parsed(&job.errors).as_array().into_iter().flatten() {
        let at = error["at"].as_i64().unwrap_or(0);
        let text = escaped::lines(error["error"].as_str().unwrap_or_default());
        say(format_args!(
            "attempt {}, {}: {text}",
            error["attempt"],
            time(at)
        ))?;
    }
    Ok(0)
}
