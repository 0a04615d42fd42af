//! The routes that a project declares.

use super::look::look;
use crate::app_config::AppConfig;
use crate::local_app::LocalApp;
use sampan_host::Place;
use sampan_log::Logger;
use sampan_serve::Loaded;
use std::path::Path;

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteKind {
    /// Middleware in Rust, which checks requests before any script runs.
    Guard,
    /// Middleware of the script.
    Middleware,
    /// A function that answers.
    Handler,
    /// A value: its answer is computed at start.
    Value,
    /// The files of the public folder.
    Files,
    /// The `fetch` of a default export: it has routes of its own, which only it knows.
    Fetch,
    /// The answer where no route matches.
    NotFound,
}

impl RouteKind {
    /// One word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Guard => "guard",
            Self::Middleware => "middleware",
            Self::Handler => "handler",
            Self::Value => "value",
            Self::Files => "files",
            Self::Fetch => "fetch",
            Self::NotFound => "not_found",
        }
    }
}

/// Something that answers requests, or looks at them on their way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteRow {
    /// The kind.
    pub kind: RouteKind,
    /// The method of a route, in capitals; `ALL` where it answers all.
    pub method: Option<String>,
    /// The paths.
    pub pattern: String,
    /// The place of the declaration.
    pub place: Option<Place>,
}

/// Lists the project's declarations, in the order in which a request meets it: middleware, routes in the order of their
/// declaration, files, and
/// what answers the rest.
///
/// # Errors
/// It does not load: the place, the line of the source and why.
pub fn routes(mut config: AppConfig, scratch: &Path) -> Result<Vec<RouteRow>, String> {
    config.program.logger = Logger::captured(config.log_settings().level_min);
    look(config, scratch, LocalApp::rows)
}

impl LocalApp {
    /// Returns the rows of the declarations.
    pub(super) fn rows(&self) -> Vec<RouteRow> {
        rows(&self.loaded())
    }
}

fn rows(loaded: &Loaded) -> Vec<RouteRow> {
    let program = loaded.engine.program();
    let other = |kind, pattern: &str, place: Option<&Place>| RouteRow {
        kind,
        method: None,
        pattern: pattern.to_owned(),
        place: place.cloned(),
    };
    let mut rows = Vec::new();
    for def in &program.guards {
        rows.push(other(RouteKind::Guard, &def.pattern, def.place.as_ref()));
    }
    for def in &program.middleware {
        let place = def.place.as_ref();
        rows.push(other(RouteKind::Middleware, &def.pattern, place));
    }
    for def in &program.routes {
        rows.push(RouteRow {
            kind: match def.fixed {
                true => RouteKind::Value,
                false => RouteKind::Handler,
            },
            method: Some(def.method.clone().unwrap_or_else(|| "ALL".to_owned())),
            pattern: def.pattern.clone(),
            place: def.place.clone(),
        });
    }
    if loaded.control.files.has_public() {
        rows.push(other(RouteKind::Files, "/*", None));
    }
    if program.fetch.is_some() {
        rows.push(other(RouteKind::Fetch, "*", None));
    }
    if program.not_found.is_some() {
        rows.push(other(RouteKind::NotFound, "*", None));
    }
    rows
}
