//! Promises that scripts use as if they were their values.

use crate::capabilities;
use sampan_host::module::RowOwner;
use sampan_host::names::camel_case;
use sampan_host::{Function, FunctionKind};
use sampan_project::Language;
use sampan_project::inspect::Finding;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
