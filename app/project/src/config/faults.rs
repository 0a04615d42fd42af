//! The faults of several sections, which are told together.

use sampan_host::settings::{AllSettings, Section, Settings};

/// The faults that were found so far, each with its place in front.
#[derive(Debug, Default)]
pub struct ConfigFaults(Vec<String>);

impl ConfigFaults {
    /// Returns the value of a section that has one, and keeps the fault of another.
    pub fn keep<T>(&mut self, read: Result<T, String>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(fault) => {
                // Several parts may read one key.
                if !self.0.contains(&fault) {
                    self.0.push(fault);
                }
                None
            }
        }
    }

    /// Reads a section, and keeps its fault with the place where its key was written.
    pub fn resolve<T>(
        &mut self,
        sections: &AllSettings,
        section: &'static Section,
        read: impl FnOnce(&Settings) -> Result<T, String>,
    ) -> Option<T> {
        let settings = sections.of(section);
        self.keep(read(&settings).map_err(|fault| settings.tell(&fault)))
    }

    /// Reports whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns a line for each of them.
    pub fn text(&self) -> String {
        self.0.join("\n")
    }
}
