//! The catalogues of a project: `locales/de.toml` has the German texts. All are read and checked at start.

use crate::message::{CATEGORIES, Message, Text};
use crate::negotiate;
use crate::settings::I18nSettings;
use icu_locale_core::Locale;
use sampan_host::names::hint;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The folder of the catalogues in a project.
pub const FOLDER: &str = "locales";
/// The app's own locale unless its configuration names one.
const DEFAULT: &str = "en";
/// The language of the messages that are built in.
const ENGLISH: &str = "en";

/// The beginning of the keys that the server itself asks for, and the rest of each: messages about invalid values,
/// whose English texts are built in.
#[rustfmt::skip]
const BUILT_IN: (&str, &[&str]) = (
    "validate.",
    &[
        "required", "string", "integer", "number", "boolean", "date", "datetime", "email", "url",
        "list", "object", "any", "chars_min", "chars_max", "chars", "items_min", "items_max", "items",
        "min", "max", "date_min", "date_max", "not_past", "not_future", "pattern", "enum", "check",
    ],
);

/// The catalogues of a project. Workers share them.
#[derive(Debug)]
pub struct Catalogs {
    pub(crate) all: Vec<Catalog>,
    /// The app's own.
    pub(crate) default: usize,
    /// Keys without a text that were told.
    pub(crate) missed: Mutex<HashSet<String>>,
}

/// The texts of one locale.
#[derive(Debug)]
pub(crate) struct Catalog {
    /// The name: `de`, `pt-BR`.
    pub(crate) tag: String,
    pub(crate) locale: Locale,
    /// By key, with dots between its parts.
    messages: Messages,
}

/// Reports whether the server itself asks for a text.
fn is_built_in(key: &str) -> bool {
    let (start, rests) = BUILT_IN;
    key.strip_prefix(start)
        .is_some_and(|rest| rests.contains(&rest))
}

/// Texts by their keys, which only the project chooses.
type Messages = HashMap<String, Message, foldhash::fast::RandomState>;

impl Catalogs {
    /// Reads the catalogues in `files`: paths such as `locales/de.toml`, and their bytes.
    ///
    /// # Errors
    /// One line that names the file, the line and what is wrong, or the setting.
    pub fn read(files: &[(String, Vec<u8>)], settings: &I18nSettings) -> Result<Self, String> {
        let mut places = Places::default();
        let mut all = Vec::new();
        for (path, bytes) in files {
            let Some(name) = name_of(path) else { continue };
            let locale = parsed(name).map_err(|fault| format!("{path}: {fault}"))?;
            let tag = locale.to_string();
            let is_offered = |offered: &String| is_tag(offered, &tag);
            if settings.locales.is_empty() || settings.locales.iter().any(is_offered) {
                let messages = Reading::all_of(path, bytes, &mut places)?;
                all.push(Catalog {
                    tag,
                    locale,
                    messages,
                });
            }
        }
        all.sort_by(|one: &Catalog, other| one.tag.cmp(&other.tag));
        for wanted in &settings.locales {
            parsed(wanted).map_err(|fault| format!("[i18n] locales: {fault}"))?;
            if !all
                .iter()
                .any(|catalog: &Catalog| is_tag(wanted, &catalog.tag))
            {
                return Err(format!(
                    "[i18n] locales names {wanted:?}: there is no {FOLDER}/{wanted}.toml"
                ));
            }
        }
        let default = settings.default.as_deref().unwrap_or(DEFAULT);
        let locale = parsed(default).map_err(|fault| format!("[i18n] default: {fault}"))?;
        let tag = locale.to_string();
        let at = all.iter().position(|catalog| catalog.tag == tag);
        let at = match at {
            Some(at) => at,
            None if all.is_empty() => {
                all.push(Catalog {
                    tag,
                    locale,
                    messages: Messages::default(),
                });
                0
            }
            None => {
                return Err(format!(
                    "[i18n] default is {default:?}: there is no {FOLDER}/{default}.toml"
                ));
            }
        };
        let catalogs = Self {
            all,
            default: at,
            missed: Mutex::default(),
        };
        catalogs.check(&places)?;
        Ok(catalogs)
    }

    /// Reports whether some locale has a text or a group of texts under a key.
    pub fn has_key(&self, key: &str) -> bool {
        self.all
            .iter()
            .any(|catalog| catalog.messages.contains_key(key))
    }

    /// Returns the keys of all texts of the app's own locale.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.all[self.default].messages.keys().map(String::as_str)
    }

    /// Lists the texts that a locale lacks, and those that the app's own locale does not have: the file and what is
    /// wrong.
    ///
    /// A more special locale, such as `de-AT`, need not have what the more general one has.
    pub fn differences(&self) -> Vec<(String, String)> {
        let own = &self.all[self.default];
        let mut found = Vec::new();
        for (at, catalog) in self.all.iter().enumerate() {
            if at == self.default {
                continue;
            }
            let file = format!("{FOLDER}/{}.toml", catalog.tag);
            let is_special = negotiate::parents(&catalog.tag)
                .any(|parent| parent != catalog.tag && self.position(parent).is_some());
            let mut missing: Vec<&String> = own.messages.keys().collect();
            missing.retain(|key| !is_special && !catalog.messages.contains_key(*key));
            let mut extra: Vec<&String> = catalog.messages.keys().collect();
            extra.retain(|key| !own.messages.contains_key(*key) && !is_built_in(key));
            missing.sort();
            extra.sort();
            let missing = missing.iter().map(|key| {
                format!(
                    "there is no translation of {key}, which {FOLDER}/{}.toml has",
                    own.tag
                )
            });
            let extra = extra.iter().map(|key| {
                let known = || BUILT_IN.1.iter().copied();
                let hint = key.strip_prefix(BUILT_IN.0).map(|rest| hint(rest, known()));
                format!(
                    "{key} is not in {FOLDER}/{}.toml, so no text asks for it{}",
                    own.tag,
                    hint.unwrap_or_default()
                )
            });
            found.extend(missing.chain(extra).map(|text| (file.clone(), text)));
        }
        found.extend(self.untranslated());
        found
    }

    /// Lists the locales without a translation of messages that another locale translates: they would be in English.
    /// An app need not translate those that it never shows.
    fn untranslated(&self) -> Vec<(String, String)> {
        let (start, rests) = BUILT_IN;
        let mut keys: Vec<String> = rests.iter().map(|rest| format!("{start}{rest}")).collect();
        keys.sort_unstable();
        let own = &self.all[self.default];
        let mut found = Vec::new();
        for (at, catalog) in self.all.iter().enumerate() {
            if catalog.locale.id.language.as_str() == ENGLISH {
                continue;
            }
            let missing = |key: &&String| {
                // Those of the app's own locale are told one by one.
                !own.messages.contains_key(*key) && self.find(at, key).is_none()
            };
            let missing: Vec<&String> = keys.iter().filter(missing).collect();
            let has_some = |other: &&Catalog| {
                let mut missing = missing.iter();
                missing.any(|key| other.messages.contains_key(*key))
            };
            if let Some(other) = self.all.iter().find(has_some) {
                let mut missing = missing;
                missing.retain(|key| other.messages.contains_key(*key));
                let text = format!(
                    "there is no translation of {}, which {FOLDER}/{}.toml has",
                    listed(&missing),
                    other.tag
                );
                found.push((format!("{FOLDER}/{}.toml", catalog.tag), text));
            }
        }
        found
    }

    /// Checks the catalogues against the default one: what a handler gives that one is all that the others may want.
    fn check(&self, places: &Places) -> Result<(), String> {
        let own = &self.all[self.default];
        for catalog in &self.all {
            let mut keys: Vec<_> = catalog.messages.iter().collect();
            keys.sort_by_key(|(key, _)| key.as_str());
            for (key, message) in keys {
                let fault = |text: String| Err(format!("{}: {text}", places.of(&catalog.tag, key)));
                let Some(default) = own.messages.get(key) else {
                    let is_group = |other: &String| other.starts_with(&format!("{key}."));
                    if own.messages.keys().any(is_group) {
                        return fault(format!(
                            "{key} is one text, and a group of texts in {}",
                            own.tag
                        ));
                    }
                    if let Some((group, _)) = key
                        .rsplit_once('.')
                        .filter(|(group, _)| own.messages.contains_key(*group))
                    {
                        return fault(format!(
                            "{group} is one text in {}, and a group here",
                            own.tag
                        ));
                    }
                    continue;
                };
                for text in message.texts() {
                    if let Some(unknown) = text.places().find(|name| !default.has_place(name)) {
                        return fault(format!(
                            "{key}: {{{unknown}}} is not in the text of {}",
                            own.tag
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// The text of a key in a locale, in the more general ones, or in the app's own; and the locale that has it.
    pub(crate) fn find(&self, locale: usize, key: &str) -> Option<(usize, &Message)> {
        let own = &self.all[locale];
        if let Some(message) = own.messages.get(key) {
            return Some((locale, message));
        }
        let parents = negotiate::parents(&own.tag);
        let parents = parents.filter_map(|tag| self.position(tag));
        let mut chain = parents.chain([self.default]);
        chain.find_map(|at| Some((at, self.all[at].messages.get(key)?)))
    }

    /// The locale with exactly this name.
    pub(crate) fn position(&self, tag: &str) -> Option<usize> {
        self.all
            .iter()
            .position(|catalog| is_tag(tag, &catalog.tag))
    }

    /// Reports whether this is told the first time.
    pub(crate) fn is_news(&self, missed: String) -> bool {
        let mut known = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        known.len() < crate::limits::MISSED_KEYS_MAX && known.insert(missed)
    }
}

/// Names the first of some keys, and the number of the others.
fn listed(keys: &[&String]) -> String {
    let shown: Vec<&str> = keys.iter().take(3).map(|key| key.as_str()).collect();
    let shown = shown.join(", ");
    match keys.len() {
        0..=3 => shown,
        count => format!("{shown} and {} more", count - 3),
    }
}

/// Reports whether a name is that of a locale, in any case, also with `_` for `-`.
fn is_tag(name: &str, tag: &str) -> bool {
    let same = |(a, b): (u8, u8)| a.eq_ignore_ascii_case(&b) || (a == b'_' && b == b'-');
    name.len() == tag.len() && name.bytes().zip(tag.bytes()).all(same)
}

/// The name of a catalogue's locale.
fn name_of(path: &str) -> Option<&str> {
    let name = path.strip_prefix(FOLDER)?.strip_prefix('/')?;
    name.strip_suffix(".toml")
        .filter(|name| !name.contains('/'))
}

/// A locale by its name.
fn parsed(name: &str) -> Result<Locale, String> {
    let fault = || format!("{name:?} is no locale: write one such as \"de\" or \"pt-BR\"");
    let locale: Locale = name.parse().map_err(|_| fault())?;
    let has_language = !locale.id.language.is_unknown() && locale.extensions.is_empty();
    has_language.then_some(locale).ok_or_else(fault)
}

/// The place of each text, for faults that are found later.
#[derive(Default)]
struct Places(HashMap<(String, String), String>);

impl Places {
    fn of(&self, tag: &str, key: &str) -> String {
        let place = self.0.get(&(tag.to_owned(), key.to_owned()));
        place
            .cloned()
            .unwrap_or_else(|| format!("{FOLDER}/{tag}.toml"))
    }
}

/// One file as it is read.
struct Reading<'a> {
    path: &'a str,
    text: &'a str,
    tag: String,
    places: &'a mut Places,
    messages: Messages,
}

impl<'a> Reading<'a> {
    fn all_of(path: &'a str, bytes: &'a [u8], places: &'a mut Places) -> Result<Messages, String> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let line = line_at(&String::from_utf8_lossy(bytes), error.valid_up_to());
            format!("{path}:{line}: the file is not UTF-8")
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let table = DeTable::parse(text).map_err(|error| {
            let line = line_at(text, error.span().map_or(0, |span| span.start));
            format!("{path}:{line}: {}", error.message().replace('\n', " "))
        })?;
        let tag = name_of(path).and_then(|name| parsed(name).ok());
        let mut reading = Self {
            path,
            text,
            tag: tag.map(|locale| locale.to_string()).unwrap_or_default(),
            places,
            messages: Messages::default(),
        };
        reading.group("", table.get_ref())?;
        Ok(reading.messages)
    }

    fn group(&mut self, prefix: &str, table: &DeTable<'_>) -> Result<(), String> {
        for (name, value) in table {
            let key = format!("{prefix}{}", name.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) if is_plural(inner) => {
                    let mut forms = Vec::new();
                    for (category, form) in inner {
                        let category = CATEGORIES
                            .iter()
                            .find(|(name, _)| *name == category.get_ref());
                        forms.extend(
                            category.map(|(_, it)| self.text(&key, form).map(|text| (*it, text))),
                        );
                    }
                    let forms = forms.into_iter().collect::<Result<_, _>>()?;
                    self.add(key, name.span().start, Message::Plural(forms));
                }
                DeValue::Table(inner) if lacks_other(inner) => {
                    let line = line_at(self.text, name.span().start);
                    let path = self.path;
                    return Err(format!(
                        "{path}:{line}: {key}: forms by number need one called other"
                    ));
                }
                DeValue::Table(inner) => self.group(&format!("{key}."), inner)?,
                _ => {
                    let text = self.text(&key, value)?;
                    self.add(key, value.span().start, Message::Plain(text));
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, key: String, at: usize, message: Message) {
        let place = format!("{}:{}", self.path, line_at(self.text, at));
        self.places.0.insert((self.tag.clone(), key.clone()), place);
        self.messages.insert(key, message);
    }

    fn text(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Text, String> {
        let text = match value.get_ref() {
            DeValue::String(text) => Text::parse(text),
            _ => Err("a text in quotes is expected".to_owned()),
        };
        text.map_err(|fault| {
            let line = line_at(self.text, value.span().start);
            format!("{}:{line}: {key}: {fault}", self.path)
        })
    }
}

/// Reports whether a table has the forms of one text.
fn is_plural(table: &DeTable<'_>) -> bool {
    let is_category = |name: &str| CATEGORIES.iter().any(|(known, _)| *known == name);
    let names = || table.keys().map(|name| name.get_ref().as_ref());
    names().any(|name| name == "other") && names().all(is_category)
}

/// Reports whether a table has nothing but forms of one text, without the one that each language needs.
fn lacks_other(table: &DeTable<'_>) -> bool {
    let is_form = |(name, form): (&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        let is_category = CATEGORIES.iter().any(|(known, _)| *known == name.get_ref());
        is_category && matches!(form.get_ref(), DeValue::String(_))
    };
    !table.is_empty() && !is_plural(table) && table.iter().all(is_form)
}

/// The line of a position, from 1.
fn line_at(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)], settings: &I18nSettings) -> Result<Catalogs, String> {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
        Catalogs::read(&files.collect::<Vec<_>>(), settings)
    }

    #[test]
    fn texts_fall_back() {
        let files = [
            ("locales/en.toml", "a = \"A\"\n[g]\nb = \"B\"\nc = \"C\"\n"),
            ("locales/de.toml", "a = \"\u{c4}\"\ng.b = \"Be\"\n"),
            ("locales/de-AT.toml", "a = \"Servus\"\n"),
            ("locales/readme.md", "no catalogue"),
        ];
        let catalogs = read(&files, &I18nSettings::default()).expect("catalogues");
        let at = catalogs.position("de_at").expect("there");
        let found = |key| {
            let (at, message) = catalogs.find(at, key)?;
            let text = message.texts()[0].filled(|_| Err(())).expect("no places");
            Some((catalogs.all[at].tag.clone(), text))
        };
        let expect = |tag: &str, text: &str| Some((tag.to_owned(), text.to_owned()));
        assert_eq!(found("a"), expect("de-AT", "Servus"));
        assert_eq!(found("g.b"), expect("de", "Be"));
        assert_eq!(found("g.c"), expect("en", "C"));
        assert_eq!(found("g"), None);
    }

    #[test]
    fn faults_name_file_and_line() {
        let en = (
            "locales/en.toml",
            "hello = \"Hello {name}\"\npets = { one = \"{n} pet\", other = \"{n} pets\" }\n[g]\nx = \"x\"\n",
        );
        for (path, text, expected) in [
            (
                "locales/de.toml",
                "a = \"b\"\nc = \n",
                "locales/de.toml:2: ",
            ),
            (
                "locales/de.toml",
                "a = 1\n",
                "locales/de.toml:1: a: a text in quotes is expected",
            ),
            (
                "locales/de.toml",
                "\na = \"x {b\"\n",
                "locales/de.toml:2: a: a brace that stands alone",
            ),
            (
                "locales/de.toml",
                "a = \"b\"\na = \"c\"\n",
                "locales/de.toml:2: ",
            ),
            (
                "locales/de.toml",
                "\n\nhello = \"Hallo {nmae}\"\n",
                "locales/de.toml:3: hello: {nmae} is not in the text of en",
            ),
            (
                "locales/de.toml",
                "[pets]\none = \"ein Tier\"\n",
                "locales/de.toml:1: pets: forms by number need one called other",
            ),
            (
                "locales/de.toml",
                "a = \"b\"\n[x]\ncats = { one = \"eine\", few = \"paar\" }\n",
                "locales/de.toml:3: x.cats: forms by number need one called other",
            ),
            (
                "locales/de.toml",
                "[pets]\none = \"ein Tier\"\nbirds = \"B\"\n",
                "locales/de.toml:3: pets is one text in en, and a group here",
            ),
            (
                "locales/de.toml",
                "g = \"x\"\n",
                "locales/de.toml:1: g is one text, and a group of texts in en",
            ),
            (
                "locales/german words.toml",
                "",
                "locales/german words.toml: \"german words\" is no locale",
            ),
        ] {
            let fault = read(&[en, (path, text)], &I18nSettings::default()).expect_err(text);
            assert!(fault.starts_with(expected), "{fault}");
            assert!(!fault.contains('\n'), "{fault}");
        }
        let invalid = [(
            "locales/de.toml".to_owned(),
            b"a = 1\nb = \"\xff\"".to_vec(),
        )];
        let fault = Catalogs::read(&invalid, &I18nSettings::default()).expect_err("no UTF-8");
        assert_eq!(fault, "locales/de.toml:2: the file is not UTF-8");
    }

    #[test]
    fn settings_name_files_that_are_there() {
        let files = [("locales/de.toml", ""), ("locales/fa.toml", "")];
        let settings = |default: Option<&str>, locales: &[&str]| I18nSettings {
            default: default.map(str::to_owned),
            locales: locales.iter().map(|tag| (*tag).to_owned()).collect(),
        };
        let fault = |settings| read(&files, &settings).expect_err("a fault");
        assert_eq!(
            fault(settings(None, &[])),
            "[i18n] default is \"en\": there is no locales/en.toml"
        );
        assert!(fault(settings(Some("de"), &["ru"])).contains("there is no locales/ru.toml"));
        assert!(
            fault(settings(Some("de de"), &[])).contains("[i18n] default: \"de de\" is no locale")
        );
        let catalogs = read(&files, &settings(Some("DE"), &["de"])).expect("catalogues");
        assert_eq!(
            (catalogs.all.len(), catalogs.all[0].tag.as_str()),
            (1, "de")
        );
        let none = read(&[], &I18nSettings::default()).expect("no catalogues");
        assert_eq!(none.all[none.default].tag, "en");
    }
}
