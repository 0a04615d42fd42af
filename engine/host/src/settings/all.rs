//! The values of all sections of a configuration.

use super::{Section, SettingValue};
use crate::settings::values::Settings;
use crate::tables::names::hint;
use std::sync::Arc;

/// The values of all sections.
#[derive(Clone, Debug)]
pub struct AllSettings {
    file: Arc<str>,
    sections: Vec<Settings>,
}

impl AllSettings {
    /// The defaults of these sections. Faults call the configuration file `file`.
    pub fn new(sections: &[&'static Section], file: &str) -> Self {
        let file: Arc<str> = Arc::from(file);
        let of = |section: &&'static Section| Settings::in_file(section, Arc::clone(&file));
        Self {
            sections: sections.iter().map(of).collect(),
            file,
        }
    }

    /// Returns the name of the configuration file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the values of each section.
    pub fn iter(&self) -> impl Iterator<Item = &Settings> {
        self.sections.iter()
    }

    /// Returns the values of a section; its defaults if it is not one of these.
    pub fn of(&self, section: &'static Section) -> Settings {
        let known = self.named(section.name);
        known.map_or_else(|_| Settings::of(section), Settings::clone)
    }

    /// Returns the values of the section with this name.
    ///
    /// # Errors
    /// There is none: the sections that there are.
    pub fn named(&self, name: &str) -> Result<&Settings, String> {
        let known = self.iter().find(|one| one.section().name == name);
        known.ok_or_else(|| {
            let names: Vec<_> = self.iter().map(|one| one.section().name).collect();
            let hint = hint(name, names.iter().copied());
            let (the, names) = (
                if hint.is_empty() { "; the" } else { " The" },
                names.join(", "),
            );
            format!("there is no section or key \"{name}\" here{hint}{the} sections are {names}")
        })
    }

    /// Checks a value and keeps it in place of the one before. `text` is the value as the configuration file would have
    /// it; `value` is nothing if it is of a kind that no key takes.
    ///
    /// # Errors
    /// The place, the section, the key, and what is wrong.
    pub fn put(
        &mut self,
        (section, key): (&str, &str),
        value: Option<SettingValue>,
        text: String,
        origin: String,
    ) -> Result<(), String> {
        let known = self.named(section).map(drop);
        known.map_err(|fault| format!("{origin}: {fault}"))?;
        for settings in &mut self.sections {
            if settings.section().name == section {
                settings.put(key, value, text, origin)?;
                break;
            }
        }
        Ok(())
    }
}
