//! The routes that a project declares, beside its other work.

use super::look::look;
use super::work::WorkRow;
use crate::app_config::AppConfig;
use crate::lane::learned;
use crate::local_app::LocalApp;
use sampan_host::{LaneRule, Place};
use sampan_log::Logger;
use sampan_serve::Loaded;
use sampan_serve::lane::{Learned, SourceMarks};
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

/// The lane of a route's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteLaneWord {
    /// Among quick ones until a run is measured to be long.
    Measured,
    /// In the slow lane, as it is declared.
    Slow,
    /// Among quick ones, as it is declared.
    Quick,
    /// In the slow lane, as a server of this project has measured.
    Learned,
}

/// Something that answers requests, or looks at them on their way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteRow {
    /// The kind.
    pub kind: RouteKind,
    /// The method of a route, in capitals; `ALL` where it answers all.
    pub method: Option<String>,
    /// The protocol of a route that is not answered by a function alone, as its declaration is named: `ws` or `sse`.
    pub protocol: Option<String>,
    /// The paths.
    pub pattern: String,
    /// The lane of a route whose handler is a function.
    pub lane: Option<RouteLaneWord>,
    /// The place of the declaration.
    pub place: Option<Place>,
    /// The file of the handler's function, where the engine knows it.
    pub handler_file: Option<String>,
}

/// The declarations of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectDeclarations {
    /// In the order in which a request meets them: middleware, routes in the order of their declaration, files, and
    /// the answer to the rest.
    pub routes: Vec<RouteRow>,
    /// The work that no request does.
    pub work: Vec<WorkRow>,
}

/// Lists the project's declarations.
///
/// # Errors
/// It does not load: the place, the line of the source and why.
pub fn routes(mut config: AppConfig, scratch: &Path) -> Result<ProjectDeclarations, String> {
    config.program.logger = Logger::captured(config.log_settings().level_min);
    // Of the project's own database, before another takes its place.
    let learned = learned::file_of(&config).map(|file| learned::read(&file));
    let learned = learned.and_then(Result::ok).unwrap_or_default();
    let marks = SourceMarks::new(config.base.project.sources());
    let looked = |app: &LocalApp| ProjectDeclarations {
        routes: app.rows(),
        work: app.work(),
    };
    let mut found = look(config, scratch, looked)?;
    for row in &mut found.routes {
        let mark = marks.of(row.place.as_ref(), row.handler_file.as_deref());
        let is_learned = |one: &Learned| one.name == row.name() && one.mark.agrees_with(mark);
        if row.lane == Some(RouteLaneWord::Measured) && learned.iter().any(is_learned) {
            row.lane = Some(RouteLaneWord::Learned);
        }
    }
    Ok(found)
}

impl RouteRow {
    /// The method and the pattern.
    fn name(&self) -> String {
        format!(
            "{} {}",
            self.method.as_deref().unwrap_or_default(),
            self.pattern
        )
    }
}

impl LocalApp {
    /// Returns the rows of the declarations.
    pub(super) fn rows(&self) -> Vec<RouteRow> {
        rows(&self.loaded())
    }

    /// Returns the names that routes have for `url_for`.
    pub(super) fn route_names(&self) -> Vec<String> {
        let loaded = self.loaded();
        let routes = loaded.engine.program().routes.iter();
        routes.filter_map(|def| def.name.clone()).collect()
    }
}

fn rows(loaded: &Loaded) -> Vec<RouteRow> {
    let program = loaded.engine.program();
    let other = |kind, pattern: &str, place: Option<&Place>| RouteRow {
        kind,
        method: None,
        protocol: None,
        lane: None,
        pattern: pattern.to_owned(),
        place: place.cloned(),
        handler_file: None,
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
            protocol: def.kind.clone(),
            pattern: def.pattern.clone(),
            lane: (!def.fixed).then_some(match def.lane {
                LaneRule::Measured => RouteLaneWord::Measured,
                LaneRule::Slow => RouteLaneWord::Slow,
                LaneRule::Quick => RouteLaneWord::Quick,
            }),
            place: def.place.clone(),
            handler_file: def.handler_file.clone(),
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
