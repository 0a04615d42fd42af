//! Filters over texts.

use super::given::Given;
use minijinja::value::{StringInput, ValueKind};
use minijinja::{AutoEscape, Error, ErrorKind, State, Value, filters};
use std::fmt::Write;

type Outcome = Result<Value, Error>;

/// The widest text that `center` makes, in characters.
const CENTER_WIDTH_MAX: usize = 1_000;

fn invalid(text: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, text)
}

fn is_escaping(state: &State<'_, '_>) -> bool {
    !matches!(state.auto_escape(), AutoEscape::None)
}

/// Returns text that the filter has escaped itself: where values are escaped, it is not escaped once more.
pub(super) fn markup(state: &State<'_, '_>, text: String) -> Value {
    match is_escaping(state) {
        true => Value::from_safe_string(text),
        false => Value::from(text),
    }
}

/// Escapes text for HTML, in every mode of the template.
pub(super) fn escaped(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    crate::escape::escape_html(&mut out, text.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}

pub(super) fn truncate(state: &mut State<'_, '_>, value: &Value, given: &Given<'_>) -> Outcome {
    minijinja_contrib::filters::truncate(state, value, given.named())
}

pub(super) fn wordwrap(state: &mut State<'_, '_>, value: &Value, given: &Given<'_>) -> Outcome {
    StringInput::new(state, value)?;
    minijinja_contrib::filters::wordwrap(value, given.named())
}

pub(super) fn wordcount(state: &mut State<'_, '_>, value: &Value, _: &Given<'_>) -> Outcome {
    StringInput::new(state, value)?;
    minijinja_contrib::filters::wordcount(value)
}

pub(super) fn trim(state: &mut State<'_, '_>, value: &Value, given: &Given<'_>) -> Outcome {
    let chars = given.text("chars").map(std::borrow::Cow::Borrowed);
    Ok(filters::trim(StringInput::new(state, value)?, chars))
}

pub(super) fn replace(state: &mut State<'_, '_>, value: &Value, given: &Given<'_>) -> Outcome {
    let (Some(old), Some(new)) = (given.get("old"), given.get("new")) else {
        return Err(Error::new(
            ErrorKind::MissingArgument,
            "the filter replace needs the text to replace and the text to put in its place",
        ));
    };
    let count = given.get("count").and_then(Value::as_i64).unwrap_or(-1);
    let value = StringInput::new(state, value)?;
    let old = StringInput::new(state, old)?;
    let new = StringInput::new(state, new)?;
    let replaced = |text: &str, new: &str| match usize::try_from(count) {
        Ok(count) => text.replacen(old.as_str(), new, count),
        Err(_) => text.replace(old.as_str(), new),
    };
    let is_safe = value.is_safe() || old.is_safe() || new.is_safe();
    if !is_escaping(state) || !is_safe {
        return Ok(Value::from(replaced(value.as_str(), new.as_str())));
    }
    let new = new.format(state)?.into_owned();
    let text = value.format(state)?;
    Ok(Value::from_safe_string(replaced(&text, &new)))
}

/// Indents all lines but the first. Unlike minijinja's, it keeps the last newline.
pub(super) fn indent(state: &mut State<'_, '_>, value: &Value, given: &Given<'_>) -> Outcome {
    let indentation = match given.get("width") {
        Some(width) if width.as_str().is_some() => width.to_string(),
        _ => " ".repeat(given.count("width").unwrap_or(4)),
    };
    let value = StringInput::new(state, value)?;
    let (is_first, is_blank) = (given.is_true("first"), given.is_true("blank"));
    let mut text = String::with_capacity(value.as_str().len());
    for (at, line) in value.as_str().split('\n').enumerate() {
        if at > 0 {
            text.push('\n');
        }
        let is_indented = match at {
            0 => is_first,
            _ => is_blank || !matches!(line, "" | "\r"),
        };
        if is_indented {
            text.push_str(&indentation);
        }
        text.push_str(line);
    }
    Ok(value.preserve_safety(text))
}

pub(super) fn center(state: &mut State<'_, '_>, value: &Value, given: &Given<'_>) -> Outcome {
    let width = given.count("width").unwrap_or(80);
    if width > CENTER_WIDTH_MAX {
        let text = format!("center makes texts of at most {CENTER_WIDTH_MAX} characters");
        return Err(invalid(text));
    }
    let value = StringInput::new(state, value)?;
    let length = value.as_str().chars().count();
    let around = width.saturating_sub(length);
    // As in Python, the odd one stands on the left where the width is odd too.
    let left = around / 2 + (around & width & 1);
    let text = format!(
        "{}{}{}",
        " ".repeat(left),
        value.as_str(),
        " ".repeat(around - left)
    );
    Ok(value.preserve_safety(text))
}

pub(super) fn forceescape(state: &mut State<'_, '_>, value: &Value, _: &Given<'_>) -> Outcome {
    let value = StringInput::new(state, value)?;
    Ok(Value::from_safe_string(escaped(value.as_str())))
}

/// Writes the members of a map as attributes of an element.
pub(super) fn xmlattr(state: &mut State<'_, '_>, value: &Value, given: &Given<'_>) -> Outcome {
    if value.kind() != ValueKind::Map {
        let text = format!("xmlattr expects a map, not {}", value.kind());
        return Err(invalid(text));
    }
    let has_space = given.get("autospace").is_none_or(Value::is_true);
    let mut text = String::new();
    for key in value.try_iter()? {
        let member = value.get_item(&key)?;
        if member.is_none() || member.is_undefined() {
            continue;
        }
        let name = key.to_string();
        let is_wrong = |c: char| c.is_whitespace() || matches!(c, '/' | '>' | '=');
        if name.contains(is_wrong) {
            return Err(invalid(format!(
                "{name:?} cannot be the name of an attribute"
            )));
        }
        if has_space || !text.is_empty() {
            text.push(' ');
        }
        let shown = match member.is_safe() {
            true => member.to_string(),
            false => escaped(&member.to_string()),
        };
        let _ = write!(text, "{}=\"{shown}\"", escaped(&name));
    }
    Ok(markup(state, text))
}

/// Encodes a text for a URL, or a map or a list of pairs as a query.
pub(super) fn urlencode(_: &mut State<'_, '_>, value: &Value, _: &Given<'_>) -> Outcome {
    let is_list = matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable);
    if !is_list && value.kind() != ValueKind::Map {
        return filters::urlencode(value).map(Value::from);
    }
    let mut text = String::new();
    for part in value.try_iter()? {
        let (name, member) = match is_list {
            false => (part.clone(), value.get_item(&part)?),
            true if part.len() == Some(2) => {
                (part.get_item_by_index(0)?, part.get_item_by_index(1)?)
            }
            true => return Err(invalid("urlencode expects pairs: [[\"name\", \"value\"]]")),
        };
        if !is_list && (member.is_none() || member.is_undefined()) {
            continue;
        }
        if !text.is_empty() {
            text.push('&');
        }
        for (at, side) in [name, member].into_iter().enumerate() {
            if at > 0 {
                text.push('=');
            }
            let side = filters::urlencode(&Value::from(side.to_string()))?;
            text.push_str(&side.replace('/', "%2F").replace("%20", "+"));
        }
    }
    Ok(Value::from(text))
}
