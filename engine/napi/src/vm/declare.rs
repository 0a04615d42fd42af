//! The native functions of this engine that the prelude is written around.

use crate::request::{body, object};
use crate::sys::function::Native;
use crate::sys::{Failure, Js, Kind};
use crate::values::objects;
use crate::vm::core::Cx;
use crate::vm::error;
use sampan_host::javascript::WORDS;
use sampan_host::{Error, answer, json};

/// The functions by the name that the prelude gives them.
pub(crate) const FUNCTIONS: &[(&str, Native)] = &[
    ("noAnswer", no_answer),
    ("noJson", no_json),
    ("wake", wake),
    ("report", error::report),
    ("console", console),
    ("field", object::field),
    ("pairs", object::pairs),
    ("added", object::added),
    ("assign", object::assign),
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

fn argument<'a>(args: &[Js<'a>], index: usize) -> Js<'a> {
    args.get(index).copied().unwrap_or(Js::NONE)
}

/// The text of an argument; nothing where it is `undefined` or `null`.
fn text_at(cx: Cx<'_>, args: &[Js<'_>], index: usize) -> Result<Option<String>, Failure> {
    let value = argument(args, index);
    if cx.kind(value) != Kind::Text {
        return Ok(None);
    }
    Ok(Some(cx.text(value)?))
}

fn text(cx: Cx<'_>, args: &[Js<'_>], index: usize) -> Result<String, Failure> {
    Ok(text_at(cx, args, index)?.unwrap_or_default())
}

/// `noAnswer(found)`: throws.
fn no_answer<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    Err(answer::no_answer(&WORDS, &text(cx, args, 0)?).into())
}

/// `noJson(key, what, advice | undefined)`: throws.
fn no_json<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
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
fn wake<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    let number = cx.number_of(argument(args, 0));
    cx.core().wake(number.unwrap_or(0.0) as u32);
    Ok(cx.undefined())
}

/// `console(level, text)`
fn console<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    let (level, text) = (text(cx, args, 0)?, text(cx, args, 1)?);
    cx.turn(|| (cx.core().console)(&level, &text));
    Ok(cx.undefined())
}
