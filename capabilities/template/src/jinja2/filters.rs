//! Filters over lists and maps: minijinja's own, with the arguments by place that Jinja2 has.

use super::given::Given;
use minijinja::value::{Kwargs, Rest};
use minijinja::{Error, ErrorKind, State, Value, filters};

type Outcome = Result<Value, Error>;

/// Returns a member of a value by its name.
pub(super) fn attr(_: &mut State<'_, '_>, value: &Value, given: &Given<'_>) -> Outcome {
    filters::attr(value, &given.raw("name"))
}

pub(super) fn batch(state: &mut State<'_, '_>, value: &Value, given: &Given<'_>) -> Outcome {
    let count = given
        .count("linecount")
        .ok_or_else(|| missing("batch", "linecount"))?;
    filters::batch(state, value.clone(), count, given.get("fill_with").cloned())
}

pub(super) fn slice(state: &mut State<'_, '_>, value: &Value, given: &Given<'_>) -> Outcome {
    let count = given
        .count("slices")
        .ok_or_else(|| missing("slice", "slices"))?;
    filters::slice(state, value.clone(), count, given.get("fill_with").cloned())
}

pub(super) fn dictsort(_: &mut State<'_, '_>, value: &Value, given: &Given<'_>) -> Outcome {
    filters::dictsort(value, given.named())
}

pub(super) fn sort(state: &mut State<'_, '_>, value: &Value, given: &Given<'_>) -> Outcome {
    filters::sort(state, value.clone(), given.named())
}

pub(super) fn unique(state: &mut State<'_, '_>, value: &Value, given: &Given<'_>) -> Outcome {
    filters::unique(state, value.clone(), given.named())
}

pub(super) fn min(state: &mut State<'_, '_>, value: &Value, given: &Given<'_>) -> Outcome {
    filters::min(state, value.clone(), given.named())
}

pub(super) fn max(state: &mut State<'_, '_>, value: &Value, given: &Given<'_>) -> Outcome {
    filters::max(state, value.clone(), given.named())
}

pub(super) fn groupby(_: &mut State<'_, '_>, value: &Value, given: &Given<'_>) -> Outcome {
    let attribute = given
        .text("attribute")
        .ok_or_else(|| missing("groupby", "attribute"))?;
    let rest = ["default", "case_sensitive"].into_iter();
    let rest = rest.filter_map(|name| Some((name, given.get(name)?.clone())));
    filters::groupby(value.clone(), Some(attribute), rest.collect::<Kwargs>())
}

/// Returns another value for what is not there or, if that is asked for, for what is not true.
pub(super) fn default(state: &mut State<'_, '_>, value: &Value, given: &Given<'_>) -> Outcome {
    let args = match given.len() {
        0 => Vec::new(),
        1 => vec![given.raw("default_value")],
        _ => vec![given.raw("default_value"), given.raw("boolean")],
    };
    filters::default(state, value, Rest(args))
}

/// Returns the pairs of a map. What is not there has none.
pub(super) fn items(_: &mut State<'_, '_>, value: &Value, _: &Given<'_>) -> Outcome {
    match value.is_undefined() {
        true => Ok(Value::from(Vec::<Value>::new())),
        false => filters::items(value),
    }
}

pub(super) fn filesizeformat(_: &mut State<'_, '_>, value: &Value, given: &Given<'_>) -> Outcome {
    let bytes = match value.as_str() {
        Some(text) => text.trim().parse::<f64>().ok(),
        None => f64::try_from(value.clone()).ok(),
    };
    let bytes = bytes.ok_or_else(|| {
        let text = format!("filesizeformat expects a number, not {}", value.kind());
        Error::new(ErrorKind::InvalidOperation, text)
    })?;
    let is_binary = given.is_true("binary");
    let text = minijinja_contrib::filters::filesizeformat(bytes, Some(is_binary));
    Ok(Value::from(text))
}

fn missing(filter: &str, name: &str) -> Error {
    Error::new(
        ErrorKind::MissingArgument,
        format!("the filter {filter} needs its argument {name:?}"),
    )
}
