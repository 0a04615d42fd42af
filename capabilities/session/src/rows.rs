//! The rows that scripts see: `req.session`, its methods, and the messages for the next page.

use crate::kept::KeptSession;
use crate::session::by_value::{self, SessionSearch};
use crate::session::{self, Session};
use crate::store::SessionKey;
use sampan_host::sockets::KeptField;
use sampan_host::{
    Args, Class, Context, Error, FunctionKind, Lifetime, Module, Param, Prompt, RequestView, Type,
    Value, param, row,
};
use std::rc::Rc;

const KEY: Param = param!("key": Type::Text, "Any text but the name of a method.");

/// The session of a request.
pub(crate) static SESSION: Class = Class {
    name: "Session",
    variable: "session",
    doc: "What the app remembers of a browser, by keys. Values are what JSON has; what is read is a copy, so assign \
     it again after a change inside. \
          It is written once, at the end of the handler, together with what the handler wrote to the database; not if \
           that fails. That of a socket, `ws.req.session`, is read anew each time, and written at once. A socket \
           cannot set a cookie: it neither begins a session nor gives it a new id, and it changes none with \
           `store = \"cookie\"`.",
    methods: &[
        row!("get"(KEY) -> Type::Any, FunctionKind::Sync(get),
            "The value under a key, or nothing: the same as `session.key`."),
        row!("set"(
                KEY,
                param!("value"? Type::Any, "What JSON has; nothing removes the key."),
            ) -> Type::Nothing, FunctionKind::Sync(set),
            "Puts a value under a key: the same as `session.key = value`."),
        row!("keys"() -> Type::List, FunctionKind::Sync(keys),
            "The keys that have a value."),
        row!("clear"() -> Type::Nothing, FunctionKind::Sync(clear),
            "Ends the session, as for a logout: everything in it goes, and its cookie finds nothing any more. With \
             `store = \"cookie\"` only this browser forgets it: a copy of the cookie works until it ends. What is set \
             after this begins a new session."),
        row!("regenerate"() -> Type::Nothing, FunctionKind::Sync(regenerate),
            "Gives the session a new id and keeps what is in it. Call it at login: a visitor who knew the old id \
             is not logged in."),
    ],
    // It goes with the request whose field it is, see `SessionOfRequest`; in JavaScript that may not be the one whose
    // turn it is.
    lifetime: Lifetime::Collector,
    is_keyed: true,
};

const VALUES: Param = param!("values": Type::Map,
    "One key of the sessions and its value, such as `{ user_id = 7 }`. At most four keys may be used in an app, each \
     with an index.");

/// The additions of sessions to requests.
pub static MODULE: Module = Module {
    name: "session",
    doc: "What an app remembers of a browser from request to request.",
    functions: &[
        row!("end_all"(
                VALUES,
                param!("except"? Type::Object(&SESSION),
                    "A session that stays, such as `req.session`: that of the request."),
            ) -> Type::Int, FunctionKind::Waiting(end_all),
            "Ends all sessions that have a value under a key, as after a change of the password. That of this request \
             ends too, unless it is given as `except`: then call its `regenerate` too, or a copy of its cookie stays \
             logged in. Returns how many there were. On PostgreSQL it waits."),
        row!("end_one"(
                VALUES,
                param!("id": Type::Text, "The `id` of a session in `list`."),
            ) -> Type::Bool, FunctionKind::Waiting(end_one),
            "Ends one of the sessions that have a value under a key. Returns whether it was there: the id of a session \
             with another value ends none. On PostgreSQL it waits. With `store = \"cookie\"` it is an error, as `list` \
             and `end_all` are."),
        row!("list"(
                VALUES,
                param!("current"? Type::Object(&SESSION),
                    "The session to mark, such as `req.session`: that of the request."),
            ) -> Type::List, FunctionKind::Waiting(list),
            "Lists the sessions that have a value under a key, the newest first, at most 100. Each has `id` for \
             `end_one`, from which no cookie can be made, `began` and `ends`, in seconds since 1970, and `current`. On \
             PostgreSQL it waits."),
    ],
    classes: &[&SESSION],
    request_fields: &[
        row!("session"() -> Type::Object(&SESSION), FunctionKind::Sync(of_request),
        "What the app remembers of this browser."),
    ],
    request_methods: &[
        row!("flash"(
                param!("kind": Type::Text, "The kind of the message: `notice`, `error`."),
                param!("message": Type::Any, "A text, or anything else that JSON has."),
            ) -> Type::Nothing, FunctionKind::Sync(flash),
            "Leaves a message for the next page of this browser, in its session."),
        row!("flashes"() -> Type::List, FunctionKind::Sync(flashes),
            "The messages that earlier requests left, each with `kind` and `message`. No later request gets them."),
    ],
    // On a server these functions wait.
    elsewhere: Some(&MODULE),
    ..Module::EMPTY
};

/// Reads the arguments of a function for all sessions that have a value.
fn search(args: &mut Args, function: &str) -> Result<SessionSearch, Error> {
    let may_wait = args.may_wait();
    let usage = || {
        let text = format!(
            "session.{function} is given one key of the sessions and its value, which is a text, a number or a boolean"
        );
        Error::script(text).naming([function])
    };
    let Value::Map(with) = args.take(0) else {
        return Err(usage());
    };
    let Ok([(key, value)]) = <[_; 1]>::try_from(with) else {
        return Err(usage());
    };
    match value {
        Value::Text(_) | Value::Int(_) | Value::Float(_) | Value::Bool(_) => Ok(SessionSearch {
            key,
            value,
            may_wait,
        }),
        _ => Err(usage()),
    }
}

/// Returns the session that is the second argument, if there is one.
fn given_session(context: &Context, args: &mut Args) -> Result<Option<Rc<AnySession>>, Error> {
    let Value::Object(object) = args.take(1) else {
        return Ok(None);
    };
    let session = context.objects().get::<AnySession>(object);
    session.map(Some).ok_or_else(|| object.class().is_over())
}

fn end_all(context: &Context, mut args: Args) -> Result<Prompt, Error> {
    let search = search(&mut args, "end_all")?;
    let except = given_session(context, &mut args)?;
    let key = except.as_ref().and_then(|session| session.key());
    if let Some(AnySession::OfRequest(session)) = except.as_deref() {
        session.note_others_end();
    }
    by_value::end_all(context, search, key)
}

fn end_one(context: &Context, mut args: Args) -> Result<Prompt, Error> {
    let search = search(&mut args, "end_one")?;
    let id = args.text(1);
    by_value::end_one(context, search, &id)
}

fn list(context: &Context, mut args: Args) -> Result<Prompt, Error> {
    let search = search(&mut args, "list")?;
    let current = given_session(context, &mut args)?;
    by_value::list(context, search, current.and_then(|session| session.key()))
}

/// The session that an object of a script stands for.
enum AnySession {
    OfRequest(Rc<Session>),
    OfSocket(Rc<KeptSession>),
}

impl AnySession {
    /// Returns the key under which the session is kept now; `None` before it is kept.
    fn key(&self) -> Option<SessionKey> {
        match self {
            Self::OfRequest(session) => session.kept_key(),
            Self::OfSocket(session) => session.key(),
        }
    }
}

fn of_request(context: &Context, args: Args) -> Result<Value, Error> {
    let session = AnySession::OfRequest(session::of(context, &**args.request())?);
    Ok(Value::Object(context.objects().add(&SESSION, session)))
}

/// Keeps the field for a socket.
pub(crate) fn keep(context: &Context, request: &dyn RequestView) -> Option<KeptField> {
    let session = Rc::new(KeptSession::of(context, request).ok()?);
    let of_events = Rc::clone(&session);
    Some(KeptField::Read {
        make: Rc::new(move |context| {
            let session = AnySession::OfSocket(Rc::clone(&session));
            Value::Object(context.objects().add(&SESSION, session))
        }),
        read: Rc::new(move || of_events.before_event()),
    })
}

fn this(context: &Context, args: &Args) -> Result<Rc<AnySession>, Error> {
    Ok(args.object(context)?.1)
}

fn get(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (session, key) = (this(context, &args)?, args.text(0));
    match &*session {
        AnySession::OfRequest(session) => Ok(session.get(&key)),
        AnySession::OfSocket(session) => session.get(context, &key),
    }
}

fn set(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (session, key, value) = (this(context, &args)?, args.text(0), args.take(1));
    SESSION.check_key(&key)?;
    match &*session {
        AnySession::OfRequest(session) => session.set(&key, &value)?,
        AnySession::OfSocket(session) => session.set(context, &key, &value)?,
    }
    Ok(Value::Null)
}

fn keys(context: &Context, args: Args) -> Result<Value, Error> {
    Ok(Value::List(match &*this(context, &args)? {
        AnySession::OfRequest(session) => session.keys(),
        AnySession::OfSocket(session) => session.keys(context)?,
    }))
}

fn clear(context: &Context, args: Args) -> Result<Value, Error> {
    match &*this(context, &args)? {
        AnySession::OfRequest(session) => session.clear()?,
        AnySession::OfSocket(session) => session.clear(context)?,
    }
    Ok(Value::Null)
}

fn regenerate(context: &Context, args: Args) -> Result<Value, Error> {
    match &*this(context, &args)? {
        AnySession::OfRequest(session) => session.regenerate()?,
        AnySession::OfSocket(session) => session.regenerate()?,
    }
    Ok(Value::Null)
}

fn flash(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (kind, message) = (args.text(0), args.take(1));
    session::of(context, &**args.request())?.flash(kind, &message)?;
    Ok(Value::Null)
}

fn flashes(context: &Context, args: Args) -> Result<Value, Error> {
    let session = session::of(context, &**args.request())?;
    Ok(Value::List(session.take_flashes()))
}
