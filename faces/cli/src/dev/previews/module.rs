//! The function by which the file of ours gives the previews of the project's file.

use sampan_host::{
    Args, Callback, Context, Error, ErrorKind, FunctionKind, Module, Type, Value, param, row,
};
use std::cell::RefCell;

pub(super) static MODULE: Module = Module {
    name: "previews",
    doc: "What previews of mails are shown through.",
    functions: &[row!("declare"(
                param!("name": Type::Text, "The name of the preview."),
                param!("fn": Type::Function, "Sends its mail."),
            ) -> Type::Nothing, FunctionKind::Sync(declare),
            "Declares a preview.")],
    ..Module::EMPTY
};

/// The previews of a file, by their names.
#[derive(Default)]
pub(super) struct Declared(pub(super) RefCell<Vec<(String, Callback)>>);

fn declare(context: &Context, mut args: Args) -> Result<Value, Error> {
    let declared = context.get::<Declared>();
    let missing = || {
        Error::new(
            ErrorKind::Internal,
            "there is nothing to declare previews to",
        )
    };
    let function = args.function(1).ok_or_else(missing)?;
    let declared = declared.ok_or_else(missing)?;
    declared.0.borrow_mut().push((args.text(0), function));
    Ok(Value::Null)
}
