//! Values as they are written: where in the file, and what a text stands for.

use crate::config::raw::RawConfig;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The line of each key, as `section.key`.
pub(super) fn lines_of(text: &str) -> BTreeMap<String, usize> {
    let Ok(document) = toml::de::DeTable::parse(text) else {
        return BTreeMap::new();
    };
    let line_at = |at: usize| text[..at].matches('\n').count() + 1;
    let sections = document.get_ref().iter();
    let keys = sections.flat_map(|(section, values)| {
        let values = values.get_ref().as_table().into_iter().flatten();
        values.map(move |(key, _)| {
            let full = format!("{}.{}", section.get_ref(), key.get_ref());
            (full, line_at(key.span().start))
        })
    });
    keys.collect()
}

/// The value that a text stands for: what a key takes decides whether it is a number, a truth, a list or text.
pub(super) fn value_of(
    section: &str,
    key: &str,
    text: &str,
    origin: &str,
) -> Result<Value, String> {
    let quoted = Value::from(text);
    let items: Vec<Value> = text
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(Value::from)
        .collect();
    let written: Option<Value> = toml::from_str::<Table>(&format!("v = {text}"))
        .ok()
        .filter(|table| table.len() == 1)
        .and_then(|mut table| table.remove("v"));
    let list = Value::from(items);
    // What takes both is a list only where there are several items.
    let texts = match text.contains(',') {
        true => [&list, &quoted],
        false => [&quoted, &list],
    };
    let takes = |value: &&Value| checked(section, key, &value.to_string(), origin).is_ok();
    match written.as_ref().into_iter().chain(texts).find(takes) {
        Some(value) => Ok(value.clone()),
        None => checked(section, key, &quoted.to_string(), origin).map(|()| quoted.clone()),
    }
}

/// Fails if a key does not take this value, which is written as in TOML.
pub(super) fn checked(section: &str, key: &str, written: &str, origin: &str) -> Result<(), String> {
    let text = format!("[{section}]\n{key} = {written}\n");
    RawConfig::parse_from(&text, origin).map(|_| ())
}
