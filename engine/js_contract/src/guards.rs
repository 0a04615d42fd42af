//! Native objects that `app.use` takes: guards, and those that ask a function of the script.
//!
//! The prelude makes a middleware of one that asks: it calls the function between the two halves that stand here, so
//! that the function may give a promise.

use crate::vm::{Failure, Vm};
use sampan_host::value::isolate_is_gone;
use sampan_host::{AskingGuard, NativeMiddleware, Value};
use std::rc::Rc;

/// Returns the middleware that a value is, if it is a native object that is one.
pub(crate) fn at<'a, V: Vm<'a>>(vm: V, value: V::Raw<'_>) -> Option<NativeMiddleware> {
    let object = vm.object_at(value)?;
    vm.contract().context.objects().middleware(object)
}

pub(crate) fn function<'a, V: Vm<'a>>(vm: V, args: &[V::Raw<'_>]) -> Result<V::Val, Failure> {
    match args.first().and_then(|value| at(vm, *value)) {
        None => Ok(vm.nothing()),
        Some(NativeMiddleware::Guard(_)) => Ok(vm.give(Value::Null)?),
        Some(NativeMiddleware::Asking(asking)) => Ok(vm.kept_function(&asking.function())?),
    }
}

fn asking_at<'a, V: Vm<'a>>(vm: V, value: V::Raw<'_>) -> Result<Rc<dyn AskingGuard>, Failure> {
    match at(vm, value) {
        Some(NativeMiddleware::Asking(asking)) => Ok(asking),
        _ => Err(isolate_is_gone().into()),
    }
}

pub(crate) fn ask<'a, V: Vm<'a>>(vm: V, args: &[V::Raw<'_>]) -> Result<V::Val, Failure> {
    let &[native, request] = args else {
        return Ok(vm.nothing());
    };
    let asked = asking_at(vm, native)?.ask(&*vm.request_at(request)?)?;
    let passed = asked.into_iter().map(|arg| vm.give(arg));
    let mut passed = passed.collect::<Result<Vec<_>, _>>()?;
    passed.push(vm.hold(request));
    Ok(vm.new_list(passed)?)
}

pub(crate) fn decide<'a, V: Vm<'a>>(vm: V, args: &[V::Raw<'_>]) -> Result<V::Val, Failure> {
    let &[native, request, returned] = args else {
        return Ok(vm.nothing());
    };
    let returned = vm.read(returned)?;
    let is_answered = asking_at(vm, native)?.decide(&*vm.request_at(request)?, returned)?;
    // What it has put on the request is read anew.
    vm.forget_added(request)?;
    Ok(vm.give(Value::Bool(is_answered))?)
}
