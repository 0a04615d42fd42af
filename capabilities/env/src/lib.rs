//! The environment variables of the process, for settings and secrets that do not belong in a project's files.

use sampan_host::{
    Args, Capability, Context, Error, FunctionKind, Module, Type, Value, param, row,
};
use std::collections::HashMap;

/// The `env` table.
pub static MODULE: Module = Module {
    name: "env",
    doc: "Environment variables.",
    functions: &[
        row!("get"(param!("name": Type::Text, "The variable's name.")) -> Type::TextOrNothing, FunctionKind::Sync(get),
        "The value of an environment variable, or nothing if it is not set. Bytes that are not UTF-8 are replaced."),
    ],
    ..Module::EMPTY
};

/// Environment variables.
pub static CAPABILITY: Capability = Capability {
    name: "env",
    modules: &[&MODULE],
    ..Capability::EMPTY
};

/// Variables beside those of the process, which win: those of a file for development. `app` puts them into the context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables(pub HashMap<String, String>);

impl Variables {
    /// The value of a variable, of the process or of these.
    pub fn get(&self, name: &str) -> Option<String> {
        let own = || self.0.get(name).cloned();
        let value = std::env::var_os(name);
        value.map_or_else(own, |value| Some(value.to_string_lossy().into_owned()))
    }
}

fn get(context: &Context, mut args: Args) -> Result<Value, Error> {
    let name = args.text(0);
    // The standard library takes such names for what they are: names that no variable can have.
    if name.is_empty() || name.contains(['=', '\0']) {
        return Ok(Value::Null);
    }
    let variables = context.get::<Variables>().unwrap_or_default();
    Ok(variables.get(&name).map_or(Value::Null, Value::Text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Value {
        let args = Args::check("env", &MODULE.functions[0], vec![name.into()]).expect("a name");
        get(&Context::default(), args).expect("get has no errors")
    }

    #[test]
    fn variables_of_the_process_win() {
        let pairs = [("PATH", "no"), ("SAMPAN_SURELY_NOT_SET", "own")];
        let own = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let context = Context::default();
        context.put(Variables(own.into()));
        let of = |name: &str| {
            let args = Args::check("env", &MODULE.functions[0], vec![name.into()]);
            get(&context, args.expect("a name")).expect("get has no errors")
        };
        assert_eq!(of("PATH"), lookup("PATH"));
        assert_eq!(of("SAMPAN_SURELY_NOT_SET"), Value::Text("own".to_owned()));
    }

    #[test]
    fn a_variable_is_text_and_a_missing_one_is_nothing() {
        assert!(matches!(lookup("PATH"), Value::Text(path) if !path.is_empty()));
        for missing in ["SAMPAN_SURELY_NOT_SET", "", "A=B", "A\0B"] {
            assert_eq!(lookup(missing), Value::Null, "{missing:?}");
        }
    }
}
