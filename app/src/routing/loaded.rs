//! A project loaded on one worker: its script, its routes as a tree, and what can be decided at start.

use crate::compression::{self, Compression};
use crate::config::units;
use crate::dev::DevErrors;
use crate::embedding::{NativeHandler, NativeRoute};
use crate::engine::Engine;
use crate::hooks::Hooks;
use crate::project::Language;
use crate::request::commit_gate::{Gate, RouteUses};
use crate::request::id::Ids;
use crate::request::proxies::TrustedProxy;
use crate::request::request_view::RouteInfo;
use crate::request::response_sink::HttpSink;
use crate::routing::names::RouteNames;
use crate::routing::pattern::Pattern;
use crate::routing::routes::{self, Routes};
use crate::routing::wrapping::{Chain, Guards, RouteGuards, SharedGuard, Wrapping};
use crate::scripts::CallLink;
use crate::server::hosted::Host;
use crate::static_files::StaticFiles;
use sampan_host::{
    BodyOptions, Call, CurrentRun, Error, ErrorKind, HandlerId, Isolate, Place, RequestView,
    RouteDef, Setup, Step, Store, request, request::Coding,
};
use sampan_http::{BodyRule, Precomputed, Request, Response};
use sampan_log::Logger;
use sampan_template::TemplateStore;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The numbers of native handlers begin here, where no script has any: what their middleware does with the database is
/// known by them.
const NATIVE_HANDLERS: HandlerId = 1 << 31;

/// The largest limit that can be meant for a body.
const BODY_BYTES_CEILING: usize = usize::MAX / 4;

/// A project on one worker.
pub(crate) struct Loaded {
    pub(crate) engine: Engine,
    pub(crate) routes: Routes,
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
    /// The rule for reading the bodies of requests to `fetch`.
    pub(crate) fetch_body: BodyRule,
    /// True if any handler reads bodies in another way than the server's own.
    pub(crate) has_body_rules: bool,
    pub(crate) control: Rc<Control>,
    pub(crate) hooks: Rc<Hooks>,
    /// The link for calls to functions of the script, where a program does that.
    pub(crate) calls: Option<Rc<CallLink>>,
}

/// The services of the worker for a project.
pub(crate) struct Control {
    pub(crate) logger: Rc<Logger>,
    /// The way to the database and out.
    pub(crate) gate: Rc<Gate>,
    /// The proxies whose `X-Forwarded-*` fields are believed.
    pub(crate) trusted: Rc<[TrustedProxy]>,
    /// Makes the ids of the worker's requests.
    pub(crate) ids: Rc<Ids>,
    /// Compresses answers, if that is on.
    pub(crate) compression: Option<Rc<Compression>>,
    /// Refuses requests of other sites that may change something.
    pub(crate) csrf: Option<SharedGuard>,
    /// The files that the server answers with.
    pub(crate) files: Rc<StaticFiles>,
    /// The request whose script runs.
    pub(crate) current: CurrentRun,
    /// Called when the isolate ran out of memory and could not recover.
    pub(crate) worn_out: Box<dyn Fn()>,
    /// When the server began to shut down, and how long it lets requests go on from then.
    pub(crate) ending: Arc<OnceLock<Instant>>,
    pub(crate) shutdown_time_max: Duration,
    /// For the log: a wait longer than this was cut off by the server, a shorter one by the client.
    pub(crate) handler_time_max: Duration,
    /// The longest time that the script of a request that was given up may go on.
    pub(crate) cleanup_time_max: Duration,
    /// The number of work items that still run.
    pub(crate) endings: Rc<Cell<usize>>,
    /// Another project has taken the place of this one, and the time of its streams is up.
    pub(crate) is_cut_off: Cell<bool>,
    /// In development: what makes pages of errors.
    pub(crate) dev: Option<DevErrors>,
}

impl Control {
    /// Returns the compression for the answers of a handler.
    fn compression_for(&self, options: &BodyOptions) -> Option<Rc<Compression>> {
        self.compression.clone().filter(|_| !options.uncompressed)
    }
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
    /// True if its pattern ends in `*`: then a file in its place answers first.
    pub(crate) is_rest: bool,
}

/// An answer that is computed at start.
pub(crate) struct FixedAnswer {
    whole: Arc<Precomputed>,
    /// The encoded forms in the codings that make it smaller.
    coded: Vec<(Coding, Arc<Precomputed>)>,
    /// The response behind guards, to be given with the header fields that they add.
    open: Option<RefCell<Response>>,
}

impl Loaded {
    /// Loads a project and arranges what it declared. Faults of its patterns are errors with their place.
    pub(crate) fn load(
        language: Option<Language>,
        host: Option<&dyn Host>,
        setup: Setup,
        control: Rc<Control>,
        native: &[NativeRoute],
    ) -> Result<Rc<Self>, Error> {
        let hooks = setup.context.get::<Hooks>().unwrap_or_default();
        let templates = setup.context.get::<TemplateStore>();
        let calls = setup.context.get::<CallLink>();
        let names = setup.context.get::<RouteNames>();
        let engine = Engine::load(language, host, setup)?;
        hooks.close();
        if let Some(templates) = templates {
            templates.close()?;
        }
        let program = engine.program();
        let mut middleware = Wrapping::default();
        for def in &program.middleware {
            middleware.add(parse(&def.pattern, def.place.as_ref())?, def.handler);
        }
        let mut guards = Guards::default();
        for def in &program.guards {
            let pattern = parse(&def.pattern, def.place.as_ref())?;
            guards.add(&pattern, Rc::clone(&def.guard));
        }
        if let Some(csrf) = &control.csrf {
            // Behind the others, whose header fields its refusals have too.
            guards.add(&Pattern::all(), Rc::clone(csrf));
        }
        let (mut routes, mut entries) =
            (Routes::default(), Vec::with_capacity(program.routes.len()));
        for (index, def) in program.routes.iter().enumerate() {
            let pattern = parse(&def.pattern, def.place.as_ref())?;
            insert(&mut routes, &program.routes, index, &pattern)?;
            let guards = guards.around(&pattern);
            if let (Some(names), Some(name)) = (&names, &def.name) {
                let added = names.add(name, &pattern, &def.pattern);
                added.map_err(|text| Error::new(ErrorKind::Load, text).at(def.place.clone()))?;
            }
            // An answer with an `ETag` is looked at for each request.
            let fixed = if def.fixed && !def.body.etag {
                Some(precompute(&engine, def, &control, guards.may_check())?)
            } else {
                None
            };
            let info = RouteInfo {
                pattern: def.pattern.as_str().into(),
                params: pattern.params().map(str::to_owned).collect(),
                place: def.place.clone(),
                trusted: Rc::clone(&control.trusted),
                ids: Rc::clone(&control.ids),
                has_etag: def.body.etag,
                compression: control.compression_for(&def.body),
                logger: Rc::clone(&control.logger),
            };
            entries.push(RouteEntry {
                handler: def.handler,
                info: Rc::new(info),
                uses: control.gate.uses(def.handler),
                chain: middleware.around(&pattern),
                guards,
                fixed,
                native: None,
                is_rest: pattern.ends_in_rest(),
                body: body_rule(&def.body, &def.pattern, def.place.as_ref(), language)?,
            });
        }
        for (at, route) in native.iter().enumerate() {
            let pattern = insert_native(&mut routes, route, entries.len(), |index| {
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
                place: None,
                trusted: Rc::clone(&control.trusted),
                ids: Rc::clone(&control.ids),
                has_etag: false,
                compression: control.compression.clone(),
                logger: Rc::clone(&control.logger),
            };
            entries.push(RouteEntry {
                handler,
                info: Rc::new(info),
                uses: control.gate.uses(handler),
                chain: middleware.around(&pattern),
                guards: guards.around(&pattern),
                fixed: None,
                native: Some(route.handler.clone()),
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
            place: None,
            trusted: Rc::clone(&control.trusted),
            ids: Rc::clone(&control.ids),
            has_etag: program.fetch_body.etag,
            compression: control.compression_for(&program.fetch_body),
            logger: Rc::clone(&control.logger),
        });
        control.gate.finish_loading()?;
        Ok(Rc::new(Self {
            no_route_uses: control
                .gate
                .uses(fetch.or(not_found).unwrap_or(HandlerId::MAX)),
            engine,
            routes,
            entries,
            middleware,
            guards,
            no_route,
            not_found,
            on_error,
            fetch,
            fetch_body,
            has_body_rules,
            control,
            hooks,
            calls,
        }))
    }

    /// Reports whether the project has nothing that could answer a request.
    pub(crate) fn answers_nothing(&self) -> bool {
        let has_other =
            self.fetch.is_some() || self.not_found.is_some() || !self.middleware.is_empty();
        self.entries.is_empty() && !has_other && !self.control.files.has_public()
    }

    /// Returns the names of handlers for the log: its route and its place.
    pub(crate) fn handler_names(&self) -> Vec<(HandlerId, String)> {
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

impl FixedAnswer {
    /// The whole answer, in the coding that the client likes best.
    #[inline]
    pub(crate) fn whole(&self, request: &Request) -> Arc<Precomputed> {
        if self.coded.is_empty() {
            return Arc::clone(&self.whole);
        }
        let wanted = compression::accepted(request);
        let coded = self
            .coded
            .iter()
            .find(|(coding, _)| Some(*coding) == wanted);
        Arc::clone(coded.map_or(&self.whole, |(_, coded)| coded))
    }

    /// The answer, to be given once, with other header fields beside its own.
    pub(crate) fn opened(&self) -> Option<Response> {
        self.open.as_ref()?.borrow_mut().twin()
    }
}

fn parse(pattern: &str, place: Option<&Place>) -> Result<Pattern, Error> {
    Pattern::parse(pattern).map_err(|fault| Error::new(ErrorKind::Load, fault).at(place.cloned()))
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
    Some(match name.strip_suffix("...") {
        Some(name) => format!("*{name}"),
        None => format!(":{name}"),
    })
}

/// Puts a route of the program into the tree; `taken` tells of a route that has its place.
fn insert_native(
    routes: &mut Routes,
    route: &NativeRoute,
    index: usize,
    taken: impl FnOnce(usize) -> Error,
) -> Result<Pattern, Error> {
    let fault = |text| Error::new(ErrorKind::Load, text).at(route.place.clone());
    let pattern = Pattern::parse(&route.pattern)
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
    let mut routes = Routes::default();
    for (index, route) in native.iter().enumerate() {
        insert_native(&mut routes, route, index, |first| {
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

/// Computes the answer of a route that is a value, and that may be checked by guards.
fn precompute(
    engine: &Engine,
    def: &RouteDef,
    control: &Rc<Control>,
    is_guarded: bool,
) -> Result<FixedAnswer, Error> {
    let view = AtStart {
        method: def.method.clone().unwrap_or_else(|| "GET".into()),
        path: def.pattern.clone(),
        store: Store::default(),
    };
    let call = Call {
        request: Rc::new(view),
        handler: Some(def.handler),
        fallback: 200,
        file: None,
        middleware: &[],
        error: None,
    };
    let mut sink = HttpSink::new(200, control, None);
    let fault = |message: String| Error::new(ErrorKind::Load, message).at(def.place.clone());
    match engine.start(call, &mut sink) {
        Step::Done => {
            let mut response = sink.into_response();
            let compression = control.compression_for(&def.body);
            let coded = compression.map(|compression| compression.variants(&mut response));
            let coded = coded.into_iter().flatten();
            let coded = coded
                .filter_map(|(coding, response)| Some((coding, Precomputed::new(response).ok()?)));
            let coded = coded.collect();
            let open = is_guarded.then(|| response.twin()).flatten();
            let whole = Precomputed::new(response)
                .map_err(|_| fault(format!("the value of {} cannot be a stream", def.pattern)))?;
            let open = open.map(RefCell::new);
            Ok(FixedAnswer { whole, coded, open })
        }
        Step::Failed(error) => Err(fault(format!(
            "the value of {} cannot be sent: {}",
            def.pattern,
            error.message()
        ))),
        Step::Waiting(_) => Err(fault(format!(
            "the value of {} cannot be a promise",
            def.pattern
        ))),
    }
}

/// The request for which the answers of values are computed.
struct AtStart {
    method: String,
    path: String,
    store: Store,
}

impl RequestView for AtStart {
    fn method(&self) -> &str {
        &self.method
    }
    fn path(&self) -> &str {
        &self.path
    }
    fn query(&self) -> Option<&str> {
        None
    }
    fn url(&self) -> String {
        format!("http://localhost{}", self.path)
    }
    fn param(&self, _: usize) -> Option<(&str, Cow<'_, str>)> {
        None
    }
    fn header(&self, _: &str) -> Option<&[u8]> {
        None
    }
    fn each_header(&self, _: &mut dyn FnMut(&str, &[u8])) {}
    fn ip(&self) -> String {
        "127.0.0.1".into()
    }
    fn id(&self) -> Cow<'_, str> {
        Cow::Borrowed("start")
    }
    fn body(&self) -> &[u8] {
        &[]
    }
    fn store(&self) -> &Store {
        &self.store
    }
    fn add_header(&self, _: &str, _: &[u8]) -> Result<(), Error> {
        Err(request::is_answered())
    }
    fn is_over(&self) -> bool {
        false
    }
}
