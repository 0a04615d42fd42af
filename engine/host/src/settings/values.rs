//! The values of sections: those that were written, with their places, and the defaults of the others.

use super::{Preset, Section, SettingKey, SettingKind, SettingValue, items, words_of};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A value that was written.
#[derive(Clone, PartialEq, Eq)]
pub struct WrittenValue {
    value: SettingValue,
    /// The value as the configuration file would have it.
    pub text: String,
    /// The place: a line of a file, a variable, a flag.
    pub origin: String,
}

/// The values of one section.
#[derive(Clone)]
pub struct Settings {
    section: &'static Section,
    written: BTreeMap<&'static str, WrittenValue>,
    /// The name of the configuration file, which stands for the place of a value that is not written.
    file: Arc<str>,
}

impl Settings {
    /// The defaults of a section.
    pub fn of(section: &'static Section) -> Self {
        Self::in_file(section, Arc::from(""))
    }

    pub(super) fn in_file(section: &'static Section, file: Arc<str>) -> Self {
        Self {
            section,
            written: BTreeMap::new(),
            file,
        }
    }

    /// The values of a section that a test writes.
    ///
    /// # Errors
    /// As [`AllSettings::put`](super::AllSettings::put).
    pub fn with(
        section: &'static Section,
        values: impl IntoIterator<Item = (&'static str, SettingValue)>,
    ) -> Result<Self, String> {
        let mut settings = Self::of(section);
        for (key, value) in values {
            settings.put(key, Some(value), String::new(), String::new())?;
        }
        Ok(settings)
    }

    /// Returns the section.
    pub fn section(&self) -> &'static Section {
        self.section
    }

    /// Returns the value of a key as it was written, if it was.
    pub fn written(&self, key: &str) -> Option<&WrittenValue> {
        self.written.get(key)
    }

    /// Returns a flag, unless it is unset.
    pub fn flag_if_set(&self, key: &str) -> Option<bool> {
        match (self.value(key), self.preset(key)) {
            (Some(SettingValue::Flag(flag)), _) => Some(*flag),
            (None, Preset::Flag(flag)) => Some(flag),
            _ => None,
        }
    }

    /// Returns a flag; false where it is unset.
    pub fn flag(&self, key: &str) -> bool {
        self.flag_if_set(key).unwrap_or_default()
    }

    /// Returns a count, a size in bytes or a time in milliseconds. The range of the key must fit into `N`.
    pub fn number<N: TryFrom<u64> + Default>(&self, key: &str) -> N {
        let number = match (self.value(key), self.preset(key)) {
            (Some(SettingValue::Number(number)), _) => *number,
            (None, Preset::Number(number)) => number,
            (None, Preset::Computed(number)) => number(),
            _ => 0,
        };
        N::try_from(number).unwrap_or_default()
    }

    /// Returns a text, unless it is unset.
    pub fn text_if_set(&self, key: &str) -> Option<&str> {
        match (self.value(key), self.preset(key)) {
            (Some(SettingValue::Text(text)), _) => Some(text),
            (None, Preset::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns a text; an empty one where it is unset.
    pub fn text(&self, key: &str) -> &str {
        self.text_if_set(key).unwrap_or_default()
    }

    /// Returns a list, unless it is unset.
    pub fn list_if_set(&self, key: &str) -> Option<Vec<String>> {
        match (self.value(key), self.preset(key)) {
            (Some(SettingValue::List(list)), _) => Some(list.clone()),
            (None, Preset::Text(text)) => Some(items(text)),
            (None, Preset::Empty) => Some(Vec::new()),
            _ => None,
        }
    }

    /// Returns a list; an empty one where it is unset.
    pub fn list(&self, key: &str) -> Vec<String> {
        self.list_if_set(key).unwrap_or_default()
    }

    /// Describes a fault that begins with the name of its key, with the place where that was written.
    pub fn tell(&self, fault: &str) -> String {
        let key = fault.split([' ', ':']).next().unwrap_or_default();
        let origin = self.written(key).map(|written| written.origin.as_str());
        let (origin, section) = (origin.unwrap_or(&self.file), self.section.name);
        format!("{origin}: [{section}] {fault}")
    }

    fn value(&self, key: &str) -> Option<&SettingValue> {
        self.written(key).map(|written| &written.value)
    }

    fn preset(&self, name: &str) -> Preset {
        let key = self.section.key(name);
        debug_assert!(key.is_ok(), "{key:?}");
        key.map_or(Preset::Unset, |key| key.default)
    }

    pub(super) fn put(
        &mut self,
        name: &str,
        value: Option<SettingValue>,
        text: String,
        origin: String,
    ) -> Result<(), String> {
        let of_key = |fault| format!("{origin}: {fault}");
        let key: &SettingKey = self.section.key(name).map_err(of_key)?;
        let section = self.section.name;
        let accepted = match (value, &key.kind) {
            // Of numbers only these have a fraction.
            (None, SettingKind::Share) if text.parse::<f64>().is_ok() => {
                Some(SettingValue::Text(text.clone()))
            }
            (value, kind) => value.and_then(|value| kind.accept(value)),
        };
        let value = accepted.ok_or_else(|| {
            let (written, expected) = (key.shown(&text), key.kind.expected());
            let range = match &key.kind {
                SettingKind::Count(range) => format!(", {}", words_of(range)),
                _ => String::new(),
            };
            format!("{origin}: [{section}] {name} = {written}: {expected} is expected{range}")
        })?;
        key.check(&value)
            .map_err(|fault| format!("{origin}: [{section}] {fault}"))?;
        let written = WrittenValue {
            value,
            text,
            origin,
        };
        self.written.insert(key.name, written);
        Ok(())
    }
}

impl SettingKey {
    /// A value for people, as it was written.
    fn shown<'a>(&self, text: &'a str) -> &'a str {
        match self.is_secret {
            true => "...",
            false => text,
        }
    }
}

/// Does not show secrets.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] ", self.section.name)?;
        let keys = self.section.keys.iter();
        let written = keys.filter_map(|key| Some((key, self.written(key.name)?)));
        f.debug_map()
            .entries(written.map(|(key, written)| (key.name, key.shown(&written.text))))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ANY, AllSettings, Section, SettingKind};
    use super::SettingValue::{Flag, List, Number, Text};
    use super::*;

    static SECTION: Section = Section {
        name: "kettle",
        doc: "A kettle.",
        keys: &[
            SettingKey::flag("on", Preset::Flag(true), ""),
            SettingKey::flag("whistles", Preset::Unset, ""),
            SettingKey::count("cups", 1..=8, 2, ""),
            SettingKey::size("water", 100..=u64::MAX, 1_000, ""),
            SettingKey::time("patience", 0..=60_000, 5_000, ""),
            SettingKey::time("age", ANY, 7, ""),
            SettingKey::choice("tea", &["green", "black"], ""),
            SettingKey::text("name", Preset::Unset, ""),
            SettingKey::text("full", Preset::Text("1"), "").of_kind(SettingKind::Share),
            SettingKey::texts("guests", Preset::Empty, ""),
            SettingKey::texts("keys", Preset::Empty, "").secret(),
            SettingKey::text("at", Preset::Text("a, b"), "")
                .of_kind(SettingKind::TextOrTexts("a place, or a list of them")),
        ],
    };

    pub(super) fn put(all: &mut AllSettings, key: &str, value: SettingValue) -> Result<(), String> {
        let text = match &value {
            Text(text) => format!("{text:?}"),
            Number(number) => number.to_string(),
            other => format!("{other:?}"),
        };
        all.put(("kettle", key), Some(value), text, "x:1".to_owned())
    }

    #[test]
    fn what_is_not_written_has_its_default() {
        let settings = AllSettings::new(&[], "x").of(&SECTION);
        assert!(settings.flag("on"));
        assert_eq!(settings.flag_if_set("whistles"), None);
        assert_eq!(settings.number::<u32>("cups"), 2);
        assert_eq!(settings.text("tea"), "green");
        assert_eq!(settings.text_if_set("name"), None);
        assert_eq!(settings.list("at"), ["a", "b"]);
        assert!(settings.list("guests").is_empty());
    }

    #[test]
    fn values_are_converted_and_shown_without_secrets() {
        let mut all = AllSettings::new(&[&SECTION], "x");
        for (key, value) in [
            ("on", Flag(false)),
            ("cups", Number(3)),
            ("water", Text("2kB".to_owned())),
            ("patience", Text("10 s".to_owned())),
            ("tea", Text("black".to_owned())),
            ("at", Text("c".to_owned())),
            ("keys", List(vec!["hush".to_owned()])),
        ] {
            put(&mut all, key, value).expect("valid");
        }
        let settings = all.of(&SECTION);
        assert!(!settings.flag("on"));
        let numbers = ["cups", "water", "patience"].map(|key| settings.number::<u64>(key));
        assert_eq!(numbers, [3, 2_000, 10_000]);
        assert_eq!(
            (settings.text("tea"), settings.list("at")),
            ("black", vec!["c".to_owned()])
        );
        let shown = format!("{all:?}");
        assert!(
            shown.contains("\"cups\": \"3\"") && !shown.contains("hush"),
            "{shown}"
        );
        assert_eq!(
            settings.tell("cups: too many"),
            "x:1: [kettle] cups: too many"
        );
        assert_eq!(settings.tell("guests is odd"), "x: [kettle] guests is odd");
    }

    #[test]
    fn shares_are_numbers_or_texts() {
        let share = |value, text: &str| {
            let mut all = AllSettings::new(&[&SECTION], "x");
            let text = text.to_owned();
            all.put(("kettle", "full"), value, text, "x:1".to_owned())?;
            Ok::<_, String>(all.of(&SECTION).text("full").to_owned())
        };
        assert_eq!(share(Some(Number(1)), "1").as_deref(), Ok("1"));
        assert_eq!(share(None, "0.25").as_deref(), Ok("0.25"));
        assert_eq!(
            share(Some(Text("25%".into())), "\"25%\"").as_deref(),
            Ok("25%")
        );
        let fault = share(Some(Flag(true)), "true").expect_err("no share");
        assert!(
            fault.contains("full = true: a number from 0 to 1"),
            "{fault}"
        );
        share(None, "[1]").expect_err("no share");
    }

    #[test]
    fn faults_say_what_is_expected() {
        for (key, value, fault) in [
            (
                "cup",
                Number(1),
                "[kettle] has no key \"cup\"; did you mean \"cups\"? It has on, whistles, cups,",
            ),
            (
                "cups",
                Text("two".to_owned()),
                "[kettle] cups = \"two\": a whole number is expected, 1 to 8",
            ),
            ("cups", Number(9), "[kettle] cups is 9; it must be 1 to 8"),
            (
                "water",
                Number(9),
                "[kettle] water is 9; it must be at least 100",
            ),
            (
                "water",
                Text("much".to_owned()),
                "[kettle] water = \"much\": a size such as",
            ),
            (
                "patience",
                Number(60_001),
                "[kettle] patience is 60001; it must be at most 60000 milliseconds",
            ),
            (
                "age",
                Text("5".to_owned()),
                "[kettle] age = \"5\": a time such as 1500 (milliseconds)",
            ),
            (
                "tea",
                Text("red".to_owned()),
                "[kettle] tea: \"red\" is none of \"green\", \"black\"",
            ),
            (
                "on",
                Number(1),
                "[kettle] on = 1: true or false is expected",
            ),
            (
                "guests",
                Text("x".to_owned()),
                "[kettle] guests = \"x\": a list such as",
            ),
            (
                "keys",
                Text("hush".to_owned()),
                "[kettle] keys = ...: a list such as",
            ),
            (
                "at",
                Number(8),
                "[kettle] at = 8: a place, or a list of them is expected",
            ),
        ] {
            let mut all = AllSettings::new(&[&SECTION], "x");
            let told = put(&mut all, key, value).expect_err(fault);
            assert!(told.starts_with(&format!("x:1: {fault}")), "{told}");
        }
        let mut all = AllSettings::new(&[&SECTION], "x");
        let told = all.put(("pot", "cups"), None, String::new(), "y".to_owned());
        let expected = "y: there is no section or key \"pot\" here; the sections are kettle";
        assert_eq!(told, Err(expected.to_owned()));
    }
}
