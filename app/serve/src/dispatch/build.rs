//! Arranges what a project declared: its routes as a tree, with what wraps each.

use crate::dispatch::apart::fetch_lanes::FetchLanes;
use crate::dispatch::fixed_answer::precompute;
use crate::dispatch::loaded::{LaneDeclaration, Loaded, RouteEntry};
use crate::gate::control::Control;
use crate::lane::source_mark::{SourceMark, SourceMarks};
use crate::native::route::NativeRoute;
use crate::request::route_info::RouteInfo;
use crate::request::route_meter::{FETCH, NO_ROUTE};
use crate::routing::chain_steps::ChainSteps;
use crate::routing::guard_order;
use crate::routing::host_pattern::HostParams;
use crate::routing::names::RouteNames;
use crate::routing::pattern::Pattern;
use crate::routing::routes::{self, Routes};
use crate::routing::wrapping::{Guards, Wrapping};
use sampan_host::database::Preparation;
use sampan_host::settings::units;
use sampan_host::trace::ChainStep;
use sampan_host::{BodyOptions, Context, Error, ErrorKind, HandlerId, Isolate, Place, RouteDef};
use sampan_http::BodyRule;
use sampan_project::Language;
use std::rc::Rc;

/// The numbers of native handlers begin here, where no script has any: what their middleware does with the database is
/// known by them.
const NATIVE_HANDLERS: HandlerId = 1 << 31;

/// The largest limit that can be meant for a body.
const BODY_BYTES_CEILING: usize = usize::MAX / 4;
/// The most routes that a script may declare: arranging more takes long, and the server cannot be ended meanwhile.
const ROUTES_MAX: usize = 10_000;

impl Loaded {
    /// Arranges what a loaded project declared beside the routes of the program. Faults of its patterns are errors with
    /// their place.
    ///
    /// # Errors
    /// There are too many routes, a pattern is wrong or declared twice, or the answer of a route that is a value cannot
    /// be sent.
    pub fn new(
        engine: Box<dyn Isolate>,
        context: Rc<Context>,
        language: Option<Language>,
        control: Rc<Control>,
        native: &[NativeRoute],
    ) -> Result<Rc<Self>, Error> {
        let names = context.get::<RouteNames>();
        let marks = context.get::<Rc<SourceMarks>>();
        let preparation = context.get::<Rc<dyn Preparation>>();
        let program = engine.program();
        check_count(&program.routes)?;
        let mut hosts = HostParams::default();
        let mut middleware = Wrapping::default();
        for def in &program.middleware {
            let pattern = parse(&mut hosts, &def.pattern, def.place.as_ref())?;
            middleware.add(pattern, def.handler);
        }
        let mut guards = Guards::default();
        guard_order::check(program)?;
        for def in &program.guards {
            let pattern = parse(&mut hosts, &def.pattern, def.place.as_ref())?;
            let step = ChainStep::new("middleware", &def.pattern, def.place.as_ref());
            guards.add(&pattern, Rc::clone(&def.guard), step);
        }
        if let Some(csrf) = &control.csrf {
            // Behind the others, whose header fields its refusals have too.
            let step = ChainStep::new("middleware", "csrf", None);
            guards.add(&Pattern::all(), Rc::clone(csrf), step);
        }
        let (mut routes, mut entries) =
            (Routes::default(), Vec::with_capacity(program.routes.len()));
        let mut lanes = Vec::new();
        for (index, def) in program.routes.iter().enumerate() {
            let pattern = parse(&mut hosts, &def.pattern, def.place.as_ref())?;
            insert(&mut routes, &program.routes, index, &pattern)?;
            let guards = guards.around(&pattern);
            if let (Some(names), Some(name)) = (&names, &def.name) {
                let added = names.add(name, &pattern, &def.pattern);
                added.map_err(|text| Error::new(ErrorKind::Load, text).at(def.place.clone()))?;
            }
            // An answer with an `ETag` is looked at for each request.
            let fixed = if def.fixed && !def.body.etag {
                Some(precompute(&*engine, def, &control, guards.may_check())?)
            } else {
                None
            };
            let lane = match (&control.lane, &fixed) {
                (Some(lane), None) => {
                    let mark = marks.as_ref().map_or(SourceMark::UNKNOWN, |marks| {
                        marks.of(def.place.as_ref(), def.handler_file.as_deref())
                    });
                    let name = def_name(def);
                    let route = lane.routes().route(&name);
                    let rule = def.lane;
                    lanes.push(LaneDeclaration { name, rule, mark });
                    Some(route)
                }
                _ => None,
            };
            let number = match (&lane, &control.route_names) {
                (Some(lane), _) => lane.number(),
                (None, Some(names)) => names.number_of(&def_name(def)),
                (None, None) => 0,
            };
            let info = RouteInfo {
                pattern: def.pattern.as_str().into(),
                params: pattern.params().map(str::to_owned).collect(),
                has_host_param: pattern.host_param().is_some(),
                place: def.place.clone(),
                trusted: Rc::clone(&control.trusted),
                ids: Rc::clone(&control.ids),
                has_etag: def.body.etag,
                compression: control.compression_for(&def.body),
                lane,
                number,
                logger: Rc::clone(&control.logger),
                meter: control.route_meter(&def.pattern),
            };
            entries.push(RouteEntry {
                handler: def.handler,
                info: Rc::new(info),
                uses: control.gate.uses(def.handler),
                chain: middleware.around(&pattern),
                guards,
                fixed,
                native: None,
                has_priority: def.has_priority,
                is_rest: pattern.ends_in_rest(),
                body: body_rule(&def.body, &def.pattern, def.place.as_ref(), language)?,
            });
        }
        for (at, route) in native.iter().enumerate() {
            let trees = (&mut routes, &mut hosts);
            let pattern = insert_native(trees, route, entries.len(), |index| {
                match program.routes.get(index) {
                    // The script's place is where people can look; the program has been told of its own routes before.
                    Some(def) => {
                        let (name, place) = (def_name(def), told_at(route.place.as_ref()));
                        let text = format!("{name} is a route of the program too{place}");
                        Error::new(ErrorKind::Load, text).at(def.place.clone())
                    }
                    None => twice(route, &native[index - program.routes.len()]),
                }
            })?;
            let handler = NATIVE_HANDLERS + at as HandlerId;
            let info = RouteInfo {
                pattern: route.pattern.as_str().into(),
                params: pattern.params().map(str::to_owned).collect(),
                has_host_param: pattern.host_param().is_some(),
                place: None,
                trusted: Rc::clone(&control.trusted),
                ids: Rc::clone(&control.ids),
                has_etag: false,
                compression: control.compression.clone(),
                lane: None,
                number: 0,
                logger: Rc::clone(&control.logger),
                meter: control.route_meter(&route.pattern),
            };
            entries.push(RouteEntry {
                handler,
                info: Rc::new(info),
                uses: control.gate.uses(handler),
                chain: middleware.around(&pattern),
                guards: guards.around(&pattern),
                fixed: None,
                native: Some(route.handler.clone()),
                // They are part of the program, and run no script unless middleware does.
                has_priority: true,
                is_rest: pattern.ends_in_rest(),
                body: route.body,
            });
        }
        let (not_found, on_error, fetch) = (program.not_found, program.on_error, program.fetch);
        let fetch_body = body_rule(&program.fetch_body, "fetch", None, language)?;
        let own = BodyRule::default();
        let has_body_rules = fetch_body != own || entries.iter().any(|entry| entry.body != own);
        let no_route = Rc::new(RouteInfo {
            pattern: Box::default(),
            params: Vec::new(),
            has_host_param: false,
            place: None,
            trusted: Rc::clone(&control.trusted),
            ids: Rc::clone(&control.ids),
            has_etag: program.fetch_body.etag,
            compression: control.compression_for(&program.fetch_body),
            lane: None,
            number: 0,
            logger: Rc::clone(&control.logger),
            meter: control.route_meter(if fetch.is_some() { FETCH } else { NO_ROUTE }),
        });
        control.gate.finish_loading()?;
        let traced = control.tracer.as_ref();
        let steps = traced.map_or_else(ChainSteps::default, |_| ChainSteps::of(engine.program()));
        Ok(Rc::new(Self {
            no_route_uses: control
                .gate
                .uses(fetch.or(not_found).unwrap_or(HandlerId::MAX)),
            engine,
            has_hosts: routes.has_hosts() || middleware.has_hosts() || guards.has_hosts(),
            routes,
            entries,
            middleware,
            guards,
            no_route,
            not_found,
            on_error,
            fetch,
            fetch_lanes: FetchLanes::default(),
            fetch_body,
            preparation: preparation.as_deref().cloned(),
            has_body_rules,
            lanes,
            steps,
            control,
            context,
        }))
    }
}

/// Refuses routes above [`ROUTES_MAX`].
fn check_count(routes: &[RouteDef]) -> Result<(), Error> {
    let Some(first) = routes.get(ROUTES_MAX) else {
        return Ok(());
    };
    let message = format!(
        "{} routes are declared, and a project has at most {ROUTES_MAX}: a parameter such as /:name stands for many \
         paths",
        routes.len()
    );
    Err(Error::new(ErrorKind::Load, message).at(first.place.clone()))
}

fn parse(hosts: &mut HostParams, text: &str, place: Option<&Place>) -> Result<Pattern, Error> {
    Pattern::parse_with_host(text)
        .and_then(|pattern| hosts.add(pattern.host.as_ref()).map(|()| pattern))
        .map_err(|fault| Error::new(ErrorKind::Load, fault).at(place.cloned()))
}

/// Returns the rule for reading the bodies of a handler's requests; `name` says which in an error.
fn body_rule(
    options: &BodyOptions,
    name: &str,
    place: Option<&Place>,
    language: Option<Language>,
) -> Result<BodyRule, Error> {
    let is_streamed = options.stream;
    let Some(written) = &options.bytes_max else {
        return Ok(BodyRule {
            bytes_max: None,
            is_streamed,
        });
    };
    let bytes_max = units::bytes(written).and_then(|bytes| usize::try_from(bytes).ok());
    if bytes_max.is_some_and(|limit| limit <= BODY_BYTES_CEILING) {
        return Ok(BodyRule {
            bytes_max,
            is_streamed,
        });
    }
    let key = match language {
        Some(Language::Js) => "bodyBytesMax",
        Some(Language::Lua) | None => "body_bytes_max",
    };
    let message = format!("{name}: {key} = {written}: {} is expected", units::A_SIZE);
    Err(Error::new(ErrorKind::Load, message).at(place.cloned()))
}

/// A route that stands in the way of another.
fn told_place(pattern: &str, place: Option<&Place>) -> String {
    match place {
        Some(place) => format!("{pattern} at {place}"),
        None => pattern.to_owned(),
    }
}

/// Returns the way a route of a script is told of.
fn def_name(def: &RouteDef) -> String {
    format!("{} {}", def.method.as_deref().unwrap_or("ALL"), def.pattern)
}

fn told_at(place: Option<&Place>) -> String {
    place.map_or_else(String::new, |place| format!(", at {place}"))
}

/// Two routes of the program that are the same.
fn twice(route: &NativeRoute, first: &NativeRoute) -> Error {
    let (name, place) = (route.name(), told_at(first.place.as_ref()));
    let text = format!("{name} is already declared as {}{place}", first.pattern);
    Error::new(ErrorKind::Load, text).at(route.place.clone())
}

/// Returns the correct notation for a part such as `{id}` or `{rest...}`, by which routers of Go and Rust mean a
/// parameter.
fn braced(part: &str) -> Option<String> {
    let name = part.strip_prefix('{')?.strip_suffix('}')?;
    if name.starts_with(':') {
        return None;
    }
    Some(match name.strip_suffix("...") {
        Some(name) => format!("*{name}"),
        None => format!(":{name}"),
    })
}

/// Puts a route of the program into the tree; `taken` tells of a route that has its place.
fn insert_native(
    (routes, hosts): (&mut Routes, &mut HostParams),
    route: &NativeRoute,
    index: usize,
    taken: impl FnOnce(usize) -> Error,
) -> Result<Pattern, Error> {
    let fault = |text| Error::new(ErrorKind::Load, text).at(route.place.clone());
    // A name without a dot is more often a path without its slash.
    let has_host = route
        .pattern
        .split('/')
        .next()
        .is_some_and(|host| host.contains('.'));
    let pattern = match has_host {
        true => Pattern::parse_with_host(&route.pattern),
        false => Pattern::parse(&route.pattern),
    };
    let pattern = pattern
        .and_then(|pattern| hosts.add(pattern.host.as_ref()).map(|()| pattern))
        .map_err(|text| fault(format!("{}: {text}", route.name())))?;
    let mut parts = route.pattern.split('/');
    if let Some((part, meant)) = parts.find_map(|part| Some((part, braced(part)?))) {
        let name = route.name();
        return Err(fault(format!(
            "{name}: {part:?} is no parameter: write {meant:?}"
        )));
    }
    let verb = verb_of(route.method.as_deref()).map_err(fault)?;
    routes.insert(verb, &pattern, index).map_err(taken)?;
    Ok(pattern)
}

/// Says what is wrong with the routes of a program, before a project is loaded beside them.
///
/// # Errors
/// The first route whose method or pattern cannot be, or that is there twice, with its place.
pub fn check_native_routes(native: &[NativeRoute]) -> Result<(), Error> {
    let (mut routes, mut hosts) = (Routes::default(), HostParams::default());
    for (index, route) in native.iter().enumerate() {
        insert_native((&mut routes, &mut hosts), route, index, |first| {
            twice(route, &native[first])
        })?;
    }
    Ok(())
}

/// The place of a method among those of the tree; `None` for all methods.
fn verb_of(method: Option<&str>) -> Result<Option<usize>, String> {
    let verb = |name| {
        let verb = routes::verb(name);
        verb.ok_or_else(|| format!("no routes can be declared for the method {name}"))
    };
    method.map(verb).transpose()
}

fn insert(
    routes: &mut Routes,
    defs: &[RouteDef],
    index: usize,
    pattern: &Pattern,
) -> Result<(), Error> {
    let def = &defs[index];
    let verb = verb_of(def.method.as_deref())
        .map_err(|text| Error::new(ErrorKind::Load, text).at(def.place.clone()))?;
    routes.insert(verb, pattern, index).map_err(|taken| {
        let first = told_place(&defs[taken].pattern, defs[taken].place.as_ref());
        let message = format!("{} is already declared as {first}", def_name(def));
        Error::new(ErrorKind::Load, message).at(def.place.clone())
    })
}
