//! The filters and tests that follow Jinja2 where minijinja's own differ from it.

mod filters;
mod given;
mod kinds;
mod names;
mod numbers;
mod signatures;
pub(crate) mod sizes;
mod texts;
mod urlize;

use crate::objects::Macro;
use crate::script::ScriptGlobal;
pub(crate) use given::argument;
use minijinja::value::{Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, State, Value};
pub(crate) use names::{applied_place, filter_error, no_filter, no_test, test_error};
pub(crate) use signatures::{fault, normalised};

/// Gives an environment these filters and tests.
pub(crate) fn add_to(environment: &mut Environment<'static>) {
    for signature in signatures::all() {
        let Some(body) = signature.body else {
            continue;
        };
        environment.add_filter(
            signature.name,
            move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| -> Result<Value, Error> {
                let args: Vec<Value> = args.iter().map(|arg| arg.clone().into_value()).collect();
                let given = signature.bind(&args)?;
                let value = args.into_iter().next().unwrap_or_default();
                body(state, &value, &given)
            },
        );
    }
    environment.add_test("callable", |value: Value| is_callable(&value));
}

fn is_callable(value: &Value) -> bool {
    value.downcast_object_ref::<Macro>().is_some()
        || value.downcast_object_ref::<ScriptGlobal>().is_some()
        || (value.kind() == ValueKind::Plain && format!("{value:?}").contains("function"))
}
