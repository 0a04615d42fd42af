//! The declarations of a project while it loads, and what the prelude asks of the rules that both languages share.

use crate::request::{body, guards, object};
use crate::sys::{Failure, Js, Kind, Native};
use crate::values::{objects, value};
use crate::vm::core::Cx;
use crate::vm::error;
use sampan_host::javascript::WORDS;
use sampan_host::{
    BodyOptions, Error, GuardDef, MiddlewareDef, NativeMiddleware, Place, Program, RouteDef,
    answer, json, refusals,
};

/// The functions by the name that the prelude gives them.
pub(crate) const FUNCTIONS: &[(&str, Native)] = &[
    ("route", route),
    ("use", middleware),
    ("notFound", not_found),
    ("onError", on_error),
    ("checkStatus", check_status),
    ("checkRedirect", check_redirect),
    ("check", check),
    ("checkPattern", check_pattern),
    ("unknownOption", unknown_option),
    ("location", location),
    ("noAnswer", no_answer),
    ("noJson", no_json),
    ("wake", wake),
    ("report", error::report),
    ("console", console),
    ("nativeMiddleware", guards::function),
    ("ask", guards::ask),
    ("decide", guards::decide),
    ("field", object::field),
    ("pairs", object::pairs),
    ("added", object::added),
    ("watch", object::watch),
    ("forget", objects::forget),
    ("keyed", objects::keyed),
    ("bodyBytes", body::bytes),
    ("bodyText", body::text),
    ("bodyJson", body::json),
    ("clientJson", body::client_json),
    ("bodyForm", body::form),
    ("bodyParts", body::parts),
    ("bodyRead", body::read),
    ("bodyWhole", body::whole),
    ("bodyKind", body::kind),
];

fn argument(args: &[Js], index: usize) -> Js {
    args.get(index).copied().unwrap_or(Js::NONE)
}

/// The text of an argument; nothing where it is `undefined` or `null`.
fn text_at(cx: Cx<'_>, args: &[Js], index: usize) -> Result<Option<String>, Failure> {
    let value = argument(args, index);
    if cx.kind(value) != Kind::Text {
        return Ok(None);
    }
    Ok(Some(cx.text(value)?))
}

fn text(cx: Cx<'_>, args: &[Js], index: usize) -> Result<String, Failure> {
    Ok(text_at(cx, args, index)?.unwrap_or_default())
}

/// Changes what the project declares; fails once it is loaded.
fn declare(cx: Cx<'_>, change: impl FnOnce(&mut Program)) -> Result<Js, Failure> {
    match cx.core().declared.borrow_mut().as_mut() {
        Some(program) => change(program),
        None => return Err(refusals::too_late("routes and middleware").into()),
    }
    Ok(cx.undefined())
}

fn place(cx: Cx<'_>, args: &[Js], index: usize) -> Result<Option<Place>, Failure> {
    let stack = text(cx, args, index)?;
    Ok(error::place_in(cx.core(), &stack))
}

fn handler(cx: Cx<'_>, args: &[Js], index: usize) -> u32 {
    cx.number_of(argument(args, index)).unwrap_or(0.0) as u32
}

/// `route(method | null, pattern, handler, isFixed, bodyBytesMax | undefined, stream, stack, uncompressed, name |
/// undefined, etag)`
fn route(cx: Cx<'_>, args: &[Js]) -> Result<Js, Failure> {
    let route = RouteDef {
        method: text_at(cx, args, 0)?,
        pattern: text(cx, args, 1)?,
        handler: handler(cx, args, 2),
        fixed: cx.is_true(argument(args, 3)),
        body: BodyOptions {
            bytes_max: text_at(cx, args, 4)?,
            stream: cx.is_true(argument(args, 5)),
            uncompressed: cx.is_true(argument(args, 7)),
            etag: cx.is_true(argument(args, 9)),
        },
        name: text_at(cx, args, 8)?,
        place: place(cx, args, 6)?,
    };
    declare(cx, |program| program.routes.push(route))
}

/// `use(pattern, handler, native object | undefined, stack)`
fn middleware(cx: Cx<'_>, args: &[Js]) -> Result<Js, Failure> {
    let (pattern, place) = (text(cx, args, 0)?, place(cx, args, 3)?);
    if let Some(NativeMiddleware::Guard(guard)) = guards::at(cx, argument(args, 2)) {
        let checks = GuardDef {
            pattern,
            guard,
            place,
        };
        return declare(cx, |program| program.guards.push(checks));
    }
    let wraps = MiddlewareDef {
        pattern,
        handler: handler(cx, args, 1),
        place,
    };
    declare(cx, |program| program.middleware.push(wraps))
}

/// `notFound(handler)`
fn not_found(cx: Cx<'_>, args: &[Js]) -> Result<Js, Failure> {
    let handler = handler(cx, args, 0);
    declare(cx, |program| program.not_found = Some(handler))
}

/// `onError(handler)`
fn on_error(cx: Cx<'_>, args: &[Js]) -> Result<Js, Failure> {
    let handler = handler(cx, args, 0);
    declare(cx, |program| program.on_error = Some(handler))
}

/// An error of a builder, with its name in front.
fn of_builder(cx: Cx<'_>, name: Js, error: &Error) -> Failure {
    match cx.text(name) {
        Ok(name) => Error::new(error.kind(), format!("{name}: {}", error.message())).into(),
        Err(thrown) => thrown.into(),
    }
}

/// The number that a value is, or what it is instead.
fn number_at(cx: Cx<'_>, value: Js) -> Result<f64, &'static str> {
    cx.number_of(value).ok_or_else(|| value::found(cx, value))
}

/// `checkStatus(builder, status)`
fn check_status(cx: Cx<'_>, args: &[Js]) -> Result<Js, Failure> {
    let status = number_at(cx, argument(args, 1)).map_err(answer::wrong_status);
    let checked = status.and_then(answer::check_status);
    checked.map_err(|error| of_builder(cx, argument(args, 0), &error))?;
    Ok(cx.undefined())
}

/// `checkRedirect(builder, status)`
fn check_redirect(cx: Cx<'_>, args: &[Js]) -> Result<Js, Failure> {
    let status = number_at(cx, argument(args, 1)).map_err(answer::wrong_redirect);
    let checked = status.and_then(answer::check_redirect);
    checked.map_err(|error| of_builder(cx, argument(args, 0), &error))?;
    Ok(cx.undefined())
}

/// `check(caller, wanted, what, value)`: throws unless the value is a `string`, a `function`, a `boolean` or an object.
fn check(cx: Cx<'_>, args: &[Js]) -> Result<Js, Failure> {
    let (wanted, value) = (text(cx, args, 1)?, argument(args, 3));
    let kind = cx.kind(value);
    let is_wanted = match wanted.as_str() {
        "string" => kind == Kind::Text,
        "function" => kind == Kind::Function,
        "boolean" => kind == Kind::Bool,
        _ => kind == Kind::Object,
    };
    if is_wanted {
        return Ok(cx.undefined());
    }
    let what = text(cx, args, 2)?;
    let error = refusals::wrong_type(&WORDS, &what, &wanted, value::found(cx, value));
    Err(of_builder(cx, argument(args, 0), &error))
}

/// `checkPattern(caller, pattern)`: throws unless the string begins with a slash.
fn check_pattern(cx: Cx<'_>, args: &[Js]) -> Result<Js, Failure> {
    let checked = refusals::check_pattern(&text(cx, args, 1)?);
    checked.map_err(|error| of_builder(cx, argument(args, 0), &error))?;
    Ok(cx.undefined())
}

/// `unknownOption(builder, name, known, ...)`
fn unknown_option(cx: Cx<'_>, args: &[Js]) -> Result<Js, Failure> {
    let mut known = Vec::new();
    for name in args.get(2..).unwrap_or_default() {
        known.push(cx.text(*name)?);
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let error = refusals::unknown_option(&text(cx, args, 1)?, &known);
    Err(of_builder(cx, argument(args, 0), &error))
}

/// `location(builder, url)`: the value of the field.
fn location(cx: Cx<'_>, args: &[Js]) -> Result<Js, Failure> {
    let url = answer::location(text(cx, args, 1)?.as_bytes());
    let url = url.map_err(|error| of_builder(cx, argument(args, 0), &error))?;
    Ok(cx.string(&url)?)
}

/// `noAnswer(found)`: throws.
fn no_answer(cx: Cx<'_>, args: &[Js]) -> Result<Js, Failure> {
    Err(answer::no_answer(&WORDS, &text(cx, args, 0)?).into())
}

/// `noJson(key, what, advice | undefined)`: throws.
fn no_json(cx: Cx<'_>, args: &[Js]) -> Result<Js, Failure> {
    let (key, what) = (text(cx, args, 0)?, text(cx, args, 1)?);
    let error = match text_at(cx, args, 2)? {
        Some(advice) => json::no_json_but(&what, &advice),
        None => json::no_json(&what),
    };
    if key.is_empty() {
        return Err(error.into());
    }
    Err(Error::script(format!("'{key}': {}", error.message())).into())
}

/// `wake(number)`: what is waited for under this number has ended.
fn wake(cx: Cx<'_>, args: &[Js]) -> Result<Js, Failure> {
    cx.core().wake(handler(cx, args, 0));
    Ok(cx.undefined())
}

/// `console(level, text)`
fn console(cx: Cx<'_>, args: &[Js]) -> Result<Js, Failure> {
    let (level, text) = (text(cx, args, 0)?, text(cx, args, 1)?);
    cx.core().turn(|| (cx.core().console)(&level, &text));
    Ok(cx.undefined())
}
