//! The check of origins, and the answer that makes a socket of a request.

use crate::limits::FIELDS_BYTES_MAX;
use crate::options::RouteOptions;
use crate::routes::{OwnHandlers, Routes, SocketRoute};
use sampan_host::log::Log;
use sampan_host::request::is_own_origin;
use sampan_host::sockets::{
    AcceptedSocket, Opening, OwnFields, SOCKET_ANSWER, SOCKET_TYPE, Socket, SocketSettings,
};
use sampan_host::{Args, Context, Error, ErrorKind, RequestView, Value, answer};
use std::cell::RefCell;
use std::rc::Rc;

/// The fields that a script has set on a request, until a socket keeps them.
type FieldsOfRequest = RefCell<OwnFields>;

/// `req:keep_ws(name, value)`
pub(crate) fn keep(_: &Context, mut args: Args) -> Result<Value, Error> {
    let (name, json) = (args.text(0), args.take(1));
    let store = args.request().store();
    let fields = store.get::<FieldsOfRequest>();
    let fields = fields.unwrap_or_else(|| store.put(FieldsOfRequest::default()));
    if let Value::Text(json) = json {
        fields.borrow_mut().add(&name, &json);
    }
    Ok(Value::Null)
}

/// `req:answer_ws(route, data)`
pub(crate) fn answer(context: &Context, mut args: Args) -> Result<Value, Error> {
    let Value::Object(route) = args.take(0) else {
        return Err(Error::script("answer_ws: no route"));
    };
    let route = context.objects().get::<SocketRoute>(route);
    let route = route.ok_or_else(|| Error::script("answer_ws: no route"))?;
    let request = args.request();
    let offer = Offer {
        pattern: &route.pattern,
        settings: &route.settings,
        origins: &route.origins,
        protocols: &route.protocols,
    };
    let socket = offer.socket(context, &**request)?;
    if let Value::Map(data) = args.take(1) {
        *socket.data().borrow_mut() = data;
    }
    accept(&**args.request(), socket);
    Ok(answer::file(SOCKET_ANSWER, SOCKET_TYPE, None))
}

/// `req:upgrade_ws(options, fn)`: a socket without a route, whose events call a function. Returns the content type of
/// the answer that makes a socket of the request.
pub(crate) fn upgrade(context: &Context, mut args: Args) -> Result<Value, Error> {
    let routes = Routes::of(context)?;
    let options = RouteOptions::read(args.take(0), routes.defaults());
    let options = options.map_err(|mut error| {
        // As scripts call it.
        error.put_name("upgrade");
        error
    })?;
    let function = args.function(1);
    let function = function.ok_or_else(|| Error::script("upgrade_ws: no function"))?;
    let request = args.request();
    if request.store().get::<AcceptedSocket>().is_some() {
        let text =
            "upgrade: the request has a socket already: return the response of the first call";
        return Err(Error::script(text));
    }
    let offer = Offer {
        pattern: &"".into(),
        settings: &Rc::new(options.settings),
        origins: &options.origins,
        protocols: &options.protocols,
    };
    let socket = offer.socket(context, &**request)?;
    let handlers = OwnHandlers {
        routes: Rc::downgrade(&routes),
        function,
    };
    accept(&**request, socket.with_handlers(handlers));
    Ok(Value::from(SOCKET_TYPE))
}

/// The conditions of the server for a socket.
struct Offer<'a> {
    pattern: &'a Rc<str>,
    settings: &'a Rc<SocketSettings>,
    origins: &'a [String],
    protocols: &'a [String],
}

impl Offer<'_> {
    /// Makes a socket of a request.
    fn socket(&self, context: &Context, request: &dyn RequestView) -> Result<Socket, Error> {
        if let Err(error) = check_origin(request, self.origins) {
            if let Some(log) = context.get::<Rc<dyn Log>>() {
                log.refusal(request, &error);
            }
            return Err(error);
        }
        let fields = request.store().get::<FieldsOfRequest>().unwrap_or_default();
        let fields = fields.borrow();
        if fields.bytes() > FIELDS_BYTES_MAX {
            return Err(Error::script(format!(
                "the fields that middleware has set on the request have {} bytes as JSON: a socket keeps at most \
                 {FIELDS_BYTES_MAX}",
                fields.bytes()
            )));
        }
        let mut offers = Vec::new();
        request.each_header(&mut |name, value| {
            if name.eq_ignore_ascii_case("sec-websocket-protocol") {
                offers.extend_from_slice(value);
                offers.push(b',');
            }
        });
        let protocol = chosen(&offers, self.protocols);
        let socket = Socket::new(
            Routes::of(context)?.take_id(),
            Rc::clone(self.pattern),
            Opening::of(context, request, &fields),
            Rc::clone(self.settings),
        );
        Ok(socket.with_protocol(protocol.as_deref()))
    }
}

/// Keeps a socket for the server.
fn accept(request: &dyn RequestView, socket: Socket) {
    let socket = Rc::new(socket);
    request.store().put(AcceptedSocket { socket });
}

/// Returns the first of the server's subprotocols that the client offers too.
fn chosen(offers: &[u8], protocols: &[String]) -> Option<String> {
    let offers = std::str::from_utf8(offers).ok()?;
    let offers: Vec<&str> = offers.split(',').map(str::trim).collect();
    let mut known = protocols.iter();
    known
        .find(|known| offers.contains(&known.as_str()))
        .cloned()
}

/// Refuses pages of other sites. Browsers send cookies with the handshake whatever page asks, and tell its origin
/// (RFC 6455 section 10.2). Other clients may leave it out.
fn check_origin(request: &dyn RequestView, origins: &[String]) -> Result<(), Error> {
    let Some(origin) = request.header("origin") else {
        return Ok(());
    };
    let mut fields = 0;
    request.each_header(&mut |name, _| fields += u32::from(name.eq_ignore_ascii_case("origin")));
    if fields > 1 {
        // Which of them counts would be a guess.
        let text = "a handshake must not have two Origin fields";
        return Err(Error::new(ErrorKind::Status(403), text));
    }
    let is_own = is_own_origin(request, origin);
    let origin = String::from_utf8_lossy(origin).to_ascii_lowercase();
    let is_listed = origins.iter().any(|known| known == "*" || *known == origin);
    if is_listed || is_own {
        return Ok(());
    }
    let text = format!("pages of {origin} may not connect here");
    Err(Error::new(ErrorKind::Status(403), text).with_setting("the option origins of its route"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_order_of_protocols_counts() {
        let known = ["b".to_owned(), "a".to_owned()];
        assert_eq!(chosen(b"a, b", &known).as_deref(), Some("b"));
        assert_eq!(chosen(b"c,", &known), None);
        assert_eq!(chosen(b"", &known), None);
    }
}
