//! The sizes of the texts that filters write, counted before the filters run.

use crate::fault::Outcome;
use minijinja::Value;
use minijinja::value::{ValueIter, ValueKind};

/// The number of bytes, counted or written, after which the time is checked.
pub(crate) const BYTES_PER_CHECK: usize = 65_536;
/// The filters that take lists and maps as the text that shows them.
pub(crate) const TEXT_FILTERS: [&str; 16] = [
    "capitalize",
    "center",
    "indent",
    "lines",
    "lower",
    "replace",
    "split",
    "string",
    "striptags",
    "title",
    "trim",
    "truncate",
    "upper",
    "urlize",
    "wordcount",
    "wordwrap",
];

/// The form in which a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Texts as they are.
    Plain,
    /// Texts as a printed list shows its items.
    Shown,
    Json,
    Html,
    Url,
}

impl Form {
    /// Returns the number of bytes of a text in this form, without quotes around it.
    pub(crate) fn bytes_of(self, text: &str) -> usize {
        let (is_wide, extra): (fn(u8) -> bool, usize) = match self {
            Self::Plain => return text.len(),
            Self::Shown => (|byte| byte < 0x20 || matches!(byte, b'"' | b'\\' | 0x7f), 5),
            Self::Json => (
                |byte| byte < 0x20 || matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&' | b'\''),
                5,
            ),
            Self::Html => (
                |byte| matches!(byte, b'<' | b'>' | b'&' | b'"' | b'\'' | b'/'),
                5,
            ),
            Self::Url => (|byte| !byte.is_ascii_alphanumeric(), 2),
        };
        let wide = text.bytes().filter(|byte| is_wide(*byte)).count();
        text.len().saturating_add(wide.saturating_mul(extra))
    }

    /// Returns the number of bytes of a value without its items. Each value counts, also an empty one, so that a count
    /// of values that nest ends.
    fn bytes_alone(self, value: &Value) -> usize {
        let own = match (value.as_str(), value.as_bytes()) {
            (Some(text), _) => self.bytes_of(text),
            (None, Some(bytes)) => bytes.len().saturating_mul(4),
            (None, None) => 0,
        };
        own.saturating_add(size_of::<Value>())
    }
}

/// A list or a map whose items are counted.
struct Open {
    parts: ValueIter,
    map: Option<Value>,
}

impl Open {
    fn new(value: &Value) -> Option<Self> {
        let kind = value.kind();
        let has_items = matches!(kind, ValueKind::Seq | ValueKind::Map | ValueKind::Iterable);
        let parts = value.try_iter().ok().filter(|_| has_items)?;
        let map = (kind == ValueKind::Map).then(|| value.clone());
        Some(Self { parts, map })
    }
}

/// Counts the bytes that a value needs in a form, with all values in it, each of which begins with `indent` bytes for
/// each level. Stops when there are more than `bytes_max`: a list of one list many times, nested a few times, has more
/// items than can be counted.
///
/// # Errors
/// Fails if `check` fails. It is called with the number of bytes counted since the last call.
pub(crate) fn weigh(
    value: &Value,
    form: Form,
    indent: usize,
    bytes_max: usize,
    check: &mut dyn FnMut(usize) -> Outcome<()>,
) -> Outcome<usize> {
    let mut bytes = form.bytes_alone(value);
    let mut unchecked = bytes;
    let mut open: Vec<Open> = Open::new(value).into_iter().collect();
    while bytes <= bytes_max {
        let depth = open.len();
        let Some(innermost) = open.last_mut() else {
            break;
        };
        let Some(part) = innermost.parts.next() else {
            open.pop();
            continue;
        };
        let map = innermost.map.as_ref();
        let member = map.map(|map| map.get_item(&part).unwrap_or_default());
        for part in [Some(part), member].into_iter().flatten() {
            let more = form.bytes_alone(&part);
            let more = more.saturating_add(indent.saturating_mul(depth));
            bytes = bytes.saturating_add(more);
            unchecked = unchecked.saturating_add(more);
            open.extend(Open::new(&part));
        }
        if unchecked >= BYTES_PER_CHECK {
            check(unchecked)?;
            unchecked = 0;
        }
    }
    check(unchecked)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Form, weigh};
    use crate::fault::TemplateFault;
    use minijinja::Value;

    const BYTES_MAX: usize = 1_000_000;

    fn count(value: &Value, form: Form, indent: usize) -> usize {
        weigh(value, form, indent, BYTES_MAX, &mut |_| Ok(())).expect("a count")
    }

    #[test]
    fn each_form_is_at_least_as_long_as_the_text_in_it() {
        let text = "<a href=\"/\">\u{1}\n&'\\ä</a>";
        let json = serde_json::to_string(text).expect("JSON");
        assert_eq!(Form::Plain.bytes_of(text), text.len());
        assert!(Form::Shown.bytes_of(text) >= format!("{text:?}").len() - 2);
        assert!(Form::Json.bytes_of(text) >= json.len() - 2);
        assert!(Form::Url.bytes_of("ä /") == "%C3%A4%20%2F".len());
        assert!(Form::Html.bytes_of("<'/>") >= "&lt;&#x27;&#x2f;&gt;".len());
    }

    #[test]
    fn all_items_count_at_each_depth() {
        let text = Value::from("x".repeat(1000));
        let list: Value = vec![text.clone(), text.clone()].into_iter().collect();
        let map = Value::from_pairs([(text, list)]);
        let bytes = count(&map, Form::Plain, 0);
        assert!((3000..4000).contains(&bytes), "{bytes}");
        assert!(count(&map, Form::Plain, 100) > bytes + 500);
    }

    #[test]
    fn a_count_ends_at_the_limit() {
        let mut value = Value::from("x");
        for _ in 0..50 {
            value = (0..100).map(|_| value.clone()).collect();
        }
        let bytes = count(&value, Form::Json, 0);
        assert!(bytes > BYTES_MAX && bytes < 2 * BYTES_MAX, "{bytes}");
    }

    #[test]
    fn a_count_stops_when_the_time_is_over() {
        let list: Value = (0..30_000).map(Value::from).collect();
        let mut calls = 0;
        let result = weigh(&list, Form::Plain, 0, BYTES_MAX, &mut |_| {
            calls += 1;
            Err(TemplateFault::new("the time is over"))
        });
        assert!(result.is_err());
        assert_eq!(calls, 1);
    }
}
