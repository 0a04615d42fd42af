//! The functions behind the prelude's request objects: each has the number of a slot.

use crate::request::slots::RequestSlot;
use crate::sys::{Failure, Js};
use crate::vm::core::Cx;
use sampan_host::request::{self, FIELDS, Field, Pairs, Twice};
use sampan_host::{Error, RequestView};
use sampan_js_contract as contract;
use std::rc::Rc;

/// The request with the number that is the first argument.
pub(crate) fn slot(cx: Cx<'_>, args: &[Js<'_>]) -> Result<Rc<RequestSlot>, Failure> {
    let key = args.first().and_then(|key| cx.number_of(*key));
    let slot = key.and_then(|key| cx.core().requests.get(key));
    Ok(slot.ok_or_else(request::is_over)?)
}

/// The request that a request object of the prelude stands for.
pub(crate) fn live_request(cx: Cx<'_>, object: Js<'_>) -> Result<Rc<dyn RequestView>, Failure> {
    let key = cx.call_own("requestKey", &[object])?;
    if cx.number_of(key).is_none() {
        return Err(Error::script("this is not a request of the server").into());
    }
    let slot = slot(cx, &[key])?;
    match slot.view.is_over() {
        true => Err(request::is_over().into()),
        false => Ok(Rc::clone(&slot.view)),
    }
}

fn index(cx: Cx<'_>, args: &[Js<'_>]) -> usize {
    let index = args.get(1).and_then(|index| cx.number_of(*index));
    index.unwrap_or(0.0) as usize
}

/// `field(request, index)`: a field that is a text.
pub(crate) fn field<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    let slot = slot(cx, args)?;
    let view = &*slot.view;
    Ok(match FIELDS.get(index(cx, args)) {
        Some((_, Field::Method)) => cx.string(view.method())?,
        Some((_, Field::Path)) => cx.string(view.path())?,
        Some((_, Field::Url)) => cx.string(&view.url())?,
        Some((_, Field::Ip)) => cx.string(&view.ip())?,
        _ => cx.undefined(),
    })
}

/// `pairs(request, index)`: `[rule, name, value, ...]` of a field that is names with values. The rule says what becomes
/// of a name that comes twice: 0, it does not; 1, the first counts; 2, both do; 3, they are joined.
pub(crate) fn pairs<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    let slot = slot(cx, args)?;
    let Some((_, Field::Pairs(pairs))) = FIELDS.get(index(cx, args)) else {
        return Ok(cx.undefined());
    };
    let rule = match pairs.twice() {
        Twice::Never => 0,
        Twice::First => 1,
        Twice::List => 2,
        Twice::Join => 3,
    };
    let mut all = vec![cx.whole(rule)?];
    let mut failed = Ok(());
    let is_latin1 = *pairs == Pairs::Headers;
    pairs.each(&*slot.view, &mut |name, value| {
        let mut add = || {
            all.push(cx.string(name)?);
            // A byte of a header's value is one character.
            all.push(match is_latin1 {
                true => cx.latin1(value)?,
                false => cx.string_from(value)?,
            });
            Ok(())
        };
        if failed.is_ok() {
            failed = add();
        }
    });
    failed.map_err(|thrown: crate::sys::Thrown| Failure::from(thrown))?;
    Ok(cx.array(&all)?)
}

/// `added(request, index)`: a field that a module adds.
pub(crate) fn added<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    let slot = slot(cx, args)?;
    let mut fields = cx
        .core()
        .contract
        .modules
        .iter()
        .flat_map(|module| module.request_fields);
    match fields.nth(index(cx, args)) {
        Some(field) => {
            let view = Rc::clone(&slot.view);
            cx.turn(|| contract::request_field(cx, field, view))
        }
        None => Ok(cx.undefined()),
    }
}

/// `watch(request)`: the prelude wants to hear of its end.
pub(crate) fn watch<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    slot(cx, args)?.is_watched.set(true);
    Ok(cx.undefined())
}

/// `assign(request, index, value)`: sets a field that a module adds, by the module's function. Gives false where it has
/// none. The request is the prelude's object.
pub(crate) fn assign<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    let &[request, _, value] = args else {
        return Ok(cx.boolean(false));
    };
    let modules = cx.core().contract.modules.iter();
    let mut fields = modules.flat_map(|module| {
        let fields = module.request_fields.iter();
        fields.map(|field| (*module, field.name))
    });
    let field = fields.nth(index(cx, args));
    let Some(setter) = field.and_then(|(module, name)| module.setter(name)) else {
        return Ok(cx.boolean(false));
    };
    cx.turn(|| contract::set_request_field(cx, setter, request, value))?;
    Ok(cx.boolean(true))
}
