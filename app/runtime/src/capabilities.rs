//! The capabilities of the program: one line for each. Nothing else here knows one by its name, except the database and
//! the log, which the server opens before anything is loaded.

use crate::app_config::limits;
use crate::crash::settings as crash;
use crate::health::declared as health_checks;
use crate::health::settings as health;
use crate::hooks;
use crate::lane::settings as lane;
use crate::metrics::settings as metrics;
use crate::sandbox::settings as sandbox;
use crate::worker::timers;
use sampan_db::{DatabaseConfig, make_own_tables};
use sampan_host::capability::{self, Capability, ProjectSettings};
use sampan_host::database::OwnTable;
use sampan_host::settings::{AllSettings, Section};
use sampan_host::{Context, Module};
use sampan_project::config;
use std::sync::{LazyLock, Mutex, PoisonError};

/// All of them, in the order in which their sections and their functions are shown.
static CAPABILITIES: &[&Capability] = &[
    &SERVER,
    &timers::CAPABILITY,
    &sampan_log::CAPABILITY,
    &sampan_db::CAPABILITY,
    &sampan_backup::CAPABILITY,
    &sampan_template::CAPABILITY,
    &sampan_crypto::CAPABILITY,
    &sampan_files::CAPABILITY,
    &sampan_middleware::CAPABILITY,
    &sampan_session::CAPABILITY,
    &sampan_pubsub::CAPABILITY,
    &STATIC_FILES,
    &REQUESTS,
    &sampan_i18n::CAPABILITY,
    &sampan_validate::CAPABILITY,
    &sampan_time::CAPABILITY,
    &sampan_env::CAPABILITY,
    &sampan_json::CAPABILITY,
    &sampan_csv::CAPABILITY,
    &sampan_regex::CAPABILITY,
    &sampan_paginate::CAPABILITY,
    &sampan_codec::CAPABILITY,
    &sampan_password::CAPABILITY,
    &sampan_socket::CAPABILITY,
    &sampan_sse::CAPABILITY,
    &sampan_jobs::CAPABILITY,
    &sampan_cache::CAPABILITY,
    &sampan_lock::CAPABILITY,
    &sampan_metrics::CAPABILITY,
    &sampan_trace::CAPABILITY,
    &sampan_mail::CAPABILITY,
    &sampan_fetch::CAPABILITY,
];

/// Makes the tables that the server itself needs in a database on a server, where they are missing or of an earlier
/// release. Returns the names of those that were.
///
/// # Errors
/// The server cannot be reached, or the user may not make tables: one line.
pub fn make_server_tables(config: &DatabaseConfig) -> Result<Vec<&'static str>, String> {
    let tables = CAPABILITIES.iter().flat_map(|one| one.server_tables);
    let tables: Vec<OwnTable> = tables.copied().collect();
    let made = make_own_tables(config, &tables);
    made.map_err(|error| format!("the server's own tables: {error}"))
}

/// The server's own functions and sections.
static SERVER: Capability = Capability {
    name: "server",
    modules: &[
        &hooks::MODULE,
        &health_checks::MODULE,
        &sampan_serve::routing::names::MODULE,
        &sampan_serve::REQUEST_TLS,
        &sampan_serve::EARLY_HINTS,
    ],
    sections: &[
        &config::SERVER,
        &lane::SECTION,
        &sampan_serve::admission::SECTION,
        &config::TLS,
        &config::ACME,
        &limits::SECTION,
        &config::SCRIPTS,
        &crash::SECTION,
        &health::SECTION,
        &metrics::SECTION,
        &sandbox::SECTION,
    ],
    configure: |settings| {
        health::configure(settings)?;
        metrics::configure(settings)?;
        sandbox::configure(settings)
    },
    process: health_checks::process,
    isolate: health_checks::isolate,
    loaded: health_checks::loaded,
    serve: health_checks::serve,
    ..Capability::EMPTY
};

/// The files that are served by their paths, and what the server does with answers.
static STATIC_FILES: Capability = Capability {
    name: "static files",
    modules: &[&sampan_serve::files::MODULE],
    sections: &[
        &sampan_serve::files::SECTION,
        &sampan_serve::COMPRESSION,
        &config::DEV,
    ],
    ..Capability::EMPTY
};

/// The requests of scripts to other servers, under the functions that begin them.
static REQUESTS: Capability = Capability {
    name: "requests",
    sections: &[&sampan_serve::fetch::SECTION],
    offers: &["fetcher"],
    configure: sampan_serve::fetch::configure,
    process: sampan_serve::fetch::process,
    isolate: sampan_serve::fetch::isolate,
    ..Capability::EMPTY
};

/// The capabilities in the order in which their hooks are called.
static ORDERED: LazyLock<Vec<&'static Capability>> = LazyLock::new(|| {
    // A fault of this list, which a test finds.
    capability::order(CAPABILITIES).unwrap_or_else(|fault| panic!("{fault}"))
});

static MODULES: LazyLock<Vec<&'static Module>> = LazyLock::new(|| {
    CAPABILITIES
        .iter()
        .flat_map(|one| one.modules)
        .copied()
        .collect()
});

static SECTIONS: LazyLock<Vec<&'static Section>> = LazyLock::new(|| {
    CAPABILITIES
        .iter()
        .flat_map(|one| one.sections)
        .copied()
        .collect()
});

/// Returns the functions that scripts get.
pub fn modules() -> &'static [&'static Module] {
    &MODULES
}

/// Returns the same modules with the rows of the database that is configured.
pub(crate) fn over(
    config: &DatabaseConfig,
    settings: &AllSettings,
    modules: &'static [&'static Module],
) -> &'static [&'static Module] {
    if !config.is_postgres() {
        return modules;
    }
    let over = modules
        .iter()
        .map(|one| one.elsewhere_by(settings).unwrap_or(one));
    kept_list(over.collect())
}

/// Returns a list that lives as long as the process. Equal lists share their memory.
pub(crate) fn kept_list(modules: Vec<&'static Module>) -> &'static [&'static Module] {
    static KNOWN: Mutex<Vec<&'static [&'static Module]>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_same = |list: &&&'static [&'static Module]| {
        list.len() == modules.len() && list.iter().zip(&modules).all(|(a, b)| std::ptr::eq(*a, *b))
    };
    if let Some(list) = known.iter().find(is_same) {
        return list;
    }
    let list: &'static [&'static Module] = modules.leak();
    known.push(list);
    list
}

/// Returns the sections of the configuration.
pub fn sections() -> &'static [&'static Section] {
    &SECTIONS
}

/// Returns the warnings about settings with which a part of a project cannot work.
pub(crate) fn warnings(settings: &ProjectSettings<'_>) -> Vec<String> {
    ordered().flat_map(|one| (one.warnings)(settings)).collect()
}

/// Returns the capabilities in the order in which their hooks are called.
pub(crate) fn ordered() -> impl Iterator<Item = &'static Capability> {
    ORDERED.iter().copied()
}

/// Returns the number of files that capabilities may hold open.
pub(crate) fn open_files_max() -> u64 {
    ordered().map(|one| one.open_files_max).sum()
}

/// Takes note that the scripts of an isolate have been loaded.
///
/// # Errors
/// Something that the project names is not there.
pub(crate) fn loaded(context: &Context) -> Result<(), sampan_host::Error> {
    ordered().try_for_each(|one| (one.loaded)(context))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_project::files::SHARED;
    use std::collections::BTreeSet;

    #[test]
    fn each_comes_after_those_that_it_asks() {
        let names: Vec<&str> = ordered().map(|one| one.name).collect();
        let at = |name| names.iter().position(|one| *one == name).expect("there");
        assert!(at("crypto") < at("session"), "{names:?}");
        assert!(at("session") < at("template"), "{names:?}");
        assert!(at("i18n") < at("template"), "{names:?}");
        assert_eq!(names.len(), CAPABILITIES.len());
    }

    #[test]
    fn tables_on_a_server_have_one_owner_each() {
        let tables = ordered().flat_map(|one| one.server_tables);
        let names: Vec<&str> = tables.map(|table| table.name).collect();
        let unique: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(names.len(), unique.len(), "{names:?}");
        assert!(names.iter().any(|name| name.contains("jobs")), "{names:?}");
    }

    #[test]
    fn the_folders_that_capabilities_read_are_those_that_projects_may_share() {
        let read: BTreeSet<&str> = ordered().flat_map(|one| one.reads).copied().collect();
        assert_eq!(read, BTreeSet::from(SHARED));
    }
}
