//! The environment variables of the process, for settings and secrets that do not belong in a project's files.

use sampan_host::{Args, Context, Error, Function, FunctionKind, Module, Param, Type, Value};

/// The `env` table.
pub static MODULE: Module = Module {
    name: "env",
    doc: "Environment variables.",
    functions: &[Function {
        name: "get",
        params: &[Param {
            name: "name",
            ty: Type::Text,
            optional: false,
            doc: "The variable's name.",
        }],
        returns: Type::TextOrNothing,
        doc: "The value of an environment variable, or nothing if it is not set. Bytes that are not UTF-8 are replaced.",
        kind: FunctionKind::Sync(get),
    }],
    ..Module::EMPTY
};

fn get(_: &Context, mut args: Args) -> Result<Value, Error> {
    let name = args.text(0);
    // The standard library takes such names for what they are: names that no variable can have.
    if name.is_empty() || name.contains(['=', '\0']) {
        return Ok(Value::Null);
    }
    Ok(std::env::var_os(&name).map_or(Value::Null, |value| {
        Value::Text(value.to_string_lossy().into_owned())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Value {
        let args = Args::check("env", &MODULE.functions[0], vec![name.into()]).expect("a name");
        get(&Context::default(), args).expect("get has no errors")
    }

    #[test]
    fn a_variable_is_text_and_a_missing_one_is_nothing() {
        assert!(matches!(lookup("PATH"), Value::Text(path) if !path.is_empty()));
        for missing in ["SAMPAN_SURELY_NOT_SET", "", "A=B", "A\0B"] {
            assert_eq!(lookup(missing), Value::Null, "{missing:?}");
        }
    }
}
