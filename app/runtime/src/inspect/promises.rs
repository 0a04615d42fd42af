//! Promises that scripts use as if they were their values.

use crate::app_config::AppConfig;
use crate::capabilities;
use sampan_host::log::Level;
use sampan_host::module::RowOwner;
use sampan_host::names::camel_case;
use sampan_host::settings::AllSettings;
use sampan_host::{Function, FunctionKind};
use sampan_project::Language;
use sampan_project::inspect::Finding;

/// The most calls without `await` that a server names when it starts.
const MISSING_AWAITS_TOLD_MAX: usize = 20;

/// Lists the promises that scripts in JavaScript use as if they were their values. `scripts` are files with their
/// texts.
pub fn misused_promises(scripts: &[(String, String)]) -> Vec<Finding> {
    let waiting = waiting();
    let mut findings = Vec::new();
    for (file, text) in scripts {
        if Language::of(file) == Some(Language::Js) {
            let found = sampan_js_modules::promise_uses(file, text, &waiting);
            let found = found.into_iter();
            findings.extend(found.map(|one| Finding::warning(file, Some(one.line), one.text)));
        }
    }
    findings
}

/// Finds calls of `db` in the scripts that the project reaches whose promise nothing awaits on PostgreSQL, and promises
/// of functions that give one because a setting wants it.
///
/// # Errors
/// A script cannot be found or parsed.
pub(super) fn missing_awaits(config: &AppConfig) -> Result<Vec<Finding>, String> {
    let project = &config.base.project;
    if project.language() != Some(Language::Js) {
        return Ok(Vec::new());
    }
    let waiting = waiting_by(&config.base.sections);
    let mut findings = Vec::new();
    for (file, text) in sampan_project::build::scripts(project)? {
        if !waiting.is_empty() {
            let found = sampan_js_modules::promise_uses(&file, &text, &waiting).into_iter();
            findings.extend(found.map(|one| Finding::warning(&file, Some(one.line), one.text)));
        }
        for one in sampan_js_modules::missing_awaits(&file, &text) {
            let call = one.call;
            let text = format!(
                "{call} gives a promise on PostgreSQL, which nothing awaits: write await {call}(...)"
            );
            findings.push(Finding::warning(&file, Some(one.line), text));
        }
    }
    Ok(findings)
}

/// Logs the calls without `await` of a project that is served on PostgreSQL: where a script only asks whether there is
/// a row, no error tells of them.
pub(crate) fn warn_of_missing_awaits(config: &AppConfig) {
    if !config.database.config.is_postgres() {
        return;
    }
    // Faults of the project are reported when it is loaded.
    let found = missing_awaits(config).unwrap_or_default();
    let logger = &config.program.logger;
    for one in found.iter().take(MISSING_AWAITS_TOLD_MAX) {
        logger.text(Level::Warn, one.to_string());
    }
    let others = found.len().saturating_sub(MISSING_AWAITS_TOLD_MAX);
    if others > 0 {
        let text = format!("{others} more calls of db are not awaited: sampan check lists them");
        logger.text(Level::Warn, text);
    }
}

/// The functions that give a promise in JavaScript on every database, with the names of their modules.
fn waiting() -> Vec<(String, String)> {
    let waits = |row: &&Function| {
        matches!(
            row.kind,
            FunctionKind::Async(_) | FunctionKind::AsyncBracket { .. } | FunctionKind::Fill { .. }
        )
    };
    let mut found = Vec::new();
    for module in capabilities::modules().iter().filter(|one| one.is_seen()) {
        let methods = module.request_methods;
        for (owner, rows) in [
            (module.name, module.functions),
            (RowOwner::REQUEST.name, methods),
        ] {
            let rows = rows.iter().filter(waits);
            found.extend(rows.map(|row| (camel_case(owner), camel_case(row.name))));
        }
    }
    found
}

/// The functions that give a promise in JavaScript on PostgreSQL because of these settings, with the names of their
/// modules.
fn waiting_by(settings: &AllSettings) -> Vec<(String, String)> {
    let set = capabilities::modules().iter();
    let set = set.filter(|one| one.elsewhere_if.is_some());
    let mut found = Vec::new();
    for module in set.filter_map(|one| one.elsewhere_by(settings)) {
        let rows = module.functions.iter().filter(|row| row.kind.waits());
        found.extend(rows.map(|row| (camel_case(module.name), camel_case(row.name))));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::settings::SettingValue;

    #[test]
    fn only_what_always_waits_is_known() {
        let known = waiting();
        let is_known = |module: &str, name: &str| {
            known
                .iter()
                .any(|(owner, row)| owner == module && row == name)
        };
        for (module, name) in [
            ("password", "verify"),
            ("db", "transaction"),
            ("db", "queryAsync"),
            ("cache", "once"),
            ("req", "csvRecords"),
        ] {
            assert!(is_known(module, name), "{module}.{name}: {known:?}");
        }
        for (module, name) in [("db", "query"), ("session", "endAll"), ("mail", "send")] {
            assert!(!is_known(module, name), "{module}.{name}");
        }
    }

    #[test]
    fn what_waits_by_a_setting_is_known_where_it_is_set() {
        let mut settings = AllSettings::new(capabilities::sections(), "sampan.toml");
        assert_eq!(waiting_by(&settings), []);
        let (value, text) = (Some(SettingValue::Flag(true)), "true".to_owned());
        settings
            .put(("cache", "shared"), value, text, "test".to_owned())
            .expect("valid");
        let get = ("cache".to_owned(), "get".to_owned());
        assert!(waiting_by(&settings).contains(&get));
    }
}
