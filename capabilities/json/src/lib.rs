//! JSON as functions: values to text and back. (Requests and responses have shorter ways of their own.)

mod pretty;

use sampan_host::json::Tape;
use sampan_host::{
    Args, Capability, Context, Error, FunctionKind, Module, ScriptLimits, Type, Value, Watch,
    param, refusals, row,
};
use std::rc::Rc;
use std::sync::Arc;

/// The `json` table.
pub static MODULE: Module = Module {
    name: "json",
    doc: "JSON text from values and values from JSON text.",
    functions: &[
        row!("encode"(
                param!("value": Type::Json, "The value to write."),
                param!("options"? Type::Map,
                    "`pretty`: each member and each item on a line of its own, indented by two spaces, as \
                     `JSON.stringify(value, null, 2)` has it."),
            ) -> Type::Text, FunctionKind::Sync(encode),
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

/// Returns the limits of the isolate.
fn limits(context: &Context) -> Rc<ScriptLimits> {
    context.get().unwrap_or_default()
}

/// The engine has written the text already.
fn encode(context: &Context, mut args: Args) -> Result<Value, Error> {
    let mut is_pretty = false;
    if let Value::Map(options) = args.take(1) {
        for (name, value) in options {
            is_pretty = match (name.as_str(), value) {
                ("pretty", Value::Bool(is_pretty)) => is_pretty,
                ("pretty", Value::Null) => false,
                ("pretty", _) => return Err(Error::script("pretty must be a boolean")),
                (name, _) => return Err(refusals::unknown_option(name, &["pretty"])),
            };
        }
    }
    match args.take(0) {
        Value::Text(json) if is_pretty => {
            let (limits, watch) = (limits(context), context.get::<Arc<Watch>>());
            let stopped = || watch.as_ref().filter(|watch| watch.must_stop());
            let text = pretty::indented(&json, limits.memory_bytes_max, || stopped().is_some());
            text.map(Value::Text).ok_or_else(|| match stopped() {
                Some(watch) => limits.stopped(watch.cause()),
                None => limits.value_too_large(),
            })
        }
        json => Ok(json),
    }
}

fn decode(context: &Context, mut args: Args) -> Result<Value, Error> {
    let source = args.bytes(0);
    let mut tape = Tape::default();
    tape.read(&source, limits(context).json_depth_max)
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
    fn options_of_encode_are_checked() {
        let encode = |name: &str, value: Value| {
            let options = Value::Map(vec![(name.to_owned(), value)]);
            let args = Args::check("json", &MODULE.functions[0], vec!["[1]".into(), options]);
            let text = encode(&Context::default(), args.expect("text and options"));
            text.map_err(|error| error.message().to_owned())
        };
        assert_eq!(encode("pretty", true.into()), Ok("[\n  1\n]".into()));
        assert_eq!(encode("pretty", false.into()), Ok("[1]".into()));
        let wrong = encode("pretty", 2_i64.into()).expect_err("a number");
        assert_eq!(wrong, "pretty must be a boolean");
        let wrong = encode("indent", true.into()).expect_err("unknown");
        assert_eq!(wrong, "unknown option 'indent'; the only option is pretty");
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
