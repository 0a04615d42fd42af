//! JSON as functions: values to text and back. (Requests and responses have shorter ways of their own.)

use sampan_host::json::Tape;
use sampan_host::{
    Args, Capability, Context, Error, FunctionKind, Module, ScriptLimits, Type, Value, param, row,
};

/// The `json` table.
pub static MODULE: Module = Module {
    name: "json",
    doc: "JSON text from values and values from JSON text.",
    functions: &[
        row!("encode"(param!("value": Type::Json, "The value to write.")) -> Type::Text, FunctionKind::Sync(encode),
            "The JSON text of a value, as an answer has it. What JSON does not have is an error: bytes that are not \
             UTF-8, cycles, nesting beyond `json_depth_max`."),
        row!("decode"(param!("text": Type::Bytes, "The JSON text.")) -> Type::Any, FunctionKind::Sync(decode),
            "The value of a JSON text. Text that is not JSON is an error that names the line and column."),
    ],
    ..Module::EMPTY
};

/// JSON.
pub static CAPABILITY: Capability = Capability {
    name: "json",
    modules: &[&MODULE],
    ..Capability::EMPTY
};

/// Returns the greatest depth to which JSON may nest here: the isolate's limit.
fn depth_max(context: &Context) -> usize {
    context.get::<ScriptLimits>().map_or_else(
        || ScriptLimits::default().json_depth_max,
        |limits| limits.json_depth_max,
    )
}

/// The engine has written the text already.
fn encode(_: &Context, mut args: Args) -> Result<Value, Error> {
    Ok(args.take(0))
}

fn decode(context: &Context, mut args: Args) -> Result<Value, Error> {
    let source = match args.take(0) {
        Value::Text(text) => text.into_bytes(),
        Value::Bytes(bytes) => bytes,
        _ => Vec::new(),
    };
    let mut tape = Tape::default();
    tape.read(&source, depth_max(context))
        .map_err(|error| Error::script(error.to_string()))?;
    Ok(tape.value(&source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::json::write_value;

    fn call(index: usize, argument: Value) -> Result<Value, Error> {
        let function = &MODULE.functions[index];
        let args = Args::check("json", function, vec![argument])?;
        match function.kind {
            FunctionKind::Sync(body) => body(&Context::default(), args),
            _ => unreachable!("json neither waits nor brackets"),
        }
    }

    #[test]
    fn what_is_decoded_encodes_to_the_same_text() {
        for text in [
            "null",
            "[]",
            "{}",
            r#"{"a":[1,-2.5,"x\ny",[],{}],"":null,"b":{"c":true}}"#,
            "9223372036854775807",
            r#"["a","b",{"k":"v"}]"#,
        ] {
            let value = call(1, text.into()).expect(text);
            let mut out = Vec::new();
            write_value(&mut out, &value, 16).expect(text);
            assert_eq!(String::from_utf8_lossy(&out), text);
        }
    }

    #[test]
    fn faults_are_errors_that_say_what_and_where() {
        let message =
            |result: Result<Value, Error>| result.expect_err("a fault").message().to_owned();
        assert_eq!(
            message(call(1, "[1,".into())),
            "invalid JSON: the text ends where a value should be at line 1, column 4"
        );
        assert!(message(call(1, "[".repeat(500).into())).contains("nested too deeply"));
    }
}
