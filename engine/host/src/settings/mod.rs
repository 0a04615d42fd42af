//! The configuration as tables: each part of the program declares the section that it needs, once.
//!
//! A [`Section`] is a table of [`SettingKey`]s with their kinds, ranges, defaults and texts. Reading a configuration
//! file, the environment and flags into [`Settings`], the faults of wrong values, and the list that `sampan config`
//! prints are all derived from it. Nothing here reads a file or knows a format.

mod all;
pub mod units;
mod values;

pub use all::AllSettings;
pub use values::{Settings, WrittenValue};

use crate::tables::names::hint;
use std::ops::RangeInclusive;

/// The range of a quantity that is limited by its type only, or checked by its user.
pub const ANY: RangeInclusive<u64> = 0..=u64::MAX;

/// A section of the configuration: `[name]`.
#[derive(Debug)]
pub struct Section {
    /// The name, without brackets.
    pub name: &'static str,
    /// One line about it.
    pub doc: &'static str,
    /// The keys, in the order in which they are shown.
    pub keys: &'static [SettingKey],
}

/// A key of a section.
#[derive(Debug)]
pub struct SettingKey {
    /// The name.
    pub name: &'static str,
    /// The values that it takes.
    pub kind: SettingKind,
    /// The value where none is written.
    pub default: Preset,
    /// One line about it.
    pub doc: &'static str,
    /// True if its value is never shown.
    pub is_secret: bool,
}

/// The values that a key takes.
#[derive(Debug)]
pub enum SettingKind {
    /// `true` or `false`.
    Flag,
    /// A number.
    Count(RangeInclusive<u64>),
    /// A size in bytes, or a text with a unit.
    Size(RangeInclusive<u64>),
    /// A time in milliseconds, or a text with a unit.
    Time(RangeInclusive<u64>),
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// A text.
    Text,
    /// A part of the whole: a number from 0 to 1, or a text such as "25%". Kept as text.
    Share,
    /// A list of texts.
    Texts,
    /// A text with commas between its items, or a list of texts; and the description of that for faults.
    TextOrTexts(&'static str),
}

/// The value of a key where none is written.
#[derive(Clone, Copy, Debug)]
pub enum Preset {
    /// No value: it is decided elsewhere.
    Unset,
    /// A flag.
    Flag(bool),
    /// A count, bytes or milliseconds.
    Number(u64),
    /// A number that depends on the machine.
    Computed(fn() -> u64),
    /// A text, or one of the words.
    Text(&'static str),
    /// A list without items.
    Empty,
}

/// A value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingValue {
    /// A flag.
    Flag(bool),
    /// A count, bytes or milliseconds.
    Number(u64),
    /// A text.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
}

impl Section {
    /// Returns the key with this name.
    ///
    /// # Errors
    /// There is none: the keys that there are.
    pub fn key(&self, name: &str) -> Result<&'static SettingKey, String> {
        let known = self.keys.iter().find(|key| key.name == name);
        known.ok_or_else(|| {
            let keys: Vec<_> = self.keys.iter().map(|key| key.name).collect();
            let (section, hint) = (self.name, hint(name, keys.iter().copied()));
            let (it, keys) = (
                if hint.is_empty() { "; it" } else { " It" },
                keys.join(", "),
            );
            format!("[{section}] has no key \"{name}\"{hint}{it} has {keys}")
        })
    }
}

impl SettingKey {
    const fn new(
        name: &'static str,
        kind: SettingKind,
        default: Preset,
        doc: &'static str,
    ) -> Self {
        Self {
            name,
            kind,
            default,
            doc,
            is_secret: false,
        }
    }

    /// A flag.
    pub const fn flag(name: &'static str, default: Preset, doc: &'static str) -> Self {
        Self::new(name, SettingKind::Flag, default, doc)
    }

    /// A number in this range.
    pub const fn count(
        name: &'static str,
        range: RangeInclusive<u64>,
        default: u64,
        doc: &'static str,
    ) -> Self {
        Self::new(
            name,
            SettingKind::Count(range),
            Preset::Number(default),
            doc,
        )
    }

    /// A size in this range of bytes.
    pub const fn size(
        name: &'static str,
        range: RangeInclusive<u64>,
        default_bytes: u64,
        doc: &'static str,
    ) -> Self {
        Self::new(
            name,
            SettingKind::Size(range),
            Preset::Number(default_bytes),
            doc,
        )
    }

    /// A time in this range of milliseconds.
    pub const fn time(
        name: &'static str,
        range: RangeInclusive<u64>,
        default_millis: u64,
        doc: &'static str,
    ) -> Self {
        Self::new(
            name,
            SettingKind::Time(range),
            Preset::Number(default_millis),
            doc,
        )
    }

    /// One of these words, the first of which is the default.
    pub const fn choice(
        name: &'static str,
        words: &'static [&'static str],
        doc: &'static str,
    ) -> Self {
        Self::new(
            name,
            SettingKind::Choice(words),
            Preset::Text(words[0]),
            doc,
        )
    }

    /// A text, or a path.
    pub const fn text(name: &'static str, default: Preset, doc: &'static str) -> Self {
        Self::new(name, SettingKind::Text, default, doc)
    }

    /// A list of texts.
    pub const fn texts(name: &'static str, default: Preset, doc: &'static str) -> Self {
        Self::new(name, SettingKind::Texts, default, doc)
    }

    /// Returns this key with another default.
    pub const fn with_default(mut self, default: Preset) -> Self {
        self.default = default;
        self
    }

    /// Returns this key as one of another kind.
    pub const fn of_kind(mut self, kind: SettingKind) -> Self {
        self.kind = kind;
        self
    }

    /// Returns this key as one whose value is never shown.
    pub const fn secret(mut self) -> Self {
        self.is_secret = true;
        self
    }

    /// Checks the range of a value of the right kind, and its texts.
    fn check(&self, value: &SettingValue) -> Result<(), String> {
        let name = self.name;
        let texts = match value {
            SettingValue::Text(text) => std::slice::from_ref(text),
            SettingValue::List(texts) => texts.as_slice(),
            SettingValue::Flag(_) | SettingValue::Number(_) => &[],
        };
        // No path can have one: what takes it would fail later.
        if texts.iter().any(|text| text.contains('\0')) {
            return Err(format!(
                "{name} has a NUL character, which no value may have"
            ));
        }
        match (&self.kind, value) {
            (SettingKind::Choice(words), SettingValue::Text(text)) => {
                if words.contains(&text.as_str()) {
                    return Ok(());
                }
                let words: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
                Err(format!("{name}: {text:?} is none of {}", words.join(", ")))
            }
            (
                SettingKind::Count(range) | SettingKind::Size(range) | SettingKind::Time(range),
                SettingValue::Number(number),
            ) if !range.contains(number) => {
                let unit = match self.kind {
                    SettingKind::Time(_) => " milliseconds",
                    _ => "",
                };
                let wanted = words_of(range);
                Err(format!("{name} is {number}; it must be {wanted}{unit}"))
            }
            _ => Ok(()),
        }
    }
}

impl SettingKind {
    /// Returns a value as keys of this kind keep it; nothing if they do not take it.
    pub fn accept(&self, value: SettingValue) -> Option<SettingValue> {
        use SettingValue::{Flag, List, Number, Text};
        match (self, value) {
            (Self::Flag, value @ Flag(_))
            | (Self::Count(_) | Self::Size(_) | Self::Time(_), value @ Number(_))
            | (Self::Choice(_) | Self::Text | Self::Share, value @ Text(_))
            | (Self::Texts | Self::TextOrTexts(_), value @ List(_)) => Some(value),
            (Self::Share, Number(number)) => Some(Text(number.to_string())),
            (Self::Size(_), Text(text)) => units::bytes(&text).map(Number),
            (Self::Time(_), Text(text)) => units::millis(&text).map(Number),
            (Self::TextOrTexts(_), Text(text)) => Some(List(items(&text))),
            _ => None,
        }
    }

    /// Returns the description of the values that keys of this kind take, for faults.
    fn expected(&self) -> &'static str {
        match self {
            Self::Flag => "true or false",
            Self::Count(_) => "a whole number",
            Self::Size(_) => units::A_SIZE,
            Self::Time(_) => units::A_TIME,
            Self::Choice(_) | Self::Text => "text in quotes",
            Self::Share => "a number from 0 to 1, or a text such as \"25%\",",
            Self::Texts => "a list such as [\"one\", \"two\"]",
            Self::TextOrTexts(expected) => expected,
        }
    }
}

/// Describes the numbers of a range.
fn words_of(range: &RangeInclusive<u64>) -> String {
    match (*range.start(), *range.end()) {
        (least, u64::MAX) => format!("at least {least}"),
        (0, most) => format!("at most {most}"),
        (least, most) => format!("{least} to {most}"),
    }
}

/// Splits a text with commas between its items.
pub fn items(text: &str) -> Vec<String> {
    let items = text.split(',').map(str::trim);
    let items = items.filter(|item| !item.is_empty());
    items.map(str::to_owned).collect()
}
