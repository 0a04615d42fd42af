//! Validation of forms and JSON: values are checked against a schema and converted, and each field has a message of its
//! own.
//!
//! A schema is read where it lies in the script, before the data (`schema.rs`). What belongs to a type stands in
//! `values.rs`.

mod address;
mod date;
mod limits;
mod schema;
mod texts;
mod validation;
mod values;

use sampan_host::{
    Args, Capability, Context, Error, Function, FunctionKind, Module, Param, Reader, Type, Value,
    param,
};
use schema::Schema;
use validation::Validation;

const PARAMS: &[Param] = &[
    param!("data": Type::InPlace, "A form, a query, or what JSON gave."),
    param!("schema": Type::InPlace,
        "The fields by their names: each the name of a type, or options with `type`, `required`, `trim`, `min`, `max`, \
         `length`, `tz`, `pattern`, `enum`, `items`, `fields`, `default`, `check` and `message`."),
];

const RETURNS: Type = Type::Results(&[("data", Type::Map), ("errors", Type::Map)]);

/// The functions for scripts.
pub static MODULE: Module = Module {
    name: "app",
    doc: "Checks of what clients send.",
    functions: &[Function {
        name: "validate",
        params: PARAMS,
        returns: RETURNS,
        doc: "Checks and converts data. Gives the values of the schema's fields if all are valid, else messages by \
         the names of fields.",
        kind: FunctionKind::Reading(validate),
    }],
    request_methods: &[Function {
        name: "validate",
        params: PARAMS,
        returns: RETURNS,
        doc: "The same as `app.validate`, with messages in the language of the request.",
        kind: FunctionKind::Reading(validate_for_request),
    }],
    ..Module::EMPTY
};

/// Validation of forms and JSON.
pub static CAPABILITY: Capability = Capability {
    name: "validate",
    modules: &[&MODULE],
    asks: &["texts"],
    ..Capability::EMPTY
};

fn validate(context: &Context, args: Args, reader: &dyn Reader) -> Result<Value, Error> {
    let schema = Schema::read(context, reader, args.handle(1))?;
    Validation::new(context, reader, None).run(&schema, args.handle(0))
}

fn validate_for_request(
    context: &Context,
    args: Args,
    reader: &dyn Reader,
) -> Result<Value, Error> {
    let schema = Schema::read(context, reader, args.handle(1))?;
    Validation::new(context, reader, Some(args.request())).run(&schema, args.handle(0))
}
