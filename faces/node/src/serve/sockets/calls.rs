//! The functions that `package/serve/sockets.cjs` calls.

use std::ffi::CStr;
use std::rc::Rc;

use sampan_http::Upgrade;
use sampan_http::websocket::{self, CONTROL_BYTES_MAX, CloseFrame, Opcode};

use super::connection::{SocketConnection, SocketGuard};
use super::outgoing::frame;
use super::registry::{Fate, SocketEvent, SocketSettings, SocketState, Sockets, payload};
use crate::serve::exchanges::Key;
use crate::serve::node_api::{Body, Js, NativeCall};
use crate::serve::servers::{entry, exchange, key};

pub(in crate::serve) const FUNCTIONS: &[(&CStr, Body)] = &[
    (c"setSockets", set_sockets),
    (c"upgrade", upgrade),
    (c"takeSocketEvents", take_events),
    (c"takeSocketPayload", take_payload),
    (c"socketSend", send),
    (c"socketControl", control),
    (c"socketClose", close),
    (c"socketTerminate", terminate),
    (c"socketBuffered", buffered),
    (c"socketTopic", topic),
    (c"socketTopics", topics),
    (c"socketPublish", publish),
    (c"subscriberCount", subscriber_count),
    (c"pendingSockets", pending),
];

/// Numbers of one event.
const EVENT: usize = 6;

fn sockets(call: &NativeCall) -> Result<Rc<Sockets>, String> {
    Ok(Rc::clone(entry(call)?.server.sockets()))
}

/// The sockets of a server, and one of them.
type Found = (Rc<Sockets>, Rc<SocketState>);

/// The socket that a call names; nothing if it has ended.
fn socket(call: &NativeCall) -> Result<Option<Found>, String> {
    let sockets = sockets(call)?;
    let state = sockets.find(key(call));
    Ok(state.map(|state| (sockets, state)))
}

/// server, bytes of a message, bytes of backpressure, whether to close above them, idle milliseconds, pings,
/// compression, whether a publisher gets its own messages
fn set_sockets(call: &NativeCall) -> Result<Js, String> {
    let number = |index| call.number(index).unwrap_or_default();
    let settings = SocketSettings {
        message_bytes_max: number(1) as usize,
        backpressure_bytes_max: number(2) as usize,
        closes_on_backpressure: call.bool(3),
        idle_millis_max: number(4) as u64,
        sends_pings: call.bool(5),
        compress: call.bool(6),
        publishes_to_self: call.bool(7),
    };
    sockets(call)?.settings.replace(Some(Rc::new(settings)));
    Ok(call.undefined())
}

/// server, request, header fields, whether they name a subprotocol → place and serial number of the socket; nothing if
/// the request asks for no WebSocket, or is over
fn upgrade(call: &NativeCall) -> Result<Js, String> {
    let (entry, sockets) = (entry(call)?, sockets(call)?);
    let settings = sockets.settings.borrow().clone();
    let settings = settings.ok_or("serve was given no websocket")?;
    let Ok(exchange) = exchange(call) else {
        return Ok(call.undefined());
    };
    let request = &exchange.request;
    let is_get = request.method_str() == "GET" && request.protocol() != "HTTP/1.0";
    let field = |name: &str| request.joined_header(name).filter(|_| is_get);
    let accept = match request.is_extended_connect() {
        true => websocket::check_version(field).map(|()| None),
        false => websocket::check_handshake(field).map(Some),
    };
    let Ok(accept) = accept else {
        return Ok(call.undefined());
    };
    let offers = request.joined_header("sec-websocket-extensions");
    let deflate = offers
        .as_deref()
        .filter(|_| settings.compress)
        .and_then(websocket::negotiate);
    let state = sockets.begin(settings, deflate.map(|deflate| deflate.window_bits));
    let (key, guard) = (state.key, SocketGuard::new(state, Rc::clone(&sockets)));
    let mut upgrade = Upgrade::new("websocket", move |stream| {
        Box::pin(SocketConnection::new(stream, guard))
    })
    .map_err(|error| error.to_string())?;
    let mut add = |name: &[u8], value: &[u8]| {
        let added = upgrade.header(name, value);
        added.map_err(|error| format!("{}: {error}", String::from_utf8_lossy(name)))
    };
    if let Some(accept) = accept {
        add(b"Sec-WebSocket-Accept", accept.as_bytes())?;
    }
    if let Some(deflate) = deflate {
        add(b"Sec-WebSocket-Extensions", deflate.answer().as_bytes())?;
    }
    let offered = request.header("sec-websocket-protocol");
    if let Some(offered) = offered.filter(|_| !call.bool(4)) {
        let first = offered.split(|byte| *byte == b',').next();
        add(
            b"Sec-WebSocket-Protocol",
            first.unwrap_or_default().trim_ascii(),
        )?;
    }
    let headers = call.latin1(3).unwrap_or_default();
    let mut parts = headers.split(|byte| *byte == b'\n');
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        add(name, value)?;
    }
    entry.server.upgrade(exchange.key, upgrade);
    Ok(call.array(&[call.whole(key.place as i32), call.whole(key.serial as i32)]))
}

/// server, numbers, bytes → how many events: of each its kind, place, serial number, where its bytes begin, how many
/// there are (−1: to be asked for, and nothing comes behind it), and the code of a close frame
fn take_events(call: &NativeCall) -> Result<Js, String> {
    let sockets = sockets(call)?;
    let count = call.with_memory(1, |numbers, bytes| {
        let (mut count, mut used, mut is_full) = (0, 0, false);
        sockets.deliver(|key, event| {
            let at = count * EVENT;
            let data = payload(event);
            if is_full || at + EVENT > numbers.len() {
                return false;
            }
            let is_large = data.len() > bytes.len();
            if !is_large && data.len() > bytes.len() - used {
                return false;
            }
            let (kind, code) = match event {
                SocketEvent::Open => (0, 0),
                SocketEvent::Text(_) => (1, 0),
                SocketEvent::Bytes(_) => (2, 0),
                SocketEvent::Drain => (3, 0),
                SocketEvent::Ping(_) => (4, 0),
                SocketEvent::Pong(_) => (5, 0),
                SocketEvent::Close(frame) => (6, frame.code),
            };
            let len = if is_large { -1 } else { data.len() as i32 };
            numbers[at..at + EVENT].copy_from_slice(&[
                kind,
                key.place as i32,
                key.serial as i32,
                used as i32,
                len,
                code.into(),
            ]);
            count += 1;
            // It stays first until its bytes have been asked for.
            is_full = is_large;
            if !is_large {
                bytes[used..used + data.len()].copy_from_slice(data);
                used += data.len();
            }
            !is_large
        });
        count
    })?;
    Ok(call.whole(count as i32))
}

/// server → the bytes of the first event, which is removed
fn take_payload(call: &NativeCall) -> Result<Js, String> {
    Ok(call.bytes_of(&sockets(call)?.take_first()))
}

/// The opcode and the bytes of a message: a string is a text, unless `is_binary`.
fn message(call: &NativeCall, index: usize, is_binary: bool) -> (Opcode, Vec<u8>) {
    let (opcode, bytes) = match call.bytes(index) {
        Some(bytes) => (Opcode::Binary, bytes),
        None => {
            let text = call.text(index).unwrap_or_default();
            (Opcode::Text, text.into_bytes())
        }
    };
    match is_binary {
        true => (Opcode::Binary, bytes),
        false => (opcode, bytes),
    }
}

/// The bytes that were sent, −1 if they wait for the client, 0 if they were dropped. An empty message counts as one
/// byte.
fn fate(call: &NativeCall, sent: Fate, len: usize) -> Js {
    call.whole(match sent {
        Fate::Sent => i32::try_from(len.max(1)).unwrap_or(i32::MAX),
        Fate::Queued => -1,
        Fate::Dropped => 0,
    })
}

/// server, socket, message, whether to compress → its fate
fn send(call: &NativeCall) -> Result<Js, String> {
    let Some((sockets, state)) = socket(call)? else {
        return Ok(call.whole(0));
    };
    let (opcode, bytes) = message(call, 3, false);
    let frame = sockets.message(state.window_bits, opcode, &bytes, call.bool(4));
    Ok(fate(call, state.send(frame), bytes.len()))
}

/// server, socket, whether it is a pong, payload → its fate
fn control(call: &NativeCall) -> Result<Js, String> {
    let Some((_, state)) = socket(call)? else {
        return Ok(call.whole(0));
    };
    let opcode = match call.bool(3) {
        true => Opcode::Pong,
        false => Opcode::Ping,
    };
    let (_, bytes) = message(call, 4, true);
    if bytes.len() > CONTROL_BYTES_MAX {
        return Err(format!(
            "a ping or a pong has at most {CONTROL_BYTES_MAX} bytes"
        ));
    }
    Ok(fate(
        call,
        state.send(frame(opcode, false, &bytes)),
        bytes.len(),
    ))
}

/// server, socket, code, reason
fn close(call: &NativeCall) -> Result<Js, String> {
    if let Some((_, state)) = socket(call)? {
        let code = u16::try_from(call.int(3)).unwrap_or(websocket::codes::NORMAL);
        state.close(&CloseFrame::new(code, &call.text(4).unwrap_or_default()));
    }
    Ok(call.undefined())
}

/// server, socket
fn terminate(call: &NativeCall) -> Result<Js, String> {
    if let Some((_, state)) = socket(call)? {
        state.terminate();
    }
    Ok(call.undefined())
}

/// server, socket → bytes that wait
fn buffered(call: &NativeCall) -> Result<Js, String> {
    let bytes = socket(call)?.map_or(0, |(_, state)| state.out.borrow().len());
    Ok(call.whole(i32::try_from(bytes).unwrap_or(i32::MAX)))
}

/// server, socket, topic, 1 to subscribe, 0 to unsubscribe, 2 to ask → whether it is subscribed
fn topic(call: &NativeCall) -> Result<Js, String> {
    let Some((sockets, state)) = socket(call)? else {
        return Ok(call.truth(false));
    };
    let topic = call.text(3).unwrap_or_default();
    match call.int(4) {
        0 => sockets.unsubscribe(&state, &topic),
        1 => sockets.subscribe(&state, &topic),
        _ => {}
    }
    Ok(call.truth(sockets.topics_of(&state).contains(&topic)))
}

/// server, socket → its topics
fn topics(call: &NativeCall) -> Result<Js, String> {
    let topics = socket(call)?.map(|(sockets, state)| sockets.topics_of(&state));
    let topics = topics.unwrap_or_default();
    let items: Vec<Js> = topics.iter().map(|topic| call.string(topic)).collect();
    Ok(call.array(&items))
}

/// server, place and serial number of the socket that publishes (place −1: none), topic, message, whether to compress →
/// its fate
fn publish(call: &NativeCall) -> Result<Js, String> {
    let sockets = sockets(call)?;
    let publisher: Option<Key> = (call.int(1) >= 0).then(|| key(call));
    if let Some(key) = publisher
        && sockets.find(key).is_none()
    {
        return Ok(call.whole(0));
    }
    let settings = sockets.settings.borrow().clone();
    let except = publisher.filter(|_| !settings.is_some_and(|one| one.publishes_to_self));
    let topic = call.text(3).unwrap_or_default();
    let (opcode, bytes) = message(call, 4, false);
    let sent = sockets.publish(&topic, opcode, &bytes, call.bool(5), except);
    Ok(fate(call, sent, bytes.len()))
}

/// server, topic → how many
fn subscriber_count(call: &NativeCall) -> Result<Js, String> {
    let count = sockets(call)?.subscribers(&call.text(1).unwrap_or_default());
    Ok(call.whole(count as i32))
}

/// server → how many sockets are open
fn pending(call: &NativeCall) -> Result<Js, String> {
    Ok(call.whole(sockets(call)?.len() as i32))
}
