//! A project made runnable: configuration, files, routes, dispatch, workers.
//!
//! [`AppConfig`] says what to run, [`Server::start`] runs it on as many threads as there are workers, each with its own
//! isolate and its own connections, and [`Running`] ends it. [`run`] is the whole life of `sampan run`, signals
//! included. Here the HTTP engine, the script engines and the capabilities meet; none of them knows another. A project
//! also runs without a server: in a [`ScriptPool`] for programs that call scripts, in a [`LocalApp`] for tests.

mod app_config;
mod build;
mod csrf;
mod database;
mod dev;
mod embedding;
mod engine;
mod hooks;
mod inspect;
mod listening;
mod local_app;
mod migrations;
mod process_parts;
mod profile;
mod reload;
pub mod repl;
mod scripts;
mod server;
mod sessions;
mod templates;
mod worker;

pub use app_config::{AppConfig, CapabilityConfigs, ProgramParts, SECTIONS, ServeConfig, settings};
pub use build::build;
pub use database::Storage;
pub use dev::{DevFlags, dev};
pub use embedding::{ContextSetup, Embedding, modules_with};
pub use inspect::{CheckReport, RouteKind, RouteRow, check, routes};
pub use local_app::{LocalApp, LocalRun, LocalScript};
pub use profile::Profiler;
pub use reload::{ReloadAnswer, Reloaded, Reloader, reload_servers};
pub use sampan_db as db;
pub use sampan_host as host;
pub use sampan_host::log::Level;
pub use sampan_http as http;
pub use sampan_http::{DirectAnswer, Response};
pub use sampan_log::{LogSettings, Logger};
pub use sampan_project::archive::{About, Archive};
pub use sampan_project::build::{BuildFlags, Built};
pub use sampan_project::config::{
    Config, EnvFile, Flags, ListenAddress, OptionNames, Setting, WORKERS_MAX, address,
};
pub use sampan_project::inspect::{Finding, Severity};
pub use sampan_project::{Language, Project, VERSION};
pub use sampan_serve::native::{NativeAnswer, NativeHandler, NativeRequest, NativeRoute};
pub use sampan_serve::{Cidr, TrustedProxy, check_native_routes, release_memory_with};
pub use scripts::{
    Done, HttpRequest, JobHandle, Outcome, Refused, ScriptOptions, ScriptPool, ScriptSource, Work,
    request_bytes,
};
pub use server::hosted::Host;
pub use server::signals::{ServerEnd, run};
pub use server::{HostedWorker, Running, Server, ServerEvent};

use sampan_host::Module;

/// Which route answers a method and a path, for faces that have handlers of their own.
pub mod router {
    pub use sampan_serve::routing::pattern::{Pattern, Segment, normal_form};
    pub use sampan_serve::routing::routes::{Allow, RouteMatch, Routes as RouteTree, Spans, verb};
}

/// The capabilities that scripts get.
pub static MODULES: &[&Module] = &[
    &hooks::MODULE,
    &sampan_serve::routing::names::MODULE,
    &sampan_template::ANSWERS,
    &sampan_middleware::MODULE,
    &sampan_validate::MODULE,
    &sampan_serve::files::MODULE,
    &sampan_time::MODULE,
    &sampan_log::MODULE,
    &sampan_env::MODULE,
    &sampan_json::MODULE,
    &sampan_csv::MODULE,
    &sampan_regex::MODULE,
    &sampan_paginate::MODULE,
    &sampan_codec::MODULE,
    &sampan_crypto::MODULE,
    &sampan_password::MODULE,
    &sampan_db::MODULE,
    &sampan_session::MODULE,
    &sampan_template::MODULE,
    &sampan_files::MODULE,
    &sampan_i18n::MODULE,
];
