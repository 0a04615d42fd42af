//! Native objects as objects of a class of the prelude each. A script holds a JavaScript object; the prelude keeps a
//! number for it, where no script can reach, and that number is a slot here.

use crate::sys::{Failure, Js, Thrown};
use crate::vm::core::Cx;
use sampan_host::{Lifetime, Object};
use sampan_js_contract::call_method;

/// A native object for a script.
pub(crate) fn new<'a>(cx: Cx<'a>, object: Object) -> Result<Js<'a>, Thrown> {
    let core = cx.core();
    if object.class().lifetime == Lifetime::Collector {
        core.contract.context.objects().hold(object);
    }
    let key = core.objects.borrow_mut().insert(object);
    let args = [cx.string(object.class().name)?, cx.number(key as f64)?];
    cx.call_own("newObject", &args).map_err(|_| Thrown)
}

/// The native object that a value is, if it is one.
pub(crate) fn at(cx: Cx<'_>, value: Js<'_>) -> Option<Object> {
    let tables = cx.core().tables.get()?;
    let key = cx.call(tables.key_of.get(cx.env()), &[value]).ok()?;
    let key = cx.number_of(key)?;
    cx.core().objects.borrow().get(key as usize).copied()
}

/// `forget(number)`: the collector has found the object.
pub(crate) fn forget<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    let key = args.first().and_then(|key| cx.number_of(*key));
    let object = key.and_then(|key| cx.core().objects.borrow_mut().try_remove(key as usize));
    if let Some(object) = object
        && object.class().lifetime == Lifetime::Collector
    {
        cx.core().contract.context.objects().forget(object);
        cx.core().contract.context.objects().sweep();
    }
    Ok(cx.undefined())
}

/// `keyed(object, method, ...)`: what `get`, `set` or `keys` of an object with keys of the script's own gives.
pub(crate) fn keyed<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    let [it, method, args @ ..] = args else {
        return Err(Thrown.into());
    };
    let Some(object) = at(cx, *it) else {
        return Err(sampan_host::Error::script("this is not a native object").into());
    };
    let method = cx.text(*method)?;
    cx.turn(|| call_method(cx, object, &method, args))
}
