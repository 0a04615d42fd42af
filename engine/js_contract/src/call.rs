//! The call of a row by its kind: synchronous rows return, asynchronous ones give a promise, brackets call the script's
//! function between their two halves, tags are template tags.

use crate::args::{checked, read, tagged};
use crate::bracket;
use crate::row::BoundRow;
use crate::state::Contract;
use crate::vm::{Failure, Thrown, Vm};
use sampan_host::module::{FieldSetter, WaitingBody};
use sampan_host::names::camel_case;
use sampan_host::{
    Args, Context, Error, ErrorKind, Function, FunctionKind, HeldArgs, Object, Prompt, Reader,
    RequestView, Type, Value,
};
use std::rc::Rc;

/// Runs a row and returns its result.
///
/// # Errors
/// An argument is not what the row wants, or the row has failed.
#[inline(always)]
pub fn call<'a, V: Vm<'a>>(
    vm: V,
    row: &BoundRow,
    this: V::Raw<'_>,
    args: &[V::Raw<'_>],
) -> Result<V::Val, Failure> {
    let mut result = run(vm, row, this, args);
    if let Err(Failure::Error(error)) = &mut result {
        row.name_error(error);
    }
    result
}

#[inline(always)]
fn run<'a, V: Vm<'a>>(
    vm: V,
    row: &BoundRow,
    this: V::Raw<'_>,
    args: &[V::Raw<'_>],
) -> Result<V::Val, Failure> {
    let context = &*vm.contract().context;
    match row.function.kind {
        FunctionKind::Sync(body) => {
            let args = checked(vm, row, this, args)?;
            returned(vm, row, body(context, args)?)
        }
        FunctionKind::Reading(body) => returned(vm, row, read_in_place(vm, row, this, args, body)?),
        FunctionKind::ReadingPrompt(body) => {
            let body =
                |context: &_, args: Args, reader: &dyn Reader| match body(context, args, reader)? {
                    Prompt::Done(value) => Ok(value),
                    Prompt::Waits(_) => Err(cannot_wait(row)),
                };
            returned(vm, row, read_in_place(vm, row, this, args, body)?)
        }
        FunctionKind::Prompt { body, awaited, .. } => {
            let args = checked(vm, row, this, args)?;
            let result = body(context, args);
            let result = result.map_err(|error| row.with_advice(error, awaited));
            returned(vm, row, result?)
        }
        FunctionKind::Tag(body) => {
            let args = tagged(vm, row, args)?;
            returned(vm, row, body(context, args)?)
        }
        FunctionKind::Waiting(body) => {
            let args = checked(vm, row, this, args)?;
            waiting(vm, row, args, body)
        }
        FunctionKind::WaitingTag(body) => waiting(vm, row, tagged(vm, row, args)?, body),
        FunctionKind::ReadingWaiting(body) => reading_waiting(vm, row, this, args, body),
        FunctionKind::Async(body) => {
            let args = checked(vm, row, this, args)?;
            check_loaded(vm, row)?;
            let held = args.hold(context)?;
            vm.promise(*row, held.during(body(context, args)))
        }
        FunctionKind::AsyncBracket { leave, .. } if row.is_leave => {
            bracket::leave_later(vm, row, leave, args)
        }
        FunctionKind::Fill { leave, .. } if row.is_leave => {
            bracket::leave_filled(vm, row, leave, args)
        }
        FunctionKind::AsyncBracket { enter, .. } | FunctionKind::Fill { enter, .. } => {
            let (_, before) = bracket::check_function(vm, row, args)?;
            let args = checked(vm, row, this, before)?;
            check_loaded(vm, row)?;
            bracket::check_none_open(vm, row)?;
            let held = args.hold(context)?;
            vm.promise(*row, held.during(enter(context, args)))
        }
        FunctionKind::Bracket { enter, leave, .. } => {
            bracket::bracket(vm, row, this, args, enter, leave)
        }
        FunctionKind::WaitingBracket { enter, leave } => {
            bracket::waiting_bracket(vm, row, this, args, enter, leave)
        }
    }
}

/// Runs a row that returns at once or waits. Not a part of `call`, as [`read_in_place`].
#[inline(never)]
fn waiting<'a, V: Vm<'a>>(
    vm: V,
    row: &BoundRow,
    args: Args,
    body: WaitingBody,
) -> Result<V::Val, Failure> {
    let context = &vm.contract().context;
    let held = args.hold(context)?;
    let prompt = body(context, args.waiting(may_wait(vm)))?;
    prompted(vm, row, prompt, held)
}

/// Reports whether a row can wait now.
fn may_wait<'a, V: Vm<'a>>(vm: V) -> bool {
    let contract = vm.contract();
    !contract.is_loading() && contract.open_bracket.get().is_none()
}

/// Runs a row that reads the arguments where they lie, and returns at once or waits. Not a part of `call`, as
/// [`read_in_place`].
#[inline(never)]
fn reading_waiting<'a, V: Vm<'a>>(
    vm: V,
    row: &BoundRow,
    this: V::Raw<'_>,
    raw: &[V::Raw<'_>],
    body: impl FnOnce(&Context, Args, &dyn Reader) -> Result<Prompt, Error>,
) -> Result<V::Val, Failure> {
    let args = checked(vm, row, this, raw)?.waiting(may_wait(vm));
    let context = &*vm.contract().context;
    let held = args.hold(context)?;
    let prompt = vm.with_reader(raw, row, |reader| body(context, args, reader))?;
    prompted(vm, row, prompt, held)
}

/// Gives the value of a row, or a promise of it.
fn prompted<'a, V: Vm<'a>>(
    vm: V,
    row: &BoundRow,
    prompt: Prompt,
    held: HeldArgs,
) -> Result<V::Val, Failure> {
    match prompt {
        Prompt::Done(value) => returned(vm, row, value),
        Prompt::Waits(future) => {
            check_loaded(vm, row)?;
            bracket::check_none_open(vm, row)?;
            vm.promise(*row, held.during(future))
        }
    }
}

/// Runs a row that reads the arguments where they lie. Not a part of `call`, where other rows would pay for its room.
#[inline(never)]
fn read_in_place<'a, V: Vm<'a>>(
    vm: V,
    row: &BoundRow,
    this: V::Raw<'_>,
    raw: &[V::Raw<'_>],
    body: impl FnOnce(&Context, Args, &dyn Reader) -> Result<Value, Error>,
) -> Result<Value, Failure> {
    let args = checked(vm, row, this, raw)?;
    let context = &*vm.contract().context;
    Ok(vm.with_reader(raw, row, |reader| body(context, args, reader))?)
}

#[cold]
fn cannot_wait(row: &BoundRow) -> Error {
    let text = format!("{} waits, though its caller cannot", row.name());
    Error::new(ErrorKind::Internal, text)
}

/// Returns the value of a field that a module adds to requests.
///
/// # Errors
/// The row has failed.
pub fn request_field<'a, V: Vm<'a>>(
    vm: V,
    function: &'static Function,
    request: Rc<dyn RequestView>,
) -> Result<V::Val, Failure> {
    let row = BoundRow::of_request(function);
    let FunctionKind::Sync(body) = function.kind else {
        let text = format!("{} is no field of requests", row.name());
        return Err(Error::new(ErrorKind::Internal, text).into());
    };
    let args = Args::default().of_request(request);
    returned(vm, &row, body(&vm.contract().context, args)?)
}

/// Sets a field that a module adds to requests by the module's function. The fields of modules are computed again.
///
/// # Errors
/// The object is no request, or the function has refused the value.
pub fn set_request_field<'a, V: Vm<'a>>(
    vm: V,
    set: FieldSetter,
    request: V::Raw<'_>,
    value: V::Raw<'_>,
) -> Result<(), Failure> {
    let value = vm.read(value)?;
    set(&vm.contract().context, &*vm.request_at(request)?, value)?;
    vm.forget_added(request)
}

/// Calls a method of a native object for a key of the script's, see [`Class::is_keyed`](sampan_host::Class).
///
/// # Errors
/// An argument is not what the method wants, or the method has failed.
pub fn call_method<'a, V: Vm<'a>>(
    vm: V,
    object: Object,
    name: &str,
    args: &[V::Raw<'_>],
) -> Result<V::Val, Failure> {
    let class = object.class();
    let function = class.method(name);
    let Some((function, FunctionKind::Sync(body))) = function.map(|row| (row, row.kind)) else {
        let text = format!("a {} has no method {name}", class.name);
        return Err(Error::new(ErrorKind::Internal, text).into());
    };
    let row = BoundRow::new(class.owner(), Some(class), function);
    let args = read(vm, &row, args)?.on(Some(object));
    returned(vm, &row, body(&vm.contract().context, args)?)
}

/// Refuses a row while a module loads: nothing can wait then.
fn check_loaded<'a, V: Vm<'a>>(vm: V, row: &BoundRow) -> Result<(), Error> {
    if !vm.contract().is_loading() {
        return Ok(());
    }
    let name = row.name();
    Err(Error::script(format!(
        "{name}: cannot wait here (at module top level): call it in app.onStart or in a handler"
    )))
}

/// Converts the result, for the script.
#[inline]
fn returned<'a, V: Vm<'a>>(vm: V, row: &BoundRow, value: Value) -> Result<V::Val, Failure> {
    let returns = row.function.returns;
    if returns == Type::Nothing {
        return Ok(vm.nothing());
    }
    let contract = vm.contract();
    if let Value::Object(object) = value {
        if contract.is_loading() {
            contract.context.objects().check_outside(object)?;
        }
        vm.own(object);
    }
    match value {
        Value::List(parts) if returns == Type::Answer => Ok(answer(vm, parts)?),
        value => Ok(vm.give(renamed(contract, value, returns))?),
    }
}

/// Converts an answer, or its parts.
fn answer<'a, V: Vm<'a>>(vm: V, parts: Vec<Value>) -> Result<V::Val, Thrown> {
    if let [Value::Bytes(body), Value::Text(content_type)] = &parts[..] {
        return vm.rendered(body, content_type);
    }
    let parts = parts.into_iter().map(|part| vm.give(part));
    vm.new_list(parts.collect::<Result<_, _>>()?)
}

/// Spells the fields of a result that is a record as JavaScript does: `lastId`.
#[inline]
pub fn renamed(contract: &Contract, value: Value, returns: Type) -> Value {
    match (returns, value) {
        (Type::Map, Value::Map(members)) => Value::Map(
            members
                .into_iter()
                .map(|(key, member)| {
                    let is_spelled = !key.contains('_');
                    (if is_spelled { key } else { camel_case(&key) }, member)
                })
                .collect(),
        ),
        (Type::Results(names), Value::List(results)) => {
            let names = names.iter().map(|(name, _)| camel_case(name));
            Value::Map(names.zip(results).collect())
        }
        (Type::Record(_) | Type::RecordOrNothing(_), Value::Row(row)) => {
            let columns = contract.spellings.of(row.columns());
            Value::Row(row.renamed(columns))
        }
        (_, value) => value,
    }
}
