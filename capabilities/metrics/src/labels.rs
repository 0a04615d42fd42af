//! The labels of one call.

use crate::limits::VALUE_CHARS_MAX;
use sampan_host::metrics::MetricShape;
use sampan_host::{Error, Value};

/// Returns the values of the labels that a metric has, in their order.
///
/// # Errors
/// A label is missing, unknown, or no text.
pub(crate) fn values(shape: &MetricShape, given: Value) -> Result<Vec<String>, Error> {
    let given = match given {
        Value::Map(given) => given,
        _ => Vec::new(),
    };
    let (name, labels) = (&shape.name, &shape.labels);
    if let Some((unknown, _)) = given.iter().find(|(label, _)| !labels.contains(label)) {
        return Err(Error::script(format!(
            "{name} has no label {unknown:?}: {}",
            declared(labels)
        )));
    }
    let values = labels.iter().map(|label| {
        let given = given.iter().find(|(given, _)| given == label);
        let value = given.and_then(|(_, value)| text(value));
        value.ok_or_else(|| {
            Error::script(format!(
                "{name} needs the label {label:?}, which is text, a number or a boolean"
            ))
        })
    });
    values.collect()
}

fn declared(labels: &[String]) -> String {
    match labels {
        [] => "it is declared without labels".to_owned(),
        labels => format!("it is declared with {}", labels.join(", ")),
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(match text.char_indices().nth(VALUE_CHARS_MAX) {
            Some((end, _)) => text[..end].to_owned(),
            None => text.clone(),
        }),
        Value::Int(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        _ => None,
    }
}
