//! The declarations of a project while it loads: routes, middleware and the handlers of unknown paths and errors.
//!
//! These are the native functions that `prelude.js` is written around.

use crate::request::header_list::header_list;
use crate::request::{guards, made, prototypes, response};
use crate::values::json_write;
use crate::vm::error::place_of;
use crate::vm::hooks;
use crate::vm::sys::{
    Cx, Failure, Native, RawValue, Val, class_id, entry, float_of, int_of, is_nothing, is_object,
    is_string, is_true, number, tag,
};
use rquickjs::qjs;
use sampan_host::javascript::WORDS;
use sampan_host::{
    BodyOptions, Error, GuardDef, HandlerId, MiddlewareDef, NativeMiddleware, Place, Program,
    RouteDef, answer, clock, refusals,
};
use std::ffi::CStr;

/// The functions by the name that the prelude gives them.
pub(crate) const FUNCTIONS: &[(&CStr, Native)] = &[
    (c"route", entry(route)),
    (c"use", entry(middleware)),
    (c"notFound", entry(not_found)),
    (c"onError", entry(on_error)),
    (c"stringify", entry(stringify)),
    (c"answerText", entry(answer_text)),
    (c"checkStatus", entry(check_status)),
    (c"checkRedirect", entry(check_redirect)),
    (c"check", entry(check)),
    (c"checkPattern", entry(check_pattern)),
    (c"unknownOption", entry(unknown_option)),
    (c"location", entry(location)),
    (c"headerList", entry(header_list)),
    (c"report", entry(hooks::report)),
    (c"makeResponse", entry(made::make)),
    (c"showToFetch", entry(prototypes::show_to_fetch)),
    (c"requestField", entry(prototypes::request_field)),
    (c"nativeMiddleware", entry(guards::function)),
    (c"ask", entry(guards::ask)),
    (c"decide", entry(guards::decide)),
];

/// `now()`: the time of day in milliseconds since 1970.
pub(crate) const NOW: (&CStr, Native) = (c"now", entry(now));

fn now(cx: Cx<'_>, _: RawValue, _: &[RawValue]) -> Result<Val, Failure> {
    Ok(cx.own(number(clock::since_1970().as_millis() as f64)))
}

fn argument(args: &[RawValue], index: usize) -> RawValue {
    args.get(index)
        .copied()
        .unwrap_or(crate::vm::sys::UNDEFINED)
}

/// Fails once the project is loaded.
fn check_loading(cx: Cx<'_>) -> Result<(), Failure> {
    if cx.core().is_loading() {
        return Ok(());
    }
    Err(refusals::too_late("routes and middleware").into())
}

/// Changes what the project declares.
fn declare(cx: Cx<'_>, change: impl FnOnce(&mut Program)) -> Val {
    if let Some(program) = cx.core().declared.borrow_mut().as_mut() {
        change(program);
    }
    cx.undefined()
}

fn keep(cx: Cx<'_>, handler: RawValue) -> Result<HandlerId, Failure> {
    check_loading(cx)?;
    let mut handlers = cx.core().handlers.borrow_mut();
    handlers.push(cx.dup(handler));
    Ok((handlers.len() - 1) as HandlerId)
}

fn place(cx: Cx<'_>, stack: RawValue) -> Result<Option<Place>, Failure> {
    Ok(cx.text(stack)?.lines().find_map(place_of))
}

/// `route(method | null, pattern, handler, bodyBytesMax | undefined, stream, stack, uncompressed)`
fn route(cx: Cx<'_>, _: RawValue, args: &[RawValue]) -> Result<Val, Failure> {
    let method = if is_nothing(argument(args, 0)) {
        None
    } else {
        Some(cx.text(argument(args, 0))?)
    };
    let pattern = cx.text(argument(args, 1))?;
    let handler = argument(args, 2);
    let bytes_max = if is_nothing(argument(args, 3)) {
        None
    } else {
        Some(cx.text(argument(args, 3))?)
    };
    let body = BodyOptions {
        stream: is_true(argument(args, 4)),
        bytes_max,
        uncompressed: is_true(argument(args, 6)),
        etag: is_true(argument(args, 8)),
    };
    let name = match is_nothing(argument(args, 7)) {
        true => None,
        false => Some(cx.text(argument(args, 7))?),
    };
    let route = RouteDef {
        method,
        pattern,
        handler: keep(cx, handler)?,
        fixed: !cx.is_function(handler),
        body,
        name,
        place: place(cx, argument(args, 5))?,
    };
    Ok(declare(cx, |program| program.routes.push(route)))
}

/// `use(pattern, function or native object, stack)`
fn middleware(cx: Cx<'_>, _: RawValue, args: &[RawValue]) -> Result<Val, Failure> {
    let (pattern, place) = (cx.text(argument(args, 0))?, place(cx, argument(args, 2))?);
    if let Some(NativeMiddleware::Guard(guard)) = guards::at(cx, argument(args, 1)) {
        check_loading(cx)?;
        let checks = GuardDef {
            pattern,
            guard,
            place,
        };
        return Ok(declare(cx, |program| program.guards.push(checks)));
    }
    let handler = keep(cx, argument(args, 1))?;
    let wraps = MiddlewareDef {
        pattern,
        handler,
        place,
    };
    Ok(declare(cx, |program| program.middleware.push(wraps)))
}

/// `notFound(function)`
fn not_found(cx: Cx<'_>, _: RawValue, args: &[RawValue]) -> Result<Val, Failure> {
    let handler = keep(cx, argument(args, 0))?;
    Ok(declare(cx, |program| program.not_found = Some(handler)))
}

/// `onError(function)`
fn on_error(cx: Cx<'_>, _: RawValue, args: &[RawValue]) -> Result<Val, Failure> {
    let handler = keep(cx, argument(args, 0))?;
    Ok(declare(cx, |program| program.on_error = Some(handler)))
}

/// `stringify(value)`: the JSON of a value, as an answer has it.
fn stringify(cx: Cx<'_>, _: RawValue, args: &[RawValue]) -> Result<Val, Failure> {
    let value = argument(args, 0);
    Ok(cx.string(&json_write::text(cx, value)?)?)
}

/// `answerText(value)`: the JSON of what a handler returned; `[content, type]` where that is bytes, a `Blob` or a
/// stream.
fn answer_text(cx: Cx<'_>, _: RawValue, args: &[RawValue]) -> Result<Val, Failure> {
    let value = argument(args, 0);
    if response::may_be_bytes(cx, value)
        && let Some((body, content_type)) = response::body_of(cx, value)?
    {
        let content_type = match content_type {
            Some(content_type) => content_type,
            None => cx.string(answer::BYTES)?,
        };
        return Ok(cx.array(vec![body, content_type])?);
    }
    let mut out = Vec::new();
    if !json_write::write(cx, &mut out, value)? {
        return Err(answer::no_answer(&WORDS, json_write::found(cx, value)).into());
    }
    Ok(cx.string_from(&out)?)
}

/// An error of a builder, with its name in front.
fn of_builder(cx: Cx<'_>, name: RawValue, error: &Error) -> Failure {
    match cx.text(name) {
        Ok(name) => Error::new(error.kind(), format!("{name}: {}", error.message())).into(),
        Err(thrown) => thrown.into(),
    }
}

/// Returns the name of a value of a wrong type, with its article.
pub(crate) fn found(cx: Cx<'_>, value: RawValue) -> &'static str {
    match tag(value) {
        qjs::JS_TAG_UNDEFINED => "undefined",
        qjs::JS_TAG_NULL => "null",
        qjs::JS_TAG_BOOL => "a boolean",
        qjs::JS_TAG_INT | qjs::JS_TAG_FLOAT64 => "a number",
        qjs::JS_TAG_BIG_INT | qjs::JS_TAG_SHORT_BIG_INT => "a BigInt",
        qjs::JS_TAG_OBJECT if class_id(value) == cx.core().classes.array => WORDS.list,
        qjs::JS_TAG_OBJECT if cx.is_function(value) => "a function",
        qjs::JS_TAG_OBJECT => WORDS.map,
        _ if is_string(value) => "a string",
        _ => "a symbol",
    }
}

/// The number that a value is, or what it is instead.
fn number_at(cx: Cx<'_>, value: RawValue) -> Result<f64, &'static str> {
    match tag(value) {
        qjs::JS_TAG_INT => Ok(f64::from(int_of(value))),
        qjs::JS_TAG_FLOAT64 => Ok(float_of(value)),
        _ => Err(found(cx, value)),
    }
}

/// `checkStatus(builder, status)`
fn check_status(cx: Cx<'_>, _: RawValue, args: &[RawValue]) -> Result<Val, Failure> {
    let status = number_at(cx, argument(args, 1)).map_err(answer::wrong_status);
    let checked = status.and_then(answer::check_status);
    checked.map_err(|error| of_builder(cx, argument(args, 0), &error))?;
    Ok(cx.undefined())
}

/// `checkRedirect(builder, status)`
fn check_redirect(cx: Cx<'_>, _: RawValue, args: &[RawValue]) -> Result<Val, Failure> {
    let status = number_at(cx, argument(args, 1)).map_err(answer::wrong_redirect);
    let checked = status.and_then(answer::check_redirect);
    checked.map_err(|error| of_builder(cx, argument(args, 0), &error))?;
    Ok(cx.undefined())
}

/// `check(caller, wanted, what, value)`: throws unless the value is a `string`, a `function`, a `boolean` or an object.
fn check(cx: Cx<'_>, _: RawValue, args: &[RawValue]) -> Result<Val, Failure> {
    let (wanted, value) = (cx.text(argument(args, 1))?, argument(args, 3));
    let is_wanted = match wanted.as_str() {
        "string" => is_string(value),
        "function" => cx.is_function(value),
        "boolean" => tag(value) == qjs::JS_TAG_BOOL,
        _ => is_object(value) && !cx.is_function(value),
    };
    if is_wanted {
        return Ok(cx.undefined());
    }
    let what = cx.text(argument(args, 2))?;
    let error = refusals::wrong_type(&WORDS, &what, &wanted, found(cx, value));
    Err(of_builder(cx, argument(args, 0), &error))
}

/// `checkPattern(caller, pattern)`: throws unless the string begins with a slash.
fn check_pattern(cx: Cx<'_>, _: RawValue, args: &[RawValue]) -> Result<Val, Failure> {
    let checked = refusals::check_pattern(&cx.text(argument(args, 1))?);
    checked.map_err(|error| of_builder(cx, argument(args, 0), &error))?;
    Ok(cx.undefined())
}

/// `unknownOption(builder, name, known, ...)`
fn unknown_option(cx: Cx<'_>, _: RawValue, args: &[RawValue]) -> Result<Val, Failure> {
    let mut known = Vec::new();
    for name in args.get(2..).unwrap_or_default() {
        known.push(cx.text(*name)?);
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let error = refusals::unknown_option(&cx.text(argument(args, 1))?, &known);
    Err(of_builder(cx, argument(args, 0), &error))
}

/// `location(builder, url)`: the value of the field.
fn location(cx: Cx<'_>, _: RawValue, args: &[RawValue]) -> Result<Val, Failure> {
    let url = answer::location(cx.text(argument(args, 1))?.as_bytes());
    let url = url.map_err(|error| of_builder(cx, argument(args, 0), &error))?;
    Ok(cx.string(&url)?)
}
