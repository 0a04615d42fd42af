//! Values as they are written: where in the file, and what a text stands for.

use sampan_host::settings::{SettingKind, SettingValue};
use toml::de::DeTable;
use toml::{Table, Value};

/// A value of a configuration file, or a section in it.
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) value: Value,
    /// The number of its line, from 1.
    pub(super) line: usize,
}

/// Parses a configuration file called `name`: its sections, and for each its keys, in the order of their lines. A table
/// in a section is a section of its own if `is_section` says so, as `tls.acme`.
///
/// # Errors
/// The line, and what is wrong with it.
pub(super) fn parsed(
    text: &str,
    name: &str,
    is_section: impl Fn(&str) -> bool,
) -> Result<Vec<(Entry, Vec<Entry>)>, String> {
    let line_at = |at: usize| text[..at].matches('\n').count() + 1;
    let fault = |error: toml::de::Error| {
        let span = error.span().unwrap_or_default();
        let line = line_at(span.start);
        let written = text.lines().nth(line - 1).unwrap_or_default();
        if error.message() == "duplicate key" {
            let key = text.get(span).unwrap_or_default();
            return format!("{name}:{line}: {}", duplicate(text, line, key));
        }
        match unquoted_key(error.message(), written) {
            Some(key) => {
                format!("{name}:{line}: text must be in quotes, such as {key} = \"text\"")
            }
            None => format!("{name}:{line}: {}", error.message().replace('\n', " ")),
        }
    };
    let mut values: Table = toml::from_str(text).map_err(fault)?;
    let places = DeTable::parse(text).map_err(fault)?;
    let entries = |places: &DeTable<'_>, values: &mut Table| {
        let keys = places.iter().filter_map(|(key, _)| {
            let (key, at) = (key.get_ref(), key.span().start);
            let (key, value) = values.remove_entry(&**key)?;
            let line = line_at(at);
            Some((at, Entry { key, value, line }))
        });
        let mut keys: Vec<_> = keys.collect();
        keys.sort_by_key(|(at, _)| *at);
        keys.into_iter().map(|(_, entry)| entry).collect::<Vec<_>>()
    };
    let keys_of = |places: Option<&DeTable<'_>>, section: &mut Entry| {
        let keys = places.zip(section.value.as_table_mut());
        keys.map_or_else(Vec::new, |(places, values)| entries(places, values))
    };
    let places = places.get_ref();
    let mut sections = Vec::new();
    for mut section in entries(places, &mut values) {
        let inside = places.get(section.key.as_str());
        let inside = inside.and_then(|keys| keys.get_ref().as_table());
        let (mut keys, mut nested) = (Vec::new(), Vec::new());
        for mut entry in keys_of(inside, &mut section) {
            let whole = format!("{}.{}", section.key, entry.key);
            if !entry.value.is_table() || !is_section(&whole) {
                keys.push(entry);
                continue;
            }
            let places = inside.and_then(|keys| keys.get(entry.key.as_str()));
            let inner = keys_of(
                places.and_then(|keys| keys.get_ref().as_table()),
                &mut entry,
            );
            entry.key = whole;
            nested.push((entry, inner));
        }
        sections.push((section, keys));
        sections.extend(nested);
    }
    Ok(sections)
}

/// Says where a section or a key that stands twice stands first. `key` is the second one, in the line `line`.
fn duplicate(text: &str, line: usize, key: &str) -> String {
    let header = |line: &str| {
        let header = line.trim().strip_prefix('[')?.split(']').next()?;
        Some(header.trim_start_matches('[').trim().to_owned())
    };
    let before: Vec<&str> = text.lines().take(line - 1).collect();
    let own = text.lines().nth(line - 1).and_then(header);
    let first = match &own {
        Some(own) => before
            .iter()
            .position(|line| header(line).as_ref() == Some(own)),
        None => {
            let begin = before.iter().rposition(|line| header(line).is_some());
            let keys = before.iter().enumerate().skip(begin.map_or(0, |at| at + 1));
            let is_key = |line: &str| {
                line.split_once('=')
                    .is_some_and(|(name, _)| name.trim() == key)
            };
            let mut found = keys.filter(|(_, line)| is_key(line));
            found.next().map(|(at, _)| at)
        }
    };
    let shown = match &own {
        Some(own) => format!("[{own}]"),
        None => key.to_owned(),
    };
    match first {
        Some(at) => format!("{shown} stands already in line {}", at + 1),
        None => format!("{shown} stands twice"),
    }
}

/// Returns the key of a line whose value is a text without quotes. The value is not told: it may be a secret.
fn unquoted_key<'a>(fault: &str, line: &'a str) -> Option<&'a str> {
    const FAULTS: [&str; 3] = [
        "invalid float",
        "invalid boolean",
        "string values must be quoted",
    ];
    const WORDS: [&str; 4] = ["true", "false", "inf", "nan"];
    let (key, value) = line.split_once('=')?;
    let value = value.trim_start();
    let end = value.find(|char: char| !char.is_ascii_alphanumeric());
    let word = &value[..end.unwrap_or(value.len())];
    let is_text = word.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_fault = FAULTS.iter().any(|known| fault.starts_with(*known));
    (is_text && is_fault && !WORDS.contains(&word)).then_some(key.trim())
}

/// Returns a value as keys may take it; nothing for those that none takes, such as fractions.
pub(super) fn plain(value: &Value) -> Option<SettingValue> {
    Some(match value {
        Value::Boolean(flag) => SettingValue::Flag(*flag),
        Value::Integer(number) => SettingValue::Number(u64::try_from(*number).ok()?),
        Value::String(text) => SettingValue::Text(text.clone()),
        Value::Array(items) => {
            let items = items.iter().map(|item| item.as_str().map(str::to_owned));
            SettingValue::List(items.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// Returns the value that a text stands for: what a key takes decides whether it is a number, a flag, a list or text.
pub(super) fn value_of(kind: &SettingKind, text: &str) -> Value {
    let quoted = Value::from(text);
    let list = Value::from(sampan_host::settings::items(text));
    let written: Option<Value> = toml::from_str::<Table>(&format!("v = {text}"))
        .ok()
        .filter(|table| table.len() == 1)
        .and_then(|mut table| table.remove("v"));
    // What takes both is a list only where there are several items.
    let texts = match text.contains(',') {
        true => [list, quoted.clone()],
        false => [quoted.clone(), list],
    };
    let takes = |value: &Value| plain(value).and_then(|value| kind.accept(value)).is_some();
    let mut forms = written.into_iter().chain(texts);
    forms.find(takes).unwrap_or(quoted)
}
