//! The body of a request, for the prelude: the first reader that takes it has it.

use crate::promises::promise::promise;
use crate::request::object::slot;
use crate::request::slots::RequestSlot;
use crate::sys::{Failure, Js};
use crate::vm::core::Cx;
use sampan_host::Args;
use sampan_host::json::{Tape, bad_json};
use sampan_host::request::{self, FormKind};
use std::rc::Rc;

/// Takes the body.
fn taken(cx: Cx<'_>, args: &[Js<'_>]) -> Result<Rc<RequestSlot>, Failure> {
    let slot = slot(cx, args)?;
    if !body_of(&slot).is_empty() && slot.is_taken.replace(true) {
        return Err(request::already_read().into());
    }
    Ok(slot)
}

fn body_of(slot: &RequestSlot) -> &[u8] {
    match slot.view.body_source().and_then(|source| source.whole()) {
        Some(whole) => whole,
        None => slot.view.body(),
    }
}

/// `bodyKind(request)`: 0 where there is none, 1 where it is here, 2 where it is read as it comes; 3 where it is here
/// and was taken.
pub(crate) fn kind<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    let slot = slot(cx, args)?;
    let kind = match slot.view.body_source() {
        Some(source) if source.whole().is_none() => 2,
        _ if body_of(&slot).is_empty() => 0,
        _ if slot.is_taken.get() => 3,
        _ => 1,
    };
    Ok(cx.whole(kind)?)
}

/// `bodyBytes(request)`
pub(crate) fn bytes<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    Ok(cx.bytes(body_of(&*taken(cx, args)?))?)
}

/// `bodyText(request)`
pub(crate) fn text<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    let slot = taken(cx, args)?;
    Ok(cx.string(&request::text(body_of(&slot)))?)
}

/// `bodyJson(request)`: the text, if it is JSON by our rules. Throws what a client is told of any other.
pub(crate) fn json<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    checked_json(cx, body_of(&*taken(cx, args)?))
}

/// `clientJson(bytes)`: the same of bytes that came from a client.
pub(crate) fn client_json<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    let mut bytes = Vec::new();
    if let Some(value) = args.first() {
        cx.append_bytes(*value, &mut bytes);
    }
    checked_json(cx, &bytes)
}

fn checked_json<'a>(cx: Cx<'a>, body: &[u8]) -> Result<Js<'a>, Failure> {
    let mut tape = Tape::default();
    let read = tape.read(body, cx.core().limits.json_depth_max);
    read.map_err(|error| bad_json(&error))?;
    Ok(cx.string(&request::text(body))?)
}

/// `bodyForm(request)`: `[name, value, ...]` of a form that is urlencoded; `undefined` where it is of several parts.
pub(crate) fn form<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    let known = [FormKind::Urlencoded, FormKind::Multipart];
    if request::form_kind(&*slot(cx, args)?.view, &known)? == FormKind::Multipart {
        return Ok(cx.undefined());
    }
    let slot = taken(cx, args)?;
    let mut all = Vec::new();
    for (name, value) in request::form_pairs(body_of(&slot)) {
        all.push(cx.string(&name)?);
        all.push(cx.string(&value)?);
    }
    Ok(cx.array(&all)?)
}

/// `bodyParts(request)`: a promise of the fields of a form of several parts, read by the module that does.
pub(crate) fn parts<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    let mut modules = cx.core().contract.modules.iter();
    let slot = slot(cx, args)?;
    if slot.is_taken.replace(true) {
        return Err(request::already_read().into());
    }
    let Some(read) = modules.find_map(|module| module.read_multipart) else {
        return Ok(cx.undefined());
    };
    let args = Args::default().of_request(Rc::clone(&slot.view));
    let fields = read(&cx.core().contract.context, args);
    cx.turn(|| promise(cx, None, fields))
}

/// `bodyRead(request, isFirst)`: a promise of the next piece of a body that is read as it comes; `null` at its end.
pub(crate) fn read<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    let slot = slot(cx, args)?;
    let source = slot.view.body_source().ok_or_else(request::is_over)?;
    if args.get(1).is_some_and(|is_first| cx.is_true(*is_first)) {
        source.begin()?;
    }
    let next = source.read();
    cx.turn(|| promise(cx, None, next))
}

/// `bodyWhole(request)`: a promise that is fulfilled when such a body has been read to its end.
pub(crate) fn whole<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    let slot = slot(cx, args)?;
    let source = slot.view.body_source().ok_or_else(request::is_over)?;
    let read = source.read_whole(&cx.core().limits);
    cx.turn(|| promise(cx, None, read))
}
