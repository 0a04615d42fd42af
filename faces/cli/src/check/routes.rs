//! `sampan routes`: what a project answers, what looks at its requests, and its work apart from them.

use crate::terminal::print::say;
use crate::terminal::signals;
use sampan_host::Place;
use sampan_project::config::Flags;
use sampan_runtime::{
    AppConfig, ProjectDeclarations, RouteKind, RouteLaneWord, RouteRow, WorkKind, WorkRow,
};
use std::path::PathBuf;

/// The arguments of `sampan routes`.
#[derive(clap::Args)]
pub(crate) struct RoutesArgs {
    /// The project's folder, or the file in it that is run.
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    path: PathBuf,
    /// Print an object of JSON for each row.
    #[arg(long)]
    json: bool,
    /// The database that the project will have. A PostgreSQL server is not asked.
    #[arg(long, value_name = "FILE|URL")]
    db: Option<PathBuf>,
    /// The configuration file [default: sampan.toml in the project's folder, if there is one].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Prints middleware first, as requests meet it, then the routes in the order of their declaration, what answers the
/// rest, and jobs and schedules.
pub(crate) fn run(args: RoutesArgs) -> Result<(), String> {
    let config = AppConfig::resolve(&Flags {
        path: args.path,
        config: args.config,
        db: args.db,
        env_file: sampan_project::config::EnvFile::OfProject,
        ..Flags::default()
    })?;
    let scratch = signals::scratch("sampan-routes-")?;
    let ProjectDeclarations { routes, work } = sampan_runtime::routes(config, scratch.path())?;
    if args.json {
        let mut rows = routes.iter().map(json).chain(work.iter().map(json_of_work));
        return rows.try_for_each(say);
    }
    if routes.is_empty() {
        say("no routes: every answer is 404")?;
    }
    let lines = routes.iter().map(line).chain(work.iter().map(line_of_work));
    let lines: Vec<ListedLine> = lines.collect();
    let width =
        |text: fn(&ListedLine) -> &str| lines.iter().map(|row| text(row).chars().count()).max();
    let (first, second) = (width(|row| &row.subject), width(|row| &row.name));
    let (first, second) = (first.unwrap_or(0), second.unwrap_or(0));
    for ListedLine {
        subject,
        name,
        place,
        note,
    } in &lines
    {
        let line = format!("{subject:first$}  {name:second$}  {place} {note}");
        say(line.trim_end())?;
    }
    Ok(())
}

/// The columns of a row.
struct ListedLine {
    subject: String,
    /// The pattern of a route, the name of a job.
    name: String,
    place: String,
    note: String,
}

fn line(row: &RouteRow) -> ListedLine {
    let note = match (row.kind, row.lane) {
        (RouteKind::Value, _) => "(a value, answered without the script)",
        (RouteKind::Guard, _) => "(native)",
        (RouteKind::Fetch, _) => "(has routes of its own)",
        (_, Some(RouteLaneWord::Slow)) => "(slow)",
        (_, Some(RouteLaneWord::Quick)) => "(never slow)",
        (_, Some(RouteLaneWord::Learned)) => "(measured slow)",
        _ => "",
    };
    ListedLine {
        subject: subject(row),
        name: row.pattern.clone(),
        place: text_of(row.place.as_ref()),
        note: note.to_owned(),
    }
}

fn line_of_work(row: &WorkRow) -> ListedLine {
    let (subject, name, note) = match &row.kind {
        WorkKind::Job { name, queue } => ("job", name.clone(), format!("(queue {queue})")),
        WorkKind::Cron {
            name,
            queue,
            pattern,
            zone,
        } => (
            "cron",
            name.clone(),
            format!("({pattern}, {zone}, queue {queue})"),
        ),
        WorkKind::Timer { pause } => (
            "every",
            format!("{} s", pause.as_secs_f64()),
            "(in each worker)".to_owned(),
        ),
    };
    ListedLine {
        subject: subject.to_owned(),
        name,
        place: text_of(row.place.as_ref()),
        note,
    }
}

fn text_of(place: Option<&Place>) -> String {
    place.map_or_else(String::new, Place::to_string)
}

/// The protocol or the method of a route; of other things, what they are.
fn subject(row: &RouteRow) -> String {
    match (&row.protocol, &row.method, row.kind) {
        (Some(protocol), _, _) => protocol.to_uppercase(),
        (None, Some(method), _) => method.clone(),
        (None, None, RouteKind::Guard | RouteKind::Middleware) => "use".to_owned(),
        (None, None, kind) => kind.word().to_owned(),
    }
}

fn json(row: &RouteRow) -> serde_json::Value {
    serde_json::json!({
        "kind": row.kind.word(), "method": row.method, "protocol": row.protocol, "pattern": row.pattern,
        "lane": row.lane.map(|lane| match lane {
            RouteLaneWord::Measured => "measured",
            RouteLaneWord::Slow => "slow",
            RouteLaneWord::Quick => "quick",
            RouteLaneWord::Learned => "measured slow",
        }),
        "file": row.place.as_ref().map(|place| &place.file), "line": row.place.as_ref().map(|place| place.line),
    })
}

fn json_of_work(row: &WorkRow) -> serde_json::Value {
    let mut object = match &row.kind {
        WorkKind::Job { name, queue } => {
            serde_json::json!({ "kind": "job", "name": name, "queue": queue })
        }
        WorkKind::Cron {
            name,
            queue,
            pattern,
            zone,
        } => serde_json::json!({
            "kind": "cron", "name": name, "queue": queue, "schedule": pattern, "tz": zone,
        }),
        WorkKind::Timer { pause } => {
            serde_json::json!({ "kind": "every", "seconds": pause.as_secs_f64() })
        }
    };
    object["file"] = row.place.as_ref().map(|place| &*place.file).into();
    object["line"] = row.place.as_ref().map(|place| place.line).into();
    object
}
