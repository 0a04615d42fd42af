//! The functions that `package /serve/*.js` calls. Servers are numbers there.

use std::cell::RefCell;
use std::ffi::CStr;
use std::rc::Rc;
use std::sync::Arc;

use napi_sys as sys;
use sampan_http::{Body as ResponseBody, Limits, Peer, Response};
use sampan_serve::routing::normal_form::normal_form;

use super::node_api::{self, Body, Js, NativeCall};
use super::server::{ServeOptions, Server};
use super::servers::{self, Entry, drop_all, entry, exchange, key};
use super::sockets;
use super::streams::Written;
use super::tls::TlsTexts;
use super::wire::{decoded, put_headers};

const FUNCTIONS: &[(&CStr, Body)] = &[
    (c"start", start),
    (c"port", port),
    (c"addRoute", add_route),
    (c"addAnswer", add_answer),
    (c"setRoutes", set_routes),
    (c"turn", turn),
    (c"give", give),
    (c"takeLate", take_late),
    (c"takeCut", take_cut),
    (c"arm", arm),
    (c"answer", answer),
    (c"beginStream", begin_stream),
    (c"write", write),
    (c"endStream", end_stream),
    (c"target", target),
    (c"method", method),
    (c"host", host),
    (c"header", header),
    (c"headers", headers),
    (c"body", body),
    (c"param", param),
    (c"peer", peer),
    (c"pending", pending),
    (c"hold", hold),
    (c"stop", stop),
    (c"hasEnded", has_ended),
    (c"drop", drop_server),
];

/// Adds the functions of `serve` to an object.
///
/// # Safety
/// `env` is the environment of this thread, `object` a live handle.
pub(crate) unsafe fn define(env: sys::napi_env, object: Js) {
    // SAFETY: the caller promises that `env` is this thread's environment and `object` a live handle.
    unsafe {
        node_api::define(env, object, FUNCTIONS);
        node_api::define(env, object, sockets::FUNCTIONS);
        node_api::at_end(env, drop_all);
    }
}

fn status(call: &NativeCall, index: usize) -> u16 {
    u16::try_from(call.int(index)).unwrap_or(500)
}

/// hostname, port, body bytes, handler milliseconds, idle milliseconds, connections, wake, certificates and keys in
/// turn with a zero between, authorities of clients, whether clients need a certificate → number
fn start(call: &NativeCall) -> Result<Js, String> {
    let mut limits = Limits::default();
    let positive = |index| call.number(index).filter(|number| *number > 0.0);
    if let Some(bytes) = call.number(2) {
        limits.body_bytes_max = bytes as usize;
    }
    if let Some(millis) = positive(3) {
        limits.handler_millis_max = millis as u64;
    }
    // A shutdown leaves each handler its time, and clients some to take the answers.
    limits.shutdown_millis_max = limits
        .shutdown_millis_max
        .saturating_add(limits.handler_millis_max);
    if let Some(millis) = positive(4) {
        limits.idle_millis_max = millis as u64;
    }
    if let Some(count) = positive(5) {
        limits.connections_max = count as usize;
    }
    let options = ServeOptions {
        hostname: call.text(0).unwrap_or_default(),
        port: u16::try_from(call.int(1)).map_err(|_| "port must be 0 to 65535")?,
        limits,
        tls: tls_texts(call),
    };
    let caller = Arc::new(call.caller(6)?);
    let ringing = Arc::clone(&caller);
    let server = Server::start(options, move || ringing.call())?;
    let entry = Entry {
        server: Rc::new(server),
        caller,
        next_routes: RefCell::default(),
    };
    Ok(call.whole(servers::add(entry)?))
}

/// The texts for TLS; nothing if the server is to speak without.
fn tls_texts(call: &NativeCall) -> Option<TlsTexts> {
    let texts = call.text(7)?;
    let texts: Vec<&str> = texts.split('\0').collect();
    let pairs = texts.chunks_exact(2);
    Some(TlsTexts {
        certificates: pairs
            .map(|pair| (pair[0].to_owned(), pair[1].to_owned()))
            .collect(),
        clients: call.text(8).map(|texts| (texts, call.bool(9))),
    })
}

fn port(call: &NativeCall) -> Result<Js, String> {
    let port = entry(call)?.server.address().port();
    Ok(call.whole(port.into()))
}

/// server, method or "", pattern, index of the handler
fn add_route(call: &NativeCall) -> Result<Js, String> {
    let (method, pattern) = (
        call.text(1).unwrap_or_default(),
        call.text(2).unwrap_or_default(),
    );
    let entry = entry(call)?;
    let mut routes = entry.next_routes.borrow_mut();
    routes.add_handler(&method, &pattern, call.int(3) as u32)?;
    Ok(call.undefined())
}

/// server, method or "", pattern, status, headers, body
fn add_answer(call: &NativeCall) -> Result<Js, String> {
    let (method, pattern) = (
        call.text(1).unwrap_or_default(),
        call.text(2).unwrap_or_default(),
    );
    let mut response = Response::new(status(call, 3));
    put_headers(&mut response, &call.latin1(4).unwrap_or_default())?;
    response.set_body(ResponseBody::Bytes(call.bytes(5).unwrap_or_default()));
    let entry = entry(call)?;
    let mut routes = entry.next_routes.borrow_mut();
    routes.add_precomputed(&method, &pattern, response)?;
    Ok(call.undefined())
}

/// server, whether there is a `fetch` → which generation of routes they are: puts the added routes in place, or forgets
/// them if the third argument says so.
fn set_routes(call: &NativeCall) -> Result<Js, String> {
    let entry = entry(call)?;
    let routes = entry.next_routes.take();
    if call.bool(2) {
        return Ok(call.undefined());
    }
    let generation = entry.server.set_routes(routes, call.bool(1));
    Ok(call.whole(generation as i32))
}

/// The answers of a batch, which are not sent before the next turn: server, numbers and bytes of answers, how many
fn give(call: &NativeCall) -> Result<Js, String> {
    take_answers(call, &*entry(call)?, 1, 3)?;
    Ok(call.undefined())
}

fn take_answers(
    call: &NativeCall,
    entry: &Entry,
    memory: usize,
    count: usize,
) -> Result<(), String> {
    let count = usize::try_from(call.int(count)).unwrap_or_default();
    if count == 0 {
        return Ok(());
    }
    let mut faults = Vec::new();
    call.with_memory(memory, |numbers, bytes| {
        entry
            .server
            .take_answers(numbers, bytes, count, |fault| faults.push(fault));
    })?;
    for fault in faults {
        eprintln!("sampan: an answer could not be sent: {fault}");
    }
    Ok(())
}

/// server, numbers and bytes of the batch, numbers and bytes of answers, how many → how many requests
fn turn(call: &NativeCall) -> Result<Js, String> {
    let entry = entry(call)?;
    take_answers(call, &entry, 3, 5)?;
    let requests = call.with_memory(1, |numbers, bytes| entry.server.turn(numbers, bytes))?;
    let requests =
        requests.map_err(|error| format!("the server cannot wait for events: {error}"))?;
    Ok(call.whole(requests as i32))
}

/// server → place, serial number, and method with path of each request whose time was up since the last time, in turn
fn take_late(call: &NativeCall) -> Result<Js, String> {
    let mut parts = Vec::new();
    for (key, title) in entry(call)?.server.take_late() {
        parts.push(call.whole(key.place as i32));
        parts.push(call.whole(key.serial as i32));
        parts.push(call.string(&title));
    }
    Ok(call.array(&parts))
}

/// server → place, serial number, method with path, and reason of each stream that was cut since the last time, in turn
fn take_cut(call: &NativeCall) -> Result<Js, String> {
    let mut parts = Vec::new();
    for stream in entry(call)?.server.take_cut() {
        parts.push(call.whole(stream.key.place as i32));
        parts.push(call.whole(stream.key.serial as i32));
        parts.push(call.string(&stream.title));
        parts.push(call.string(&stream.reason));
    }
    Ok(call.array(&parts))
}

fn arm(call: &NativeCall) -> Result<Js, String> {
    let armed = entry(call)?.server.arm();
    armed.map_err(|error| format!("the server cannot wait for events: {error}"))?;
    Ok(call.undefined())
}

/// The bytes of a string or of a `Uint8Array`.
fn text_or_bytes(call: &NativeCall, index: usize) -> Vec<u8> {
    match call.bytes(index) {
        Some(bytes) => bytes,
        None => call.text(index).unwrap_or_default().into_bytes(),
    }
}

/// server, request, status, headers, body → whether a client waited for it
fn answer(call: &NativeCall) -> Result<Js, String> {
    let headers = call.latin1(4).unwrap_or_default();
    let body = text_or_bytes(call, 5);
    let known = entry(call)?
        .server
        .answer(key(call), status(call, 3), &headers, body)?;
    Ok(call.truth(known))
}

/// server, request, status, headers → place and serial number of the stream, or nothing
fn begin_stream(call: &NativeCall) -> Result<Js, String> {
    let headers = call.latin1(4).unwrap_or_default();
    let stream = entry(call)?
        .server
        .begin_stream(key(call), status(call, 3), &headers)?;
    Ok(match stream {
        Some(key) => call.array(&[call.whole(key.place as i32), call.whole(key.serial as i32)]),
        None => call.undefined(),
    })
}

/// server, stream, bytes or text → 0 go on, 1 wait, 2 the client has left
fn write(call: &NativeCall) -> Result<Js, String> {
    let piece = text_or_bytes(call, 3);
    Ok(
        call.whole(match entry(call)?.server.write(key(call), &piece) {
            Written::More => 0,
            Written::Full => 1,
            Written::Gone => 2,
        }),
    )
}

/// server, stream, whether it is whole
fn end_stream(call: &NativeCall) -> Result<Js, String> {
    entry(call)?.server.end_stream(key(call), call.bool(3));
    Ok(call.undefined())
}

fn target(call: &NativeCall) -> Result<Js, String> {
    Ok(call.string_of_bytes(exchange(call)?.request.target().as_bytes()))
}

fn method(call: &NativeCall) -> Result<Js, String> {
    Ok(call.string(exchange(call)?.request.method_str()))
}

fn host(call: &NativeCall) -> Result<Js, String> {
    Ok(call.string(exchange(call)?.request.host().unwrap_or_default()))
}

/// The value of a field, those of one name joined; nothing if there is none.
fn header(call: &NativeCall) -> Result<Js, String> {
    let name = call.text(3).unwrap_or_default();
    let exchange = exchange(call)?;
    let request = &exchange.request;
    if request.header(&name).is_none() {
        return Ok(call.undefined());
    }
    let values: Vec<&[u8]> = request
        .headers()
        .filter(|(other, _)| other.eq_ignore_ascii_case(&name))
        .map(|(_, value)| value)
        .collect();
    let separator: &[u8] = match name.eq_ignore_ascii_case("cookie") {
        true => b"; ",
        false => b", ",
    };
    Ok(call.string_of_bytes(&values.join(separator)))
}

/// Names and values in turn.
fn headers(call: &NativeCall) -> Result<Js, String> {
    let exchange = exchange(call)?;
    let mut parts = Vec::new();
    for (name, value) in exchange.request.headers() {
        parts.push(call.string(name));
        parts.push(call.string_of_bytes(value));
    }
    Ok(call.array(&parts))
}

fn body(call: &NativeCall) -> Result<Js, String> {
    Ok(call.bytes_of(exchange(call)?.request.body()))
}

/// The value of a parameter by its place in the pattern.
fn param(call: &NativeCall) -> Result<Js, String> {
    let exchange = exchange(call)?;
    let path = normal_form(exchange.request.path());
    let value = exchange.params.of(&path, call.int(3) as usize);
    Ok(value.map_or_else(|| call.undefined(), |value| call.string(&decoded(value))))
}

/// Address and port of the client; nothing for a Unix socket.
fn peer(call: &NativeCall) -> Result<Js, String> {
    Ok(match exchange(call)?.request.peer() {
        Peer::Tcp(address) => call.array(&[
            call.string(&address.ip().to_string()),
            call.whole(address.port().into()),
        ]),
        Peer::Unix => call.undefined(),
    })
}

fn pending(call: &NativeCall) -> Result<Js, String> {
    Ok(call.whole(entry(call)?.server.pending() as i32))
}

/// Reports whether the server keeps the program alive.
fn hold(call: &NativeCall) -> Result<Js, String> {
    entry(call)?.caller.hold(call.env, call.bool(1));
    Ok(call.undefined())
}

fn stop(call: &NativeCall) -> Result<Js, String> {
    entry(call)?.server.stop(call.bool(1));
    Ok(call.undefined())
}

fn has_ended(call: &NativeCall) -> Result<Js, String> {
    Ok(call.truth(entry(call)?.server.has_ended()))
}

fn drop_server(call: &NativeCall) -> Result<Js, String> {
    drop(servers::remove(call));
    Ok(call.undefined())
}
