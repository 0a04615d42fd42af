//! A project made runnable: configuration, files, routes, dispatch, workers.
//!
//! [`AppConfig`] says what to run, [`Server::start`] runs it on as many threads as there are workers, each with its own
//! isolate and its own connections, and [`Running`] ends it. [`run`] is the whole life of `sampan run`, signals
//! included. Here the HTTP engine, the script engines and the capabilities meet; none of them knows another. A project
//! also runs without a server: in a [`ScriptPool`] for programs that call scripts, in a [`LocalApp`] for tests.

mod app_config;
mod background;
mod build;
mod capabilities;
mod crash;
mod csrf;
mod database;
mod engine;
mod generation;
mod health;
mod hooks;
mod inspect;
mod lane;
mod listening;
mod local_app;
mod locks;
mod metrics;
mod migrations;
mod pages;
mod process_state;
mod program;
mod reload;
mod sandbox;
mod scripts;
mod server;
mod systemd;
mod upgrade;
mod worker;

pub use app_config::{AppConfig, DatabaseSettings, ProgramParts, ServeConfig, settings};
pub use build::build;
pub use capabilities::make_server_tables;
pub use capabilities::{modules, sections};
pub use crash::{engine_versions, running_route, running_routes, tell_running_routes};
pub use database::backup::{RestoreOptions, restore};
pub use database::{Storage, with_tables};
pub use inspect::{
    CheckReport, ProjectDeclarations, RouteKind, RouteLaneWord, RouteRow, WorkKind, WorkRow, check,
    misused_promises, routes,
};
pub use lane::LaneSettings;
pub use listening::check as check_listening;
pub use local_app::{LocalApp, LocalRun, LocalScript};
pub use metrics::panics::count_panics;
pub use migrations::migrations_in;
pub use program::development::Development;
pub use program::embedding::{ContextSetup, Embedding, UnawaitedErrors, modules_with};
pub use program::hosted::{Host, HostedWorker};
pub use reload::control::client::{
    ControlAnswer, ControlOutcome, ControlRequest, ask_servers, server_pids,
};
pub use reload::control::server::{Control, listen as listen_for_control};
pub use reload::requests::{ReloadInbox, ReloadOutcome, ReloadRequests};
pub use reload::swap::{Reloaded, Reloader};
pub use sandbox::confinement::Confinement;
pub use sandbox::explain as explain_sandbox;
pub use scripts::errors::Refused;
pub use scripts::job::{Done, JobHandle, Outcome, Work};
pub use scripts::pool::{ScriptOptions, ScriptPool, ScriptSource};
pub use scripts::request::{HttpRequest, request_bytes};
pub use server::acme::acme_settings;
pub use server::events::{ServerEvent, ServerEvents, Stopper};
pub use server::running::{Running, Samples};
pub use server::signals::{FLUSH_TIME_MAX, Life, SUPERVISED, ServerEnd, run, run_with};
pub use server::start::Server;
pub use upgrade::StartedProgram;
pub use upgrade::new_process::failed as report_failed_start;
pub use upgrade::old_process::UpgradeRequests;
pub use upgrade::processes::UpgradeProcess;
pub use upgrade::starter::serve_as_starter;
pub use worker::watchdog::WorkerStacks;
