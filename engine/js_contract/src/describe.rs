//! The tables and rules that the prelude asks for.

use crate::prelude::PRELUDE;
use crate::row::{answering, modules, request_methods};
use crate::vm::{Thrown, Vm};
use sampan_host::answer::AnswerKind;
use sampan_host::names::camel_case;
use sampan_host::{Value, WorkerPlace};

/// Gives `native`, the object that the prelude gets, all but its functions.
///
/// # Errors
/// There is no memory for it.
pub fn describe<'a, V: Vm<'a>>(vm: V, native: &V::Val) -> Result<(), Thrown> {
    let contract = vm.contract();
    vm.define(
        native,
        "contract",
        vm.run_own(PRELUDE, "sampan:contract.js")?,
    )?;
    vm.define(native, "modules", modules(vm)?)?;
    vm.define(native, "addedMethods", request_methods(vm)?)?;
    vm.define(native, "answering", answering(vm)?)?;
    let fields = contract.modules.iter();
    let fields = fields.flat_map(|module| module.request_fields);
    let fields = fields.map(|field| Value::Text(camel_case(field.name)));
    let types = [
        ("json", AnswerKind::Json),
        ("text", AnswerKind::Text),
        ("html", AnswerKind::Html),
        ("bytes", AnswerKind::Bytes),
    ];
    let types = types.map(|(name, kind)| {
        let content_type = kind.content_type().unwrap_or_default();
        (name.to_owned(), content_type.into())
    });
    let place = contract.context.get::<WorkerPlace>();
    let place = place.map_or_else(WorkerPlace::default, |place| *place);
    let worker = [("index", place.index), ("count", place.count)];
    let worker = worker.map(|(name, value)| (name.to_owned(), (value as i64).into()));
    let nothing = i64::from(AnswerKind::Nothing.status(200));
    for (name, value) in [
        ("addedFields", Value::List(fields.collect())),
        ("types", Value::Map(types.into())),
        ("statusOfNothing", nothing.into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("worker", Value::Map(worker.into())),
    ] {
        vm.define(native, name, vm.give(value)?)?;
    }
    Ok(())
}
