//! Reads the arguments of a call as the row wants them.

use crate::row::BoundRow;
use crate::vm::{Failure, Kind, Vm, found};
use crate::well_formed::well_formed;
use sampan_host::javascript::{self, WORDS};
use sampan_host::{Args, Error, Type, Value};

/// Says what a `Date` is where a number is wanted.
const DATE: &str =
    "an object that becomes text, as a Date does (date.getTime() is its number of milliseconds)";

/// Reads the arguments, of the object or request that the row is called on.
pub(crate) fn checked<'a, V: Vm<'a>>(
    vm: V,
    row: &BoundRow,
    this: V::Raw<'_>,
    args: &[V::Raw<'_>],
) -> Result<Args, Failure> {
    if row.is_of_request() {
        let request = vm.request_at(this)?;
        return Ok(read(vm, row, args)?.of_request(request));
    }
    let this = row.receiver(vm, this)?;
    Ok(read(vm, row, args)?.on(this))
}

/// Reads the arguments.
#[inline]
pub(crate) fn read<'a, V: Vm<'a>>(
    vm: V,
    row: &BoundRow,
    args: &[V::Raw<'_>],
) -> Result<Args, Failure> {
    if let Some(more) = args.get(row.function.params.len()..)
        && !more.is_empty()
        && row.function.declares()
        && more.iter().any(|raw| vm.kind(*raw) != Kind::Undefined)
    {
        return Err(Args::too_many(&WORDS, row.owner, row.function).into());
    }
    let mut values = Vec::with_capacity(row.function.params.len());
    let mut functions = Vec::new();
    for (index, (raw, param)) in args.iter().zip(row.function.params).enumerate() {
        let value = match param.ty {
            Type::Json if param.optional && vm.is_nothing(*raw) => Ok(Value::Null),
            Type::Json => json(vm, *raw).map(Value::Text),
            Type::Message => message(vm, *raw),
            Type::Shown => vm.shown_at(*raw),
            Type::InPlace => Ok(Value::Null),
            ty if ty.takes_function() && vm.is_callable(*raw) => {
                functions.push((index, vm.keep_function(*raw, *row)?));
                Ok(Value::Bool(true))
            }
            Type::Function if !vm.is_nothing(*raw) => {
                let found = found(vm, *raw);
                return Err(Args::wrong(&WORDS, row.owner, row.function, index, found).into());
            }
            _ => vm.read(*raw),
        };
        match value {
            Ok(Value::Text(_))
                if matches!(param.ty, Type::Int | Type::Number)
                    && vm.kind(*raw) == Kind::Object =>
            {
                return Err(Args::wrong(&WORDS, row.owner, row.function, index, DATE).into());
            }
            Ok(value) => values.push(value),
            Err(failure) => {
                let argument = WORDS.argument(row.owner, row.function, index);
                return Err(in_front(failure, &argument));
            }
        }
    }
    let nothing = |index: usize| match args.get(index) {
        Some(value) if vm.kind(*value) == Kind::Null => "null",
        _ => "undefined",
    };
    let args = Args::check_in(&WORDS, row.owner, row.function, values, nothing)?;
    Ok(args.with_functions(functions))
}

/// Reads a value as an argument of [`Type::Message`].
pub(crate) fn message<'a, V: Vm<'a>>(vm: V, raw: V::Raw<'_>) -> Result<Value, Failure> {
    match vm.read(raw) {
        Ok(plain @ (Value::Text(_) | Value::Bytes(_))) => Ok(plain),
        _ => json(vm, raw).map(|json| Value::json_member(Value::Text(json))),
    }
}

fn json<'a, V: Vm<'a>>(vm: V, raw: V::Raw<'_>) -> Result<String, Failure> {
    vm.json_at(raw).map(well_formed)
}

/// Reads the arguments of a template tag: the strings around the values, and the values.
pub(crate) fn tagged<'a, V: Vm<'a>>(
    vm: V,
    row: &BoundRow,
    args: &[V::Raw<'_>],
) -> Result<Args, Failure> {
    let name = row.name();
    let wrong = || javascript::not_a_tag(&name);
    let [strings, values @ ..] = args else {
        return Err(wrong().into());
    };
    // A list that a script made itself has no `raw`: what is in it may come from anywhere.
    let is_template = vm.is_list(*strings) && vm.is_list(vm.raw(&vm.member(*strings, "raw")?)) && {
        let length = vm.member(*strings, "length")?;
        vm.number_at(vm.raw(&length)) == Some((values.len() + 1) as f64)
    };
    if !is_template {
        return Err(wrong().into());
    }
    let strings = vm.read(*strings)?;
    let mut read = Vec::with_capacity(values.len());
    for (index, raw) in values.iter().enumerate() {
        let place = |failure| in_front(failure, &format!("{name}: value {}", index + 1));
        read.push(vm.read(*raw).map_err(place)?);
    }
    let values = vec![strings, Value::List(read)];
    let (owner, function) = (row.owner, row.function);
    Ok(Args::check_in(
        &WORDS,
        owner,
        function,
        values,
        |_| "undefined",
    )?)
}

/// Puts a place in front of an error.
#[cold]
fn in_front(failure: Failure, place: &str) -> Failure {
    match failure {
        Failure::Error(error) => {
            let text = format!("{place}: {}", error.message());
            Error::new(error.kind(), text).into()
        }
        thrown => thrown,
    }
}
