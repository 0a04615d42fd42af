//! `t.ws`: WebSockets of the app, as tests see them.

use super::limits::RECEIVE_MILLIS;
use super::requests::TestRequest;
use super::socket_client::TestSocket;
use super::state::{CLIENT, state_of};
use sampan_host::{
    Args, Class, Context as HostContext, Error, ErrorKind, FunctionKind, Lifetime, LocalFuture,
    Param, Type, Value, param, row,
};
use sampan_http::websocket::{CloseFrame, Opcode};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A socket.
pub(super) static SOCKET: Class = Class {
    name: "TestSocket",
    variable: "ws",
    doc: "The client's end of a WebSocket, in tests. Beside its methods it has the answer to the handshake: \
          `ws.status` (101 unless the app has refused), `ws.headers`, `ws.body`, `ws.json`; and `ws.protocol`, the \
          subprotocol that the app chose.",
    methods: &[
        row!("send"(
                param!("message": Type::Bytes, "A text, or bytes."),
            ) -> Type::Nothing, FunctionKind::Sync(send),
            "Sends a message."),
        row!("send_bytes"(
                param!("message": Type::Bytes, "Text or bytes."),
            ) -> Type::Nothing, FunctionKind::Sync(send_bytes),
            "Sends a message of bytes, also if they are text."),
        row!("send_json"(
                param!("value": Type::Json, "What JSON has."),
            ) -> Type::Nothing, FunctionKind::Sync(send_json),
            "Sends a value as a text of JSON."),
        row!("receive"(TIMEOUT) -> Type::Any, FunctionKind::Async(receive),
            "Waits for the app's next message: a text, or bytes. Fails if none comes in time, or if the socket is \
             closed."),
        row!("close"(
                param!("code"? Type::Int, "1000 unless given."),
                param!("reason"? Type::Text, "At most 123 bytes."),
            ) -> Type::Nothing, FunctionKind::Sync(close),
            "Closes the socket, behind what was sent before."),
        row!("closed"(TIMEOUT) -> CLOSED, FunctionKind::Async(closed),
            "Waits until the socket is closed, by either end, and until the app has run its function for that. Returns \
             `code` and `reason`: those of the app's close frame, 1006 if it ended without one. Messages that come \
             meanwhile stay for `receive`."),
        row!("get"(
                param!("key": Type::Text, "The name."),
            ) -> Type::Any, FunctionKind::Sync(get),
            "A field: the same as `ws.status`."),
        row!("keys"() -> Type::List, FunctionKind::Sync(keys),
            "The names of the fields."),
    ],
    lifetime: Lifetime::Collector,
    is_keyed: true,
};

const TIMEOUT: Param =
    param!("timeout_millis"? Type::Int, "The longest wait, in milliseconds. Default: 2000.");

const CLOSED: Type = Type::Record(&[("code", Type::Int), ("reason", Type::Text)]);

/// The fields that scripts see.
const FIELDS: [&str; 5] = ["status", "headers", "body", "json", "protocol"];

pub(super) fn connect(context: &HostContext, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let (path, options) = (args.text(0), args.take(1));
    let prepared = state_of(context).and_then(|state| {
        let running = state.runs(context, format!("t.ws({path:?})"));
        let request = TestRequest::handshake(&path, options)?;
        Ok((state, request, context.objects().clone(), running))
    });
    Box::pin(async move {
        let (state, request, objects, _running) = prepared?;
        let bytes = request.bytes(state.cookies_of(&request));
        let (answer, link) = state.app.connect(&bytes, CLIENT).await;
        state.keep_cookies(&request, &answer);
        let answer = state.answered(&objects, &request, answer)?;
        let socket = Rc::new(TestSocket::new(answer, link));
        state.sockets.borrow_mut().push(Rc::clone(&socket));
        Ok(Value::Object(objects.add_shared(&SOCKET, socket)))
    })
}

fn this(context: &HostContext, args: &Args) -> Result<Rc<TestSocket>, Error> {
    Ok(args.object::<TestSocket>(context)?.1)
}

fn send(context: &HostContext, mut args: Args) -> Result<Value, Error> {
    let socket = this(context, &args)?;
    match args.take(0) {
        Value::Text(text) => socket.send(Opcode::Text, text.as_bytes())?,
        other => socket.send(Opcode::Binary, &other.into_bytes())?,
    }
    Ok(Value::Null)
}

fn send_bytes(context: &HostContext, mut args: Args) -> Result<Value, Error> {
    let socket = this(context, &args)?;
    socket.send(Opcode::Binary, &args.bytes(0))?;
    Ok(Value::Null)
}

fn send_json(context: &HostContext, mut args: Args) -> Result<Value, Error> {
    let socket = this(context, &args)?;
    socket.send(Opcode::Text, &args.bytes(0))?;
    Ok(Value::Null)
}

fn close(context: &HostContext, mut args: Args) -> Result<Value, Error> {
    let socket = this(context, &args)?;
    let code = args.number(0).unwrap_or(1000.0);
    if !(1000.0..=4999.0).contains(&code) || code.fract() != 0.0 {
        return Err(Error::script("the code for closing must be 1000 to 4999"));
    }
    let frame = CloseFrame::new(code as u16, &args.text(1));
    socket.close(&frame)?;
    Ok(Value::Null)
}

/// Waits for a result of the socket, but not longer than the caller wants.
fn wait(
    context: &HostContext,
    args: &Args,
    call: &str,
    poll: fn(&TestSocket, &mut Context<'_>) -> Poll<Result<Value, Error>>,
    missing: &'static str,
) -> LocalFuture<Result<Value, Error>> {
    let millis = args
        .number(0)
        .map_or(RECEIVE_MILLIS, |millis| millis.max(0.0) as u64);
    let prepared = this(context, args).and_then(|socket| {
        socket.check()?;
        let running = state_of(context)?.runs(context, call.to_owned());
        Ok((socket, running))
    });
    Box::pin(async move {
        let (socket, _running) = prepared?;
        let result = poll_fn(|cx| poll(&socket, cx));
        match tokio::time::timeout(Duration::from_millis(millis), result).await {
            Ok(result) => result,
            Err(_) => {
                let text = format!("{missing} within {millis} ms");
                Err(Error::new(ErrorKind::Timeout, text))
            }
        }
    })
}

fn receive(context: &HostContext, args: Args) -> LocalFuture<Result<Value, Error>> {
    let missing = "no message came";
    wait(
        context,
        &args,
        "ws:receive",
        TestSocket::poll_receive,
        missing,
    )
}

fn closed(context: &HostContext, args: Args) -> LocalFuture<Result<Value, Error>> {
    let missing = "the socket was not closed";
    wait(
        context,
        &args,
        "ws:closed",
        TestSocket::poll_closed,
        missing,
    )
}

fn get(context: &HostContext, mut args: Args) -> Result<Value, Error> {
    let (socket, key) = (this(context, &args)?, args.text(0));
    let field = match key.as_str() {
        "protocol" => socket
            .answer
            .get("headers")
            .and_then(|headers| headers.get("sec-websocket-protocol")),
        key if FIELDS.contains(&key) => socket.answer.get(key),
        _ => None,
    };
    Ok(field.cloned().unwrap_or_default())
}

fn keys(_: &HostContext, _: Args) -> Result<Value, Error> {
    Ok(Value::List(FIELDS.map(Value::from).to_vec()))
}
