//! All that can be found wrong with a project before a request.

use super::express;
use super::look::look;
use super::promises::{missing_awaits, misused_promises};
use super::unmatched;
use crate::app_config::AppConfig;
use crate::capabilities;
use crate::listening::ServerCertificates;
use crate::local_app::LocalApp;
use crate::migrations::migrations_of;
use crate::server::acme::acme_settings;
use sampan_acme::AcmeSettings;
use sampan_db::migrate::{self, MigrationState};
use sampan_host::capability::{KnownTexts, ProjectCheck};
use sampan_host::log::Level;
use sampan_host::names::{file_hint, hint};
use sampan_log::Logger;
use sampan_project::Project;
use sampan_project::config::Flags;
use sampan_project::inspect::calls::{self, CallKind};
use sampan_project::inspect::misplaced;
use sampan_project::inspect::read_files::ReadFiles;
use sampan_project::inspect::unused;
use sampan_project::inspect::{Finding, Severity};
use std::path::Path;

/// The findings about a project, and the number of checked files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// The findings.
    pub findings: Vec<Finding>,
    /// The number of templates.
    pub templates: usize,
    /// The number of migrations.
    pub migrations: usize,
    /// The number of routes. Nothing if the project does not load.
    pub routes: Option<usize>,
    /// True if the scripts were to be loaded: earlier findings did not keep them from it.
    pub is_load_tried: bool,
}

/// Checks configuration, templates, texts, migrations and scripts, and looks for files that nothing uses. `scratch` is
/// a folder of the caller's for a database and for what scripts keep.
pub fn check(flags: &Flags, scratch: &Path) -> CheckReport {
    let mut report = CheckReport::default();
    let fault = match AppConfig::resolve(flags) {
        Ok(config) => checked(config, scratch, &mut report),
        Err(fault) => Err(fault),
    };
    if let Err(fault) = fault {
        report.findings.extend(Finding::errors(&fault));
    }
    if let Ok(project) = Project::find(&flags.path) {
        report
            .findings
            .iter_mut()
            .for_each(|finding| finding.shorten_file(project.root()));
    }
    report
}

/// Checks all but the configuration. The error is what kept the project from loading, where nothing before has told it.
fn checked(mut config: AppConfig, scratch: &Path, report: &mut CheckReport) -> Result<(), String> {
    let (project, files) = ReadFiles::of(&config.base.project);
    config.base.project = project.clone();
    config.program.logger = Logger::captured(Level::Warn);
    let mut found = ProjectCheck::new(config.project_settings(), project.sources());
    capabilities::ordered().for_each(|one| (one.check)(&mut found));
    let ProjectCheck {
        faults,
        warnings,
        templates,
        text_keys,
        texts,
        ..
    } = found;
    report.templates = templates.len();
    let mut told: Vec<String> = faults;
    told.extend(migration_faults(&config, report)?);
    told.extend(certificate_fault(&config));
    let can_load = told.is_empty();
    let mut warned = config.base.warnings.clone();
    warned.extend(capabilities::warnings(&config.project_settings()));
    report.findings.extend(warned.iter().map(|text| Finding {
        severity: Severity::Warning,
        ..Finding::error(text)
    }));
    report
        .findings
        .extend(told.iter().map(|told| Finding::error(told)));
    if !can_load {
        // Loading would only tell the first of them again.
        return Ok(());
    }
    let is_on_server = config.database.config.is_postgres();
    let missing_awaits = match is_on_server {
        true => missing_awaits(&config)?,
        false => Vec::new(),
    };
    report.findings.extend_from_slice(&missing_awaits);
    let folder = config.serving.static_files.folder.clone();
    let written = config.written_folders();
    let looked = |app: &LocalApp| (app.rows(), app.route_names(), app.log());
    report.is_load_tried = true;
    let (rows, names, log) =
        look(config.clone(), scratch, looked).map_err(|fault| match is_on_server {
            true => format!(
                "{fault}\n  (loaded with a file of SQLite: a check writes nothing into a server)"
            ),
            false => fault,
        })?;
    report.routes = Some(rows.iter().filter(|row| row.method.is_some()).count());
    report.findings.extend(logged(&log));
    let written = written.iter().map(|folder| name_of(&folder.path));
    let skipped: Vec<String> = written.chain([folder.clone()]).collect();
    let skipped: Vec<&str> = skipped.iter().map(String::as_str).collect();
    let scripts = unused::Scripts::of(&project, &files, &skipped);
    let unmatched = unmatched::settings(&config, &rows, scripts.texts());
    report.findings.extend(unmatched.iter().map(|text| Finding {
        severity: Severity::Warning,
        ..Finding::error(text)
    }));
    let no_parameters = unmatched::parameters(&rows, scripts.texts());
    report.findings.extend(no_parameters);
    let of_express = express::error_handlers(scripts.texts());
    report.findings.extend(of_express);
    let misused = misused_promises(scripts.texts());
    let is_new = |one: &Finding| {
        let mut told = missing_awaits.iter();
        !told.any(|told| (&told.file, told.line) == (&one.file, one.line))
    };
    let misused = misused.into_iter().filter(is_new);
    report.findings.extend(misused);
    for warning in warnings {
        let finding = Finding::warning(&warning.file, warning.line, warning.text);
        report.findings.push(finding);
    }
    let missing = |key: &str| {
        texts
            .as_deref()
            .and_then(|texts: &dyn KnownTexts| texts.missing(key))
    };
    for asked in text_keys {
        let finding = missing(&asked.key);
        let finding = finding.map(|text| Finding::warning(&asked.file, Some(asked.line), text));
        report.findings.extend(finding);
    }
    for call in calls::of(scripts.texts(), &project, &templates) {
        let (name, shown) = (&call.name, &call.shown);
        let text = match call.kind {
            CallKind::Text => match missing(name) {
                Some(text) => text,
                None => continue,
            },
            CallKind::Route if names.contains(name) => continue,
            CallKind::Route => {
                let hint = hint(name, names.iter().map(String::as_str));
                format!("{shown}: no route has this name{hint}")
            }
            CallKind::Template if templates.is_empty() => format!(
                "{shown}: there is no templates/{name}: the project has no templates, which lie in its folder \
                 templates/"
            ),
            CallKind::Template => {
                let hint = file_hint(name, &templates);
                format!("{shown}: there is no templates/{name}{hint}")
            }
            CallKind::Asset if project.root().join(&folder).join(name).is_file() => continue,
            CallKind::Asset => format!("{shown}: there is no {folder}/{name}"),
        };
        let finding = Finding::warning(&call.file, Some(call.line), text);
        report.findings.push(finding);
    }
    report.findings.extend(scripts.unused(&project, &templates));
    let misplaced = misplaced::findings(&project, &folder, &skipped, scripts.texts());
    report.findings.extend(misplaced);
    Ok(())
}

/// Reads the files of `[tls]` as a server does. The log is told of certificates that have expired.
fn certificate_fault(config: &AppConfig) -> Option<String> {
    let tls = config.base.tls.as_ref()?;
    let read = |acme: Option<AcmeSettings>| {
        ServerCertificates::read(
            tls,
            acme.as_ref(),
            config.serving.takes_http2,
            &config.program.logger,
        )
    };
    match acme_settings(config).and_then(read) {
        Ok((_, warnings)) => {
            let logger = &config.program.logger;
            warnings
                .into_iter()
                .for_each(|warning| logger.text(Level::Warn, warning));
            None
        }
        Err(fault) => Some(fault),
    }
}

/// Parses the log of loading: an entry begins with its time and its level.
fn logged(log: &str) -> Vec<Finding> {
    let entries = log.lines().filter_map(|line| {
        let (_, rest) = line.split_once(' ')?;
        let (level, text) = rest.split_once(' ')?;
        let severity = match level.trim() {
            "ERROR" => Severity::Error,
            "WARN" => Severity::Warning,
            _ => return None,
        };
        let finding = Finding::error(text.trim_start());
        Some(Finding {
            severity,
            ..finding
        })
    });
    entries.collect()
}

/// The last part of a path.
fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Finds reasons why the project's own database cannot be migrated. Whether migrations run at all shows when the
/// project is loaded.
fn migration_faults(config: &AppConfig, report: &mut CheckReport) -> Result<Vec<String>, String> {
    let migrations = migrations_of(&config.base.project)?;
    if !migrations.exist() {
        return Ok(Vec::new());
    }
    let entries = match migrate::status(&config.database.config, &migrations) {
        Ok(entries) => entries,
        Err(error) => return Ok(vec![error.to_string()]),
    };
    report.migrations = entries.len();
    let hints = migrate::hints(&config.database.config, &migrations);
    for hint in hints.unwrap_or_default() {
        let file = format!("migrations/{}", name_of(&hint.file));
        let line = u32::try_from(hint.line).ok();
        report
            .findings
            .push(Finding::warning(&file, line, hint.text));
    }
    let database = config.database.config.shown();
    let told = entries.iter().filter_map(|entry| {
        let what = match &entry.state {
            MigrationState::Applied(_) | MigrationState::Pending => return None,
            MigrationState::Changed(at) => {
                format!("it was changed since it was applied to {database} at {at}")
            }
            MigrationState::Missing(at) => {
                format!("there is no file, but it was applied to {database} at {at}")
            }
            MigrationState::Late => format!("later ones were applied to {database} already"),
        };
        Some(format!("migrations/{}.sql:1: {what}", entry.name))
    });
    Ok(told.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_an_error_is_taken_apart() {
        for (told, file, line, column, text) in [
            (
                "m/0001_a.sql:1:20: no such",
                "m/0001_a.sql",
                1,
                Some(20),
                "no such",
            ),
            ("app.lua:3: a: b", "app.lua", 3, None, "a: b"),
        ] {
            let found = Finding::error(told);
            let place = (found.file.as_deref(), found.line, found.column);
            assert_eq!(place, (Some(file), Some(line), column));
            assert_eq!(
                (found.text.as_str(), found.to_string()),
                (text, told.to_owned())
            );
        }
        let found = Finding::error("it is wrong: 3: really");
        assert_eq!((found.file, found.line), (None, None));
    }
}
