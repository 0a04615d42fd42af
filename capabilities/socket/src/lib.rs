//! WebSockets for scripts: `app.ws` declares a route with functions for its events, and a `WebSocket` is one
//! connection of it.
//!
//! The server has the connections (`sampan_host::sockets`). Here are the script's side of them: routes and their
//! functions per isolate (`routes`), objects (`objects`), messages of topics (`topics`), who may connect (`accept`),
//! and `[sockets]` (`config`).

mod accept;
mod config;
mod limits;
mod objects;
mod options;
mod routes;
mod topics;

pub use config::{SECTION, defaults};

use routes::Routes;
use sampan_host::capability::IsolateSetup;
use sampan_host::sockets::SocketHandlers;
use sampan_host::{Capability, Context, Error, ErrorKind, FunctionKind, Module, Type, param, row};
use std::cell::Cell;
use std::rc::Rc;

/// WebSockets.
pub static CAPABILITY: Capability = Capability {
    name: "socket",
    modules: &[&MODULE, &ROUTES],
    sections: &[&SECTION],
    asks: &["topics"],
    configure: |settings| settings.resolve(&SECTION, defaults).map(drop),
    isolate,
    ..Capability::EMPTY
};

/// The function `app.ws`, see [`Module::declares_routes`].
pub static ROUTES: Module = Module {
    name: sampan_host::module::ROUTE_KINDS,
    doc: "Routes that are not answered by a function alone.",
    functions: &[row!("ws"(
            param!("pattern": Type::Text, "The pattern of the path, as for other routes."),
            param!("options": Type::Map, "`origins`, `protocols`, and the keys of `[sockets]`."),
        ) -> Type::Object(&objects::ROUTE), FunctionKind::Sync(routes::declare),
        "Declares an address for WebSockets.")],
    classes: &[&objects::ROUTE],
    request_methods: &[
        row!("answer_ws"(
            param!("route": Type::Object(&objects::ROUTE), "A route that `ws` has declared."),
            param!("data"? Type::Map, "The first values of the socket's `data`."),
        ) -> Type::Answer, FunctionKind::Sync(accept::answer),
        "Answers a request with a socket of the route."),
        row!("upgrade_ws"(
            param!("options": Type::Map, "As those of `ws`."),
            param!("fn": Type::Function, "Called for each event, with its name, the socket and what the event has."),
        ) -> Type::Text, FunctionKind::Sync(accept::upgrade),
        "Makes a socket without a route. Returns the content type of the answer to its request."),
        row!("keep_ws"(
            param!("name": Type::Text, "The name of a field that the script has set on the request."),
            param!("value": Type::Json, "Its value."),
        ) -> Type::Nothing, FunctionKind::Sync(accept::keep),
        "Has the socket of the request keep a field."),
    ],
    ..Module::EMPTY
};

/// The objects of `app.ws`.
pub static MODULE: Module = Module {
    name: "ws",
    doc: "WebSockets: connections on which both sides send messages at any time. `app.ws(pattern, { open, message, \
          drain, close, upgrade, ... })` declares an address for them. [WebSockets](../guide/sockets.md) tells how.",
    classes: &[&objects::SOCKET, &objects::DATA],
    ..Module::EMPTY
};

/// The number of the next socket of a worker.
#[derive(Default)]
struct NextId(Rc<Cell<u64>>);

fn isolate(setup: &IsolateSetup<'_>) -> Result<(), Error> {
    let settings = setup.settings.resolve(&SECTION, defaults);
    let settings = settings.map_err(|fault| Error::new(ErrorKind::Load, fault))?;
    if setup.worker.get::<NextId>().is_none() {
        setup.worker.put(NextId::default());
    }
    let next_id = setup.worker.get::<NextId>().unwrap_or_default();
    let context: &Context = setup.context;
    let objects = context.objects().clone();
    let routes = Rc::new(Routes::new(settings, Rc::clone(&next_id.0), objects));
    context.put(Rc::clone(&routes));
    context.put(routes as Rc<dyn SocketHandlers>);
    Ok(())
}
