//! `GET /_sampan/metrics`: the measurements of the server, in the text format of Prometheus.
//!
//! Each worker and each part of the server counts in shards of its own (`host::metrics`), which are added up when a
//! request asks. [`MetricsHandler`](handler::MetricsHandler) answers before the project's routes and middleware, or the
//! server answers on an address of its own.

pub(crate) mod handler;
pub(crate) mod panics;
mod process;
pub(crate) mod settings;

use crate::app_config::AppConfig;
use crate::server::shared::ServerShared;
use sampan_host::log::Level;
use sampan_host::metrics::{Registry, known};
use sampan_project::{Language, VERSION};
use std::sync::{Arc, Weak};

/// Returns the registry of a server; `None` where nothing is measured.
pub(crate) fn registry(config: &AppConfig) -> Option<Arc<Registry>> {
    if !config.serving.metrics.is_enabled {
        return None;
    }
    let logger = config.program.logger.clone();
    let registry = Registry::new(move |line| logger.text(Level::Warn, line));
    process::collect(&registry);
    let language = match config.base.project.language() {
        Some(Language::Lua) => "lua",
        Some(Language::Js) => "js",
        None => "none",
    };
    registry.collect(move |readings| readings.put(&known::BUILD, &[VERSION, language], 1.0));
    Some(registry)
}

/// Has the registry ask the workers and the database for what they count anyway.
pub(crate) fn collect_workers(shared: &Arc<ServerShared>) {
    let Some(registry) = &shared.metrics else {
        return;
    };
    shared.database.measure_statements(registry);
    let weak: Weak<ServerShared> = Arc::downgrade(shared);
    registry.collect(move |readings| {
        let Some(shared) = weak.upgrade() else {
            return;
        };
        let workers = shared.crew().len();
        let (open, parked) = shared.connections();
        if let Some(accepting) = shared.accepting() {
            let accepted = accepting.accepted() as f64;
            readings.put(&known::CONNECTIONS_ACCEPTED, &[], accepted);
        }
        if let Some((to_slow, to_quick)) = shared.lane_moves() {
            readings.put(&known::SLOW_MOVES, &["slow"], to_slow as f64);
            readings.put(&known::SLOW_MOVES, &["quick"], to_quick as f64);
        }
        readings.put(&known::WORKERS, &[], workers as f64);
        for (number, time) in shared.processor_times() {
            let number = number.to_string();
            readings.put(&known::WORKER_CPU, &[&number], time.as_secs_f64());
        }
        readings.put(&known::CONNECTIONS, &[], open as f64);
        readings.put(&known::CONNECTIONS_PARKED, &[], parked as f64);
        readings.put(&known::ISOLATES_ABANDONED, &[], shared.abandoned() as f64);
    });
}
