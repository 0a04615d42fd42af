//! The rows that scripts see: `req.session`, its methods, and the messages for the next page.

use crate::session::{self, Session};
use sampan_host::{
    Args, Class, Context, Error, Function, FunctionKind, Lifetime, Module, Param, Type, Value,
};

const KEY: Param = Param {
    name: "key",
    ty: Type::Text,
    optional: false,
    doc: "Any text but the name of a method.",
};

/// The session of a request.
pub(crate) static SESSION: Class = Class {
    name: "Session",
    variable: "session",
    doc: "What the app remembers of a browser, by keys. Values are what JSON has; what is read is a copy, so assign \
     it again after a change inside. \
          It is written once, at the end of the handler, together with what the handler wrote to the database; not if \
           that fails.",
    methods: &[
        Function {
            name: "get",
            params: &[KEY],
            returns: Type::Any,
            doc: "The value under a key, or nothing: the same as `session.key`.",
            kind: FunctionKind::Sync(get),
        },
        Function {
            name: "set",
            params: &[
                KEY,
                Param {
                    name: "value",
                    ty: Type::Any,
                    optional: true,
                    doc: "What JSON has; nothing removes the key.",
                },
            ],
            returns: Type::Nothing,
            doc: "Puts a value under a key: the same as `session.key = value`.",
            kind: FunctionKind::Sync(set),
        },
        Function {
            name: "keys",
            params: &[],
            returns: Type::List,
            doc: "The keys that have a value.",
            kind: FunctionKind::Sync(keys),
        },
        Function {
            name: "clear",
            params: &[],
            returns: Type::Nothing,
            doc: "Ends the session, as for a logout: everything in it goes, and its cookie finds nothing any more. \
             With \
                  `store = \"cookie\"` only this browser forgets it: a copy of the cookie works until it ends. What \
                   is set after \
                  this begins a new session.",
            kind: FunctionKind::Sync(clear),
        },
        Function {
            name: "regenerate",
            params: &[],
            returns: Type::Nothing,
            doc: "Gives the session a new id and keeps what is in it. Call it at login: whoever knew the old id is \
             not logged in.",
            kind: FunctionKind::Sync(regenerate),
        },
    ],
    // It goes with the request whose field it is, see `SessionOfRequest`; in JavaScript that may not be the one whose
    // turn it is.
    lifetime: Lifetime::Collector,
    is_keyed: true,
};

/// The additions of sessions to requests.
pub static MODULE: Module = Module {
    name: "session",
    doc: "What an app remembers of a browser from request to request.",
    functions: &[Function {
        name: "end_all",
        params: &[Param {
            name: "values",
            ty: Type::Map,
            optional: false,
            doc: "One key of the sessions and its value, such as `{ user_id = 7 }`. At most four keys may be used in \
             an app, each with an index.",
        }],
        returns: Type::Int,
        doc: "Ends all sessions that have a value under a key, as after a change of the password. That of this \
         request ends too: to go on, \
              `clear` it and set it anew. Returns how many there were.",
        kind: FunctionKind::Sync(end_all),
    }],
    classes: &[&SESSION],
    request_fields: &[Function {
        name: "session",
        params: &[],
        returns: Type::Object(&SESSION),
        doc: "What the app remembers of this browser.",
        kind: FunctionKind::Sync(of_request),
    }],
    request_methods: &[
        Function {
            name: "flash",
            params: &[
                Param {
                    name: "kind",
                    ty: Type::Text,
                    optional: false,
                    doc: "The kind of the message: `notice`, `error`.",
                },
                Param {
                    name: "message",
                    ty: Type::Any,
                    optional: false,
                    doc: "A text, or anything else that JSON has.",
                },
            ],
            returns: Type::Nothing,
            doc: "Leaves a message for the next page of this browser, in its session.",
            kind: FunctionKind::Sync(flash),
        },
        Function {
            name: "flashes",
            params: &[],
            returns: Type::List,
            doc: "The messages that earlier requests left, each with `kind` and `message`. No later request gets them.",
            kind: FunctionKind::Sync(flashes),
        },
    ],
    ..Module::EMPTY
};

fn end_all(context: &Context, mut args: Args) -> Result<Value, Error> {
    let usage = || {
        let text = "session.end_all is given one key of the sessions and its value, which is a text, a number or a \
         boolean";
        Error::script(text).naming(["end_all"])
    };
    let Value::Map(with) = args.take(0) else {
        return Err(usage());
    };
    let [(key, value)] = &*with else {
        return Err(usage());
    };
    match value {
        Value::Text(_) | Value::Int(_) | Value::Float(_) | Value::Bool(_) => {
            let count = session::end_all(context, key, value)?;
            Ok(Value::Int(i64::try_from(count).unwrap_or(i64::MAX)))
        }
        _ => Err(usage()),
    }
}

fn of_request(context: &Context, args: Args) -> Result<Value, Error> {
    let session = session::of(context, &**args.request())?;
    let object = context.objects().add_shared(&SESSION, session);
    Ok(Value::Object(object))
}

fn get(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (_, session) = args.object::<Session>(context)?;
    Ok(session.get(&args.text(0)))
}

fn set(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (_, session) = args.object::<Session>(context)?;
    session.set(&args.text(0), &args.take(1))?;
    Ok(Value::Null)
}

fn keys(context: &Context, args: Args) -> Result<Value, Error> {
    let (_, session) = args.object::<Session>(context)?;
    Ok(Value::List(session.keys()))
}

fn clear(context: &Context, args: Args) -> Result<Value, Error> {
    args.object::<Session>(context)?.1.clear()?;
    Ok(Value::Null)
}

fn regenerate(context: &Context, args: Args) -> Result<Value, Error> {
    args.object::<Session>(context)?.1.regenerate()?;
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
