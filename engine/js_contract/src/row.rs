//! Rows of modules' tables as native functions.

use crate::vm::{Thrown, Vm};
use sampan_host::javascript::WORDS;
use sampan_host::names::camel_case;
use sampan_host::{Class, Error, Function, FunctionKind, Object, RowOwner, Type, javascript};

/// A bound row.
#[derive(Clone, Copy)]
pub struct BoundRow {
    /// The module or class.
    pub owner: RowOwner<'static>,
    /// The class that it is a method of.
    pub class: Option<&'static Class>,
    /// The row.
    pub function: &'static Function,
    /// True if it is the second half of a bracket that waits.
    pub(crate) is_leave: bool,
}

impl BoundRow {
    pub(crate) fn new(
        owner: RowOwner<'static>,
        class: Option<&'static Class>,
        function: &'static Function,
    ) -> Self {
        Self {
            owner,
            class,
            function,
            is_leave: false,
        }
    }

    pub(crate) fn of_request(function: &'static Function) -> Self {
        Self::new(RowOwner::REQUEST, None, function)
    }

    /// Returns the name as JavaScript spells it: `time.nowMs`, `tx.query`.
    pub fn name(&self) -> String {
        WORDS.function(self.owner, self.function)
    }

    /// Puts its name before the message of an error, where it is still to be put there.
    #[inline]
    pub fn name_error(&self, error: &mut Error) {
        if error.wants_name() {
            error.put_name(&self.name());
        }
    }

    /// Reports whether it is a method of requests.
    pub(crate) fn is_of_request(&self) -> bool {
        self.class.is_none() && self.owner.is_class
    }

    /// Returns the object that a method is called on.
    pub(crate) fn receiver<'a, V: Vm<'a>>(
        &self,
        vm: V,
        this: V::Raw<'_>,
    ) -> Result<Option<Object>, Error> {
        let Some(class) = self.class else {
            return Ok(None);
        };
        match vm.object_at(this) {
            Some(object) if object.class() == class => Ok(Some(object)),
            _ => Err(javascript::wrong_receiver(&self.name(), class)),
        }
    }

    /// Returns the error of a row that took too long to wait for it in place, with the row to call instead.
    #[cold]
    pub(crate) fn with_advice(&self, error: Error, awaited: Option<&str>) -> Error {
        javascript::with_advice(error, &self.name(), self.owner.name, awaited)
    }
}

/// Creates an object with the functions of every module.
pub(crate) fn modules<'a, V: Vm<'a>>(vm: V) -> Result<V::Val, Thrown> {
    let all = vm.new_object()?;
    let mut known: Vec<(&str, V::Val)> = Vec::new();
    for module in vm.contract().modules {
        if module.functions.is_empty() {
            continue;
        }
        // Several modules may have functions of `app`.
        let same = known.iter().find(|(name, _)| *name == module.name);
        let table = match same {
            Some((_, table)) => table.clone(),
            None => {
                let table = vm.new_object()?;
                vm.define(&all, &camel_case(module.name), table.clone())?;
                known.push((module.name, table.clone()));
                table
            }
        };
        for function in module.functions {
            let row = BoundRow::new(module.owner(), None, function);
            vm.define(&table, &camel_case(function.name), bound(vm, row)?)?;
        }
    }
    Ok(all)
}

/// Creates the methods of a class, with their names.
///
/// # Errors
/// There is no memory for it.
pub fn methods<'a, V: Vm<'a>>(
    vm: V,
    class: &'static Class,
) -> Result<Vec<(String, V::Val)>, Thrown> {
    let method = |row| {
        let function = bound(vm, BoundRow::new(class.owner(), Some(class), row))?;
        Ok((camel_case(row.name), function))
    };
    class.methods.iter().map(method).collect()
}

/// Creates an object with the methods that modules add to requests.
pub(crate) fn request_methods<'a, V: Vm<'a>>(vm: V) -> Result<V::Val, Thrown> {
    let methods = vm.new_object()?;
    let modules = vm.contract().modules.iter();
    for function in modules.flat_map(|module| module.request_methods) {
        let method = bound(vm, BoundRow::of_request(function))?;
        vm.define(&methods, &camel_case(function.name), method)?;
    }
    Ok(methods)
}

/// Returns the rows that give answers: `[module, function, number of parameters]` each. The module of a request's
/// method is `req`.
pub(crate) fn answering<'a, V: Vm<'a>>(vm: V) -> Result<V::Val, Thrown> {
    let mut rows = Vec::new();
    for module in vm.contract().modules {
        let functions = module.functions.iter().map(|row| (module.name, row));
        let methods = module.request_methods.iter();
        let methods = methods.map(|row| (RowOwner::REQUEST.name, row));
        for (owner, function) in functions.chain(methods) {
            if function.returns == Type::Answer {
                rows.push(vm.new_list(vec![
                    vm.new_text(&camel_case(owner))?,
                    vm.new_text(&camel_case(function.name))?,
                    vm.give((function.params.len() as i64).into())?,
                ])?);
            }
        }
    }
    vm.new_list(rows)
}

/// Creates the function of a row. A bracket that waits is made of its two halves, and so is a row that has a function
/// make a value.
fn bound<'a, V: Vm<'a>>(vm: V, row: BoundRow) -> Result<V::Val, Thrown> {
    let name = camel_case(row.function.name);
    let source = match row.function.kind {
        // The members of what it gives are asked for without `await` easily.
        FunctionKind::Async(_) if matches!(row.function.returns, Type::Record(_)) => {
            return vm.promise_function(&name, row, &guarded(vm, row)?);
        }
        FunctionKind::Waiting(_)
        | FunctionKind::WaitingTag(_)
        | FunctionKind::ReadingWaiting(_) => {
            return vm.promise_function(&name, row, &guarded(vm, row)?);
        }
        FunctionKind::WaitingBracket { .. } => {
            let source = include_str!("prelude/waiting_bracket.js");
            return wrapped(vm, &name, row, &guarded(vm, row)?, source);
        }
        FunctionKind::AsyncBracket { .. } => include_str!("prelude/bracket.js"),
        FunctionKind::Fill { .. } => include_str!("prelude/fill.js"),
        _ => return vm.row_function(&name, row),
    };
    let function = vm.row_function(&name, row)?;
    let leave = BoundRow {
        is_leave: true,
        ..row
    };
    let leave = vm.row_function(&name, leave)?;
    let make = vm.run_own(source, "sampan:bracket.js")?;
    let name = vm.new_text(&name)?;
    vm.invoke(
        vm.raw(&make),
        &[vm.raw(&name), vm.raw(&function), vm.raw(&leave)],
    )
}

/// Creates the prototype of a row's promises, by which their use without `await` is an error.
fn guarded<'a, V: Vm<'a>>(vm: V, row: BoundRow) -> Result<V::Val, Thrown> {
    let make = vm.run_own(include_str!("prelude/guarded.js"), "sampan:guarded.js")?;
    let shown = vm.new_text(&row.name())?;
    vm.invoke(vm.raw(&make), &[vm.raw(&shown)])
}

/// Creates the function of a row from its native function, by a script that gives its promises the prototype.
pub(crate) fn wrapped<'a, V: Vm<'a>>(
    vm: V,
    name: &str,
    row: BoundRow,
    prototype: &V::Val,
    source: &'static str,
) -> Result<V::Val, Thrown> {
    let function = vm.row_function(name, row)?;
    let make = vm.run_own(source, "sampan:waiting.js")?;
    let name = vm.new_text(name)?;
    vm.invoke(
        vm.raw(&make),
        &[vm.raw(&name), vm.raw(&function), vm.raw(prototype)],
    )
}
