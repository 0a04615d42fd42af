//! Calls of the functions of the script that capabilities keep.

use crate::row::BoundRow;
use crate::vm::{Failure, Thrown, Vm};
use sampan_host::{Error, Value};

/// Calls a function.
///
/// # Errors
/// It has thrown.
pub fn call_kept<'a, V: Vm<'a>>(
    vm: V,
    function: &V::Val,
    args: &[Value],
) -> Result<V::Val, Thrown> {
    let passed = args.iter().map(|arg| vm.give(arg.clone()));
    let passed = passed.collect::<Result<Vec<_>, _>>()?;
    let raw: Vec<V::Raw<'_>> = passed.iter().map(|arg| vm.raw(arg)).collect();
    vm.invoke(vm.raw(function), &raw)
}

/// Calls a function that was given to `row`, where it must not wait.
///
/// # Errors
/// It has thrown, or its result waits.
pub fn call_at_once<'a, V: Vm<'a>>(
    vm: V,
    function: &V::Val,
    row: &BoundRow,
    args: &[Value],
) -> Result<Value, Failure> {
    let returned = call_kept(vm, function, args)?;
    if let Some(what) = vm.unfinished(&returned)? {
        let name = row.name();
        let text = format!("{name}: cannot wait here: its function returned {what}");
        return Err(Error::script(text).into());
    }
    vm.read(vm.raw(&returned))
}
