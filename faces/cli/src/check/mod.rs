//! `sampan check`: all that can be found wrong with a project before a request. `routes` has `sampan routes`.

pub(crate) mod routes;
mod types;

use crate::terminal::paint;
use crate::terminal::print::{counted, say};
use crate::terminal::signals;
use sampan_project::config::Flags;
use sampan_project::inspect::{Finding, Severity};
use sampan_runtime::CheckReport;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

/// The arguments of `sampan check`.
#[derive(clap::Args)]
pub(crate) struct CheckArgs {
    /// The project's folder, or the file in it that is run.
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    path: PathBuf,
    /// Check types as well, with the project's TypeScript or the one on PATH.
    #[arg(long)]
    types: bool,
    /// Print an object of JSON for each finding, and one at the end.
    #[arg(long)]
    json: bool,
    /// The database that the project will have: with a PostgreSQL server, calls without await are found.
    #[arg(long, value_name = "FILE|URL")]
    db: Option<PathBuf>,
    /// The configuration file [default: sampan.toml in the project's folder, if there is one].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Prints what is wrong. The exit status is 1 if there are errors; warnings alone are 0.
pub(crate) fn run(args: CheckArgs) -> Result<i32, String> {
    let flags = Flags {
        path: args.path.clone(),
        config: args.config,
        db: args.db,
        env_file: sampan_project::config::EnvFile::OfProject,
        ..Flags::default()
    };
    let scratch = signals::scratch("sampan-check-")?;
    let mut report = sampan_runtime::check(&flags, scratch.path());
    if args.types {
        let checked = types::check(&args.path);
        report
            .findings
            .extend(checked.unwrap_or_else(|fault| vec![Finding::error(&fault)]));
    }
    let is_error = |finding: &&Finding| finding.severity == Severity::Error;
    let errors = report.findings.iter().filter(is_error).count();
    let is_coloured = paint::is_coloured(io::stdout().is_terminal());
    for finding in &report.findings {
        match args.json {
            true => say(json(finding))?,
            false => say(shown(finding, is_coloured))?,
        }
    }
    let warnings = report.findings.len() - errors;
    match args.json {
        true => say(summary_json(&report, errors, warnings))?,
        false => say(summary(&report, errors, warnings))?,
    }
    Ok(i32::from(errors > 0))
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn shown(finding: &Finding, is_coloured: bool) -> String {
    let word = word(finding.severity);
    let colour = match finding.severity {
        Severity::Error => "31",
        Severity::Warning => "33",
    };
    match is_coloured {
        true => format!("\u{1b}[{colour}m{word}\u{1b}[0m: {finding}"),
        false => format!("{word}: {finding}"),
    }
}

fn json(finding: &Finding) -> serde_json::Value {
    serde_json::json!({
        "severity": word(finding.severity), "file": finding.file, "line": finding.line,
        "column": finding.column, "message": finding.text,
    })
}

fn summary(report: &CheckReport, errors: usize, warnings: usize) -> String {
    let mut parts = Vec::new();
    match report.routes {
        Some(routes) => parts.push(counted(routes as u64, "route")),
        None if !report.is_load_tried => parts.push("the scripts were not loaded".to_owned()),
        // An error says why.
        None => {}
    }
    for (count, one) in [
        (report.templates, "template"),
        (report.migrations, "migration"),
    ] {
        if count > 0 {
            parts.push(counted(count as u64, one));
        }
    }
    let what = match (errors, warnings) {
        (0, 0) => "all is well".to_owned(),
        (errors, warnings) => format!(
            "{}, {}",
            counted(errors as u64, "error"),
            counted(warnings as u64, "warning")
        ),
    };
    match parts.is_empty() {
        true => what,
        false => format!("{what} ({})", parts.join(", ")),
    }
}

fn summary_json(report: &CheckReport, errors: usize, warnings: usize) -> serde_json::Value {
    serde_json::json!({
        "errors": errors, "warnings": warnings, "routes": report.routes, "templates": report.templates,
        "migrations": report.migrations,
    })
}
