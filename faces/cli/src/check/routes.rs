//! `sampan routes`: what a project answers, and what looks at its requests.

use crate::{say, signals};
use sampan_host::Place;
use sampan_project::config::Flags;
use sampan_runtime::{AppConfig, RouteKind, RouteLaneWord, RouteRow};
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

/// Prints middleware first, as requests meet it, then the routes in the order of their declaration, and what answers
/// the rest.
pub(crate) fn run(args: RoutesArgs) -> Result<(), String> {
    let config = AppConfig::resolve(&Flags {
        path: args.path,
        config: args.config,
        db: args.db,
        env_file: sampan_project::config::EnvFile::OfProject,
        ..Flags::default()
    })?;
    let scratch = signals::scratch("sampan-routes-")?;
    let rows = sampan_runtime::routes(config, scratch.path())?;
    if args.json {
        for row in &rows {
            say(json(row))?;
        }
        return Ok(());
    }
    if rows.is_empty() {
        return say("no routes: every answer is 404");
    }
    let width =
        |text: fn(&RouteRow) -> &str| rows.iter().map(|row| text(row).chars().count()).max();
    let (first, second) = (width(subject), width(|row| &row.pattern));
    let (first, second) = (first.unwrap_or(0), second.unwrap_or(0));
    for row in &rows {
        let place = row
            .place
            .as_ref()
            .map_or_else(String::new, Place::to_string);
        let note = match (row.kind, row.lane) {
            (RouteKind::Value, _) => "(a value, answered without the script)",
            (RouteKind::Guard, _) => "(native)",
            (RouteKind::Fetch, _) => "(has routes of its own)",
            (_, Some(RouteLaneWord::Slow)) => "(slow)",
            (_, Some(RouteLaneWord::Quick)) => "(never slow)",
            (_, Some(RouteLaneWord::Learned)) => "(measured slow)",
            _ => "",
        };
        let line = format!(
            "{:first$}  {:second$}  {place} {note}",
            subject(row),
            row.pattern
        );
        say(line.trim_end())?;
    }
    Ok(())
}

/// The method of a route; of other things, what they are.
fn subject(row: &RouteRow) -> &str {
    match (&row.method, row.kind) {
        (Some(method), _) => method,
        (None, RouteKind::Guard | RouteKind::Middleware) => "use",
        (None, kind) => kind.word(),
    }
}

fn json(row: &RouteRow) -> serde_json::Value {
    serde_json::json!({
        "kind": row.kind.word(), "method": row.method, "pattern": row.pattern,
        "lane": row.lane.map(|lane| match lane {
            RouteLaneWord::Measured => "measured",
            RouteLaneWord::Slow => "slow",
            RouteLaneWord::Quick => "quick",
            RouteLaneWord::Learned => "measured slow",
        }),
        "file": row.place.as_ref().map(|place| &place.file), "line": row.place.as_ref().map(|place| place.line),
    })
}
