//! The routes of an isolate, with the functions that a script gave them.

use crate::objects::{ROUTE, SOCKET};
use crate::options::{self, RouteOptions};
use sampan_host::sockets::{EventRun, Socket, SocketEvent, SocketHandlers, SocketSettings};
use sampan_host::{
    Args, Callback, Context, Error, ErrorKind, Object, Objects, Rerun, Value, refusals,
};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

/// A map whose keys no client chooses. Each message looks into it.
type FastMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The names of the functions that a route may have.
const EVENTS: [&str; 4] = ["open", "message", "drain", "close"];

/// A route.
pub(crate) struct SocketRoute {
    pub(crate) pattern: Rc<str>,
    pub(crate) settings: Rc<SocketSettings>,
    pub(crate) origins: Vec<String>,
    pub(crate) protocols: Vec<String>,
    /// In the order of [`EVENTS`].
    handlers: [RefCell<Option<Callback>>; 4],
}

/// The function that a socket without a route calls for each event, with the name of the event and its arguments.
pub(crate) struct OwnHandlers {
    /// The isolate of the function.
    pub(crate) routes: Weak<Routes>,
    pub(crate) function: Callback,
}

/// The routes of an isolate, and the objects of its sockets.
pub(crate) struct Routes {
    defaults: SocketSettings,
    next_id: Rc<Cell<u64>>,
    objects: Objects,
    by_pattern: RefCell<FastMap<Rc<str>, Rc<SocketRoute>>>,
    /// The object of each socket that a script has seen, held until the socket has ended: an event may wait for its
    /// turn while the collector finds that the script has forgotten the object.
    sockets: RefCell<FastMap<u64, Object>>,
}

impl Routes {
    pub(crate) fn new(defaults: SocketSettings, next_id: Rc<Cell<u64>>, objects: Objects) -> Self {
        Self {
            defaults,
            next_id,
            objects,
            by_pattern: RefCell::default(),
            sockets: RefCell::default(),
        }
    }

    /// The routes of an isolate.
    pub(crate) fn of(context: &Context) -> Result<Rc<Self>, Error> {
        let routes = context.get::<Rc<Self>>().map(|routes| Rc::clone(&*routes));
        routes.ok_or_else(|| Error::new(ErrorKind::Internal, "no sockets"))
    }

    /// Returns the settings of sockets whose route says nothing else.
    pub(crate) fn defaults(&self) -> SocketSettings {
        self.defaults.clone()
    }

    /// Returns the function for an event, and what it is called with before the arguments of the event. Nothing where
    /// the socket has no place in this isolate.
    fn handler(&self, socket: &Rc<Socket>, at: usize) -> Option<Handler> {
        if let Some(own) = socket.handlers::<OwnHandlers>() {
            // Another project may serve by now.
            let is_ours = std::ptr::eq(own.routes.as_ptr(), self);
            return is_ours.then(|| Handler {
                function: Some(Rc::clone(&own.function)),
                first: vec![Value::from(EVENTS[at])],
            });
        }
        let route = self.by_pattern.borrow().get(&**socket.route()).cloned()?;
        let function = route.handlers[at].borrow().clone();
        Some(Handler {
            function,
            first: Vec::new(),
        })
    }

    /// Returns the number of the next socket.
    pub(crate) fn take_id(&self) -> u64 {
        self.next_id.set(self.next_id.get() + 1);
        self.next_id.get()
    }

    /// Returns the object of a socket.
    pub(crate) fn object_of(&self, socket: &Rc<Socket>) -> Object {
        let known = self.sockets.borrow().get(&socket.id()).copied();
        if let Some(object) = known {
            return object;
        }
        let object = self.objects.add_shared(&SOCKET, Rc::clone(socket));
        self.objects.hold(object);
        self.sockets.borrow_mut().insert(socket.id(), object);
        object
    }
}

impl SocketHandlers for Routes {
    fn start(&self, socket: &Rc<Socket>, event: SocketEvent) -> EventRun {
        let at = match event {
            SocketEvent::Open => 0,
            SocketEvent::Text(_) | SocketEvent::Bytes(_) => 1,
            SocketEvent::Drain => 2,
            SocketEvent::Close { .. } => 3,
        };
        let Some(Handler { function, first }) = self.handler(socket, at) else {
            return EventRun::NoRoute;
        };
        let Some(function) = function else {
            return EventRun::Nothing;
        };
        let mut args = first;
        args.push(Value::Object(self.object_of(socket)));
        match event {
            SocketEvent::Open | SocketEvent::Drain => {}
            SocketEvent::Text(text) => args.extend([Value::Text(text), Value::Bool(true)]),
            SocketEvent::Bytes(bytes) => args.extend([Value::Bytes(bytes), Value::Bool(false)]),
            SocketEvent::Close { code, reason } => {
                args.extend([Value::Int(code.into()), Value::Text(reason)]);
            }
        }
        EventRun::Run(function.start_apart(args))
    }

    fn ended(&self, socket: &Rc<Socket>) {
        // A script that keeps the object may still read the data; it goes when the script has forgotten it.
        let object = self.sockets.borrow_mut().remove(&socket.id());
        if let Some(object) = object {
            self.objects.forget(object);
        }
        socket.drop_handlers();
    }
}

/// A function for an event, and its first arguments.
struct Handler {
    function: Option<Callback>,
    first: Vec<Value>,
}

/// `app.ws(pattern, options)`
pub(crate) fn declare(context: &Context, mut args: Args) -> Result<Value, Error> {
    let routes = Routes::of(context)?;
    let pattern: Rc<str> = args.text(0).into();
    let known = routes.by_pattern.borrow().get(&pattern).cloned();
    let route = match known {
        // Where each request has a run of the file, that declares the same again.
        Some(known) if Rerun::is_on(context) => known,
        _ => {
            let options = args.take(1);
            check_functions(&options)?;
            let options = RouteOptions::read(options, routes.defaults.clone())?;
            let route = Rc::new(SocketRoute {
                pattern: Rc::clone(&pattern),
                settings: Rc::new(options.settings),
                origins: options.origins,
                protocols: options.protocols,
                handlers: Default::default(),
            });
            routes
                .by_pattern
                .borrow_mut()
                .insert(pattern, Rc::clone(&route));
            route
        }
    };
    let object = context.objects().add_shared(&ROUTE, route);
    Ok(Value::Object(object))
}

/// Refuses events among options: those that are functions are not there.
fn check_functions(options: &Value) -> Result<(), Error> {
    let Value::Map(options) = options else {
        return Ok(());
    };
    let is_event = |name: &str| EVENTS.contains(&name) || name == "upgrade";
    match options.iter().find(|(name, _)| is_event(name)) {
        Some((name, _)) => Err(Error::script(format!("ws: {name} must be a function"))),
        None => Ok(()),
    }
}

/// `route:on(event, fn)`
pub(crate) fn on(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (_, route) = args.object::<SocketRoute>(context)?;
    let event = args.text(0);
    let Some(at) = EVENTS.iter().position(|known| *known == event) else {
        let events = ["open", "message", "drain", "close", "upgrade"];
        let all = Vec::from_iter(events.into_iter().chain(options::KNOWN));
        let mut error = refusals::unknown_option(&event, &all);
        error.put_name("app.ws");
        return Err(error);
    };
    let handler = args.function(1);
    let mut slot = route.handlers[at].borrow_mut();
    if slot.is_none() {
        *slot = handler;
    }
    Ok(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_is_no_function_is_refused_as_one() {
        for name in ["open", "message", "drain", "close", "upgrade"] {
            let options = Value::Map(vec![(name.to_owned(), Value::Int(5))]);
            let fault = check_functions(&options).expect_err("a fault");
            assert_eq!(fault.to_string(), format!("ws: {name} must be a function"));
        }
        let options = Value::Map(vec![("compress".to_owned(), Value::Bool(true))]);
        assert!(check_functions(&options).is_ok());
    }
}
