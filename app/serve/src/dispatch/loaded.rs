//! A project loaded on one worker: its script, its routes as a tree, and what can be decided at start.

use crate::dispatch::apart::fetch_lanes::FetchLanes;
use crate::dispatch::fixed_answer::FixedAnswer;
use crate::gate::commit_gate::RouteUses;
use crate::gate::control::Control;
use crate::lane::source_mark::SourceMark;
use crate::native::route::NativeHandler;
use crate::request::route_info::{RouteInfo, asked_host};
use crate::routing::chain_steps::ChainSteps;
use crate::routing::routes::{RouteMatch, Routes};
use crate::routing::wrapping::{Chain, Guards, RouteGuards, Wrapping};
use sampan_host::database::Preparation;
use sampan_host::{Context, HandlerId, Isolate, LaneRule, Place};
use sampan_http::{BodyRule, Request};
use std::rc::Rc;

/// A project on one worker.
pub struct Loaded {
    /// The loaded script.
    pub engine: Box<dyn Isolate>,
    pub(crate) routes: Routes,
    /// True if any route, middleware or guard is for some hosts only.
    pub(crate) has_hosts: bool,
    pub(crate) entries: Vec<RouteEntry>,
    /// The script's middleware.
    pub(crate) middleware: Wrapping<HandlerId>,
    pub(crate) guards: Guards,
    /// The state that requests without a route share.
    pub(crate) no_route: Rc<RouteInfo>,
    pub(crate) no_route_uses: Rc<RouteUses>,
    pub(crate) not_found: Option<HandlerId>,
    pub(crate) on_error: Option<HandlerId>,
    pub(crate) fetch: Option<HandlerId>,
    /// The lanes of its requests.
    pub(crate) fetch_lanes: FetchLanes,
    /// Reads from a server what handlers have without waiting.
    pub(crate) preparation: Option<Rc<dyn Preparation>>,
    /// The rule for reading the bodies of requests to `fetch`.
    pub(crate) fetch_body: BodyRule,
    /// True if any handler reads bodies in another way than the server's own.
    pub(crate) has_body_rules: bool,
    /// The lanes of its routes, which all workers share: they hold once it is served, see [`Loaded::declare_lanes`].
    pub(crate) lanes: Vec<LaneDeclaration>,
    /// The functions of chains as their spans show them; none where nothing is traced.
    pub(crate) steps: ChainSteps,
    /// The services of the worker.
    pub control: Rc<Control>,
    /// The state of the isolate's capabilities.
    pub context: Rc<Context>,
}

/// The declaration of a route's lane.
pub(crate) struct LaneDeclaration {
    /// Its method and pattern.
    pub(crate) name: String,
    pub(crate) rule: LaneRule,
    /// The mark of the file with the declaration.
    pub(crate) mark: SourceMark,
}

/// The entry that answers one route.
pub(crate) struct RouteEntry {
    pub(crate) handler: HandlerId,
    pub(crate) info: Rc<RouteInfo>,
    /// The observed use of the database by its handler.
    pub(crate) uses: Rc<RouteUses>,
    pub(crate) chain: Chain<HandlerId>,
    pub(crate) guards: RouteGuards,
    /// The answer of a route that is a value.
    pub(crate) fixed: Option<FixedAnswer>,
    /// The handler of a route of the embedding program.
    pub(crate) native: Option<NativeHandler>,
    pub(crate) body: BodyRule,
    /// True if its requests do not wait when the worker has too many.
    pub(crate) has_priority: bool,
    /// True if its pattern ends in `*`: then a file in its place answers first.
    pub(crate) is_rest: bool,
}

impl Loaded {
    /// Has its declarations hold for the lanes of its routes. A project that is loaded may still be refused, and those
    /// of the one that goes on must stay as they are.
    pub(crate) fn declare_lanes(&self) {
        let Some(lane) = &self.control.lane else {
            return;
        };
        for LaneDeclaration { name, rule, mark } in &self.lanes {
            lane.routes().declare(name, *rule, *mark);
        }
    }

    /// Finds the route for a request with a path in normal form.
    #[inline(always)] // the route is copied otherwise
    pub(crate) fn find(&self, request: &Request, normal: &str) -> RouteMatch {
        if self.has_hosts {
            return self.find_at_host(request, normal);
        }
        self.routes.find(request.method(), normal)
    }

    #[inline(never)]
    fn find_at_host(&self, request: &Request, normal: &str) -> RouteMatch {
        let host = self.host_of(request);
        self.routes
            .find_at(host.as_deref(), request.method(), normal)
    }

    /// Returns the host that a request asks, in the form of [`crate::routing::host_name`]; nothing where nothing
    /// depends on it.
    pub(crate) fn host_of(&self, request: &Request) -> Option<String> {
        if !self.has_hosts {
            return None;
        }
        Some(asked_host(request, &self.control.trusted))
    }

    /// Reports whether the project has nothing that could answer a request.
    pub fn answers_nothing(&self) -> bool {
        let has_other =
            self.fetch.is_some() || self.not_found.is_some() || !self.middleware.is_empty();
        self.entries.is_empty() && !has_other && !self.control.files.has_public()
    }

    /// Returns the names of handlers for the log: its route and its place.
    pub fn handler_names(&self) -> Vec<(HandlerId, String)> {
        let program = self.engine.program();
        let named = |text: String, place: &Option<Place>| match place {
            Some(place) => format!("{text} ({place})"),
            None => text,
        };
        let mut names = Vec::new();
        for def in &program.routes {
            let method = def.method.as_deref().unwrap_or("ALL");
            names.push((
                def.handler,
                named(format!("{method} {}", def.pattern), &def.place),
            ));
        }
        for def in &program.middleware {
            names.push((
                def.handler,
                named(format!("middleware {}", def.pattern), &def.place),
            ));
        }
        for (handler, name) in [
            (program.not_found, "not_found"),
            (program.on_error, "on_error"),
            (program.fetch, "fetch"),
        ] {
            names.extend(handler.map(|handler| (handler, name.to_owned())));
        }
        names
    }
}
