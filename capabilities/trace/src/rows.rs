//! The function of `app` for spans.

use crate::limits::{ATTRIBUTES_MAX, NAME_BYTES_MAX, TEXT_CHARS_MAX};
use sampan_host::trace::{AttributeValue, Attributes, OpenSpan, SpanKind};
use sampan_host::{
    Args, Class, Context, CurrentRun, Error, FunctionKind, Lifetime, LocalFuture, Module, Type,
    Value, param, row,
};
use std::borrow::Cow;
use std::cell::RefCell;

/// The function of `app` for spans.
pub(crate) static MODULE: Module = Module {
    name: "app",
    doc: "Spans.",
    functions: &[row!("trace"(
                param!("name": Type::Text, 
                    "The name of the span, 1 to 200 bytes: `price the cart`. Names have few forms."),
                param!("attributes"? Type::Map,
                    "Named values of the span: text, numbers or booleans, at most 32. Texts are cut after 1,000 \
                     characters."),
            ) -> Type::Any,
            FunctionKind::AsyncBracket {
                gives: Type::Nothing,
                enter,
                leave,
            },
            "Calls the function, which may wait, and records the time as a span of the request's trace. It returns \
             what the function returns; an error of the function marks the span and is passed on. Statements, \
             templates, requests and spans that begin meanwhile are within this span. Without traces it only calls \
             the function.")],
    classes: &[&SPAN],
    ..Module::EMPTY
};

/// A span that is open.
static SPAN: Class = Class {
    name: "OpenSpan",
    variable: "span",
    doc: "",
    methods: &[],
    lifetime: Lifetime::Request,
    is_keyed: false,
};

/// A span until its function has ended, or its request is given up.
struct ScriptSpan(RefCell<Option<OpenSpan>>);

impl Drop for ScriptSpan {
    fn drop(&mut self) {
        if let Some(mut span) = self.0.take() {
            span.fail("given up");
        }
    }
}

fn enter(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let opened = open(context, args.text(0), args.take(1));
    Box::pin(std::future::ready(opened))
}

fn open(context: &Context, name: String, given: Value) -> Result<Value, Error> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        let bytes = name.len();
        return Err(Error::script(format!(
            "the name of a span has 1 to {NAME_BYTES_MAX} bytes, not {bytes}"
        )));
    }
    let attributes = attributes(given)?;
    let run = context.get::<CurrentRun>();
    let Some(trace) = run.and_then(|run| run.recorded()) else {
        return Ok(Value::Null);
    };
    let mut span = trace.open(name, SpanKind::Internal);
    span.add(attributes);
    let span = ScriptSpan(RefCell::new(Some(span)));
    Ok(Value::Object(context.objects().add(&SPAN, span)))
}

fn attributes(given: Value) -> Result<Attributes, Error> {
    let Value::Map(given) = given else {
        return Ok(Attributes::new());
    };
    if given.len() > ATTRIBUTES_MAX {
        let count = given.len();
        return Err(Error::script(format!(
            "a span has at most {ATTRIBUTES_MAX} attributes, not {count}"
        )));
    }
    let read = given.into_iter().map(|(name, value)| {
        let value = match value {
            Value::Text(text) => AttributeValue::Text(cut(text)),
            Value::Int(number) => AttributeValue::Int(number),
            Value::Float(number) if number.is_finite() => AttributeValue::Float(number),
            Value::Bool(is) => AttributeValue::Bool(is),
            _ => {
                return Err(Error::script(format!(
                    "the attribute {name:?} must be text, a number or a boolean"
                )));
            }
        };
        Ok((Cow::Owned(cut(name)), value))
    });
    read.collect()
}

fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(TEXT_CHARS_MAX) {
        text.truncate(end);
    }
    text
}

fn leave(context: &Context, opened: Value, succeeded: bool) -> LocalFuture<Result<(), Error>> {
    if let Value::Object(object) = opened {
        let span = context.objects().get::<ScriptSpan>(object);
        if let Some(mut span) = span.and_then(|span| span.0.take())
            && !succeeded
        {
            span.fail("the function failed");
        }
        context.objects().remove(object);
    }
    Box::pin(std::future::ready(Ok(())))
}
